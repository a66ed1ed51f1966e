"""Waiting on something named: a lock a key, and a signal a key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class _Held:
    lock: anyio.Lock = field(default_factory=lambda: anyio.Lock(fast_acquire=True))
    users: int = 0


class KeyedLocks:
    """One lock a key, kept only while somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._held: dict[Hashable, _Held] = {}

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Exclusive use of `key` within this process and event loop."""
        held = self._held.setdefault(key, _Held())
        held.users += 1
        try:
            async with held.lock:
                yield
        finally:
            held.users -= 1
            if not held.users:
                del self._held[key]


@dataclass(slots=True)
class _Awaited:
    event: anyio.Event = field(default_factory=anyio.Event)
    users: int = 0


class KeyedSignals:
    """Wakes whoever waits for news of a key; keeps nothing of a key that nobody waits for."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, _Awaited] = {}

    async def wait(self, key: Hashable, timeout_s: float) -> bool:
        """Wait for `notify(key)`; False where `timeout_s` passed first."""
        awaited = self._waiting.setdefault(key, _Awaited())
        awaited.users += 1
        try:
            with anyio.move_on_after(timeout_s):
                await awaited.event.wait()
        finally:
            awaited.users -= 1
            if not awaited.users and self._waiting.get(key) is awaited:
                del self._waiting[key]
        return awaited.event.is_set()

    def notify(self, key: Hashable) -> None:
        """Wake everybody who waits for `key`."""
        awaited = self._waiting.pop(key, None)
        if awaited is not None:
            awaited.event.set()
