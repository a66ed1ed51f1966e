from __future__ import annotations

import anyio
import pytest
from anyio.lowlevel import checkpoint

from otel_validation.delivery.keyed import KeyedLocks, KeyedSignals

pytestmark = pytest.mark.anyio


async def test_one_at_a_time_for_one_key_and_several_for_several():
    locks, inside, most = KeyedLocks(), {"a": 0, "b": 0}, {"a": 0, "b": 0}

    async def use(key):
        async with locks.hold(key):
            inside[key] += 1
            most[key] = max(most[key], inside[key])
            await checkpoint()
            inside[key] -= 1

    async with anyio.create_task_group() as group:
        for key in ("a", "b") * 5:
            group.start_soon(use, key)
    assert most == {"a": 1, "b": 1}
    assert locks._held == {}


async def test_a_lock_is_forgotten_where_its_user_fails():
    locks = KeyedLocks()
    with pytest.raises(RuntimeError):
        async with locks.hold("a"):
            raise RuntimeError
    assert locks._held == {}


async def test_news_wakes_everybody_who_waits_for_that_key():
    signals, woken = KeyedSignals(), []

    async def wait(key, seconds):
        woken.append((key, await signals.wait(key, seconds)))

    async with anyio.create_task_group() as group:
        group.start_soon(wait, "a", 60)
        group.start_soon(wait, "a", 60)
        group.start_soon(wait, "b", 0)
        for _ in range(10):
            await checkpoint()
        signals.notify("a")
    assert sorted(woken) == [("a", True), ("a", True), ("b", False)]


async def test_whoever_stops_waiting_leaves_nothing_behind():
    signals = KeyedSignals()
    for number in range(100):
        assert await signals.wait(f"session {number}", 0) is False
    assert signals._waiting == {}


async def test_one_that_stops_waiting_leaves_the_others_waiting():
    signals, woken = KeyedSignals(), []

    async def wait():
        woken.append(await signals.wait("a", 60))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await checkpoint()
        assert await signals.wait("a", 0) is False
        signals.notify("a")
        signals.notify("a")
    assert woken == [True]
