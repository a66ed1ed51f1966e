from __future__ import annotations

import anyio
import httpx
import pytest
from starlette.responses import PlainTextResponse

from otel_validation.agent import Execution, Signal

pytestmark = pytest.mark.anyio


def slow(seconds, seen=None):
    async def execute(context):
        await anyio.sleep(seconds)
        if seen is not None:
            seen.append((context.signal, context.cancelled))
        return Execution(True)

    return execute


async def test_beats_at_a_third_of_the_visibility_timeout_while_the_callback_runs(host, make_agent, make_action):
    host.give(make_action(), token="t1", visibility_timeout_s=30)
    agent = make_agent(slow(35))
    await agent.run_once()
    assert host.beats == [{"session_id": "s1", "action_id": "act_1", "token": "t1"}] * 3
    await anyio.sleep(100)
    assert len(host.beats) == 3


async def test_a_changed_timeout_changes_the_rhythm(host, make_agent, make_action):
    host.give(make_action(), visibility_timeout_s=30)
    host.beat_answers.extend([{"status": "extended", "visibility_timeout_s": 6}] * 100)
    await make_agent(slow(20), heartbeat_fraction=0.5).run_once()
    assert len(host.beats) == 1 + 1


async def test_a_short_action_and_one_without_a_lease_send_none(host, make_agent, make_action):
    host.give(make_action("a"))
    host.poll_answers.append({"action": make_action("b")})
    host.give(make_action("c"), token="", visibility_timeout_s=30)
    for execute in (slow(5), slow(500), slow(500)):
        await make_agent(execute).run_once()
    assert host.beats == []
    assert len(host.reports) == 3


@pytest.mark.parametrize(
    ("answer", "signal"),
    [
        ((409, {"status": "stale"}), Signal.STALE),
        ({"status": "cancelled"}, Signal.CANCELLED),
    ],
)
async def test_a_lost_lease_and_a_cancel_reach_the_callback_and_end_the_beats(
    host, make_agent, make_action, answer, signal
):
    host.give(make_action())
    host.beat_answers.append(answer)
    told = []

    async def execute(context):
        await context.wait_cancelled()
        told.append((context.signal, context.cancelled, anyio.current_time()))
        await anyio.sleep(100)
        return Execution(False, "cancelled")

    heard = []
    agent = make_agent(execute, on_signal=lambda context, what: heard.append((context.action_id, what)))
    began = anyio.current_time()
    run = await agent.run_once()
    assert told == [(signal, True, began + 10)]
    assert heard == [("act_1", signal)]
    assert len(host.beats) == 1
    assert run.success is False


async def test_a_pause_is_told_once_and_taken_back(host, make_agent, make_action):
    host.give(make_action())
    host.beat_answers.extend([{"status": "paused"}, {"status": "paused"}, {"status": "extended"}])
    seen, heard = [], []

    async def execute(context):
        for _ in range(4):
            await anyio.sleep(10 if seen else 5)
            seen.append((context.signal, context.cancelled))
        return Execution(True)

    await make_agent(execute, on_signal=lambda context, what: heard.append(what)).run_once()
    assert seen == [(None, False), (Signal.PAUSED, False), (Signal.PAUSED, False), (None, False)]
    assert heard == [Signal.PAUSED]


async def test_what_a_cancelled_callback_is_told_is_final():
    from otel_validation.agent import ActionContext

    context = ActionContext(action={}, action_id="a", type="click")
    assert context.tell(Signal.CANCELLED)
    assert not context.tell(None)
    assert context.signal is Signal.CANCELLED


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_heartbeats_is_asked_once(host, make_agent, make_action, status):
    host.give(make_action())
    host.beat_answers.append((status, {}))
    seen = []
    run = await make_agent(slow(100, seen)).run_once()
    assert len(host.beats) == 1
    assert seen == [(None, False)]
    assert run.success


@pytest.mark.parametrize(
    "answer",
    [(500, {}), (401, {}), (422, {}), PlainTextResponse("patient"), {"status": "what"}, ["x"], anyio.sleep_forever],
)
async def test_a_failing_heartbeat_never_fails_the_action(host, make_agent, make_action, caplog, answer):
    host.give(make_action())
    host.beat_answers.extend([answer] * 3)
    seen = []
    run = await make_agent(slow(55, seen)).run_once()
    assert seen == [(None, False)]
    assert run.success
    assert len(host.beats) in (3, 5)
    assert "patient" not in caplog.text


async def test_not_even_a_broken_transport_or_a_broken_hook_fails_it(host, make_agent, make_action, caplog):
    host.give(make_action())
    inner = httpx.ASGITransport(app=host.app)
    broken = [True]

    class Broken(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            if request.url.path.endswith("/progress") and broken:
                broken.pop()
                raise KeyError("patient")
            return await inner.handle_async_request(request)

    def hook(context, signal):
        raise ValueError("patient")

    host.beat_answers.append({"status": "paused"})
    seen = []
    client = httpx.AsyncClient(transport=Broken())
    run = await make_agent(slow(25, seen), http=client, on_signal=hook).run_once()
    assert run.success
    assert seen == [(Signal.PAUSED, False)]
    assert "KeyError" in caplog.text
    assert "ValueError" in caplog.text
    assert "patient" not in caplog.text


async def test_a_stale_answer_for_a_token_that_was_replaced_meanwhile_is_not_told(host, make_agent, make_action):
    host.give(make_action(), token="t1")
    host.give(make_action(), token="t2", attempt=2)
    agent = None
    seen = []

    async def stale():
        await agent_again()
        return 409, {"status": "stale"}

    async def agent_again():
        tasks.start_soon(agent.run_once)
        await anyio.sleep(1)

    host.beat_answers.append(stale)
    agent = make_agent(slow(25, seen))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.run_once)
    assert seen == [(None, False)]
    assert [beat["token"] for beat in host.beats] == ["t1", "t2"]
    assert len(host.reports) == 2
