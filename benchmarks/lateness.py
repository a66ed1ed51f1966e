"""How late an orphan is found, with many leases in flight on the real clock."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from statistics import median

from benchmarks.figures import Figure, Goal
from benchmarks.leases import action, click, counting_provider
from benchmarks.options import Options, logs_formatted_and_dropped, percentile, progress
from otel_validation.delivery.observer import Observer, Orphaned
from otel_validation.plugin import Plugin
from otel_validation.settings import Settings

NAME = "lateness"
LEASES = 10_000
SPREAD_S = 5.0
"""Over so long the leases end, one after the other: 2,000 a second."""
LATENESS_GOAL = Goal("<", 50.0)
PULSE_S = 0.001


@dataclass(slots=True)
class Lateness(Observer):
    """Keeps each orphan's lateness in seconds; `done` is set at the last of `expected`."""

    expected: int
    found: list[float] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    last_at: float = 0.0

    def orphaned(self, event: Orphaned) -> None:
        """Keep it."""
        self.found.append(event.lateness_s)
        self.last_at = time.monotonic()
        if len(self.found) == self.expected:
            self.done.set()


def run(options: Options) -> list[Figure]:
    """Leases that end one after the other (p50, p99, max of the lateness), then all of them at one instant.

    The whole plugin runs, its spans into a batch processor, its log lines formatted: only HTTP is left out. In the
    burst nothing bounds the time to the last orphan but the work itself; `longest hold of the loop` is how long no
    other task got its turn meanwhile.
    """
    leases = options.count(LEASES)
    spread_s = SPREAD_S * min(1.0, max(options.scale * 10, 0.05))
    found, bursts, holds = [], [], []
    with logs_formatted_and_dropped("otel_validation"):
        for number in range(options.rounds(3, 1)):
            progress(f"{leases:,} leases that end within {spread_s:g} s, round {number + 1}")
            with options.profiled("orphans one after the other"):
                found.append(asyncio.run(_spread(leases, spread_s)))
            progress(f"{leases:,} leases that end at once, round {number + 1}")
            last_s, hold_s = asyncio.run(_burst(leases))
            bursts.append(last_s)
            holds.append(hold_s)
    return _figures(leases, found, bursts, holds)


def _figures(leases: int, found: list[list[float]], bursts: list[float], holds: list[float]) -> list[Figure]:
    def over(percent: float) -> float:
        return median(percentile(one, percent) for one in found) * 1e3

    return [
        Figure(NAME, f"p50, {leases:,} in flight", over(50), "ms"),
        Figure(NAME, f"p99, {leases:,} in flight", over(99), "ms", LATENESS_GOAL),
        Figure(NAME, f"max, {leases:,} in flight", over(100), "ms"),
        Figure(NAME, f"{leases:,} at one instant, until the last", median(bursts) * 1e3, "ms"),
        Figure(NAME, f"{leases:,} at one instant, longest hold of the loop", median(holds) * 1e3, "ms"),
    ]


async def _spread(leases: int, spread_s: float) -> list[float]:
    plugin, lateness = _plugin(leases)
    first_s = 1.0 + leases * 3e-4
    order = list(range(leases))
    random.Random(1).shuffle(order)
    await _dispatch(plugin, [time.monotonic() + first_s + spread_s * place / leases for place in order])
    await _watch(plugin, lateness)
    return lateness.found


async def _burst(leases: int) -> tuple[float, float]:
    plugin, lateness = _plugin(leases)
    instant = time.monotonic() + 1.0 + leases * 3e-4
    await _dispatch(plugin, [instant] * leases)
    holds: list[float] = []
    pulse = asyncio.create_task(_pulse(holds))
    await _watch(plugin, lateness)
    pulse.cancel()
    return lateness.last_at - instant, max(holds)


def _plugin(leases: int) -> tuple[Plugin, Lateness]:
    lateness = Lateness(leases)
    settings = Settings(validator_mode="off", watchdog_enabled=True)
    return Plugin(settings, tracer_provider=counting_provider()[0], observers=[lateness]), lateness


async def _dispatch(plugin: Plugin, deadlines: list[float]) -> None:
    """One lease in each session, that ends at its deadline (monotonic seconds)."""
    for number, deadline in enumerate(deadlines):
        payload = click(number, visibility_timeout_s=deadline - time.monotonic())
        await plugin.engine.dispatch(action(number, payload))


async def _watch(plugin: Plugin, lateness: Lateness) -> None:
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
