"""How a run is asked for, and what the benchmarks share: progress, percentiles, one core, a profile."""

from __future__ import annotations

import cProfile
import gc
import logging
import math
import os
import pstats
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

PROFILE_LINES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`short` takes fewer rounds; `scale` multiplies the number of leases (for a smoke test); `profile` profiles."""

    short: bool = False
    scale: float = 1.0
    profile: bool = False

    def rounds(self, full: int, short: int) -> int:
        """Rounds of a measurement."""
        return short if self.short else full

    def count(self, full: int) -> int:
        """So many leases, scaled."""
        return max(10, round(full * self.scale))

    def profiled(self, title: str) -> AbstractContextManager[None]:
        """Profile the block where that is asked for; a profiled time is not a measurement."""
        return _profiled(title) if self.profile else nullcontext()


@contextmanager
def _profiled(title: str) -> Iterator[None]:
    profile = cProfile.Profile(time.thread_time)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        show_profile(profile, title)


def show_profile(profile: cProfile.Profile, title: str) -> None:
    """Print the costliest functions, by their own time and in all, on stderr."""
    print(f"\n== profile: {title}", file=sys.stderr)
    stats = pstats.Stats(profile, stream=sys.stderr).strip_dirs()
    stats.sort_stats("tottime").print_stats(PROFILE_LINES)
    stats.sort_stats("cumulative").print_stats(PROFILE_LINES)


def progress(text: str) -> None:
    """One line on stderr."""
    print(f"  {text}", file=sys.stderr, flush=True)


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


@contextmanager
def one_core(index: int = -1) -> Iterator[None]:
    """Keep the calling thread, and those it starts, on one of its cores (the last) where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[index]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def no_collections() -> Iterator[None]:
    """No garbage collection while something large is set up: each one would walk all of it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def logs_formatted_and_dropped(name: str) -> Iterator[None]:
    """Log lines cost what they cost a server that keeps them, without the disk."""
    logger = logging.getLogger(name)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        handler = logging.StreamHandler(nowhere)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        level, propagate = logger.level, logger.propagate
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate
