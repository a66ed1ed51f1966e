"""The timer, on trio's virtual clock: it sleeps until the earliest deadline, and 24 hours pass at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
import pytest
import trio
import trio.testing
from anyio import to_thread
from delivery_kit import NOT_SEEN, ScriptedJudge, a_report, an_action

from otel_validation.clock import AnyioClock
from otel_validation.delivery.engine import Engine, Ticket
from otel_validation.delivery.observer import Observer, Scanned
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.watchdog import FAILED_SCAN_S, Watchdog
from otel_validation.stores.memory import MemoryStore


class Scans(Observer):
    """When the timer looked, and what it found."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.events: list[Scanned] = []

    def scanned(self, event: Scanned) -> None:
        self.at.append(anyio.current_time())
        self.events.append(event)

    @property
    def orphans(self) -> int:
        return sum(event.orphans for event in self.events)


class Bench:
    """A watchdog whose clock is the running loop's."""

    def __init__(self, *, max_sleep_s: float = 10.0, store: Any = None, chores: Any = None, **policy: Any) -> None:
        clock = AnyioClock()
        self.seen = Scans()
        self.store = store or MemoryStore()
        self.judge = ScriptedJudge()
        self.engine = Engine(
            self.store, judge=self.judge, policy=DeliveryPolicy(**policy), clock=clock, observer=self.seen
        )
        more = {"chores": chores} if chores else {}
        self.watchdog = Watchdog(self.engine, max_sleep_s=max_sleep_s, clock=clock, **more)

    async def dispatch(self, action_id: str = "a", **fields: Any) -> Ticket:
        fields.setdefault("session_id", f"of-{action_id}")
        ticket = await self.engine.dispatch(an_action(action_id, **fields))
        assert ticket is not None
        return ticket


