from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from otel_validation.agent import Execution

pytestmark = pytest.mark.anyio

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


async def succeed(context):
    return Execution(True, screenshot_after=b"screen")


async def test_the_execute_span_is_a_child_of_the_dispatch_and_travels_with_the_report(
    host, make_agent, make_action, provider, exporter
):
    current = []

    async def execute(context):
        current.append(trace.get_current_span().get_span_context().span_id)
        return Execution(True)

    host.give(make_action(by_text="Imagerie"), traceparent=TRACEPARENT, attempt=2, redelivered=True)
    await make_agent(execute, tracer_provider=provider).run_once()
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.kind) == ("execute click", SpanKind.CONSUMER)
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == PARENT
    assert current == [span.context.span_id]
    assert dict(span.attributes) == {
        "rpa.action.id": "act_1",
        "rpa.action.type": "click",
        "rpa.session.id": "s1",
        "rpa.machine.id": "m1",
        "rpa.dispatch.attempt": 2,
        "rpa.dispatch.redelivered": True,
    }
    assert span.status.status_code is StatusCode.UNSET
    sent = host.reports[0]["traceparent"]
    assert sent.split("-")[1:3] == [TRACE, f"{span.context.span_id:016x}"]
    assert host.report_headers[0]["traceparent"] == sent


async def test_a_redelivery_opens_no_span_and_sends_the_first_ones_context(
    host, make_agent, make_action, provider, exporter
):
    host.give(make_action(), traceparent=TRACEPARENT)
    host.give(make_action(), token="t2", attempt=2, traceparent=TRACEPARENT)
    agent = make_agent(succeed, tracer_provider=provider)
    await agent.run_once()
    await agent.run_once()
    assert len(exporter.get_finished_spans()) == 1
    assert host.reports[0]["traceparent"] == host.reports[1]["traceparent"]


async def test_without_a_traceparent_the_span_is_a_root_even_inside_the_hosts_own_span(
    host, make_agent, make_action, provider, exporter
):
    host.give(make_action())
    with provider.get_tracer("host").start_as_current_span("the agent's whole life"):
        await make_agent(succeed, tracer_provider=provider).run_once()
    assert exporter.get_finished_spans()[0].parent is None


@pytest.mark.parametrize("kind", ["Mme Dupont", "x" * 41, "é", ""])
async def test_a_type_that_is_no_word_does_not_become_a_span_name(
    host, make_agent, make_action, provider, exporter, kind
):
    host.give(make_action(type=kind))
    await make_agent(succeed, tracer_provider=provider).run_once()
    (span,) = exporter.get_finished_spans()
    assert span.name in ("execute other", "execute unknown")
    assert "Dupont" not in span.to_json()


@pytest.mark.parametrize(
    ("execution", "error_type"),
    [
        (RuntimeError("Mme Dupont"), "RuntimeError"),
        (Execution(False), "action_failed"),
        (Execution(False, "Mme Dupont"), "action_failed"),
        (Execution(True, value=object()), "execution_unusable"),
    ],
)
async def test_a_failure_is_an_error_with_a_type_and_nothing_of_the_screen(
    host, make_agent, make_action, provider, exporter, execution, error_type
):
    async def execute(context):
        if isinstance(execution, Exception):
            raise execution
        return execution

    host.give(make_action())
    await make_agent(execute, tracer_provider=provider).run_once()
    (span,) = exporter.get_finished_spans()
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, error_type)
    assert span.status.description is None
    assert "Dupont" not in span.to_json()


class Broken(SpanProcessor):
    def on_start(self, span, parent_context=None):
        raise RuntimeError("patient")

    def on_end(self, span):
        raise RuntimeError("patient")


class BrokenEnd(SpanProcessor):
    def on_end(self, span):
        raise RuntimeError("patient")


@pytest.mark.parametrize("processor", [Broken, BrokenEnd])
async def test_broken_telemetry_breaks_nothing(host, make_agent, make_action, caplog, processor):
    provider = TracerProvider()
    provider.add_span_processor(processor())
    host.give(make_action(), traceparent=TRACEPARENT)
    run = await make_agent(succeed, tracer_provider=provider).run_once()
    assert run.answer.status == "accepted"
    assert host.reports[0]["success"] is True
    assert "patient" not in caplog.text


async def test_without_an_sdk_the_dispatchs_context_is_passed_on(host, make_agent, make_action):
    host.give(make_action("a"), traceparent=TRACEPARENT)
    host.give(make_action("b"))
    agent = make_agent(succeed, tracer_provider=trace.NoOpTracerProvider())
    await agent.run_once()
    await agent.run_once()
    assert host.reports[0]["traceparent"] == TRACEPARENT
    assert "traceparent" not in host.reports[1]
