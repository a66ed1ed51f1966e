"""Over real sockets: a server on loopback, and what goes wrong between it and the agent."""

from __future__ import annotations

import anyio
import pytest

from otel_validation.agent import AgentClient, Backoff, Execution
from otel_validation.errors import AgentRefusedError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


def cut_once(app, path):
    """The application does its work; the first answer to `path` is cut off on its way."""
    cut = []

    async def wrapped(scope, receive, send):
        if not scope["path"].endswith(path) or cut:
            await app(scope, receive, send)
            return
        cut.append(path)

        async def half(message):
            if message["type"] == "http.response.start":
                await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9999")]})
            else:
                await send({"type": "http.response.body", "body": b'{"act', "more_body": True})

        await app(scope, receive, half)

    return wrapped


def agent_at(base_url, execute, **options):
    return AgentClient(
        base_url,
        session_id="s1",
        machine_id="m1",
        execute=execute,
        poll_interval_s=0.01,
        backoff=Backoff(initial_s=0.02, cap_s=0.1),
        **options,
    )


def counting(calls):
    async def execute(context):
        calls.append((context.action_id, context.attempt, context.redelivered))
        return Execution(True, screenshot_after=b"png" * 100_000)

    return execute


async def until(condition):
    with anyio.fail_after(10):
        while not condition():  # noqa: ASYNC110 - nothing tells when
            await anyio.sleep(0.01)


async def run_until(agent, condition):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.run)
        await until(condition)
        tasks.cancel_scope.cancel()


async def test_a_lost_poll_answer_is_redelivered_and_executed_once(host, serve, make_action):
    host.give(make_action(), token="t1")
    host.give(make_action(), token="t2", attempt=2, redelivered=True)
    calls = []
    async with serve(cut_once(host.app, "/next")) as base_url:
        await run_until(agent_at(base_url, counting(calls)), lambda: host.reports)
    assert calls == [("act_1", 2, True)]
    assert [report["delivery_token"] for report in host.reports] == ["t2"]


async def test_a_lost_answer_to_a_report_is_asked_for_again_and_a_redelivery_executed_once(host, serve, make_action):
    host.give(make_action(), token="t1")
    host.give(make_action(), token="t2", attempt=2, redelivered=True)
    host.report_answers.extend([{"status": "accepted"}, {"status": "duplicate"}, {"status": "duplicate"}])
    calls, runs = [], []
    async with serve(cut_once(host.app, "/result")) as base_url:
        agent = agent_at(base_url, counting(calls), on_run=runs.append)
        await run_until(agent, lambda: len(runs) == 2)
    assert calls == [("act_1", 1, False)]
    assert [report["delivery_token"] for report in host.reports] == ["t1", "t1", "t2"]
    assert [(run.executed, run.answer.status) for run in runs] == [(True, "duplicate"), (False, "duplicate")]


async def test_a_report_arrives_once_a_restarted_server_is_back(host, serve, make_action):
    host.give(make_action())
    calls, runs = [], []
    gone = anyio.Event()

    async def execute(context):
        calls.append(context.action_id)
        await gone.wait()
        return Execution(True)

    async with anyio.create_task_group() as tasks:
        async with serve(host.app) as base_url:
            tasks.start_soon(agent_at(base_url, execute, on_run=runs.append).run)
            await until(lambda: calls)
        gone.set()
        await anyio.sleep(0.2)
        assert host.reports == []
        async with serve(host.app, port=int(base_url.rpartition(":")[2])):
            await until(lambda: runs)
        tasks.cancel_scope.cancel()
    assert calls == ["act_1"]
    assert [report["delivery_token"] for report in host.reports] == ["t1"]


async def test_run_once_keeps_its_connection_until_closed_and_works_again_afterwards(host, serve, make_action):
    host.give(make_action("a"), make_action("b"))
    calls = []
    async with serve(host.app) as base_url:
        async with agent_at(base_url, counting(calls)) as agent:
            await agent.run_once()
        await agent.run_once()
        await agent.aclose()
        await agent.aclose()
        host.poll_answers.append((403, {}))
        with pytest.raises(AgentRefusedError):
            await agent.run()
    assert [action_id for action_id, _, _ in calls] == ["a", "b"]
