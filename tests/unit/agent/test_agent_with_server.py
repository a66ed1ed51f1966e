"""The SDK with the reference server and its plugin: leases, heartbeats, verdicts and one trace."""

from __future__ import annotations

import anyio
import httpx
import pytest
from asgi_lifespan import LifespanManager
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_validation.agent import AgentClient, Execution, Signal
from otel_validation.server.app import create_app
from otel_validation.settings import Settings

pytestmark = pytest.mark.anyio
BASE = "http://replay.test"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


@pytest.fixture
async def http(provider):
    settings = Settings(validator_mode="off", watchdog_orphan_timeout_s=0.3)
    app = create_app(settings, tracer_provider=provider)
    async with (
        LifespanManager(app) as running,
        httpx.AsyncClient(transport=httpx.ASGITransport(app=running.app), base_url=BASE) as http,
    ):
        yield http


async def start(http, *actions):
    body = {"session_id": "s1", "machine_id": "m1", "actions": list(actions)}
    answer = await http.post("/api/v1/replays", json=body)
    assert answer.status_code == 201
    return answer.json()["replay_id"]


def agent_of(http, execute, **options):
    return AgentClient(BASE, session_id="s1", machine_id="m1", execute=execute, http=http, **options)


async def test_a_long_action_keeps_its_lease_and_its_span_is_in_the_replays_trace(
    http, make_action, provider, exporter
):
    async def execute(context):
        await anyio.sleep(0.7 if context.action_id == "long" else 0)
        return Execution(True)

    replay_id = await start(http, make_action("long", type="extract"), make_action("short"))
    agent = agent_of(http, execute, tracer_provider=provider)
    runs = [await agent.run_once(), await agent.run_once()]
    assert [(run.action_id, run.answer.status, run.answer.route) for run in runs] == [
        ("long", "accepted", "continue"),
        ("short", "accepted", "continue"),
    ]
    replay = (await http.get(f"/api/v1/replays/{replay_id}")).json()
    assert [action["attempts"] for action in replay["actions"]] == [1, 1]
    spans = {span.name: span for span in exporter.get_finished_spans()}
    dispatch, execute_span = spans["dispatch extract"], spans["execute extract"]
    assert execute_span.context.trace_id == dispatch.context.trace_id == int(replay["trace_id"], 16)
    assert execute_span.parent.span_id == dispatch.context.span_id


async def test_a_poll_answer_that_never_arrived_is_executed_once_on_its_resend(http, make_action):
    calls = []

    async def execute(context):
        calls.append((context.attempt, context.redelivered))
        return Execution(True)

    await start(http, make_action(type="extract"))
    lost = await http.get("/api/v1/traces/stream/replay/next", params={"session_id": "s1", "machine_id": "m1"})
    assert lost.json()["delivery"]["attempt"] == 1
    agent = agent_of(http, execute, wait_s=2)
    with anyio.fail_after(10):
        while await agent.run_once() is None:
            pass
    assert calls == [(2, True)]


async def test_a_cancelled_replay_reaches_the_callback(http, make_action):
    signals = []
    started = anyio.Event()

    async def execute(context):
        started.set()
        with anyio.fail_after(10):
            await context.wait_cancelled()
        signals.append(context.signal)
        return Execution(False, "cancelled")

    replay_id = await start(http, make_action(type="extract"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent_of(http, execute).run_once)
        await started.wait()
        assert (await http.post(f"/api/v1/replays/{replay_id}/cancel")).status_code == 200
    assert signals in ([Signal.CANCELLED], [Signal.STALE])
