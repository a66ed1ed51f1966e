"""Polls that wait: woken by new work and by a resume; a client that leaves takes nothing with it."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from http_kit import NEXT, click, exchange

from otel_validation.clock import stopwatch
from otel_validation.delivery.observer import PauseChanged
from otel_validation.delivery.outcome import Pause, PauseReason

pytestmark = pytest.mark.anyio


async def waiting_poll(desk, results, **more):
    began = stopwatch()
    results.append((await desk.poll(wait_s=10, **more), stopwatch() - began))


async def test_new_work_wakes_a_poll(desk):
    results = []
    async with anyio.create_task_group() as group:
        group.start_soon(waiting_poll, desk, results)
        await anyio.sleep(0.05)
        await desk.start()
    ((polled, took_s),) = results
    assert polled["action"]["action_id"] == "act_1"
    assert took_s < 2


async def test_a_poll_that_waits_for_an_action_in_flight_goes_on_after_its_report(desk):
    await desk.start(click(), click("act_2"))
    first = await desk.poll()
    results = []
    async with anyio.create_task_group() as group:
        group.start_soon(waiting_poll, desk, results)
        await anyio.sleep(0.05)
        await desk.report(first)
    assert results[0][0]["action"]["action_id"] == "act_2"


async def test_a_pause_during_a_wait_is_told_and_the_work_waits_for_the_resume(desk):
    await desk.start(click(), click("act_2"))
    first = await desk.poll()
    results = []
    async with anyio.create_task_group() as group:
        group.start_soon(waiting_poll, desk, results)
        await anyio.sleep(0.05)
        await desk.do("pause")
    ((polled, took_s),) = results
    assert (polled["action"], polled["replay_paused"]) == (None, True)
    assert took_s < 2
    await desk.report(first)
    await desk.do("resume")
    assert (await desk.poll())["action"]["action_id"] == "act_2"


async def test_a_poll_that_waits_for_the_hosts_next_action_hears_of_a_pause(desk):
    """Its replay has nothing queued: a retry is expected, and a person steps in."""
    results = []
    async with anyio.create_task_group() as group:
        group.start_soon(waiting_poll, desk, results)
        await anyio.sleep(0.05)
        book = desk.app.state.book
        await desk.start()
        book.pause_changed(PauseChanged(session_id="s1", wall_ns=0, pause=Pause(PauseReason.OPERATOR, "stop", 0.0)))
    assert results[0][0] == {"action": None, "replay_paused": True}
    assert await desk.states() == ["queued"]


async def test_a_resume_wakes_a_poll(desk):
    """Two polls at once: one heard of the pause, the other waits; the resume gives it the action."""
    await desk.start()
    await desk.do("pause")
    assert (await desk.poll(wait_s=10))["replay_paused"] is True
    results = []

    async def poll_until_handed():
        while not results or results[-1][0]["action"] is None:
            await waiting_poll(desk, results)
            await anyio.sleep(0.02)

    async with anyio.create_task_group() as group:
        group.start_soon(poll_until_handed)
        await anyio.sleep(0.05)
        await desk.do("resume")
    assert results[-1][0]["action"]["action_id"] == "act_1"


async def test_a_wait_ends_with_nothing(desk):
    began = stopwatch()
    assert await desk.poll(wait_s=0.1) == {"action": None, "replay_paused": False}
    assert 0.09 < stopwatch() - began < 3


@pytest.mark.parametrize("wait_s", ["-1", "nan", "soon"])
async def test_an_odd_wait_is_a_422(desk, wait_s):
    answer = await desk.http.get(NEXT, params={"session_id": "s1", "machine_id": "m1", "wait_s": wait_s})
    assert answer.status_code == 422


async def test_a_wait_is_capped(desk_with):
    async with desk_with(max_wait_s=0.05) as desk:
        with anyio.fail_after(5):
            await desk.poll(wait_s="inf")


async def test_a_client_that_leaves_while_it_waits_takes_nothing_with_it(desk):
    gone = anyio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": NEXT,
        "raw_path": NEXT.encode(),
        "root_path": "",
        "query_string": b"session_id=s1&machine_id=m1&wait_s=10",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    first = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive_first():
        return first.pop() if first else await receive()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(partial(desk.app, scope, receive_first, send))
            await anyio.sleep(0.05)
            gone.set()
            await anyio.sleep(0.4)
            await desk.start()
    assert await desk.states() == ["queued"]
    polled = await desk.poll()
    assert (polled["action"]["action_id"], polled["delivery"]["attempt"]) == ("act_1", 1)


@pytest.mark.parametrize("name", ["Sec-Purpose", "Purpose", "X-Moz"])
async def test_a_prefetch_takes_nothing(desk, name):
    await desk.start()
    for value in ("prefetch", "prefetch;prerender"):
        answer = await desk.http.get(NEXT, params={"session_id": "s1", "machine_id": "m1"}, headers={name: value})
        assert answer.status_code == 503
        assert answer.headers["cache-control"] == "no-store"
    assert not [s for s in desk.spans.get_finished_spans() if s.name.startswith("dispatch")]
    assert await desk.states() == ["queued"]
    assert (await desk.poll())["delivery"]["attempt"] == 1


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
async def test_a_probe_takes_nothing(desk, method):
    await desk.start()
    for _ in range(20):
        sent = await exchange(desk.app, method, query="session_id=s1&machine_id=m1")
        assert sent[0]["status"] == 405
    assert await desk.states() == ["queued"]
    assert (await desk.poll())["delivery"]["attempt"] == 1
