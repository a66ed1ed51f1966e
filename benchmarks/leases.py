"""Leases as a busy server has them: one action in flight in each of many sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from otel_validation.delivery.action import Action


class CountingExporter(SpanExporter):
    """Exports into a count: what an exporter costs is the host's business, in every variant alike."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Count them."""
        self.spans += len(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing to close."""


def counting_provider() -> tuple[TracerProvider, CountingExporter]:
    """A real provider with a batch processor, as a host has it."""
    exporter = CountingExporter()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter


def click(number: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """A typical click action's JSON, all its values new objects as `json.loads` gives them."""
    return {
        "action_id": f"act_{number}",
        "type": "click",
        "x_pct": 0.25 + number / 1e6,
        "y_pct": 0.5 + number / 1e6,
        "target_spec": {"by_text": f"Imagerie {number}", "by_role": "tab", "window_title": "Dossier patient"},
        "replay_id": f"replay-{number}",
        "workflow": "dossier-urgences",
        "step_index": number,
        **more,
    }


def action(number: int, payload: dict[str, Any]) -> Action:
    """The action of a session of its own."""
    made = Action.from_json(payload, session_id=f"session-{number}", machine_id=f"poste-{number}")
    if made is None:
        msg = "a benchmark's action has an action_id"
        raise AssertionError(msg)
    return made
