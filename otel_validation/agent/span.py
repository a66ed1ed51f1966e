"""The `execute` span: in the trace of the dispatch that it answers. Telemetry that fails is logged, never raised."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_validation.tracing import semconv

if TYPE_CHECKING:
    from otel_validation.agent.assignment import Assignment

logger = logging.getLogger(__name__)

_W3C = TraceContextTextMapPropagator()


class ExecuteSpan:
    """An open `execute {type}` span. Names and ids only: nothing from the screen, no exception message."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def headers(self) -> dict[str, str]:
        """The W3C trace context of this span; empty where there is none."""
        carrier: dict[str, str] = {}
        _quietly(lambda: _W3C.inject(carrier, context=trace.set_span_in_context(self._span, Context())))
        return carrier

    def fail(self, error_type: str) -> None:
        """Mark the execution as failed; `error_type` is a short word or an exception's type."""
        _quietly(lambda: self._span.set_attribute(semconv.ERROR_TYPE, error_type))
        _quietly(lambda: self._span.set_status(Status(StatusCode.ERROR)))


@contextmanager
def execute_span(provider: TracerProvider | None, assignment: Assignment) -> Iterator[ExecuteSpan]:
    """Open the span, current for the callback; `provider` None is the global one."""
    span: Span = trace.INVALID_SPAN

    def start() -> None:
        nonlocal span
        span = _start(provider, assignment)

    _quietly(start)
    try:
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield ExecuteSpan(span)
    finally:
        _quietly(span.end)


def _start(provider: TracerProvider | None, assignment: Assignment) -> Span:
    action = assignment.action
    kind = semconv.type_name(action.type)
    carrier = {} if assignment.traceparent is None else {"traceparent": assignment.traceparent}
    return trace.get_tracer(semconv.SCOPE, tracer_provider=provider).start_span(
        f"{semconv.SPAN_EXECUTE} {kind}",
        context=_W3C.extract(carrier, context=Context()),
        kind=SpanKind.CONSUMER,
        attributes={
            semconv.ACTION_ID: action.action_id,
            semconv.ACTION_TYPE: kind,
            semconv.SESSION_ID: action.session_id,
            semconv.MACHINE_ID: action.machine_id,
            semconv.DISPATCH_ATTEMPT: assignment.attempt,
            semconv.DISPATCH_REDELIVERED: assignment.redelivered,
        },
    )


def _quietly(step: Callable[[], object]) -> None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - business never hangs off telemetry
        logger.warning("the execute span failed: %s", type(error).__name__)
