"""Leases and deliveries: immutable values and the pure transitions between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.delivery.look import Recheck


class DeliveryState(StrEnum):
    """Where one action's delivery stands."""

    WAITING = "waiting"
    """To be handed to the next poll: an orphan's resend, or an action that never left (parked, redriven)."""
    IN_FLIGHT = "in_flight"
    """Handed out; its lease runs."""
    RECHECKING = "rechecking"
    """Reported, and not confirmed yet: a look at the screen decides. Nothing else is handed out meanwhile."""
    SETTLED = "settled"
    """One outcome was made durable."""
    DEAD = "dead"
    """Given up: a dead letter."""
    CANCELLED = "cancelled"
    """Withdrawn by an operator."""


class GiveUpCause(StrEnum):
    """Why the last allowed attempt expired (DESIGN section 4, dead agent)."""

    AGENT_DEAD = "agent_dead"
    """The agent has not polled for longer than the lease, or never came back for a resend."""
    AGENT_SLOW = "agent_slow"
    """The agent was sending heartbeats for this attempt and ran into the total deadline."""
    REPORT_LOST = "report_lost"
    """The agent is polling, yet no report of this action arrived."""
    ACTION_POISON = "action_poison"
    """The action's own entry is corrupt, or the action may not be resent."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The time-bounded claim of one attempt. Times are seconds on the engine's clock."""

    token: str
    attempt: int
    leased_at: float
    deadline: float
    timeout_s: float
    heartbeats: int = 0

    def extended(self, now: float, *, total_s: float) -> Lease:
        """A heartbeat's effect: a full timeout from `now`, capped at `total_s` after the lease began."""
        deadline = min(now + self.timeout_s, self.leased_at + total_s)
        return replace(self, deadline=max(self.deadline, deadline), heartbeats=self.heartbeats + 1)

    def shifted(self, seconds: float) -> Lease:
        """The same lease after a pause of `seconds`: a paused clock does not run."""
        return replace(self, deadline=self.deadline + seconds, leased_at=self.leased_at + seconds)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One action's delivery: every attempt from its first dispatch to its terminal state.

    `attempts` counts dispatches (transport); `retry` counts the times the host handed out an action that had been
    settled before (business). `lease` is the last attempt's. `former` holds the tokens of expired attempts.
    """

    action: Action
    state: DeliveryState
    retry: int = 0
    attempts: int = 0
    lease: Lease | None = None
    former: tuple[str, ...] = ()
    first_dispatched_at: float = 0.0
    judged_until: float | None = None
    """While a report is judged the lease does not expire before this; a copy that waits is not handed out."""
    yields: bool = False
    """Whether the host's own queue goes first (tail repush)."""
    unpolled_until: float | None = None
    """A resend or a look that no poll came for until then is given up: its agent is dead. None where an action never
    left before."""
    recheck: Recheck | None = None
    """Set while it is RECHECKING."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token ever given out for this delivery, the latest last."""
        return self.former if self.lease is None else (*self.former, self.lease.token)

    @property
    def due_at(self) -> float | None:
        """When time next changes this delivery, in seconds; None where it never does.

        In flight: when its lease expires. A waiting resend: when its agent counts as dead (`unpolled_until`). An
        action that has not left yet waits without limit. Rechecking: when its look is to be handed out; from then on
        the look's own times count.
        """
        if self.state is DeliveryState.IN_FLIGHT and self.lease is not None:
            due = self.lease.deadline
        elif self.state is DeliveryState.WAITING and self.unpolled_until is not None:
            due = self.unpolled_until
        elif self.recheck is not None and self.recheck.look_id is None:
            due = self.recheck.not_before
        else:
            return None
        return due if self.judged_until is None else max(due, self.judged_until)

    def being_judged(self, now: float) -> bool:
        """Whether a report of it is under judgement."""
        return self.judged_until is not None and now < self.judged_until

    def holds_back(self, now: float) -> bool:
        """Whether nothing may be handed out for it, though it is not in flight: judged, or about to be looked at."""
        if self.recheck is not None:
            return self.recheck.look_id is None
        return self.being_judged(now)

    def dispatched(self, *, token: str, now: float, timeout_s: float) -> Delivery:
        """The next attempt leaves."""
        lease = Lease(token, self.attempts + 1, now, now + timeout_s, timeout_s)
        # Spelled out here and below: `replace` looks at every field by name, a sixth of what a resend costs.
        return Delivery(
            self.action,
            DeliveryState.IN_FLIGHT,
            retry=self.retry,
            attempts=self.attempts + 1,
            lease=lease,
            former=self.tokens,
            first_dispatched_at=self.first_dispatched_at if self.tokens else now,
        )

    def orphaned(self, *, yields: bool, unpolled_until: float | None = None) -> Delivery:
        """The lease expired and a resend is allowed: the action waits for the next poll, until `unpolled_until`."""
        return Delivery(
            self.action,
            DeliveryState.WAITING,
            retry=self.retry,
            attempts=self.attempts,
            lease=self.lease,
            former=self.former,
            first_dispatched_at=self.first_dispatched_at,
            yields=yields,
            unpolled_until=unpolled_until,
        )

    def judged(self, until: float | None, *, state: DeliveryState | None = None) -> Delivery:
        """A report is being judged until then (None: no more), perhaps with a new state."""
        return Delivery(
            self.action,
            state or self.state,
            retry=self.retry,
            attempts=self.attempts,
            lease=self.lease,
            former=self.former,
            first_dispatched_at=self.first_dispatched_at,
            judged_until=until,
            yields=self.yields,
            unpolled_until=self.unpolled_until,
        )

    def rechecked(self, recheck: Recheck) -> Delivery:
        """Its report, or the last look's, did not confirm it: it is looked at again."""
        return replace(
            self, state=DeliveryState.RECHECKING, recheck=recheck, judged_until=None, yields=False, unpolled_until=None
        )

    def given_up(self) -> Delivery:
        """The last allowed attempt expired, or nobody came for it."""
        return replace(self, state=DeliveryState.DEAD, judged_until=None, unpolled_until=None)

    def redriven(self) -> Delivery:
        """An operator puts a dead letter back: a fresh resend budget, the tokens stay known."""
        return replace(
            self, state=DeliveryState.WAITING, retry=self.retry + 1, attempts=0, former=self.tokens, lease=None
        )

    def shifted(self, seconds: float) -> Delivery:
        """The delivery after a pause of `seconds`."""
        lease = self.lease.shifted(seconds) if self.lease is not None else None
        judged = None if self.judged_until is None else self.judged_until + seconds
        unpolled = None if self.unpolled_until is None else self.unpolled_until + seconds
        recheck = None if self.recheck is None else self.recheck.shifted(seconds)
        return replace(self, lease=lease, judged_until=judged, unpolled_until=unpolled, recheck=recheck)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An action that was given up. `age_s` is the time from its first dispatch, `wall_ns` when it happened."""

    dead_letter_id: str
    delivery: Delivery
    cause: GiveUpCause
    age_s: float
    wall_ns: int
    late_reports: int = 0