def on_virtual_clock(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run the test on a trio clock that jumps whenever nothing else is to be done."""

    def run() -> None:
        trio.run(test, clock=trio.testing.MockClock(autojump_threshold=0))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@on_virtual_clock
async def test_it_wakes_for_a_look_while_it_sleeps_until_a_later_deadline():
    bench = Bench()
    bench.judge.result = NOT_SEEN
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        await bench.dispatch("other")
        ticket = await bench.dispatch("a", session_id="s")
        await anyio.sleep(0.25)
        await bench.engine.report(a_report(token=ticket.lease.token, screenshot_after="x"))
        began = anyio.current_time()
        assert await bench.engine.news("s", 5)
        assert anyio.current_time() == pytest.approx(began + 1.5)
        look = await bench.engine.poll("s")
        assert isinstance(look, Ticket)
        assert look.delivery.action.look_of == "a"
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_it_wakes_at_the_earliest_deadline():
    bench = Bench()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        await bench.dispatch("late", visibility_timeout_s=9)
        await bench.dispatch("early", visibility_timeout_s=3.5)
        began = anyio.current_time()
        await anyio.sleep(3.6)
        assert bench.seen.at[-1] - began == pytest.approx(3.5, abs=0.01)
        assert bench.seen.orphans == 1
        await anyio.sleep(5.5)
        assert bench.seen.at[-1] - began == pytest.approx(9, abs=0.01)
        assert bench.seen.orphans == 2
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_an_earlier_dispatch_shortens_a_sleep_under_way():
    bench = Bench(max_sleep_s=1_000)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        await bench.dispatch("long", visibility_timeout_s=500)
        await anyio.sleep(100)
        began = anyio.current_time()
        await bench.dispatch("short", visibility_timeout_s=2)
        await anyio.sleep(2.1)
        assert bench.seen.at[-1] - began == pytest.approx(2, abs=0.01)
        assert bench.seen.orphans == 1
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_a_later_dispatch_wakes_nobody():
    bench = Bench(max_sleep_s=1_000)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        await bench.dispatch("short", visibility_timeout_s=50)
        await anyio.sleep(1)
        scans = len(bench.seen.at)
        for number in range(20):
            await bench.dispatch(f"later{number}", visibility_timeout_s=100)
        await anyio.sleep(1)
        assert len(bench.seen.at) == scans
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_a_day_without_work_costs_a_scan_every_longest_sleep_and_no_more():
    bench = Bench(max_sleep_s=60)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.sleep(24 * 3_600 + 1)
        assert len(bench.seen.at) == 24 * 60 + 1
        assert bench.watchdog.last_scan_age_s == pytest.approx(1, abs=0.01)
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_an_agent_that_is_gone_is_given_up_by_the_timer_alone():
    bench = Bench()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await bench.dispatch("a")
        await anyio.sleep(89)
        assert await bench.engine.dead_letters() == []
        await anyio.sleep(2)
        assert [letter.cause for letter in await bench.engine.dead_letters()] == ["agent_dead"]
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_a_pause_stops_the_clocks_and_the_timer_follows_when_it_is_lifted():
    bench = Bench(max_sleep_s=1_000)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await bench.dispatch("a", visibility_timeout_s=10, session_id="s")
        await anyio.sleep(4)
        await bench.engine.pause("s")
        await anyio.sleep(400)
        assert bench.seen.orphans == 0
        began = anyio.current_time()
        await bench.engine.resume("s")
        await anyio.sleep(6.1)
        assert bench.seen.at[-1] - began == pytest.approx(6, abs=0.01)
        assert bench.seen.orphans == 1
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_a_report_in_time_leaves_nothing_to_find():
    bench = Bench()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        ticket = await bench.dispatch("a", session_id="s")
        await anyio.sleep(29)
        await bench.engine.report(a_report("a", ticket.lease.token))
        await anyio.sleep(3_600)
        assert bench.seen.orphans == 0
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_nudge_from_another_thread_wakes_it():
    bench = Bench(max_sleep_s=1_000)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        await to_thread.run_sync(partial(bench.watchdog.nudge, anyio.current_time() + 5_000))
        await anyio.wait_all_tasks_blocked()
        assert len(bench.seen.at) == 1
        await to_thread.run_sync(bench.watchdog.nudge)
        with anyio.fail_after(3):
            while len(bench.seen.at) < 2:  # noqa: ASYNC110 - the timer under test
                await anyio.sleep(0.002)
        group.cancel_scope.cancel()


def test_a_nudge_where_nothing_runs_and_one_after_the_loop_has_ended_are_harmless():
    alarms: list[Any] = []

    async def run() -> None:
        bench = Bench()
        bench.watchdog.nudge()
        async with anyio.create_task_group() as group:
            group.start_soon(bench.watchdog.run)
            await anyio.wait_all_tasks_blocked()
            alarms.append(bench.watchdog._alarm)
            group.cancel_scope.cancel()
        bench.watchdog.nudge()

    trio.run(run)
    asyncio.run(run())
    for alarm in alarms:
        alarm._thread = -1
        alarm.ring()


class Poisoned(MemoryStore):
    """A store that fails when asked what is due, and whose deadline has passed all the while."""

    failing = True

    async def due(self, now: float, limit: int) -> list[str]:
        if self.failing:
            msg = "disk gone"
            raise OSError(msg)
        return await super().due(now, limit)


def test_b10_a_scan_that_raises_is_counted_and_the_timer_goes_on(caplog):
    @on_virtual_clock
    async def run() -> None:
        store = Poisoned()
        bench = Bench(store=store)
        async with anyio.create_task_group() as group:
            group.start_soon(bench.watchdog.run)
            await bench.dispatch("a", visibility_timeout_s=5)
            await anyio.sleep(5 + 20 * FAILED_SCAN_S)
            assert 20 <= bench.watchdog.failed_scans <= 24, "no busy loop"
            assert bench.watchdog.last_scan_age_s is None, "a health check sees it"
            store.failing = False
            await anyio.sleep(2 * FAILED_SCAN_S)
            assert bench.seen.orphans == 1
            assert bench.watchdog.last_scan_age_s is not None
            group.cancel_scope.cancel()

    run()
    assert "a watchdog scan failed" in caplog.text


def test_a_deadline_that_cannot_be_read_costs_the_longest_sleep_at_most(caplog):
    class Blind(MemoryStore):
        async def next_due(self) -> float | None:
            msg = "disk gone"
            raise OSError(msg)

    @on_virtual_clock
    async def run() -> None:
        bench = Bench(store=Blind(), max_sleep_s=10)
        async with anyio.create_task_group() as group:
            group.start_soon(bench.watchdog.run)
            await bench.dispatch("a", visibility_timeout_s=5)
            await anyio.sleep(11)
            assert bench.seen.orphans == 1
            group.cancel_scope.cancel()

    run()
    assert "could not be read" in caplog.text


def test_chores_are_done_at_each_wake_and_their_failure_is_no_failed_scan(caplog):
    done: list[float] = []

    def chores() -> None:
        done.append(anyio.current_time())
        msg = "exporter"
        raise RuntimeError(msg)

    @on_virtual_clock
    async def run() -> None:
        bench = Bench(max_sleep_s=1, chores=chores)
        async with anyio.create_task_group() as group:
            group.start_soon(bench.watchdog.run)
            await anyio.sleep(10.5)
            group.cancel_scope.cancel()
        assert bench.watchdog.failed_scans == 0
        assert len(bench.seen.at) == 11

    run()
    assert len(done) == 11
    assert "chores failed" in caplog.text


@on_virtual_clock
async def test_b10_two_starts_give_one_loop():
    bench = Bench(max_sleep_s=10)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(1):
            await bench.watchdog.run()
        await anyio.sleep(99)
        assert len(bench.seen.at) == 10
        group.cancel_scope.cancel()


@on_virtual_clock
async def test_it_can_be_started_again_after_it_was_cancelled():
    bench = Bench()
    for _ in range(2):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.watchdog.run)
            await anyio.sleep(1)
            assert bench.watchdog.running
            group.cancel_scope.cancel()
        assert not bench.watchdog.running


@on_virtual_clock
async def test_stopped_it_returns_at_once_and_for_good():
    bench = Bench(max_sleep_s=1_000)
    bench.watchdog.nudge()
    with anyio.fail_after(1):
        async with anyio.create_task_group() as group:
            group.start_soon(bench.watchdog.run)
            await anyio.sleep(0.5)
            bench.watchdog.stop()
        await bench.watchdog.run()
    assert not bench.watchdog.running


@on_virtual_clock
async def test_stopped_before_it_runs_it_never_does():
    bench = Bench()
    bench.watchdog.stop()
    with anyio.fail_after(1):
        await bench.watchdog.run()
    assert bench.seen.at == []


@on_virtual_clock
async def test_disabled_it_returns_at_once():
    bench = Bench(enabled=False)
    with anyio.fail_after(1):
        await bench.watchdog.run()
    assert bench.watchdog.last_scan_age_s is None


@on_virtual_clock
async def test_a_burst_of_deadlines_is_found_in_one_wake():
    bench = Bench()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await anyio.wait_all_tasks_blocked()
        for number in range(1_000):
            await bench.dispatch(f"a{number}", visibility_timeout_s=5)
        await anyio.sleep(5.1)
        assert [event.orphans for event in bench.seen.events if event.orphans] == [1_000]
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_it_runs_on_the_machines_clock_as_well(caplog):
    caplog.set_level(logging.WARNING)
    bench = Bench()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.watchdog.run)
        await bench.dispatch("a", visibility_timeout_s=0.02)
        with anyio.fail_after(3):
            while not bench.seen.orphans:  # noqa: ASYNC110 - the timer under test
                await anyio.sleep(0.005)
        group.cancel_scope.cancel()
    assert bench.watchdog.failed_scans == 0
