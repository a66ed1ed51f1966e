"""The delivery core against a world that loses, delays, repeats, reorders and races; invariants of DESIGN section 4.

A host with a queue, two agents (`sdk` remembers what it executed and sends its token; `legacy` does neither), a
network that loses answers and keeps every report for as long as it likes, an operator, two clocks. The model below
knows what must hold from the events alone; it shares no code with the session.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from dataclasses import replace

import anyio
from anyio.lowlevel import checkpoint
from delivery_kit import COMPLETE, NOT_SEEN, NOTHING_TO_JUDGE, WRONG_APPLICATION, ScriptedJudge, a_desk, an_action
from delivery_model import NONTERMINAL, SETTLING, Model
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from otel_validation.delivery.engine import Forward, Ticket
from otel_validation.delivery.lease import DeliveryState
from otel_validation.delivery.outcome import Pause, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.errors import UnknownDeadLetterError, UnknownSessionError
from otel_validation.validation.report import Report

SESSIONS = ("sdk", "legacy")
POLICIES = (
    DeliveryPolicy(),
    DeliveryPolicy(repush="tail"),
    DeliveryPolicy(max_resends=0, judging_s=20.0),
    DeliveryPolicy(max_resends=1, total_lease_s=60.0, judging_s=5.0),
)
FIELDS = st.sampled_from([{}, {}, {}, {}, {"resend": "never"}, {"visibility_timeout_s": 45}])
SECONDS = st.sampled_from([0.0, 0.5, 1.5, 5.0, 29.0, 30.0, 31.0, 61.0, 95.0, 700.0])
VERDICTS = st.sampled_from([COMPLETE, COMPLETE, NOTHING_TO_JUDGE, NOT_SEEN, NOT_SEEN, WRONG_APPLICATION])


class DeliveryMachine(RuleBasedStateMachine):
    policy = POLICIES[0]

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.desk = a_desk(policy=self.policy, judge=ScriptedJudge())
        self.engine, self.clock = self.desk.engine, self.desk.clock
        self.model = Model(self.clock, self.policy)
        self.engine.observers.add(self.model)
        logging.getLogger("otel_validation.delivery.observer").addFilter(self.model.filter)
        self.queues = {name: deque() for name in SESSIONS}
        self.handed = set()  # (session, action) that the host let go
        self.mail = []  # reports, each to be delivered never, once or often, at any time
        self.tokens = []
        self.executed = Counter()
        self.received = Counter()
        self.numbers = iter(range(10_000))

    def run(self, function, *arguments):
        return self.loop.run_until_complete(function(*arguments))

    # The host

    @initialize(fields=st.lists(FIELDS, min_size=2, max_size=6))
    def host_has_a_workflow(self, fields):
        for session in SESSIONS:
            for more in fields:
                self.queues[session].append(an_action(f"{session}-{next(self.numbers)}", session_id=session, **more))

    @precondition(lambda self: self.handed or not all(self.queues.values()))
    @rule(data=st.data(), session=st.sampled_from(SESSIONS), fields=FIELDS)
    def host_queues_an_action(self, data, session, fields):
        """A new one; one that is over once more (a business retry); one that is still open (its own resend)."""
        queued = {(name, action.action_id) for name, queue in self.queues.items() for action in queue}
        live = {
            (kept.session_id, action_id)
            for kept in self.run(self.sessions)
            for action_id, delivery in kept.live.items()
            if delivery.action.look_of is None
        }
        again = sorted(key for key in (self.model.over | live) - queued if key[0] == session)
        new = (session, f"{session}-{next(self.numbers)}")
        session, action_id = data.draw(st.sampled_from([new, *again]))
        self.queues[session].append(an_action(action_id, session_id=session, **fields))

    # The agents

    @rule(
        session=st.sampled_from(SESSIONS),
        fate=st.sampled_from(["received", "received", "received", "lost", "lost", "aborted", "paused"]),
        later=st.sampled_from([0.0, 0.0, 1.5, 31.0]),
    )
    def agent_polls(self, session, fate, later):
        self.clock.advance(later)
        ticket = self.run(self.poll, session, fate)
        if ticket is not None:
            self.tokens.append(ticket.lease.token)
            if fate == "received":
                self.receive(ticket)

    async def poll(self, session, fate):
        """As the middleware does; `aborted` and `paused` happen between the host's answer and its dispatch."""
        answer = await self.engine.poll(session)
        self.model.silent_since[session] = self.clock.now()
        assert isinstance(answer, Pause) == (session in self.model.paused_since)
        if isinstance(answer, Ticket):
            return answer
        if not isinstance(answer, Forward):
            return None
        if self.queues[session]:
            return await self.let_go(self.queues[session].popleft(), fate)
        return await self.engine.dispatch_waiting(session) if answer.waiting else None

    async def let_go(self, action, fate):
        self.handed.add((action.session_id, action.action_id))
        self.model.over.discard((action.session_id, action.action_id))
        if fate == "aborted":
            await self.engine.park(action)
            return None
        if fate == "paused":
            await self.engine.pause(action.session_id)
        return await self.engine.dispatch(action)

    @precondition(lambda self: all(self.queues.values()))
    @rule(session=st.sampled_from(SESSIONS), fate=st.sampled_from(["received", "received", "aborted", "paused"]))
    def two_polls_reach_the_host_at_once(self, session, fate):
        """Both passed the gate before either action was dispatched."""

        async def race():
            answers = [await self.engine.poll(session), await self.engine.poll(session)]
            self.model.silent_since[session] = self.clock.now()
            tickets = [answer for answer in answers if isinstance(answer, Ticket)]
            popped = [
                self.queues[session].popleft() for a in answers if isinstance(a, Forward) and self.queues[session]
            ]
            tickets += [await self.let_go(action, fate) for action in popped]
            return [ticket for ticket in tickets if ticket is not None]

        for ticket in self.run(race):
            self.tokens.append(ticket.lease.token)
            self.receive(ticket)

    def receive(self, ticket):
        """Execute (the SDK only what it has not executed) and write a report for the network to keep."""
        action = ticket.delivery.action
        key = (action.session_id, action.action_id, ticket.delivery.retry)
        self.received[key] += 1
        if action.session_id == "legacy" or not self.executed[key]:
            self.executed[key] += 1
        token = ticket.lease.token if action.session_id == "sdk" else None
        self.mail.append(
            Report(
                session_id=action.session_id,
                action_id=action.action_id,
                token=token,
                success=True,
                screenshot_before="before",
                screenshot_after="after",
            )
        )

    @precondition(lambda self: self.mail)
    @rule(
        written=st.integers(0, 3),
        late=st.sampled_from([0.0, 0.0, 31.0]),
        copies=st.sampled_from([1, 1, 1, 2, 20]),
        success=st.sampled_from([True, True, None, False]),
        shot=st.sampled_from(["after", "after", "after", None]),
        verdict=VERDICTS,
        judging=st.sampled_from([0.0, 0.0, 0.5, 5.0, 31.0, 200.0]),
        meanwhile=st.sampled_from(["nothing", "nothing", "sweep", "sweep", "poll", "poll", "pause", "cancel"]),
    )
    def network_delivers_reports(self, written, late, copies, success, shot, verdict, judging, meanwhile):
        """One of the last four reports that were written, the latest more often than not."""
        written = self.mail[-1 - min(written, len(self.mail) - 1)]
        self.clock.advance(late)
        self.run(self.engine.expire)
        report = replace(written, success=success, screenshot_after=shot)
        answers, calls = self.run(self.deliver, report, copies, verdict, judging, meanwhile)
        rejected = sum(answer.status is ReportStatus.STALE_REJECTED for answer in answers)
        assert calls <= 1 + rejected, "identical concurrent reports were judged more than once"
        assert len(answers) == copies, "a report got no answer"
        settling = [answer for answer in answers if answer.status in SETTLING]
        assert len(settling) <= 1, "identical reports settled an action twice"
        for answer in answers:
            if settling and answer.status is ReportStatus.DUPLICATE:
                assert answer.outcome == settling[0].outcome, "a duplicate got another answer"

    async def deliver(self, report, copies, verdict, judging, meanwhile):
        judge, before, answers = self.desk.judge, self.desk.judge.calls, []

        async def while_judging():
            await checkpoint()
            self.clock.advance(judging)
            if meanwhile == "sweep":
                await self.engine.expire()
            elif meanwhile == "poll":
                ticket = await self.poll(report.session_id, "lost")
                if ticket is not None:
                    self.tokens.append(ticket.lease.token)
            elif meanwhile == "pause":
                await self.engine.pause(report.session_id)
            elif meanwhile == "cancel":
                await self.engine.cancel(report.session_id)

        judge.result, judge.meanwhile = verdict, while_judging

        async def send():
            answers.append(await self.engine.report(report))

        async with anyio.create_task_group() as group:
            for _ in range(copies):
                group.start_soon(send)
        return answers, judge.calls - before

    @rule(
        session=st.sampled_from(SESSIONS),
        verdict=st.sampled_from([NOT_SEEN, NOT_SEEN, COMPLETE]),
        then=st.sampled_from([0.0, 1.0, 1.5, 1.5, 31.0]),
    )
    def agent_works_and_its_screen_is_slow(self, session, verdict, then):
        """One poll and its report, in time and whole, of an action or of a look."""
        ticket = self.run(self.poll, session, "received")
        if ticket is not None:
            self.tokens.append(ticket.lease.token)
            self.receive(ticket)
            self.run(self.deliver, self.mail[-1], 1, verdict, 0.0, "nothing")
        self.clock.advance(then)

    @rule(session=st.sampled_from(SESSIONS), action_id=st.sampled_from(["sdk-0", "legacy-0", "never"]))
    def somebody_reports_with_a_token_never_given_out(self, session, action_id):
        report = Report(session_id=session, action_id=action_id, token="forged", success=True)
        before = self.run(self.snapshot)
        answer = self.run(self.engine.report, report)
        assert answer.status is ReportStatus.UNKNOWN
        assert self.run(self.snapshot) == before

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def agent_sends_a_heartbeat(self, data):
        token = data.draw(st.sampled_from(self.tokens))
        in_flight = token in {current for _, current in self.model.current.values()}
        answer = self.run(self.engine.extend, token)
        assert (answer is not None) == in_flight
        if isinstance(answer, Ticket):
            assert answer.lease.deadline >= self.model.deadlines[token]
            assert answer.lease.deadline <= answer.lease.leased_at + self.policy.total_lease_s
            self.model.deadlines[token] = answer.lease.deadline

    # Time

    @rule(seconds=SECONDS, watched=st.booleans(), jump=st.sampled_from([0.0, 0.0, -86_400.0, -1.0, 3_600.0, 10**7]))
    def time_passes(self, seconds, watched, jump):
        """On the wall clock not always as much, and not always forwards."""
        self.clock.advance(seconds)
        self.clock.jump_wall(jump)
        if not watched:
            return
        self.run(self.engine.expire)
        for session in self.run(self.sessions):
            if session.pause is None:
                late = [d for d in session.live.values() if d.due_at is not None and d.due_at <= self.clock.now()]
                assert not late, "something due was left after a sweep"
                self.nobody_waits_for_a_dead_agent(session)

    def nobody_waits_for_a_dead_agent(self, session):
        """A resend that no poll came for is given up in the time that all resends would have taken."""
        for delivery in session.live.values():
            if delivery.state is DeliveryState.WAITING and delivery.attempts:
                longest = self.policy.timeout_for(delivery.action) * self.policy.max_resends
                assert self.clock.now() - self.model.silent_since[session.session_id] < longest

    # The operator

    @rule(session=st.sampled_from(SESSIONS), what=st.sampled_from(["resume"] * 5 + ["pause", "pause", "cancel"]))
    def operator_acts(self, session, what):
        try:
            self.run(getattr(self.engine, what), session)
        except UnknownSessionError:
            assert not any(name == session for name, _ in self.handed), "a session was forgotten"
        if what == "cancel":
            assert not any(kept.live for kept in self.run(self.sessions) if kept.session_id == session)

    @precondition(lambda self: self.model.letters)
    @rule(data=st.data())
    def operator_redrives(self, data):
        letters = self.run(self.engine.dead_letters)
        letter = data.draw(st.sampled_from(letters), label="letter")
        self.model.letters -= 1
        delivery = self.run(self.engine.redrive, letter.dead_letter_id)
        assert delivery.attempts == 0
        try:
            self.run(self.engine.redrive, letter.dead_letter_id)
        except UnknownDeadLetterError:
            return
        raise AssertionError("a dead letter was redriven twice")

    # What always holds

    async def sessions(self):
        kept = []
        for name in SESSIONS:
            async with self.engine.inspect(name) as session:
                kept.append(session.draft())
        return kept

    async def snapshot(self):
        return [(s.live, dict(s.settled or {}), s.dead, s.pause) for s in await self.sessions()]

    @invariant()
    def the_model_agrees(self):
        assert not self.model.violations, self.model.violations
        assert all(times == 1 for times in self.model.ended.values()), "an action ended more than once"

    @invariant()
    def the_sessions_are_right(self):
        sessions, flying, due = self.run(self.everything)
        self.no_action_is_lost(sessions)
        self.the_store_agrees_with_its_sessions(sessions, flying, due)

    async def everything(self):
        return await self.sessions(), await self.engine.in_flight(), await self.engine.next_due()

    def no_action_is_lost(self, sessions):
        places = {session.session_id: session for session in sessions}
        for name, action_id in self.handed:
            session = places[name]
            live = session.live.get(action_id)
            ends = [action_id in (session.settled or {}), action_id in (session.dead or {})]
            if live is None:
                assert sum(ends) == 1, f"{action_id} is in {sum(ends)} places"
            else:
                assert live.state in NONTERMINAL
                assert not any(ends) or not live.attempts, "open and over at once"

    def the_store_agrees_with_its_sessions(self, sessions, flying, due):
        really = [d for s in sessions for d in s.live.values() if d.state is DeliveryState.IN_FLIGHT]
        assert flying == len(really) == len(self.model.current)
        assert due == min((at for s in sessions if (at := s.next_due()) is not None), default=None)
        for session in sessions:
            assert (session.pause is not None) == (session.session_id in self.model.paused_since)
            assert sum(d.state is DeliveryState.IN_FLIGHT for d in session.live.values()) <= 1
            assert all(d.attempts <= self.policy.max_resends + 1 for d in session.live.values())

    @invariant()
    def no_agent_executes_what_it_was_not_given(self):
        for key, times in self.executed.items():
            assert times <= (1 if key[0] == "sdk" else self.received[key])

    def teardown(self):
        """The weather clears: agents that poll and report bring everything to an end."""
        try:
            for session in SESSIONS:
                self.run(self.finish, session)
            for session in self.run(self.sessions):
                assert not session.live, "an action never came to an end"
            self.the_model_agrees()
            self.the_sessions_are_right()
        finally:
            logging.getLogger("otel_validation.delivery.observer").removeFilter(self.model.filter)
            self.loop.close()

    async def finish(self, session):
        self.desk.judge.result, self.desk.judge.meanwhile = COMPLETE, None
        for _ in range(400):
            async with self.engine.inspect(session) as kept:
                done = not kept.live and not self.queues[session] and kept.pause is None
            if done:
                return
            if session in self.model.paused_since:
                await self.engine.resume(session)
            ticket = await self.poll(session, "received")
            if ticket is not None:
                action = ticket.delivery.action
                report = Report(
                    session_id=session,
                    action_id=action.action_id,
                    token=ticket.lease.token,
                    success=True,
                    screenshot_after="after",
                )
                answer = await self.engine.report(report)
                assert answer.status is ReportStatus.ACCEPTED
            self.clock.advance(10.0)


SETTINGS = settings(max_examples=75, stateful_step_count=40)


def machine(policy):
    name = f"Machine{POLICIES.index(policy)}"
    return type(name, (DeliveryMachine,), {"policy": policy}).TestCase


class TestHeadRepush(machine(POLICIES[0])):
    settings = SETTINGS


class TestTailRepush(machine(POLICIES[1])):
    settings = SETTINGS


class TestNoResends(machine(POLICIES[2])):
    settings = SETTINGS


class TestShortLeases(machine(POLICIES[3])):
    settings = SETTINGS
