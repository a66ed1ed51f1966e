"""The only module that reads a clock.

Leases are measured on a monotonic clock, so that a jump of the wall clock neither kills nor hides work (DESIGN
section 4); the wall clock is read for timestamps that people and other machines see.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

import anyio


class Clock(Protocol):
    """Two readings: `now` in monotonic seconds, `wall_ns` in nanoseconds since the Unix epoch."""

    def now(self) -> float:
        """Seconds on the clock that leases are measured with."""

    def wall_ns(self) -> int:
        """Nanoseconds since the Unix epoch, for timestamps only."""


class SystemClock:
    """The machine's clocks. `now` does not run while a laptop sleeps (CLOCK_MONOTONIC)."""

    def now(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def wall_ns(self) -> int:
        """Nanoseconds of `time.time_ns`."""
        return time.time_ns()


class AnyioClock(SystemClock):
    """The running event loop's clock: under trio's MockClock a 24 h wait passes at once."""

    def now(self) -> float:
        """Seconds of the running loop; raises where none runs."""
        return anyio.current_time()


class VirtualClock:
    """A clock that stands still until it is advanced; `jump_wall` moves the wall clock alone."""

    def __init__(self, now: float = 1_000.0, wall_ns: int = 1_780_000_000 * 10**9) -> None:
        self._now = now
        self._wall_ns = wall_ns

    def now(self) -> float:
        """Virtual seconds."""
        return self._now

    def wall_ns(self) -> int:
        """Virtual wall time."""
        return self._wall_ns

    def advance(self, seconds: float) -> None:
        """Let both clocks pass `seconds` (0 or more)."""
        if seconds < 0:
            msg = "time does not run backwards: use jump_wall to move the wall clock"
            raise ValueError(msg)
        self._now += seconds
        self._wall_ns += round(seconds * 1e9)

    def jump_wall(self, seconds: float) -> None:
        """Move the wall clock, in either direction, and not the monotonic one."""
        self._wall_ns += round(seconds * 1e9)


def utc(wall_ns: int) -> datetime:
    """The wall time as an aware UTC datetime."""
    return datetime.fromtimestamp(wall_ns / 1e9, tz=UTC)


def stopwatch() -> float:
    """Seconds of the finest monotonic counter, for durations of a few milliseconds."""
    return time.perf_counter()
