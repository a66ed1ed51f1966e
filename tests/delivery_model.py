"""What must hold of deliveries, judged from the events alone; it shares no code with the session."""

from __future__ import annotations

from collections import Counter

from otel_validation.delivery.lease import DeliveryState, GiveUpCause
from otel_validation.delivery.observer import (
    Answered,
    Dispatched,
    LookLost,
    Observer,
    Orphaned,
    PauseChanged,
    Rechecking,
    Reported,
    Withdrawn,
)
from otel_validation.delivery.outcome import ReportStatus

NONTERMINAL = {DeliveryState.WAITING, DeliveryState.IN_FLIGHT, DeliveryState.RECHECKING}
SETTLING = {ReportStatus.ACCEPTED, ReportStatus.STALE_ADOPTED}


class Model(Observer):
    """What must hold, judged at every event. A raising hook is swallowed by the engine, so violations are kept."""

    def __init__(self, clock, policy):
        self.clock, self.policy = clock, policy
        self.violations = []
        self.current = {}  # session -> (action, token): the one live lease
        self.deadlines = {}  # token -> the earliest moment at which it may be an orphan
        self.paused_since = {}  # session -> when its clocks stopped
        self.gave_up = set()  # sessions in which nothing may flow until an operator acts
        self.left = Counter()  # (session, action, retry) -> attempts that left
        self.ended = Counter()  # (session, action, retry) -> terminal outcomes
        self.silent_since = {}  # session -> the last sign of life, orphan or resume: what a waiting resend counts from
        self.judged_until = {}  # (session, action) -> until when a report under judgement holds it
        self.letters = 0  # dead letters not redriven yet
        self.over = set()  # (session, action): settled, and not put back by host or operator since
        self.looked_at = {}  # session -> (action, when its look may leave): nothing else may
        self.rechecks = Counter()  # (session, action, retry) -> how often it was looked at again

    def filter(self, record):
        """As a filter of the observers' log: a hook of this model that raises is a violation too."""
        self.violations.append(record.exc_text or repr(record.exc_info))
        return True

    def must(self, holds, what):
        if not holds:
            self.violations.append(what)

    def dispatched(self, event: Dispatched):
        session, delivery = event.session_id, event.delivery
        action_id, lease = delivery.action.action_id, delivery.lease
        self.must(session not in self.current, "two live leases in a session")
        self.must(session not in self.paused_since, "dispatched while paused")
        self.must(session not in self.gave_up, "the next action flowed after a give-up")
        self.must(not self.judging(session, action_id), "an action left while a report of it was judged")
        rechecked, not_before = self.looked_at.get(session, (None, 0.0))
        self.must(delivery.action.look_of == rechecked, "a look without need, or another action before it")
        self.must(self.clock.now() >= not_before, "a look before its time")
        key = (session, action_id, delivery.retry)
        self.left[key] += 1
        self.must(delivery.attempts == self.left[key], "attempts that do not count what left")
        self.must(delivery.attempts <= self.policy.max_resends + 1, "more attempts than the budget")
        self.must((session, action_id) not in self.over, "an action that was over left again")
        self.must(lease.token not in self.deadlines, "a token was given out twice")
        self.current[session] = (action_id, lease.token)
        self.deadlines[lease.token] = self.clock.now() + self.policy.timeout_for(delivery.action)

    def reported(self, event: Reported):
        key = (event.session_id, event.report.action_id)
        self.judged_until[key] = self.clock.now() + self.policy.judging_s

    def judging(self, session, action_id):
        return self.clock.now() < self.judged_until.get((session, action_id), 0.0)

    def answered(self, event: Answered):
        session, report = event.session_id, event.report
        if event.status is not ReportStatus.UNKNOWN:
            self.judged_until.pop((session, report.action_id), None)
        action_id, token = self.current.get(session, (None, None))
        is_current = report.action_id == action_id and report.token in (None, token)
        if event.status is ReportStatus.ACCEPTED:
            self.must(is_current, "a stale token settled as if it were current")
        if event.status is ReportStatus.STALE_ADOPTED:
            self.must(not is_current, "a current report was called stale")
            superseded = report.action_id == action_id
            self.must(not superseded or event.outcome.success, "a stale failure settled over a newer attempt")
        settles = event.status in SETTLING and event.outcome.next_look is None
        self.must((event.delivery is not None) == settles, "a status that hides what it did")
        self.must(event.look is None or event.status in SETTLING, "a look that ended without doing anything")
        if event.look is not None:
            self.must(event.look.action.look_of == self.looked_at[session][0], "a look of something else")
            self.free(session, event.look.action.action_id)
        if event.delivery is not None:
            self.end(session, event.delivery)

    def rechecking(self, event: Rechecking):
        session, delivery = event.session_id, event.delivery
        action_id = delivery.action.action_id
        self.free(session, action_id)
        self.must(self.looked_at.get(session, (action_id,))[0] == action_id, "two actions are rechecked")
        self.looked_at[session] = (action_id, self.paused_since.get(session, self.clock.now()) + 1.5)
        self.rechecks[session, action_id, delivery.retry] += 1
        self.must(self.rechecks[session, action_id, delivery.retry] <= 2, "more looks than there may be")

    def look_lost(self, event: LookLost):
        session, look, now = event.session_id, event.look, self.clock.now()
        self.must(session not in self.paused_since, "a look was lost in a pause")
        self.must(not self.judging(session, look.action.action_id), "a look was lost while it was judged")
        self.must(event.lateness_s >= 0, "a look was lost before its time")
        self.must(not event.outcome.success, "nobody looked, and it is a success")
        if look.state is DeliveryState.IN_FLIGHT:
            self.must(now >= self.deadlines[look.lease.token], "a look expired before the deadline")
        self.free(session, look.action.action_id)
        self.end(session, event.delivery)
        self.gave_up.add(session)

    def orphaned(self, event: Orphaned):
        session, orphan, now = event.session_id, event.orphan, self.clock.now()
        self.must(session not in self.paused_since, "a lease expired in a pause")
        self.must(not self.judging(session, orphan.action.action_id), "an orphan of our own slow judgement")
        self.must(event.lateness_s >= 0, "an orphan before its time")
        if orphan.state is DeliveryState.IN_FLIGHT:
            self.must(now >= self.deadlines[orphan.lease.token], "expired before the deadline")
            self.silent_since[session] = now
            self.must(self.current.pop(session, None) is not None, "an orphan that was not in flight")
        else:
            self.must(event.dead is not None, "a waiting action expired into nothing")
            self.must(event.dead.cause is GiveUpCause.AGENT_DEAD, "nobody polled: the agent is dead")
        if event.dead is not None:
            self.end(session, orphan, over=False)
            self.gave_up.add(session)
            self.letters += 1

    def withdrawn(self, event: Withdrawn):
        self.judged_until = {key: until for key, until in self.judged_until.items() if key[0] != event.session_id}
        for delivery in event.deliveries:
            if delivery.action.look_of is None:
                self.end(event.session_id, delivery)
        for delivery in event.deliveries:
            self.free(event.session_id, delivery.action.action_id)
        self.gave_up.discard(event.session_id)

    def pause_changed(self, event: PauseChanged):
        session, now = event.session_id, self.clock.now()
        if event.pause is not None:
            self.must(session not in self.paused_since, "paused twice")
            self.paused_since[session] = event.pause.since
            return
        took = now - self.paused_since.pop(session)
        self.silent_since[session] = now
        self.gave_up.discard(session)
        if session in self.current:
            self.deadlines[self.current[session][1]] += took
        if session in self.looked_at:
            action_id, not_before = self.looked_at[session]
            self.looked_at[session] = (action_id, not_before + took)

    def end(self, session, delivery, *, over=True):
        action_id = delivery.action.action_id
        self.ended[session, action_id, delivery.retry] += 1
        if over:
            self.over.add((session, action_id))
        if self.looked_at.get(session, (None,))[0] == action_id:
            del self.looked_at[session]
        self.free(session, action_id)

    def free(self, session, action_id):
        """This action is not in flight any more."""
        if self.current.get(session, (None,))[0] == action_id:
            del self.current[session]
