"""The session: what is delivered to one agent's desktop, and every transition of it.

This is the unit that a store loads, locks and saves. All methods are synchronous and pure over the session: they
read no clock and do no I/O, so the same rules hold for every store and are tested without one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from otel_validation.delivery.lease import DeadLetter, Delivery, DeliveryState, GiveUpCause
from otel_validation.delivery.outcome import Pause, ReportStatus, Settled

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.delivery.outcome import Outcome
    from otel_validation.delivery.policy import DeliveryPolicy

REMEMBERED = 256
"""Settled actions remembered in a session for duplicates: as many as an agent remembers (watchdog seed, R3)."""


class Standing(Enum):
    """What a report's token makes of it."""

    CURRENT = auto()
    """The attempt in flight."""
    LATE_WAITING = auto()
    """An expired attempt whose resend has not been handed out yet."""
    LATE_SUPERSEDED = auto()
    """An expired attempt; a newer one is in flight."""
    LATE_DEAD = auto()
    """An attempt of an action that was given up."""
    SETTLED = auto()
    UNKNOWN = auto()


class Gate(Enum):
    """What a poll of this session may get."""

    OPEN = auto()
    """The host's next action."""
    HOST_FIRST = auto()
    """The host's next action, or the waiting one where the host has none (tail repush)."""
    WAITING = auto()
    """The waiting action, before anything of the host's."""
    HELD = auto()
    """Nothing: an action is in flight."""
    PAUSED = auto()
    """Nothing: the session is paused."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """One orphan and what became of it: `dead` is None where it waits to be resent.

    `orphan` is the delivery as it was: in flight where a lease expired, waiting where nobody polled for a resend.
    """

    orphan: Delivery
    delivery: Delivery
    dead: DeadLetter | None


@dataclass(slots=True)
class Session:
    """One session's deliveries. `live` holds those that wait or are in flight, in the order they will leave."""

    session_id: str
    live: dict[str, Delivery] = field(default_factory=dict)
    settled: dict[str, Settled] | None = None
    dead: dict[str, DeadLetter] | None = None
    pause: Pause | None = None
    last_poll_at: float | None = None

    def draft(self) -> Session:
        """A copy whose changes leave this one alone."""
        dead = dict(self.dead) if self.dead else None
        return Session(self.session_id, dict(self.live), self.settled, dead, self.pause, self.last_poll_at)

    def restore(self, before: Session) -> None:
        """Be as `before` again."""
        self.live, self.settled, self.dead = before.live, before.settled, before.dead
        self.pause, self.last_poll_at = before.pause, before.last_poll_at

    # What a poll may get

    def gate(self, now: float, *, serial: bool = True) -> Gate:
        """What the next poll gets; `waiting()` is the action where it is WAITING or HOST_FIRST.

        `serial` false: an action in flight holds nothing back (a disabled policy, whose leases never expire).
        """
        if self.pause is not None:
            return Gate.PAUSED
        if serial and any(d.state is DeliveryState.IN_FLIGHT or d.being_judged(now) for d in self.live.values()):
            return Gate.HELD
        waiting = self.waiting()
        if waiting is None:
            return Gate.OPEN
        return Gate.HOST_FIRST if waiting.yields else Gate.WAITING

    def waiting(self) -> Delivery | None:
        """The next action that waits to be handed out: those that go before the host's queue first."""
        waiting = [d for d in self.live.values() if d.state is DeliveryState.WAITING]
        return min(waiting, key=lambda d: d.yields, default=None)

    def dispatch(self, action: Action, *, token: str, now: float, policy: DeliveryPolicy) -> Delivery | None:
        """The host hands out `action`. Returns its delivery, or None where it must wait and was parked.

        An action waits where the session is paused, another is in flight, or another waited before it; waiting
        burns no attempt.
        """
        known = self.live.get(action.action_id)
        delivery = known if known is not None else self._admit(action)
        gate = self.gate(now, serial=policy.holds_back)
        first = self.waiting() if gate is Gate.WAITING and policy.serial else None
        overtakes = first is not None and first.action.action_id != action.action_id
        if gate in (Gate.PAUSED, Gate.HELD) or overtakes:
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
        settled = (self.settled or {}).get(action_id)
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

    def settle(self, action_id: str, token: str | None, outcome: Outcome) -> tuple[ReportStatus, Delivery | None]:
        """Make `outcome` the action's only one, where the token still allows it; checked again, atomically."""
        standing = self.standing(action_id, token)
        if standing in (Standing.CURRENT, Standing.LATE_WAITING):
            late = standing is Standing.LATE_WAITING
            return (ReportStatus.STALE_ADOPTED if late else ReportStatus.ACCEPTED), self._close(action_id, outcome)
        if standing is Standing.LATE_SUPERSEDED and outcome.confirmed:
            return ReportStatus.STALE_ADOPTED, self._close(action_id, outcome)
        if standing is Standing.LATE_SUPERSEDED:
            self.live[action_id] = self.live[action_id].judged(None)
            return ReportStatus.STALE_REJECTED, None
        return self.refusal(standing), None

    @staticmethod
    def refusal(standing: Standing) -> ReportStatus:
        """The answer to a report that cannot settle anything."""
        return {
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
        """Turn every lease that ran out into a waiting resend or a dead letter.

        A resend that no poll came for in `policy.patience_for` is a dead letter too, its agent is dead; polls that
        had to leave it waiting (the host's queue goes first) give it that time anew.
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

    def _admit(self, action: Action) -> Delivery:
        """A new delivery; one of an action known to be over is a business retry of it."""
        known = (self.settled or {}).get(action.action_id)
        letter = (self.dead or {}).get(action.action_id)
        retry = known.retry + 1 if known else letter.delivery.retry + 1 if letter else 0
        return Delivery(action, DeliveryState.WAITING, retry=retry)

    def _leave(self, delivery: Delivery, *, token: str, now: float, policy: DeliveryPolicy) -> Delivery:
        dispatched = delivery.dispatched(token=token, now=now, timeout_s=policy.timeout_for(delivery.action))
        action_id = delivery.action.action_id
        self.live[action_id] = dispatched
        if self.settled and action_id in self.settled:
            self.settled = {known: settled for known, settled in self.settled.items() if known != action_id}
        if self.dead:
            self.dead.pop(action_id, None)
        return dispatched

    @staticmethod
    def _standing_of_live(delivery: Delivery, token: str | None) -> Standing:
        if token is not None and token not in delivery.tokens:
            return Standing.UNKNOWN
        if delivery.state is DeliveryState.WAITING:
            return Standing.LATE_WAITING
        current = delivery.lease is not None and token in (None, delivery.lease.token)
        return Standing.CURRENT if current else Standing.LATE_SUPERSEDED

    def _expire(self, delivery: Delivery, now: float, wall_ns: int, policy: DeliveryPolicy) -> Expiry | None:
        patience_s = policy.patience_for(delivery.action, delivery.attempts)
        if delivery.state is DeliveryState.WAITING:
            if self.last_poll_at is not None and self.last_poll_at + patience_s > now:
                rearmed = replace(delivery, unpolled_until=self.last_poll_at + patience_s, judged_until=None)
                self.live[delivery.action.action_id] = rearmed
                return None
            return Expiry(delivery, delivery, self._give_up(delivery, GiveUpCause.AGENT_DEAD, now, wall_ns))
        if policy.may_resend(delivery.action, delivery.attempts):
            return Expiry(delivery, self._requeue(delivery, now + patience_s, policy), None)
        return Expiry(delivery, delivery, self._give_up(delivery, self._cause(delivery, now, policy), now, wall_ns))

    def _requeue(self, orphan: Delivery, unpolled_until: float, policy: DeliveryPolicy) -> Delivery:
        action_id = orphan.action.action_id
        waiting = orphan.orphaned(yields=policy.repush == "tail", unpolled_until=unpolled_until)
        del self.live[action_id]
        if waiting.yields:
            self.live[action_id] = waiting
        else:
            self.live = {action_id: waiting, **self.live}
        return waiting

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
        settled = dict(self.settled or {})
        settled[action_id] = Settled(
            action_id=action_id,
            retry=delivery.retry,
            attempts=delivery.attempts,
            tokens=delivery.tokens,
            outcome=outcome,
        )
        while len(settled) > REMEMBERED:
            del settled[next(iter(settled))]
        self.settled = settled
        state = DeliveryState.SETTLED if outcome is not None else DeliveryState.CANCELLED
        return delivery.judged(None, state=state)


def dead_letter_id(session_id: str, action_id: str, retry: int) -> str:
    """The same for the same three, and fit for a URL whatever the ids hold."""
    named = json.dumps([session_id, action_id, retry])
    return hashlib.sha256(named.encode()).hexdigest()[:32]
