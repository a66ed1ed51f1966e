"""What a lease in flight holds in memory, beyond its span."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

from benchmarks.figures import Figure, Goal
from benchmarks.leases import action, click, counting_provider
from benchmarks.options import Options, no_collections, progress
from otel_validation.clock import VirtualClock
from otel_validation.delivery.counters import Counters
from otel_validation.delivery.engine import Engine
from otel_validation.stores.memory import MemoryStore
from otel_validation.tracing.recorder import Recorder

NAME = "memory"
LEASES = 10_000
GOAL = Goal("<", 2_000.0)
Payload = Callable[[int], dict[str, Any]]


def run(options: Options) -> list[Figure]:
    """Bytes a lease, by tracemalloc: everything allocated while the leases are dispatched and still held afterwards.

    That is the session, the delivery, the lease, its token, the deadline heap and every index. With a shared payload
    the host holds the action's JSON; with its own, as behind HTTP, the lease holds it too. The spans' share is the
    difference that the recorder makes (replay, step and dispatch spans, open).
    """
    leases = options.count(options.rounds(LEASES, LEASES // 4))
    progress(f"{leases:,} leases, three times")
    shared = click(0)
    alone_shared = _per_lease(leases, lambda _: shared, recorded=False)
    alone_own = _per_lease(leases, click, recorded=False)
    spans = _per_lease(leases, lambda _: shared, recorded=True) - alone_shared
    return [
        Figure(NAME, "a lease and its indexes", alone_shared, "B", GOAL),
        Figure(NAME, "the same with the action's own JSON", alone_own, "B", GOAL),
        Figure(NAME, "its three open spans, for comparison", spans, "B"),
    ]


def _per_lease(leases: int, payload: Payload, *, recorded: bool) -> float:
    return asyncio.run(_measure(leases, payload, recorded=recorded))


async def _measure(leases: int, payload: Payload, *, recorded: bool) -> float:
    engine = Engine(MemoryStore(), clock=VirtualClock())
    engine.observers.add(Counters())
    if recorded:
        engine.observers.add(Recorder(counting_provider()[0]))
    # The first ones pay for what is allocated once.
    for number in range(10):
        await engine.dispatch(action(leases + number, payload(number)))
    gc.collect()
    tracemalloc.start()
    try:
        with no_collections():
            for number in range(leases):
                await engine.dispatch(action(number, payload(number)))
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / leases
    finally:
        tracemalloc.stop()
