"""The SDK with the reference server and its plugin: leases, heartbeats, verdicts and one trace."""

from __future__ import annotations

import base64

import anyio
import httpx
import pytest
from asgi_lifespan import LifespanManager
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_validation.agent import AgentClient, Execution, Screen, Signal
from otel_validation.server.app import create_app
from otel_validation.settings import Settings
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import Finding, Verdict

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


class SlowScreen:
    """A checker that sees the effect on the second screenshot only."""

    name = "ocr_roi"

    def __init__(self):
        self.shots = []

    def applies(self, subject):
        return subject.report.has_screenshot

    def check(self, subject):
        self.shots.append(base64.b64decode(subject.report.screenshot_after))
        seen = self.shots[-1] == b"page"
        verdict = Verdict.COMPLETE if seen else Verdict.CONTINUE
        return Finding(checker=self.name, verdict=verdict, confidence=0.9, reasoning="")

    def warm_up(self): ...


async def test_e03_a_slow_screen_is_looked_at_again_and_nothing_is_clicked_twice(make_action, provider, exporter):
    """E03: CONTINUE on the spinner, a look, COMPLETE on the page; one execution, one step in one trace."""
    clicks, checker = [], SlowScreen()

    async def execute(context):
        clicks.append(context.action_id)
        return Execution(True, actual_position=(0.0, 0.5), screenshot_after=b"spinner")

    async def capture(context):
        return Screen(b"page")

    app = create_app(
        Settings(validator_recheck_delay_s=0.2),
        validator=Validator([checker], subject=ReportSubject),
        tracer_provider=provider,
    )
    async with (
        LifespanManager(app) as running,
        httpx.AsyncClient(transport=httpx.ASGITransport(app=running.app), base_url=BASE) as http,
    ):
        replay_id = await start(http, make_action(), make_action("act_2"))
        agent = agent_of(http, execute, capture=capture, wait_s=5, tracer_provider=provider)
        runs = []
        with anyio.fail_after(10):
            while len(runs) < 4:
                run = await agent.run_once()
                runs += [] if run is None else [run]
        replay = (await http.get(f"/api/v1/replays/{replay_id}")).json()
    assert clicks == ["act_1", "act_2"]
    assert [(run.look_of, run.answer.status, run.answer.route) for run in runs] == [
        (None, "accepted", "recheck"),
        ("act_1", "accepted", "continue"),
        (None, "accepted", "recheck"),
        ("act_2", "accepted", "continue"),
    ]
    assert checker.shots == [b"spinner", b"page"] * 2
    assert replay["status"] == "completed"
    assert [(a["state"], a["attempts"], a["verdict"]["verdict"]) for a in replay["actions"]] == [
        ("done", 1, "complete")
    ] * 2
    spans = exporter.get_finished_spans()
    looks = [span for span in spans if span.name == "execute screenshot_evidence"]
    dispatched = {span.context.span_id for span in spans if span.name == "dispatch screenshot_evidence"}
    assert {span.parent.span_id for span in looks} == dispatched
    assert len(dispatched) == 2
