"""One report: judged and settled before the host's handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from otel_validation.asgi.messages import (
    Answer,
    AnswerHold,
    App,
    DisconnectedError,
    RawHeaders,
    Receive,
    Replayed,
    Scope,
    Send,
    TooLargeError,
    answer_json,
    dump,
    is_plain_json,
    parse_object,
    read_body,
    replace_header,
)
from otel_validation.delivery.keyed import KeyedLocks
from otel_validation.delivery.outcome import Outcome, ReportOutcome, ReportStatus
from otel_validation.validation.report import Report

if TYPE_CHECKING:
    import anyio

    from otel_validation.asgi.wiring import Wiring
    from otel_validation.validation.verdict import ValidationResult

SCOPE_KEY = "otel_validation"
"""Where the host's handler finds the plugin's answer: `request.scope["otel_validation"]`, a ReportOutcome."""

REMEMBERED_ANSWERS = 2_000
LONGEST_REMEMBERED = 64 * 1024

Key = tuple[str, str, str | None]


class Answers:
    """The host's answers to settled reports, so that a duplicate gets the same bytes and is not handled twice."""

    def __init__(self) -> None:
        self.locks = KeyedLocks()
        self._kept: LRUCache[Key, Answer] = LRUCache(maxsize=REMEMBERED_ANSWERS)

    def keep(self, report: Report, answer: Answer) -> None:
        """Remember a good answer; one that failed is not: the agent's next try must reach the host."""
        if 200 <= answer.status < 300 and len(answer.body) <= LONGEST_REMEMBERED:
            self._kept[report.session_id, report.action_id, report.token] = answer

    def kept(self, report: Report) -> Answer | None:
        """The remembered answer."""
        return self._kept.get((report.session_id, report.action_id, report.token))


class ReportCall:
    """One request on the report path."""

    def __init__(self, wiring: Wiring, answers: Answers, scope: Scope, receive: Receive, send: Send) -> None:
        self._wiring = wiring
        self._answers = answers
        self._scope = scope
        self._receive = receive
        self._send = send

    async def answer(self, app: App, limiter: anyio.CapacityLimiter) -> None:
        """Answer through the host; what is not plain JSON passes through untouched and stays tracked."""
        if not is_plain_json(list(self._scope["headers"])):
            await app(self._scope, self._receive, self._send)
            return
        async with limiter:
            limit = self._wiring.settings.max_report_bytes
            try:
                body = await read_body(self._scope, self._receive, limit)
            except TooLargeError:
                await answer_json(self._send, 413, {"detail": _too_large(limit)}, headers=[(b"connection", b"close")])
                return
            except DisconnectedError:
                return
            await self._answer_body(app, body)

    async def _answer_body(self, app: App, body: bytes) -> None:
        parsed = parse_object(body)
        report = Report.from_json(parsed) if parsed is not None else None
        if parsed is None or report is None or not await self._may_settle(report):
            await app(self._scope, Replayed(body, self._receive), self._send)
            return
        async with self._answers.locks.hold((report.session_id, report.action_id)):
            answer = await self._wiring.engine.report(report)
            self._scope[SCOPE_KEY] = answer
            await self._finish(app, report, answer, parsed, body)

    async def _may_settle(self, report: Report) -> bool:
        """A token proves itself: only whoever got the action has it. Without one the guard decides."""
        return report.token is not None or await self._wiring.guard.allows(report.session_id, self._scope)

    async def _finish(
        self, app: App, report: Report, answer: ReportOutcome, parsed: Mapping[str, Any], body: bytes
    ) -> None:
        kept = self._answers.kept(report) if answer.status is ReportStatus.DUPLICATE else None
        if kept is not None:
            again = {**(kept.parsed() or {}), "status": ReportStatus.DUPLICATE.value}
            await kept.with_body(dump(again)).send(self._send)
        elif answer.status is ReportStatus.STALE_REJECTED:
            # The host must not act on it: a newer attempt runs, or the action was given up.
            await answer_json(self._send, 200, answer_members(answer))
        else:
            await self._through_host(app, report, answer, self._told(answer.outcome, parsed, body))

    def _told(self, outcome: Outcome | None, parsed: Mapping[str, Any], body: bytes) -> bytes:
        """The body that the host's handler sees: the agent's own bytes, or with `success` and `error` overridden."""
        if outcome is None or not outcome.overridden:
            return body
        told = dump({**parsed, "success": outcome.success, "error": outcome.error})
        headers: RawHeaders = list(self._scope["headers"])
        self._scope["headers"] = replace_header(headers, b"content-length", str(len(told)).encode())
        return told

    async def _through_host(self, app: App, report: Report, answer: ReportOutcome, told: bytes) -> None:
        async def whole(host: Answer) -> None:
            parsed = host.parsed()
            if parsed is not None:
                members = {k: v for k, v in answer_members(answer).items() if k not in parsed}
                host = host.with_members(members) if members else host
                if answer.status is not ReportStatus.UNKNOWN:
                    self._answers.keep(report, host)
            await host.send(self._send)

        hold = AnswerHold(self._send, limit=LONGEST_REMEMBERED, whole=whole)
        await app(self._scope, Replayed(told, self._receive), hold)


def answer_members(answer: ReportOutcome) -> dict[str, Any]:
    """What a report's answer says: `status`, `verdict`, `route`; members that the host's answer has are the host's."""
    outcome = answer.outcome
    return {
        "status": answer.status.value,
        "verdict": verdict_json(outcome.result) if outcome is not None else None,
        "route": outcome.route.value if outcome is not None else None,
        "delivery": {"status": answer.status.value, "attempt": answer.attempt, "retry": answer.retry},
    }


def verdict_json(result: ValidationResult) -> dict[str, Any]:
    """A verdict as agents and operators read it (DESIGN section 7); evidence stays in the process."""
    return {
        "verdict": result.verdict.value,
        "failure_category": result.category.value if result.category else None,
        "confidence": round(result.confidence, 4),
        "verified": result.verified,
        "validated": result.validated,
        "reasoning": result.reasoning,
        "elapsed_ms": round(result.elapsed_ms, 1),
        "checks": [
            {
                "checker": finding.checker,
                "verdict": finding.verdict.value,
                "failure_category": finding.category.value if finding.category else None,
                "confidence": round(finding.confidence, 4),
                "verified": finding.verified,
            }
            for finding in result.findings
        ],
    }


def _too_large(limit: int) -> str:
    return f"the report is larger than {limit} bytes: send smaller screenshots, or raise RPA_MAX_REPORT_BYTES"
