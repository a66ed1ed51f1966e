"""The session: what is delivered to one agent's desktop, and every transition of it.

This is the unit that a store loads, locks and saves. All methods are synchronous and pure over the session: they
read no clock and do no I/O, so the same rules hold for every store and are tested without one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from otel_validation.delivery.lease import DeadLetter, Delivery, DeliveryState, GiveUpCause
from otel_validation.delivery.look import Purpose, look_at
from otel_validation.delivery.outcome import Pause, ReportStatus, Settled
from otel_validation.delivery.settlements import Settlements
from otel_validation.delivery.standing import JUDGED, Expiry, Gate, Settlement, Standing

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.delivery.look import Recheck
    from otel_validation.delivery.outcome import Outcome
    from otel_validation.delivery.policy import DeliveryPolicy


@dataclass(slots=True)
class Session:
    """One session's deliveries. `live` holds those that wait or are in flight, in the order they will leave."""

    session_id: str
    live: dict[str, Delivery] = field(default_factory=dict)
    settled: Settlements | None = None
    dead: dict[str, DeadLetter] | None = None
    pause: Pause | None = None
    last_poll_at: float | None = None

    def draft(self) -> Session:
        """A copy of what changes in place: whatever is done to this session, `restore` of the copy undoes.

        The settled actions are the same in both: they keep their changes apart themselves (`Settlements`).
        """
        dead = dict(self.dead) if self.dead else None
        return Session(self.session_id, dict(self.live), self.settled, dead, self.pause, self.last_poll_at)

    def restore(self, before: Session) -> None:
        """Be as `before` again."""
        self.live, self.settled, self.dead = before.live, before.settled, before.dead
        self.pause, self.last_poll_at = before.pause, before.last_poll_at
        if self.settled is not None:
            self.settled.undo()

    def keep(self) -> None:
        """What was done to this session is durable: there is nothing to undo any more."""
        if self.settled is not None:
            self.settled.keep()

    # What a poll may get

    def gate(self, now: float, *, serial: bool = True) -> Gate:
        """What the next poll gets; `waiting()` is the action where it is WAITING or HOST_FIRST.

        `serial` false: an action in flight holds nothing back (a disabled policy, whose leases never expire).
        """
        if self.pause is not None:
            return Gate.PAUSED
        if serial and any(d.state is DeliveryState.IN_FLIGHT or d.holds_back(now) for d in self.live.values()):
            return Gate.HELD
        waiting = self.waiting()
        if waiting is None:
            return Gate.OPEN
        return Gate.HOST_FIRST if waiting.yields else Gate.WAITING

    def waiting(self) -> Delivery | None:
        """The next action that waits to be handed out: a look first, then those that go before the host's queue."""
        waiting = [d for d in self.live.values() if d.state is DeliveryState.WAITING]
        return min(waiting, key=lambda d: (d.action.look_of is None, d.yields), default=None)

    def dispatch(self, action: Action, *, token: str, now: float, policy: DeliveryPolicy) -> Delivery | None:
        """The host hands out `action`. Returns its delivery, or None where it must wait and was parked.

        An action waits where the session is paused, another is in flight, or another waited before it; waiting
        burns no attempt. One that is rechecked is out already: its look decides.
        """
        known = self.live.get(action.action_id)
        delivery = known if known is not None else self._admit(action)
        gate = self.gate(now, serial=policy.holds_back)
        first = self.waiting() if gate is Gate.WAITING and policy.serial else None
        overtakes = first is not None and first.action.action_id != action.action_id
        if gate in (Gate.PAUSED, Gate.HELD) or overtakes or delivery.state is DeliveryState.RECHECKING:
            self.live.setdefault(action.action_id, delivery)
            return None
        return self._leave(delivery, token=token, now=now, policy=policy)

    def park(self, action: Action) -> None:
        """The host let go of `action` but nobody received it: it waits, and goes before the host's queue.

        Burns no attempt. Those parked one after the other leave in that order.
        """
        if action.action_id not in self.live:
            self.live[action.action_id] = self._admit(action)

    def hand_out(self, *, token: str, now: float, policy: DeliveryPolicy) -> Delivery | None:
        """Dispatch the waiting action; None where none waits."""
        delivery = self.waiting()
        return None if delivery is None else self._leave(delivery, token=token, now=now, policy=policy)

    # What a report does

    def standing(self, action_id: str, token: str | None) -> Standing:
        """Match a report; one without a token (legacy agents) is matched by its action id."""
        live = self.live.get(action_id)
        if live is not None and live.tokens:
            return self._standing_of_live(live, token)
        settled = self._settled(action_id)
        if settled is not None:
            return Standing.SETTLED if token is None or token in settled.tokens else Standing.UNKNOWN
        dead = (self.dead or {}).get(action_id)
        if dead is not None and (token is None or token in dead.delivery.tokens):
            return Standing.LATE_DEAD
        return Standing.UNKNOWN

    def hold_for_judging(self, action_id: str, *, until: float) -> Delivery:
        """A report is being judged: neither expire nor hand out the action before `until`."""
        delivery = self.live[action_id].judged(until)
        self.live[action_id] = delivery
        return delivery

    def settle(self, action_id: str, token: str | None, outcome: Outcome, recheck: Recheck | None = None) -> Settlement:
        """Make `outcome` the action's only one, where the token still allows it; checked again, atomically.

        With `recheck` nothing is settled: the action is looked at again. The report of a look settles the action that
        it was after, or leads to the next look.
        """
        standing = self.standing(action_id, token)
        if standing is Standing.LATE_SUPERSEDED and not outcome.confirmed:
            self.live[action_id] = self.live[action_id].judged(None)
            return Settlement(ReportStatus.STALE_REJECTED)
        if standing not in JUDGED:
            return Settlement(self.refusal(standing))
        status = ReportStatus.ACCEPTED if standing is Standing.CURRENT else ReportStatus.STALE_ADOPTED
        look = None
        look_of = self.live[action_id].action.look_of
        if look_of is not None:
            look, action_id = self._close(action_id, outcome), look_of
        if recheck is None:
            return Settlement(status, settled=self._close(action_id, outcome), look=look)
        rechecking = self.live[action_id] = self.live[action_id].rechecked(self._on_stopped_clock(recheck))
        return Settlement(status, rechecking=rechecking, look=look)

    def reported_on(self, delivery: Delivery) -> Delivery:
        """The delivery that a report of `delivery` settles: that of the action it looks after, else itself."""
        look_of = delivery.action.look_of
        return delivery if look_of is None else self.live[look_of]

    def remembered(self, action_id: str) -> Settled | None:
        """What became of an action or of a look; of one that is rechecked, what is known so far. None where nothing."""
        live = self.live.get(action_id)
        if live is not None and live.recheck is not None:
            return Settled(
                action_id=action_id,
                retry=live.retry,
                attempts=live.attempts,
                tokens=live.tokens,
                outcome=live.recheck.outcome,
            )
        return self._settled(action_id)

    @staticmethod
    def refusal(standing: Standing) -> ReportStatus:
        """The answer to a report that cannot settle anything."""
        return {
            Standing.RECHECKED: ReportStatus.DUPLICATE,
            Standing.SETTLED: ReportStatus.DUPLICATE,
            Standing.LATE_DEAD: ReportStatus.STALE_REJECTED,
        }.get(standing, ReportStatus.UNKNOWN)

    def note_late_report(self, action_id: str) -> None:
        """Count a report that came after the give-up: kept with the dead letter, changes nothing."""
        if self.dead is not None and action_id in self.dead:
            letter = self.dead[action_id]
            self.dead[action_id] = replace(letter, late_reports=letter.late_reports + 1)

    def forget(self, token: str) -> bool:
        """The attempt in flight with this token ended elsewhere: drop it, remember nothing. False where none is."""
        for action_id, delivery in self.live.items():
            lease = delivery.lease
            if delivery.state is DeliveryState.IN_FLIGHT and lease is not None and lease.token == token:
                del self.live[action_id]
                self.live.pop(delivery.action.look_of or action_id, None)
                return True
        return False

    def extend(self, token: str, *, now: float, policy: DeliveryPolicy) -> Delivery | None:
        """A heartbeat of the attempt in flight; None where `token` is not its token.

        In a pause it counts from the moment the clocks stopped.
        """
        now = now if self.pause is None else min(now, self.pause.since)
        for action_id, delivery in self.live.items():
            lease = delivery.lease
            if delivery.state is DeliveryState.IN_FLIGHT and lease is not None and lease.token == token:
                extended = replace(delivery, lease=lease.extended(now, total_s=policy.total_lease_s))
                self.live[action_id] = extended
                return extended
        return None

    # What time does

    def next_due(self) -> float | None:
        """When time next changes something here (`Delivery.due_at`); None where it does not, or in a pause."""
        if self.pause is not None:
            return None
        return min((due for d in self.live.values() if (due := d.due_at) is not None), default=None)

    def expire(self, *, now: float, wall_ns: int, policy: DeliveryPolicy) -> list[Expiry]:
        """Turn every lease that ran out into a waiting resend or a dead letter; let looks wait whose time has come.

        A resend that no poll came for in `policy.patience_for` is a dead letter too, its agent is dead; polls that
        had to leave it waiting (the host's queue goes first) give it that time anew. Where a look would be a dead
        letter, the action that it was after is settled with what was known before.
        """
        if self.pause is not None:
            return []
        due = [d for d in self.live.values() if d.due_at is not None and d.due_at <= now]
        expiries = (self._expire(delivery, now, wall_ns, policy) for delivery in due)
        return [expiry for expiry in expiries if expiry is not None]

    # What an operator does

    def hold(self, pause: Pause) -> bool:
        """Pause; False where the session is paused already (the first reason stays)."""
        if self.pause is not None:
            return False
        self.pause = pause
        return True

    def resume(self, now: float) -> bool:
        """Resume, and give every lease the time the pause took; False where the session was not paused."""
        if self.pause is None:
            return False
        passed = max(0.0, now - self.pause.since)
        self.pause = None
        self.live = {action_id: delivery.shifted(passed) for action_id, delivery in self.live.items()}
        return True

    def cancel(self) -> list[Delivery]:
        """Withdraw whatever waits or is in flight, and lift a pause; reports of it become duplicates."""
        withdrawn = list(self.live.values())
        for delivery in withdrawn:
            self._close(delivery.action.action_id, None)
        self.pause = None
        return withdrawn

    def redrive(self, dead_letter_id: str) -> Delivery | None:
        """Put a dead letter back at the head; None where there is no such letter."""
        for action_id, letter in (self.dead or {}).items():
            if letter.dead_letter_id == dead_letter_id and self.dead is not None:
                del self.dead[action_id]
                delivery = letter.delivery.redriven()
                self.live.pop(action_id, None)
                self.live = {action_id: delivery, **self.live}
                return delivery
        return None

    @property
    def blank(self) -> bool:
        """Whether nothing is kept here at all."""
        return not (self.live or self.settled or self.dead or self.pause)

    # Parts

    def _settled(self, action_id: str) -> Settled | None:
        return None if self.settled is None else self.settled.get(action_id)

    def _admit(self, action: Action) -> Delivery:
        """A new delivery; one of an action known to be over is a business retry of it, a look is no action."""
        known = self._settled(action.action_id)
        letter = (self.dead or {}).get(action.action_id)
        retry = known.retry + 1 if known and known.look_of is None else letter.delivery.retry + 1 if letter else 0
        return Delivery(action, DeliveryState.WAITING, retry=retry)

    def _leave(self, delivery: Delivery, *, token: str, now: float, policy: DeliveryPolicy) -> Delivery:
        dispatched = delivery.dispatched(token=token, now=now, timeout_s=policy.timeout_for(delivery.action))
        action_id = delivery.action.action_id
        self.live[action_id] = dispatched
        if self.settled is not None:
            self.settled.forget(action_id)
        if self.dead:
            self.dead.pop(action_id, None)
        return dispatched

    @staticmethod
    def _standing_of_live(delivery: Delivery, token: str | None) -> Standing:
        if token is not None and token not in delivery.tokens:
            return Standing.UNKNOWN
        if delivery.state is DeliveryState.RECHECKING:
            return Standing.RECHECKED
        if delivery.state is DeliveryState.WAITING:
            return Standing.LATE_WAITING
        current = delivery.lease is not None and token in (None, delivery.lease.token)
        return Standing.CURRENT if current else Standing.LATE_SUPERSEDED

    def _on_stopped_clock(self, recheck: Recheck) -> Recheck:
        """In a pause its delay counts from the moment the clocks stopped, as it goes on from there."""
        next_look = recheck.outcome.next_look
        if self.pause is None or next_look is None:
            return recheck
        return replace(recheck, not_before=min(recheck.not_before, self.pause.since + next_look.after_s))

    def _expire(self, delivery: Delivery, now: float, wall_ns: int, policy: DeliveryPolicy) -> Expiry | None:
        if delivery.state is DeliveryState.RECHECKING:
            self._ask(delivery, now, policy)
            return None
        patience_s = policy.patience_for(delivery.action, delivery.attempts)
        if delivery.state is DeliveryState.WAITING:
            if self.last_poll_at is not None and self.last_poll_at + patience_s > now:
                rearmed = replace(delivery, unpolled_until=self.last_poll_at + patience_s, judged_until=None)
                self.live[delivery.action.action_id] = rearmed
                return None
        elif policy.may_resend(delivery.action, delivery.attempts):
            self._requeue(delivery, now + patience_s, policy)
            return Expiry(delivery)
        cause = self._cause(delivery, now, policy)
        if delivery.action.look_of is not None:
            return self._lose(delivery, delivery.action.look_of, cause)
        return Expiry(delivery, dead=self._give_up(delivery, cause, now, wall_ns))

    def _ask(self, rechecking: Delivery, now: float, policy: DeliveryPolicy) -> None:
        """Put the look in front of everything that waits."""
        recheck = rechecking.recheck
        if recheck is None:
            msg = "a delivery that is rechecked says why"
            raise AssertionError(msg)
        action = rechecking.action
        look = look_at(action, purpose=Purpose.RECHECK, number=recheck.number, token=rechecking.tokens[-1])
        self.live[action.action_id] = replace(rechecking, recheck=recheck.asked(look.action_id))
        waits = Delivery(
            look,
            DeliveryState.WAITING,
            retry=rechecking.retry,
            unpolled_until=now + policy.patience_for(look, 0),
        )
        self.live = {look.action_id: waits, **self.live}

    def _lose(self, look: Delivery, look_of: str, cause: GiveUpCause) -> Expiry:
        """Nobody answers the look: what was known before is the action's outcome, and a person has to look."""
        recheck = self.live[look_of].recheck
        if recheck is None:
            msg = "a look is after a delivery that is rechecked"
            raise AssertionError(msg)
        outcome = recheck.outcome.final()
        self._close(look.action.action_id, outcome)
        return Expiry(look, settled=self._close(look_of, outcome), outcome=outcome, cause=cause)

    def _requeue(self, orphan: Delivery, unpolled_until: float, policy: DeliveryPolicy) -> None:
        action_id = orphan.action.action_id
        yields = policy.repush == "tail" and orphan.action.look_of is None
        waiting = orphan.orphaned(yields=yields, unpolled_until=unpolled_until)
        del self.live[action_id]
        if waiting.yields:
            self.live[action_id] = waiting
        else:
            self.live = {action_id: waiting, **self.live}

    def _give_up(self, orphan: Delivery, cause: GiveUpCause, now: float, wall_ns: int) -> DeadLetter:
        action_id = orphan.action.action_id
        del self.live[action_id]
        letter = DeadLetter(
            dead_letter_id=dead_letter_id(self.session_id, action_id, orphan.retry),
            delivery=orphan.given_up(),
            cause=cause,
            age_s=now - orphan.first_dispatched_at,
            wall_ns=wall_ns,
        )
        self.dead = {**(self.dead or {}), action_id: letter}
        return letter

    def _cause(self, orphan: Delivery, now: float, policy: DeliveryPolicy) -> GiveUpCause:
        if orphan.state is DeliveryState.WAITING:
            return GiveUpCause.AGENT_DEAD
        if orphan.attempts <= policy.max_resends:
            return GiveUpCause.ACTION_POISON
        lease = orphan.lease
        if lease is not None and lease.heartbeats:
            return GiveUpCause.AGENT_SLOW
        timeout_s = lease.timeout_s if lease is not None else 0.0
        silent = self.last_poll_at is None or now - self.last_poll_at >= timeout_s
        return GiveUpCause.AGENT_DEAD if silent else GiveUpCause.REPORT_LOST

    def _close(self, action_id: str, outcome: Outcome | None) -> Delivery:
        delivery = self.live.pop(action_id)
        if self.settled is None:
            self.settled = Settlements()
        self.settled.remember(
            Settled(
                action_id=action_id,
                retry=delivery.retry,
                attempts=delivery.attempts,
                tokens=delivery.tokens,
                outcome=outcome,
                look_of=delivery.action.look_of,
            )
        )
        state = DeliveryState.SETTLED if outcome is not None else DeliveryState.CANCELLED
        return delivery.judged(None, state=state)


def dead_letter_id(session_id: str, action_id: str, retry: int) -> str:
    """The same for the same three, and fit for a URL whatever the ids hold."""
    named = json.dumps([session_id, action_id, retry])
    return hashlib.sha256(named.encode()).hexdigest()[:32]
