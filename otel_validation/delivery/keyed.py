"""Waiting on something named: a lock a key, and a signal a key."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

import anyio


class KeyedLocks:
    """One lock a key, first come, first served; kept only while somebody holds it.

    A key that is free costs an entry of a dict, no lock and no turn of the loop: each report takes two of them.
    """

    def __init__(self) -> None:
        self._held: dict[Hashable, deque[anyio.Event] | None] = {}

    def hold(self, key: Hashable) -> _Hold:
        """Exclusive use of `key` within this process and event loop, by `async with`."""
        return _Hold(self._held, key)


class _Hold:
    """One holder's claim. Those who wait for a key are in its deque, None while nobody does."""

    __slots__ = ("_held", "_key")

    def __init__(self, held: dict[Hashable, deque[anyio.Event] | None], key: Hashable) -> None:
        self._held = held
        self._key = key

    async def __aenter__(self) -> None:
        if self._key not in self._held:
            self._held[self._key] = None
            return
        queue = self._held[self._key]
        if queue is None:
            queue = self._held[self._key] = deque()
        turn = anyio.Event()
        queue.append(turn)
        try:
            await turn.wait()
        except BaseException:
            # Cancelled: a turn that has come all the same is passed on.
            if turn.is_set():
                self._release()
            else:
                queue.remove(turn)
            raise

    async def __aexit__(self, *_error: object) -> None:
        self._release()

    def _release(self) -> None:
        queue = self._held[self._key]
        if queue:
            queue.popleft().set()
        else:
            del self._held[self._key]


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
