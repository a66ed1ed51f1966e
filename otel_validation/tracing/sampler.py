"""A sampler under which no dispatch span is invisible to processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from typing_extensions import override

from otel_validation.tracing import semconv

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, SpanKind, TraceState
    from opentelemetry.util.types import Attributes


class DispatchSampler(Sampler):
    """Asks `inner`; a dispatch span that it drops is recorded without being exported.

    A dropped span never reaches a processor; one that is RECORD_ONLY does, and no exporter gets it. What the plugin
    itself dispatches needs no sampler: its leases live in the store. This one is for dispatch spans opened by hand:
    `TracerProvider(sampler=DispatchSampler(ParentBasedTraceIdRatio(0.01)))`.
    """

    def __init__(self, inner: Sampler) -> None:
        self._inner = inner

    @override
    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """The inner sampler's word, with DROP raised to RECORD_ONLY for dispatch spans."""
        result = self._inner.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        if result.decision is Decision.DROP and name.startswith(f"{semconv.SPAN_DISPATCH} "):
            return SamplingResult(Decision.RECORD_ONLY, attributes, result.trace_state)
        return result

    @override
    def get_description(self) -> str:
        """Its name, with the inner sampler's."""
        return f"DispatchSampler{{{self._inner.get_description()}}}"
