"""The engine: dispatch, report, extend, expire, settle. It owns the order of things, the session owns the rules."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anyio.lowlevel import checkpoint

from otel_validation.clock import Clock, SystemClock, stopwatch, utc
from otel_validation.delivery.judging import Glance, Handoff, Judge, Judging, pause_for
from otel_validation.delivery.keyed import KeyedSignals
from otel_validation.delivery.lease import DeliveryState
from otel_validation.delivery.observer import (
    Dispatched,
    LookLost,
    Observer,
    Observers,
    Orphaned,
    PauseChanged,
    Redriven,
    Scanned,
    Withdrawn,
)
from otel_validation.delivery.outcome import Pause, PauseReason
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.reports import Reports
from otel_validation.delivery.standing import Expiry, Gate
from otel_validation.errors import UnknownDeadLetterError, UnknownSessionError
from otel_validation.validation.routing import RoutingPolicy

if TYPE_CHECKING:
    from datetime import datetime

    from otel_validation.delivery.action import Action
    from otel_validation.delivery.lease import DeadLetter, Delivery, Lease
    from otel_validation.delivery.outcome import ReportOutcome
    from otel_validation.delivery.session import Session
    from otel_validation.delivery.store import Store
    from otel_validation.validation.report import Report

logger = logging.getLogger(__name__)

CLAIM_BATCH = 64
"""Sessions with expired leases taken from the store at once; more are taken at once after them."""
QUARANTINE_S = 60.0
"""How long a session whose entry could not be processed is left alone."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """An attempt on its way out, and when its lease ends on the wall clock."""

    delivery: Delivery
    lease: Lease
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Forward:
    """The host answers this poll. `waiting`: where it has nothing, an action waits to be handed out."""

    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Nothing to hand out: an action of the session is in flight, or about to be looked at again."""


PollAnswer = Ticket | Forward | Held | Pause


