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


async def test_first_come_first_served():
    locks, order = KeyedLocks(), []

    async def use(number):
        async with locks.hold("a"):
            order.append(number)
            await checkpoint()

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(use, number)
            await checkpoint()
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("same_turn", [False, True])
async def test_one_that_stops_waiting_for_a_lock_leaves_it_to_the_next(same_turn):
    """Cancelled while it waits; or in the very turn of the loop in which the lock becomes its own."""
    locks, entered = KeyedLocks(), []
    leaving = anyio.CancelScope()

    async def wait(name, scope):
        with scope:
            async with locks.hold("a"):
                entered.append(name)

    async with anyio.create_task_group() as group, locks.hold("a"):
        group.start_soon(wait, "leaves", leaving)
        await checkpoint()
        group.start_soon(wait, "stays", anyio.CancelScope())
        await checkpoint()
        leaving.cancel()
        if not same_turn:
            await checkpoint()
    assert entered == ["stays"]
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
