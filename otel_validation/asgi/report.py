"""One report: judged and settled before the host's handler sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
from cachetools import LRUCache

from otel_validation.asgi.first_reports import FirstReports, Key
from otel_validation.asgi.messages import (
    Answer,
    AnswerHold,
    App,
    DisconnectedError,
    Message,
    RawHeaders,
    Receive,
    Replayed,
    Scope,
    Send,
    TooLargeError,
    answer_json,
    discard_body,
    dump,
    may_be_json,
    parse_object,
    read_body,
    replace_header,
)
from otel_validation.delivery.keyed import KeyedLocks
from otel_validation.delivery.outcome import Outcome, ReportOutcome, ReportStatus
from otel_validation.validation.report import Report

if TYPE_CHECKING:
    from otel_validation.asgi.wiring import Wiring
    from otel_validation.validation.verdict import ValidationResult

SCOPE_KEY = "otel_validation"
"""Where the host's handler finds the plugin's answer: `request.scope["otel_validation"]`, a ReportOutcome."""

REMEMBERED_ANSWERS = 2_000
LONGEST_REMEMBERED = 64 * 1024
DISCARDED = 4
"""Times the limit that a refused body may be long and still be read to its end, so that its sender hears why."""
SMALL = 64 * 1024
"""Bytes that servers hold of any request before the application asks for them."""
SETTLING = frozenset((ReportStatus.ACCEPTED, ReportStatus.STALE_ADOPTED))
UNPROVEN = ReportOutcome(status=ReportStatus.UNKNOWN)
"""The answer to a report that bears no token and other credentials than the session's: it settles nothing."""

CLOSE: RawHeaders = [(b"connection", b"close")]


_Kept = tuple[int, tuple[tuple[bytes, bytes], ...], bytes]
"""Status, headers and body of an answer: plain tuples of bytes, of which garbage collections see nothing."""