class Engine:
    """Delivery with leases over a store.

    `judge` gives the verdict of a report; None judges nothing, so the agent's word stands. `glance` spares the judge,
    and a visit to the store, where a report holds nothing to judge. `handoff` is called where a verdict says that a
    dialog is in the way; where it answers True the action is looked at again. Nothing here knows of HTTP or telemetry:
    `observer` is told what happened.
    """

    def __init__(
        self,
        store: Store,
        *,
        judge: Judge | None = None,
        glance: Glance | None = None,
        handoff: Handoff | None = None,
        policy: DeliveryPolicy | None = None,
        routing: RoutingPolicy | None = None,
        clock: Clock | None = None,
        observer: Observer | None = None,
        new_token: Callable[[], str] = lambda: secrets.token_urlsafe(16),
    ) -> None:
        self.policy = policy or DeliveryPolicy()
        self.observers = Observers([observer] if observer is not None else [])
        self._store = store
        self._clock = clock or SystemClock()
        self._new_token = new_token
        self._news = KeyedSignals()
        self._reports = Reports(
            store,
            Judging(judge, self._routing(routing or RoutingPolicy()), glance=glance, handoff=handoff),
            policy=self.policy,
            clock=self._clock,
            observers=self.observers,
            news=self._news,
        )

    # Dispatch

    async def poll(self, session_id: str, *, hand_out: bool = True) -> PollAnswer:
        """An agent asks for work: the waiting action, a pause, nothing, or whatever the host has.

        With `hand_out=False` (whoever asks may not have it) a waiting action stays where it is, the answer is `Held`,
        and the agent is no more alive for it.

        Expired leases of all sessions are swept first, so that a poll is right even where no timer runs.
        """
        now = self._clock.now()
        known = await self._store.known(session_id)
        due = await self._store.next_due()
        if due is not None and due <= now:
            if known and hand_out:
                async with self._store.session(session_id) as session:
                    session.last_poll_at = now
            await self.expire()
        if not known:
            return Forward()
        async with self._store.session(session_id) as session:
            if hand_out:
                session.last_poll_at = now
            if session.pause is not None:
                return session.pause
            gate = session.gate(now, serial=self.policy.holds_back)
            delivery = self._hand_out(session, now) if gate is Gate.WAITING and hand_out else None
        if delivery is not None:
            return self._leave(delivery, now)
        return Held() if gate in (Gate.HELD, Gate.WAITING) else Forward(waiting=gate is Gate.HOST_FIRST)

    async def dispatch(self, action: Action, *, token: str | None = None) -> Ticket | None:
        """The host hands out `action`: durable before the bytes leave. None where it must wait and was parked.

        `token` is the attempt's own, new and unguessable by default.
        """
        now = self._clock.now()
        async with self._store.session(action.session_id) as session:
            session.last_poll_at = now
            delivery = session.dispatch(action, token=token or self._new_token(), now=now, policy=self.policy)
        return None if delivery is None else self._leave(delivery, now)

    async def dispatch_waiting(self, session_id: str) -> Ticket | None:
        """Hand out the waiting action after the host had nothing; None where it is gone by now."""
        now = self._clock.now()
        async with self._store.session(session_id) as session:
            open_now = session.gate(now, serial=self.policy.holds_back) in (Gate.WAITING, Gate.HOST_FIRST)
            delivery = self._hand_out(session, now) if open_now else None
        return None if delivery is None else self._leave(delivery, now)

    async def park(self, action: Action) -> None:
        """Keep an action that the host let go and nobody received; it goes to the next poll, as attempt 1."""
        async with self._store.session(action.session_id) as session:
            session.park(action)
        self._news.notify(action.session_id)

    async def news(self, session_id: str, timeout_s: float) -> bool:
        """Wait until something changed in the session; False where nothing did within `timeout_s`."""
        return await self._news.wait(session_id, timeout_s)

    async def report(self, report: Report) -> ReportOutcome:
        """Judge and settle. Identical reports at the same time are judged once; never raises for what a client sent.

        A judgement that has begun is finished, even where the caller is cancelled (a client that closed its socket).
        """
        return await self._reports.take(report)

    # Leases

    async def extend(self, token: str) -> Ticket | Pause | None:
        """A heartbeat: the extended lease, the session's pause where it is paused, None for a token not in flight."""
        session_id = await self._store.session_of(token)
        if session_id is None:
            return None
        now = self._clock.now()
        async with self._store.session(session_id) as session:
            session.last_poll_at = now
            pause = session.pause
            delivery = session.extend(token, now=now, policy=self.policy)
        if delivery is None or delivery.lease is None:
            return None
        return pause or Ticket(delivery, delivery.lease, self._wall(delivery.lease.deadline, now))

    async def forget(self, token: str) -> bool:
        """The attempt in flight with this token ended by other means than a report; False where none is."""
        session_id = await self._store.session_of(token)
        if session_id is None:
            return False
        async with self._store.session(session_id) as session:
            forgotten = session.forget(token)
        self._news.notify(session_id)
        return forgotten

    async def expire(self, *, timer: bool = False) -> Scanned | None:
        """Claim every lease that ran out: resend or give up. None where the watchdog is disabled or nothing was due.

        A resend that nobody polled for is given up too (`DeliveryPolicy.patience_for`); it was counted as an orphan
        when its lease expired, and is not counted again.
        The cost is that of the leases that expired, not of those in flight. With `timer` a scan that found nothing is
        told to observers too.
        """
        if not self.policy.enabled:
            return None
        began, counts = stopwatch(), {"orphans": 0, "resent": 0, "given_up": 0, "failed": 0}
        more = True
        while more:
            due = await self._store.due(self._clock.now(), CLAIM_BATCH)
            for session_id in due:
                await self._expire_session(session_id, counts)
            more = len(due) == CLAIM_BATCH
            if more:
                await checkpoint()  # ten thousand leases that end at one instant must not hold the loop
        if not timer and not any(counts.values()):
            return None
        scanned = Scanned(
            session_id="",
            wall_ns=self._clock.wall_ns(),
            **counts,
            in_flight=await self._store.in_flight(),
            elapsed_s=stopwatch() - began,
        )
        self.observers.scanned(scanned)
        return scanned

    async def next_due(self) -> float | None:
        """When the next lease expires, in seconds on the engine's clock; None where none runs."""
        return await self._store.next_due() if self.policy.enabled else None

    async def _expire_session(self, session_id: str, counts: dict[str, int]) -> None:
        now, wall_ns = self._clock.now(), self._clock.wall_ns()
        pause = None
        try:
            async with self._store.session(session_id) as session:
                expiries = session.expire(now=now, wall_ns=wall_ns, policy=self.policy)
                wanted = next((p for e in expiries if (p := _pause_after(e, now)) is not None), None)
                pause = wanted if wanted is not None and session.hold(wanted) else None
        except Exception:
            counts["failed"] += 1
            logger.exception("a session could not be swept; left alone for %g s", QUARANTINE_S)
            await self._store.defer(session_id, now + QUARANTINE_S)
            return
        for expiry in expiries:
            counts["orphans"] += expiry.orphan.state is DeliveryState.IN_FLIGHT
            counts["resent" if expiry.dead is None and expiry.settled is None else "given_up"] += 1
            self._tell_of(expiry, session_id, now, wall_ns)
        if pause is not None:
            self._pause_changed(session_id, pause)
        self._news.notify(session_id)

    def _tell_of(self, expiry: Expiry, session_id: str, now: float, wall_ns: int) -> None:
        if expiry.settled is not None:
            self._reports.forget(expiry.settled.action)
            self.observers.look_lost(_look_lost(session_id, expiry, now, wall_ns))
        elif self.observers.listen("orphaned"):
            self.observers.orphaned(_orphaned(session_id, expiry, now, wall_ns))

    # Operators

    async def pause(self, session_id: str, message: str = "paused by an operator") -> Pause:
        """Hand out nothing and freeze lease clocks; an existing pause stays as it is."""
        now = self._clock.now()
        pause = Pause(PauseReason.OPERATOR, message, now)
        async with self._store.session(session_id) as session:
            changed = session.hold(pause)
            current = session.pause or pause
        if changed:
            self._pause_changed(session_id, pause)
        return current

    async def give_up_elsewhere(self, session_id: str) -> None:
        """An action of this session that is not delivered here was given up: hand out nothing further."""
        now = self._clock.now()
        pause = Pause(PauseReason.GIVE_UP, "an action was given up", now)
        async with self._store.session(session_id) as session:
            changed = session.hold(pause)
        if changed:
            self._pause_changed(session_id, pause)

    async def resume(self, session_id: str) -> bool:
        """Go on: leases get the time the pause took. False where the session was not paused."""
        await self._must_know(session_id)
        async with self._store.session(session_id) as session:
            changed = session.resume(self._clock.now())
        if changed:
            self._pause_changed(session_id, None)
        return changed

    async def cancel(self, session_id: str) -> list[Delivery]:
        """Withdraw whatever waits or is in flight and lift a pause; later reports of it are duplicates."""
        await self._must_know(session_id)
        async with self._store.session(session_id) as session:
            lifted = session.pause is not None
            withdrawn = session.cancel()
        for delivery in withdrawn:
            self._reports.forget(delivery.action)
        self.observers.withdrawn(
            Withdrawn(session_id=session_id, wall_ns=self._clock.wall_ns(), deliveries=tuple(withdrawn))
        )
        if lifted:
            self._pause_changed(session_id, None)
        self._news.notify(session_id)
        return withdrawn

    async def dead_letters(self) -> list[DeadLetter]:
        """Every dead letter, oldest first."""
        return await self._store.dead_letters()

    async def redrive(self, dead_letter_id: str) -> Delivery:
        """Put a dead letter back at the head with a fresh budget, and lift the pause that its give-up caused."""
        letter = next((d for d in await self._store.dead_letters() if d.dead_letter_id == dead_letter_id), None)
        if letter is None:
            raise UnknownDeadLetterError(dead_letter_id)
        session_id = letter.delivery.action.session_id
        async with self._store.session(session_id) as session:
            delivery = session.redrive(dead_letter_id)
            lifted = session.pause is not None and session.pause.reason is PauseReason.GIVE_UP and not session.dead
            if lifted:
                session.resume(self._clock.now())
        if delivery is None:
            raise UnknownDeadLetterError(dead_letter_id)
        self.observers.redriven(Redriven(session_id=session_id, wall_ns=self._clock.wall_ns(), delivery=delivery))
        if lifted:
            self._pause_changed(session_id, None)
        self._news.notify(session_id)
        return delivery

    async def knows(self, session_id: str) -> bool:
        """Whether anything is kept of this session."""
        return await self._store.known(session_id)

    def inspect(self, session_id: str) -> AbstractAsyncContextManager[Session]:
        """The session as it is, to read."""
        return self._store.session(session_id)

    async def in_flight(self) -> int:
        """How many actions are in flight."""
        return await self._store.in_flight()

    # Parts

    def _routing(self, routing: RoutingPolicy) -> RoutingPolicy:
        """Without a timer nobody would ever hand a look out."""
        return routing if self.policy.enabled else replace(routing, rechecks=0)

    def _hand_out(self, session: Session, now: float) -> Delivery | None:
        return session.hand_out(token=self._new_token(), now=now, policy=self.policy)

    def _leave(self, delivery: Delivery, now: float) -> Ticket:
        lease = delivery.lease
        if lease is None:
            msg = "a dispatched delivery has a lease"
            raise AssertionError(msg)
        self.observers.dispatched(
            Dispatched(session_id=delivery.action.session_id, wall_ns=self._clock.wall_ns(), delivery=delivery)
        )
        return Ticket(delivery, lease, self._wall(lease.deadline, now))

    def _wall(self, deadline: float, now: float) -> datetime:
        return utc(self._clock.wall_ns() + round((deadline - now) * 1e9))

    def _pause_changed(self, session_id: str, pause: Pause | None) -> None:
        self.observers.pause_changed(PauseChanged(session_id=session_id, wall_ns=self._clock.wall_ns(), pause=pause))
        self._news.notify(session_id)

    async def _must_know(self, session_id: str) -> None:
        if not await self._store.known(session_id):
            raise UnknownSessionError(session_id)


