"""A trace as a tree: children under their parents, in order, with what matters beside them."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, Status, StatusCode
from rich.console import Console

from otel_validation.tracing import semconv
from otel_validation.tracing.tree import trace_tree

MS = 1_000_000


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


def rendered(exporter, trace_id, **options):
    console = Console(width=120, record=True, highlight=False, file=None, quiet=False, **options)
    with console.capture() as capture:
        console.print(trace_tree(exporter.get_finished_spans(), trace_id))
    return capture.get()


def test_children_stand_under_their_parents_in_the_order_they_began(tracer, exporter):
    root = tracer.start_span("replay", start_time=0, attributes={semconv.REPLAY_END: "completed"})
    under = trace.set_span_in_context(root)
    second = tracer.start_span("step b", context=under, start_time=20 * MS)
    first = tracer.start_span("step a", context=under, start_time=10 * MS, attributes={semconv.ACTION_ID: "a[/b]"})
    inner = tracer.start_span(
        "dispatch a",
        context=trace.set_span_in_context(first),
        start_time=11 * MS,
        links=[
            Link(second.get_span_context(), {semconv.LINK_KIND: semconv.LINK_PREVIOUS_ATTEMPT}),
            Link(root.get_span_context(), {semconv.LINK_KIND: semconv.LINK_HTTP}),
            Link(root.get_span_context()),
        ],
    )
    inner.set_status(Status(StatusCode.ERROR))
    for span, end in ((inner, 12), (second, 30), (first, 15), (root, 40)):
        span.end(end * MS)
    other = tracer.start_span("elsewhere")
    other.end()
    trace_id = f"{root.get_span_context().trace_id:032x}"
    lines = [line.rstrip() for line in rendered(exporter, trace_id).splitlines()]
    assert lines == [
        f"trace {trace_id}",
        "└── replay  40 ms  replay.end=completed",
        "    ├── step a  5 ms  action.id=a[/b]",
        "    │   └── dispatch a  1 ms  -> previous_attempt",
        "    └── step b  10 ms",
    ]


def test_a_span_whose_parent_is_missing_is_marked(tracer, exporter):
    root = tracer.start_span("never ended")
    tracer.start_span("execute click", context=trace.set_span_in_context(root)).end()
    text = rendered(exporter, f"{root.get_span_context().trace_id:032x}")
    assert "execute click" in text
    assert "(its parent is elsewhere)" in text


def test_errors_are_red(tracer, exporter):
    span = tracer.start_span("give_up click")
    span.set_status(Status(StatusCode.ERROR))
    span.end()
    text = rendered(exporter, f"{span.get_span_context().trace_id:032x}", force_terminal=True, color_system="standard")
    assert "\x1b[31mgive_up click" in text
