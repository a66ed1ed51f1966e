"""The drop-in beside OpenTelemetry's own FastAPI instrumentation: spans, incoming contexts, no SDK, a dead exporter."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from http_kit import NEXT, RESULT, Agent, Site, StubChecker, a_site, body_of, click, exchange, in_process, legacy_host
from opentelemetry import trace
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace import NoOpTracerProvider, SpanKind

from otel_validation.tracing import semconv

pytestmark = pytest.mark.anyio

SHOT = "iVBORw0KGgo="


class Traced:
    """An instrumented host under FastAPIInstrumentor, its spans in memory."""

    def __init__(self, *, sampler: Any = None, **more: Any) -> None:
        self.exporter = InMemorySpanExporter()
        options = {} if sampler is None else {"sampler": sampler}
        self.provider = TracerProvider(shutdown_on_exit=False, **options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        app = legacy_host()
        self.site: Site = a_site(app, tracer_provider=self.provider, **more)
        FastAPIInstrumentor.instrument_app(app, tracer_provider=self.provider)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def ours(self) -> list[ReadableSpan]:
        return [span for span in self.spans if span.instrumentation_scope.name == semconv.SCOPE]

    @property
    def http(self) -> list[ReadableSpan]:
        return [span for span in self.spans if span.kind is SpanKind.SERVER]


@pytest.fixture
def traced() -> Iterator[Any]:
    made: list[Traced] = []

    def make(**more: Any) -> Traced:
        made.append(Traced(**more))
        return made[-1]

    yield make
    for one in made:
        FastAPIInstrumentor.uninstrument_app(one.site.app)


TRACE = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"traceparent": f"00-{TRACE}-01"},
        {"traceparent": f"00-{TRACE}-00"},
        {"traceparent": "00-00000000000000000000000000000000-0000000000000000-01"},
        {"traceparent": "xyz"},
        {"traceparent": f"00-{TRACE}-01", "baggage": ",".join(f"k{n}={'v' * 50}" for n in range(1_100))},
    ],
    ids=["none", "sampled", "not-sampled", "zeros", "malformed", "60-kB-of-baggage"],
)
async def test_a01_orphans_do_not_depend_on_the_callers_trace_context(traced, headers):
    world = traced()
    site = world.site
    site.queue(click())
    async with in_process(site.app) as client:
        agent = Agent(client, headers=headers)
        first = await agent.poll()
        site.clock.advance(35)
        second = await agent.poll()
        counters = site.plugin.counters.snapshot()
        assert (await agent.report(token=second["delivery"]["token"]))["status"] == "accepted"
    assert first["action"] == second["action"]
    assert second["delivery"]["attempt"] == 2
    assert counters["orphans_resent_total"] == 1
    names = sorted(span.name for span in world.ours)
    assert names == ["dispatch click", "dispatch click", "replay", "report click", "resend click", "step click"]


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, ParentBased(TraceIdRatioBased(0.01))])
async def test_a01_nor_on_the_sampler(traced, sampler):
    world = traced(sampler=sampler)
    world.site.queue(click())
    async with in_process(world.site.app) as client:
        await Agent(client).poll()
        world.site.clock.advance(35)
        assert (await Agent(client).poll())["delivery"]["attempt"] == 2
        assert (await Agent(client).report(screenshot_after=SHOT))["verdict"]["verdict"] == "complete"


async def test_nor_on_an_exporter_that_fails_or_a_provider_that_is_shut_down():
    class Dead(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            return SpanExportResult.FAILURE

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Dead()))
    site = a_site(tracer_provider=provider)
    site.queue(click(), click("act_2"))
    async with in_process(site.app) as client:
        await Agent(client).poll()
        provider.shutdown()
        site.clock.advance(35)
        assert (await Agent(client).poll())["delivery"]["attempt"] == 2
        assert (await Agent(client).report())["status"] == "accepted"
        assert (await Agent(client).poll())["action"]["action_id"] == "act_2"


async def test_a13_http_spans_are_linked_and_parents_of_nothing(traced):
    world = traced()
    world.site.queue(click())
    async with in_process(world.site.app) as client:
        await Agent(client).poll()
        await Agent(client).report(screenshot_after=SHOT)
    http = {span.get_span_context().span_id: span for span in world.http}
    assert len(http) == 2
    assert not [span for span in world.ours if span.parent is not None and span.parent.span_id in http]
    for name in ("dispatch click", "report click"):
        (span,) = (span for span in world.ours if span.name == name)
        linked = [http[link.context.span_id] for link in span.links if link.context.span_id in http]
        assert len(linked) == 1
    (validate,) = (span for span in world.ours if span.name == "validate click")
    (step,) = (span for span in world.ours if span.name == "step click")
    assert validate.parent is not None
    assert validate.parent.span_id == step.get_span_context().span_id
    post = next(span for span in world.http if span.name.startswith("POST"))
    assert post.attributes is not None
    assert post.attributes["rpa.report.status"] == "accepted"


@pytest.mark.parametrize("size", [0, 8_000_000])
async def test_a15_the_number_of_spans_does_not_depend_on_the_body(traced, size):
    world = traced()
    world.site.queue(click())
    body = json.dumps({"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": "a" * size})

    async def chunks() -> Any:
        data = body.encode()
        for at in range(0, len(data), 65_536):
            yield data[at : at + 65_536]

    async with in_process(world.site.app) as client:
        await Agent(client).poll()
        answer = await client.post(RESULT, content=chunks(), headers={"content-type": "application/json"})
        assert answer.json()["status"] == "accepted"
    names = [span.name for span in world.ours if not span.name.startswith(("check", "validate", "verdict"))]
    assert sorted(names) == ["dispatch click", "replay", "report click", "step click"]
    judged = 3 if size else 0
    assert len(world.ours) == len(names) + judged


async def test_a08_a12_cancelled_requests_leave_no_context_behind_and_end_each_dispatch_once(traced, caplog):
    caplog.set_level(logging.WARNING)
    world = traced()
    site = world.site
    site.queue(click())
    async with in_process(site.app) as client:
        await Agent(client).poll()
        for _ in range(50):
            with anyio.move_on_after(0.002):
                await exchange(site.app, query="session_id=s&wait_s=20")
        await Agent(client).report(screenshot_after=SHOT)
    assert [span.name for span in world.ours].count("dispatch click") == 1
    assert "Failed to detach context" not in caplog.text
    assert "ended span" not in caplog.text
    assert not trace.get_current_span().get_span_context().is_valid


async def test_the_delivery_carries_the_dispatch_spans_traceparent(traced):
    world = traced()
    world.site.queue(click())
    async with in_process(world.site.app) as client:
        header = (await Agent(client).poll())["delivery"]["traceparent"]
        await Agent(client).report()
    (dispatch,) = (span for span in world.ours if span.name == "dispatch click")
    _, trace_id, span_id, _ = header.split("-")
    assert int(trace_id, 16) == dispatch.get_span_context().trace_id
    assert int(span_id, 16) == dispatch.get_span_context().span_id


async def test_without_an_sdk_everything_but_the_traceparent_is_there():
    site = a_site(tracer_provider=NoOpTracerProvider(), checker=StubChecker())
    site.queue(click())
    first = json.loads(body_of(await exchange(site.app)))
    assert first["delivery"]["traceparent"] is None
    site.clock.advance(31)
    again = json.loads(body_of(await exchange(site.app, path=NEXT)))
    assert again["delivery"]["attempt"] == 2