def _pause_after(expiry: Expiry, now: float) -> Pause | None:
    if expiry.dead is not None:
        return Pause(PauseReason.GIVE_UP, f"an action was given up: {expiry.dead.cause.value}", now)
    return None if expiry.outcome is None else pause_for(expiry.outcome, now)


def _orphaned(session_id: str, expiry: Expiry, now: float, wall_ns: int) -> Orphaned:
    return Orphaned(
        session_id=session_id,
        wall_ns=wall_ns,
        orphan=expiry.orphan,
        dead=expiry.dead,
        age_s=now - expiry.orphan.first_dispatched_at,
        lateness_s=_lateness(expiry.orphan, now),
    )


def _look_lost(session_id: str, expiry: Expiry, now: float, wall_ns: int) -> LookLost:
    if expiry.settled is None or expiry.outcome is None or expiry.cause is None:
        msg = "a lost look settles its action"
        raise AssertionError(msg)
    return LookLost(
        session_id=session_id,
        wall_ns=wall_ns,
        look=expiry.orphan,
        delivery=expiry.settled,
        outcome=expiry.outcome,
        cause=expiry.cause,
        lateness_s=_lateness(expiry.orphan, now),
    )


def _lateness(orphan: Delivery, now: float) -> float:
    return 0.0 if orphan.due_at is None else now - orphan.due_at
