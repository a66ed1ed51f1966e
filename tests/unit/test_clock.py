from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import anyio
import pytest
import trio
import trio.testing

from otel_validation.clock import AnyioClock, SystemClock, VirtualClock, stopwatch, utc


def test_the_system_clock_is_the_machines():
    clock = SystemClock()
    before, after = time.monotonic(), time.monotonic() + 5
    assert before <= clock.now() <= after
    assert abs(clock.wall_ns() - time.time_ns()) < 5 * 10**9
    assert stopwatch() <= stopwatch()


def test_a_day_on_the_virtual_loop_passes_at_once():
    async def sleep_a_day():
        clock, began = AnyioClock(), AnyioClock().now()
        await anyio.sleep(86_400)
        return clock.now() - began

    started = time.perf_counter()
    slept = trio.run(sleep_a_day, clock=trio.testing.MockClock(autojump_threshold=0))
    assert slept == pytest.approx(86_400)
    assert time.perf_counter() - started < 5


def test_the_virtual_clock_passes_only_when_told():
    clock = VirtualClock(now=0.0, wall_ns=0)
    assert (clock.now(), clock.wall_ns()) == (0.0, 0)
    clock.advance(1.5)
    assert (clock.now(), clock.wall_ns()) == (1.5, 1_500_000_000)


@pytest.mark.parametrize("seconds", [-3_600, 3_600])
def test_the_wall_clock_jumps_alone(seconds):
    clock = VirtualClock()
    now, wall = clock.now(), clock.wall_ns()
    clock.jump_wall(seconds)
    assert (clock.now(), clock.wall_ns() - wall) == (now, seconds * 10**9)


def test_virtual_time_does_not_run_backwards():
    with pytest.raises(ValueError, match="jump_wall"):
        VirtualClock().advance(-0.1)


def test_wall_times_are_aware():
    assert utc(1_780_000_000 * 10**9) == datetime(2026, 5, 28, 20, 26, 40, tzinfo=UTC)
    assert utc(0).utcoffset() == timedelta(0)
