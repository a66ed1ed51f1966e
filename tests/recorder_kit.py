"""An engine whose spans are kept, and how spans are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from delivery_kit import an_action
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_validation.clock import VirtualClock
from otel_validation.delivery.engine import Engine, Ticket
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.stores.memory import MemoryStore
from otel_validation.tracing import semconv
from otel_validation.tracing.recorder import Recorder
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import Finding, Verdict

CANARY = "Durand-Paul-1957"
SHOT = "aaaa"


class Checker:
    """Says `finding`, or raises it."""

    name = "ocr_roi"

    def __init__(self) -> None:
        self.finding: Finding | Exception = Finding(
            checker="ocr_roi", verdict=Verdict.COMPLETE, confidence=0.91239, reasoning=CANARY, evidence={"t": CANARY}
        )

    def applies(self, subject: Any) -> bool:
        return subject.report.has_screenshot

    def check(self, subject: Any) -> Finding:
        if isinstance(self.finding, Exception):
            raise self.finding
        return self.finding

    def warm_up(self) -> None: ...


@dataclass
class Studio:
    """An engine whose spans are kept."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    clock: VirtualClock = field(default_factory=VirtualClock)
    checker: Checker = field(default_factory=Checker)
    policy: DeliveryPolicy = field(default_factory=DeliveryPolicy)
    provider: Any = None

    def __post_init__(self) -> None:
        if self.provider is None:
            self.provider = TracerProvider(shutdown_on_exit=False)
            self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.recorder = Recorder(self.provider, idle_s=300)
        validator = Validator([self.checker], subject=ReportSubject, clock=self.clock, observer=self.recorder)
        self.engine = Engine(
            MemoryStore(), judge=validator.validate, policy=self.policy, clock=self.clock, observer=self.recorder
        )

    async def dispatch(self, action_id: str = "a", **more: Any) -> Ticket:
        ticket = await self.engine.dispatch(an_action(action_id, **more))
        assert ticket is not None
        self.clock.advance(1)
        return ticket

    async def again(self) -> Ticket:
        ticket = await self.engine.poll("s")
        assert isinstance(ticket, Ticket)
        return ticket

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.spans if span.name == name)
        return span

    def names(self) -> list[str]:
        return sorted(span.name for span in self.spans)


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def ident(span: ReadableSpan) -> int:
    return span.get_span_context().span_id


def links(span: ReadableSpan) -> dict[str, list[int]]:
    by_kind: dict[str, list[int]] = {}
    for link in span.links:
        by_kind.setdefault(str((link.attributes or {})[semconv.LINK_KIND]), []).append(link.context.span_id)
    return by_kind
