"""What one wake of the timer costs, against a scan that walks every entry as the seed's watchdog does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.figures import Figure, Goal
from benchmarks.leases import action, click
from benchmarks.options import Options, logs_formatted_and_dropped, no_collections, progress
from otel_validation.clock import VirtualClock
from otel_validation.delivery.counters import Counters, Journal
from otel_validation.delivery.engine import Engine
from otel_validation.stores.memory import MemoryStore

if TYPE_CHECKING:
    from otel_validation.delivery.observer import Observer

NAME = "wake"
LEASES = 100_000
EXPIRED = 10
TIMEOUT_S = 30.0
GAP_S = 1.0
GOAL = Goal(">=", 100.0)
SCAN_LOG = "benchmarks.full_scan"

logger = logging.getLogger(SCAN_LOG)


@dataclass(slots=True)
class FullScan:
    """The watchdog seed's scan (section 3): one dict of entries, walked whole, under one asyncio lock.

    Written anew with its costs: the age of every entry under the lock, then for each orphan the lock again, the
    action put at the head of its session's queue, a log line, and counters under a lock of their own.
    """

    pending: dict[str, dict[str, Any]]
    queues: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    metrics: Counter[str] = field(default_factory=Counter)
    metrics_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def scan(self, now: float) -> int:
        """One scan at `now` (seconds); the number of orphans."""
        await self._count("scans_total")
        orphans = []
        async with self.lock:
            for action_id, entry in list(self.pending.items()):
                dispatched_at = entry.get("dispatched_at", 0)
                if dispatched_at and now - dispatched_at >= TIMEOUT_S:
                    orphans.append((action_id, entry))
        for action_id, entry in orphans:
            await self._repush(action_id, entry, now)
        return len(orphans)

    async def _repush(self, action_id: str, entry: dict[str, Any], now: float) -> None:
        await self._count("orphans_detected_total")
        async with self.lock:
            if action_id not in self.pending:
                return
            self.queues[entry["session_id"]].insert(0, entry["action"])
            entry["resent_count"] += 1
            entry["dispatched_at"] = 0
        logger.warning("resent action_id=%s age=%.1fs session=%s", action_id, now, entry["session_id"])
        await self._count("orphans_resent_total")

    async def _count(self, name: str) -> None:
        async with self.metrics_lock:
            self.metrics[name] += 1


def run(options: Options) -> list[Figure]:
    """Each round lets 10 leases of all those in flight expire, once by `Engine.expire`, once by a full scan.

    The goal is on the engine alone: finding the orphans and putting them back. Telling observers (the seed's counters,
    a formatted log line for each orphan) is shown beside it, since it costs more than that and is the same for any
    way of finding orphans. No spans on either side: the seed has none.
    """
    leases, rounds = options.count(LEASES), options.rounds(30, 5)
    progress(f"{leases:,} leases, {rounds} wakes of {EXPIRED} orphans each")
    with logs_formatted_and_dropped("otel_validation"), logs_formatted_and_dropped(SCAN_LOG):
        wakes, scans = asyncio.run(_measure(leases, rounds, options, []))
        figures = _figures(f"{EXPIRED} of {leases:,} expired", wakes, scans)
        if not options.short:
            told, scans = asyncio.run(_measure(leases, rounds, options, [Counters(), Journal(max_resends=2)]))
            figures.append(Figure(NAME, "one wake, counted and logged", median(told) * 1e3, "ms"))
            figures.append(Figure(NAME, "full scan / wake, counted and logged", _ratio(scans, told), "x"))
    return figures


def _figures(title: str, wakes: list[float], scans: list[float]) -> list[Figure]:
    return [
        Figure(NAME, f"one wake, {title}", median(wakes) * 1e3, "ms"),
        Figure(NAME, f"a full scan, {title}", median(scans) * 1e3, "ms"),
        Figure(NAME, "full scan / wake", _ratio(scans, wakes), "x", GOAL),
    ]


def _ratio(of: list[float], to: list[float]) -> float:
    return median(a / b for a, b in zip(of, to, strict=True))


async def _measure(
    leases: int, rounds: int, options: Options, observers: list[Observer]
) -> tuple[list[float], list[float]]:
    clock = VirtualClock()
    engine = Engine(MemoryStore(), clock=clock)
    for observer in observers:
        engine.observers.add(observer)
    with no_collections():
        await _dispatch(engine, leases, rounds)
        scanner = FullScan(_entries(leases, rounds, clock.now()))
    clock.advance(TIMEOUT_S - GAP_S / 2)
    wakes, scans = [], []
    with options.profiled("wakes and full scans"):
        for _ in range(rounds):
            clock.advance(GAP_S)
            began = time.perf_counter()
            scanned = await engine.expire(timer=True)
            between = time.perf_counter()
            found = await scanner.scan(clock.now())
            ended = time.perf_counter()
            if scanned is None or scanned.orphans != EXPIRED or found != EXPIRED:
                msg = f"a round finds {EXPIRED} orphans on both sides, not {scanned} and {found}"
                raise AssertionError(msg)
            wakes.append(between - began)
            scans.append(ended - between)
    return wakes, scans


def _round_of(number: int, rounds: int) -> int:
    """The round in which a lease expires: the first ones ten by ten, all others after the last."""
    return min(number // EXPIRED, rounds)


async def _dispatch(engine: Engine, leases: int, rounds: int) -> None:
    for number in range(leases + rounds * EXPIRED):
        turn = _round_of(number, rounds)
        timeout_s = TIMEOUT_S + (turn * GAP_S if turn < rounds else 3_600.0)
        await engine.dispatch(action(number, click(number, visibility_timeout_s=min(timeout_s, 600.0))))


def _entries(leases: int, rounds: int, now: float) -> dict[str, dict[str, Any]]:
    """The seed's in-flight entries, with the same leases."""
    entries = {}
    for number in range(leases + rounds * EXPIRED):
        turn = _round_of(number, rounds)
        entries[f"act_{number}"] = {
            "action": click(number),
            "session_id": f"session-{number}",
            "machine_id": f"poste-{number}",
            "replay_id": f"replay-{number}",
            "dispatched_at": now + (turn * GAP_S if turn < rounds else 3_600.0),
            "resent_count": 0,
            "retry_count": 0,
        }
    return entries
