"""The watchdog's timer: sleeps until the earliest deadline, never walks the leases that are fine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import current_token

from otel_validation.clock import Clock, SystemClock
from otel_validation.delivery.observer import Dispatched, Observer, PauseChanged, Rechecking

if TYPE_CHECKING:
    from otel_validation.delivery.engine import Engine

logger = logging.getLogger(__name__)

FAILED_SCAN_S = 1.0
"""The pause after a scan that raised: what was due still is, and must not be asked for in a busy loop."""


class Alarm:
    """A sleep that anything may cut short, from any thread, without blocking."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._thread = threading.get_ident()
        loop: Any = current_token().native_token
        self._call_soon = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon

    async def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`, or until `ring`."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        self._event = anyio.Event()

    def ring(self) -> None:
        """End the sleep, or the next one where none is under way. A loop that has ended has nobody to wake."""
        if threading.get_ident() == self._thread:
            self._event.set()
        else:
            with suppress(RuntimeError):
                self._call_soon(self._ring_here)

    def _ring_here(self) -> None:
        self._event.set()


class Watchdog(Observer):
    """Expires leases when their time comes.

    `run` is the timer; as an observer of the engine it hears of earlier deadlines. `max_sleep_s` (10 s by default, the
    seeds' scan interval) bounds a sleep, so that `last_scan_age_s` tells a live timer from a dead one. `chores` are
    called at each wake.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_sleep_s: float = 10.0,
        clock: Clock | None = None,
        chores: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine = engine
        self._clock = clock or SystemClock()
        self._max_sleep_s = max_sleep_s
        self._chores = chores
        self._alarm: Alarm | None = None
        self._asleep_until = float("-inf")
        self._last_scan_at: float | None = None
        self._stopped = False
        self.failed_scans = 0
        engine.observers.add(self)

    @property
    def running(self) -> bool:
        """Whether the timer runs."""
        return self._alarm is not None

    @property
    def last_scan_age_s(self) -> float | None:
        """Seconds since the last scan; None before the first."""
        return None if self._last_scan_at is None else self._clock.now() - self._last_scan_at

    async def run(self) -> None:
        """Scan until `stop`; a scan that raises is logged and counted, and the timer goes on.

        Returns at once where the watchdog is disabled, or where it runs already.
        """
        if not self._engine.policy.enabled or self.running:
            return
        self._alarm = Alarm()
        try:
            while not self._stopped:
                scanned = await self._scan()
                await self._sleep(self._alarm, at_least_s=0.0 if scanned else FAILED_SCAN_S)
        finally:
            self._alarm = None

    def stop(self) -> None:
        """End `run`, for good. From any thread."""
        self._stopped = True
        if self._alarm is not None:
            self._alarm.ring()

    def nudge(self, deadline: float = float("-inf")) -> None:
        """Wake the timer if it sleeps past `deadline` (seconds on the engine's clock). From any thread."""
        alarm = self._alarm
        if alarm is not None and deadline < self._asleep_until:
            alarm.ring()

    async def _scan(self) -> bool:
        try:
            self._chores()
        except Exception:
            logger.exception("the watchdog's chores failed; its scans go on")
        try:
            await self._engine.expire(timer=True)
        except Exception:
            self.failed_scans += 1
            logger.exception("a watchdog scan failed; the next one follows")
            return False
        self._last_scan_at = self._clock.now()
        return True

    async def _sleep(self, alarm: Alarm, *, at_least_s: float) -> None:
        now = self._clock.now()
        # Set before the await below, so that a dispatch in between finds it and rings.
        self._asleep_until = now + self._max_sleep_s
        try:
            due = await self._engine.next_due()
        except Exception:
            logger.exception("the earliest deadline could not be read; sleeping for the longest time")
            due = None
        if due is not None:
            self._asleep_until = min(self._asleep_until, due)
        await alarm.sleep(max(at_least_s, self._asleep_until - now))
        self._asleep_until = float("-inf")

    def dispatched(self, event: Dispatched) -> None:
        """A lease began: it may end before the timer's next wake."""
        if event.delivery.lease is not None:
            self.nudge(event.delivery.lease.deadline)

    def rechecking(self, event: Rechecking) -> None:
        """A look is to be handed out soon."""
        if event.delivery.due_at is not None:
            self.nudge(event.delivery.due_at)

    def pause_changed(self, event: PauseChanged) -> None:
        """Leases of a resumed session run again."""
        if event.pause is None:
            self.nudge()
