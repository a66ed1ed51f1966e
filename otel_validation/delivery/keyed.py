"""Waiting on something named: a lock a key, and a signal a key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class _Held:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
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


class KeyedSignals:
    """Wakes whoever waits for news of a key; costs nothing where nobody waits."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, anyio.Event] = {}

    async def wait(self, key: Hashable, timeout_s: float) -> bool:
        """Wait for `notify(key)`; False where `timeout_s` passed first."""
        event = self._waiting.setdefault(key, anyio.Event())
        with anyio.move_on_after(timeout_s) as scope:
            await event.wait()
        return not scope.cancelled_caught

    def notify(self, key: Hashable) -> None:
        """Wake everybody who waits for `key`."""
        event = self._waiting.pop(key, None)
        if event is not None:
            event.set()
