"""How late an orphan is found, with many leases in flight on the real clock."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median

from benchmarks.figures import Figure, Goal
from benchmarks.leases import action, click, counting_provider
from benchmarks.options import Options, logs_formatted_and_dropped, no_collections, percentile, progress
from otel_validation.clock import SystemClock
from otel_validation.delivery.observer import Observer, Orphaned
from otel_validation.plugin import Plugin
from otel_validation.settings import Settings

NAME = "lateness"
LEASES = 10_000
RATE = 500.0
"""Leases that end each second: more than the 333 of 10,000 agents that all die within one 30 s lease."""
LEASE_S = 30.0
LATER_S = 500.0
"""The lease of those that do not end within the measurement."""
START_S = 0.5
"""How long before the first lease ends the clock starts."""
LATENESS_GOAL = Goal("<", 50.0)
PULSE_S = 0.001


class HeldClock(SystemClock):
    """The real clock, held still until `release`: dispatching 10,000 leases takes time, and none must end meanwhile."""

    def __init__(self) -> None:
        self._held_at: float | None = super().now()
        self._lost_s = 0.0

    def now(self) -> float:
        """Monotonic seconds, less those that the clock was held."""
        return super().now() - self._lost_s if self._held_at is None else self._held_at

    def release(self, ahead_s: float) -> None:
        """Let it run, from `ahead_s` later on."""
        if self._held_at is not None:
            self._lost_s, self._held_at = super().now() - self._held_at - ahead_s, None


@dataclass(slots=True)
class Lateness(Observer):
    """Keeps each orphan's lateness in seconds; `done` is set at the last of `expected`."""

    expected: int
    found: list[float] = field(default_factory=list)
    collection_s: float = 0.0
    """What one full garbage collection took, with every lease in flight."""
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def orphaned(self, event: Orphaned) -> None:
        """Keep it."""
        self.found.append(event.lateness_s)
        if len(self.found) == self.expected:
            self.done.set()


def run(options: Options) -> list[Figure]:
    """Leases that end one after the other while 10,000 are in flight, then (not in a short run) 10,000 at one instant.

    The whole plugin runs, its spans into a batch processor, its log lines formatted: only HTTP is left out. The first
    gives p50, p99 and max of the lateness that observers are told. In the burst nothing bounds the time to the last
    orphan but the work itself; the longest hold of the loop is how long no other task got its turn meanwhile.
    """
    leases = options.count(LEASES)
    ending = max(10, leases // options.rounds(2, 10))
    found, bursts = [], []
    with logs_formatted_and_dropped("otel_validation"):
        for number in range(options.rounds(3, 1)):
            progress(f"{leases:,} leases in flight, {ending:,} end within {ending / RATE:g} s, round {number + 1}")
            with options.profiled("orphans one after the other"):
                found.append(asyncio.run(_spread(leases, ending)))
            if options.short:
                continue
            progress(f"{leases:,} leases that end at once, round {number + 1}")
            with options.profiled("orphans at one instant"):
                bursts.append(asyncio.run(_burst(leases)))
    return _figures(leases, found, bursts)


@dataclass(frozen=True, slots=True)
class Burst:
    """Seconds until the last orphan was found, of CPU for all of them, and of the longest hold of the loop."""

    last_s: float
    cpu_s: float
    hold_s: float


def _figures(leases: int, rounds: list[Lateness], bursts: list[Burst]) -> list[Figure]:
    def over(percent: float) -> float:
        return median(percentile(one.found, percent) for one in rounds) * 1e3

    figures = [
        Figure(NAME, f"p50, {leases:,} in flight", over(50), "ms"),
        Figure(NAME, f"p99, {leases:,} in flight", over(99), "ms", LATENESS_GOAL),
        Figure(NAME, f"max, {leases:,} in flight", over(100), "ms"),
        Figure(NAME, "pause of a full garbage collection then", median(one.collection_s for one in rounds) * 1e3, "ms"),
    ]
    return figures + _burst_figures(leases, bursts) if bursts else figures


def _burst_figures(leases: int, bursts: list[Burst]) -> list[Figure]:
    title = f"{leases:,} at one instant"
    return [
        Figure(NAME, f"{title}, until the last", median(b.last_s for b in bursts) * 1e3, "ms"),
        Figure(NAME, f"{title}, CPU of each", median(b.cpu_s for b in bursts) / leases * 1e6, "us"),
        Figure(NAME, f"{title}, longest hold of the loop", median(b.hold_s for b in bursts) * 1e3, "ms"),
    ]


async def _spread(leases: int, ending: int) -> Lateness:
    clock = HeldClock()
    plugin, lateness = _plugin(clock, ending)
    timeouts_s = [LEASE_S + place / RATE if place < ending else LATER_S for place in range(leases)]
    random.Random(1).shuffle(timeouts_s)
    await _dispatch(plugin, timeouts_s)
    await _watch(plugin, lateness, clock)
    return lateness


async def _burst(leases: int) -> Burst:
    clock = HeldClock()
    plugin, lateness = _plugin(clock, leases)
    await _dispatch(plugin, [LEASE_S] * leases)
    holds: list[float] = []
    pulse = asyncio.create_task(_pulse(holds))
    cpu_s = time.thread_time()
    await _watch(plugin, lateness, clock)
    cpu_s = time.thread_time() - cpu_s
    pulse.cancel()
    with suppress(asyncio.CancelledError):
        await pulse
    return Burst(max(lateness.found), cpu_s, max(holds))


def _plugin(clock: HeldClock, expected: int) -> tuple[Plugin, Lateness]:
    lateness = Lateness(expected)
    settings = Settings(validator_mode="off", watchdog_enabled=True)
    provider, _ = counting_provider()
    return Plugin(settings, tracer_provider=provider, observers=[lateness], clock=clock), lateness


async def _dispatch(plugin: Plugin, timeouts_s: list[float]) -> None:
    """One lease in each session, each of its own length."""
    with no_collections():
        for number, timeout_s in enumerate(timeouts_s):
            await plugin.engine.dispatch(action(number, click(number, visibility_timeout_s=timeout_s)))


async def _watch(plugin: Plugin, lateness: Lateness, clock: HeldClock) -> None:
    # What was dispatched is old, as in a server that has run for a while. Were it young, one full collection would fall
    # into the measurement: its pause is a figure of its own.
    began = time.monotonic()
    gc.collect()
    lateness.collection_s = time.monotonic() - began
    clock.release(LEASE_S - START_S)
    timer = asyncio.create_task(plugin.watchdog.run())
    await lateness.done.wait()
    plugin.watchdog.stop()
    await timer


async def _pulse(holds: list[float]) -> None:
    """How much longer than asked a short sleep of another task takes."""
    while True:
        began = time.monotonic()
        try:
            await asyncio.sleep(PULSE_S)
        finally:
            holds.append(time.monotonic() - began - PULSE_S)