class Answers:
    """The host's answers to settled reports, so that a duplicate gets the same bytes and is not handled twice.

    Kept by session, action and business retry: a duplicate may bear the token of any attempt of that delivery.
    """

    def __init__(self) -> None:
        self.locks = KeyedLocks()
        self.firsts = FirstReports()
        self._kept: LRUCache[Key, _Kept] = LRUCache(maxsize=REMEMBERED_ANSWERS)

    def keep(self, key: Key, answer: Answer) -> None:
        """Remember a good answer; one that failed is not: the agent's next try must reach the host."""
        if 200 <= answer.status < 300 and len(answer.body) <= LONGEST_REMEMBERED:
            headers = tuple((bytes(name), bytes(value)) for name, value in answer.start.get("headers", ()))
            self._kept[key] = answer.status, headers, answer.body

    def kept(self, key: Key) -> Answer | None:
        """The remembered answer."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        status, headers, body = kept
        return Answer({"type": "http.response.start", "status": status, "headers": list(headers)}, body)


class ReportCall:
    """One request on the report path."""

    def __init__(self, wiring: Wiring, answers: Answers, scope: Scope, receive: Receive, send: Send) -> None:
        self._wiring = wiring
        self._answers = answers
        self._scope = scope
        self._receive = receive
        self._send = send

    async def answer(self, app: App, limiter: anyio.Semaphore) -> None:
        """Answer through the host; what is not plain JSON passes through untouched and stays tracked."""
        if not may_be_json(self._scope["headers"]):
            await app(self._scope, self._receive, self._send)
            return
        first = await self._receive()
        if _is_small_and_whole(first, self._wiring.settings.max_report_bytes):
            await self._answer_body(app, first.get("body", b""))
            return
        self._receive = Replayed(first, self._receive)
        async with limiter:
            body = await self._read()
            if body is not None:
                await self._answer_body(app, body)

    async def _read(self) -> bytes | None:
        """The body; None where there is no whole one and the client has been told why.

        It must arrive in time: a client that vanished while sending would hold one of the limiter's places for ever.
        """
        settings = self._wiring.settings
        with anyio.move_on_after(settings.report_read_timeout_s):
            try:
                return await read_body(self._scope, self._receive, settings.max_report_bytes)
            except DisconnectedError:
                return None
            except TooLargeError:
                await discard_body(self._scope, self._receive, DISCARDED * settings.max_report_bytes)
                await answer_json(self._send, 413, {"detail": _too_large(settings.max_report_bytes)}, headers=CLOSE)
                return None
        await answer_json(self._send, 408, {"detail": _too_slow(settings.report_read_timeout_s)}, headers=CLOSE)
        return None

    async def _answer_body(self, app: App, body: bytes) -> None:
        parsed = parse_object(body)
        report = Report.from_json(parsed) if parsed is not None else None
        if parsed is None or report is None:
            await app(self._scope, Replayed.body(body, self._receive), self._send)
            return
        async with self._answers.locks.hold((report.session_id, report.action_id)):
            may_settle = await self._may_settle(report)
            answer = await self._wiring.engine.report(report) if may_settle else UNPROVEN
            self._scope[SCOPE_KEY] = answer
            key = (report.session_id, report.action_id, answer.retry)
            if not _is_for_the_host(answer):
                await self._answer_alone(key, answer, parsed)
            elif answer.look_of is None:
                await self._finish(app, key, answer, parsed, body)
            else:
                await self._finish_look(app, key, answer.look_of, answer, parsed)

    async def _may_settle(self, report: Report) -> bool:
        """A token proves itself: only whoever got the action has it. Without one the guard decides."""
        return report.token is not None or await self._wiring.guard.allows(report.session_id, self._scope)

    async def _answer_alone(self, key: Key, answer: ReportOutcome, parsed: Mapping[str, Any]) -> None:
        """The host is not told: of an action that is looked at again it hears once that is settled."""
        next_look = None if answer.outcome is None else answer.outcome.next_look
        if next_look is not None and answer.look_of is None and answer.status in SETTLING and not next_look.secret:
            self._answers.firsts.keep(key, parsed)
        await answer_json(self._send, 200, answer_members(answer))

    async def _finish(self, app: App, key: Key, answer: ReportOutcome, parsed: Mapping[str, Any], body: bytes) -> None:
        kept = self._answers.kept(key) if answer.status is ReportStatus.DUPLICATE else None
        if kept is not None:
            await self._send_again(kept, ReportStatus.DUPLICATE)
        else:
            await self._through_host(app, (key,), answer, self._told(answer.outcome, parsed, body))

    async def _finish_look(
        self, app: App, key: Key, look_of: str, answer: ReportOutcome, parsed: Mapping[str, Any]
    ) -> None:
        """The host hears of the action that the look was after, as if its first report came now; of the look never.

        A copy of that first report may have reached the host meanwhile: then this is answered like it.
        """
        first = (key[0], look_of, key[2])
        async with self._answers.locks.hold(first[:2]):
            kept = self._answers.kept(key) or self._answers.kept(first)
            if kept is not None:
                await self._send_again(kept, answer.status)
                return
            told = self._rewritten(self._answers.firsts.told(first, answer, parsed))
            await self._through_host(app, (first, key), answer, told)
            if self._answers.kept(first) is not None:
                self._answers.firsts.drop(first)

    def _told(self, outcome: Outcome | None, parsed: Mapping[str, Any], body: bytes) -> bytes:
        """The body that the host's handler sees: the agent's own bytes, or with `success` and `error` overridden."""
        if outcome is None or not outcome.overridden:
            return body
        return self._rewritten(dump({**parsed, "success": outcome.success, "error": outcome.error}))

    def _rewritten(self, told: bytes) -> bytes:
        headers: RawHeaders = list(self._scope["headers"])
        self._scope["headers"] = replace_header(headers, b"content-length", str(len(told)).encode())
        return told

    async def _send_again(self, kept: Answer, status: ReportStatus) -> None:
        again = {**(kept.parsed() or {}), "status": status.value}
        await kept.with_body(dump(again)).send(self._send)

    async def _through_host(self, app: App, keys: Sequence[Key], answer: ReportOutcome, told: bytes) -> None:
        async def whole(host: Answer) -> None:
            parsed = host.parsed()
            if parsed is not None:
                members = {k: v for k, v in answer_members(answer).items() if k not in parsed}
                host = host.with_members(members) if members else host
                if answer.status is not ReportStatus.UNKNOWN:
                    for key in keys:
                        self._answers.keep(key, host)
            await host.send(self._send)

        hold = AnswerHold(self._send, limit=LONGEST_REMEMBERED, whole=whole)
        await app(self._scope, Replayed.body(told, self._receive), hold)


def _is_for_the_host(answer: ReportOutcome) -> bool:
    """Whether the host must act on it.

    It must not where a newer attempt runs, where the action was given up, or where it is looked at again; a look that
    has nothing to say of its action is none of its business.
    """
    if answer.status is ReportStatus.STALE_REJECTED:
        return False
    if answer.outcome is None:
        return answer.look_of is None
    return answer.outcome.next_look is None


def answer_members(answer: ReportOutcome) -> dict[str, Any]:
    """What a report's answer says: `status`, `verdict`, `route`; members that the host's answer has are the host's.

    `recheck` is there where nothing is settled yet: in how many seconds a look is handed out, and how many are left
    after it.
    """
    outcome = answer.outcome
    members: dict[str, Any] = {
        "status": answer.status.value,
        "verdict": verdict_json(outcome.result) if outcome is not None else None,
        "route": outcome.route.value if outcome is not None else None,
        "delivery": {"status": answer.status.value, "attempt": answer.attempt, "retry": answer.retry},
    }
    if outcome is not None and outcome.next_look is not None:
        members["recheck"] = {"after_s": outcome.next_look.after_s, "left": outcome.next_look.left}
    return members


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


def _is_small_and_whole(first: Message, limit: int) -> bool:
    """Whether a body is there with its first message: it needs no place among those that are held, and no clock."""
    body = first.get("body", b"")
    return first["type"] == "http.request" and not first.get("more_body", False) and len(body) <= min(SMALL, limit)


def _too_slow(timeout_s: float) -> str:
    return f"the report did not arrive within {timeout_s:g} s: see RPA_REPORT_READ_TIMEOUT_S"


def _too_large(limit: int) -> str:
    return f"the report is larger than {limit} bytes: send smaller screenshots, or raise RPA_MAX_REPORT_BYTES"
