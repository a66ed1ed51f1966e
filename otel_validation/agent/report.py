"""A report as the agent keeps it, to be sent as often as it takes, and the server's answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from otel_validation.agent.execution import Execution

if TYPE_CHECKING:
    from otel_validation.agent.assignment import Assignment

SCREENSHOTS = ("screenshot_before", "screenshot_after")
INTERRUPTED = "interrupted"
"""The `error` of an execution that the agent's own end cut short."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report without its token: every delivery of the same execution is answered with it, under its own token."""

    action_id: str
    success: bool
    content: str = field(repr=False)
    """The JSON object, written at once: a callback that changes its values later changes nothing here."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The trace context of the `execute` span."""

    @classmethod
    def of(cls, execution: object, assignment: Assignment, headers: Mapping[str, str]) -> StoredReport:
        """Write the report of an Execution; raises TypeError or ValueError where it holds what JSON cannot."""
        if not isinstance(execution, Execution) or type(execution.success) is not bool:
            msg = "a callback returns an Execution whose success is a bool"
            raise TypeError(msg)
        action = assignment.action
        body = {**execution.to_json(), "session_id": action.session_id, "action_id": action.action_id}
        if "traceparent" in headers:
            body["traceparent"] = headers["traceparent"]
        content = json.dumps(body, ensure_ascii=True, allow_nan=False)
        return cls(action.action_id, execution.success, content, dict(headers))

    @classmethod
    def interrupted(cls, assignment: Assignment) -> StoredReport:
        """What is reported of an execution of which nothing else is known."""
        return cls.of(Execution(False, INTERRUPTED), assignment, {})

    @property
    def size(self) -> int:
        """Characters of the JSON (all ASCII, so bytes too)."""
        return len(self.content)

    def under(self, token: str | None) -> bytes:
        """The request body; the token goes in front, the rest is not parsed again."""
        fields = self.content[1:]
        token_field = "" if token is None else f'"delivery_token": {json.dumps(token)}, '
        return f"{{{token_field}{fields}".encode("ascii")

    def without_screenshots(self) -> StoredReport:
        """The same report, light enough to be kept for long."""
        body = json.loads(self.content)
        light = {name: value for name, value in body.items() if name not in SCREENSHOTS}
        return StoredReport(self.action_id, self.success, json.dumps(light), self.headers)


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """What the server said to a report. `status` is None where it has no plugin, or answered no JSON object.

    A host's own `status` says nothing about the delivery: the plugin's `delivery.status` goes first.
    """

    http_status: int
    status: str | None = None
    verdict: Mapping[str, Any] | None = None
    route: str | None = None

    @classmethod
    def from_json(cls, http_status: int, body: object) -> ReportAnswer:
        """Read an answer; what is missing or of the wrong type is None."""
        if not isinstance(body, Mapping):
            return cls(http_status)
        block, verdict, route = body.get("delivery"), body.get("verdict"), body.get("route")
        status = block.get("status") if isinstance(block, Mapping) else body.get("status")
        return cls(
            http_status,
            status if isinstance(status, str) else None,
            verdict if isinstance(verdict, Mapping) else None,
            route if isinstance(route, str) else None,
        )
