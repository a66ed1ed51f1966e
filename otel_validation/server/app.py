"""The reference replay server: a small FastAPI application that uses the plugin as any host would."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

from otel_validation import __version__
from otel_validation.asgi.messages import disconnected
from otel_validation.asgi.report import SCOPE_KEY
from otel_validation.clock import stopwatch, utc
from otel_validation.delivery.outcome import ReportOutcome, ReportStatus
from otel_validation.errors import OtelValidationError, UnknownDeadLetterError, UnknownSessionError
from otel_validation.plugin import Plugin, instrument, routing_policy
from otel_validation.server.access import Bearer, OwnMachine
from otel_validation.server.limits import BodyLimit
from otel_validation.server.models import (
    DeadLetterView,
    Identifier,
    ReplayCreated,
    ReplayRequest,
    ReplaySummary,
    ReplayView,
    ReportBody,
    StatusAnswer,
)
from otel_validation.server.replays import (
    ActionTooLargeError,
    Follow,
    Replay,
    ReplayBook,
    ReplayOverError,
    SessionBusyError,
    UnknownReplayError,
)
from otel_validation.settings import Settings
from otel_validation.validation.routing import Mode

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from otel_validation.delivery.lease import DeadLetter
    from otel_validation.validation.validator import Validator

STATUS_OF_ERROR = {
    SessionBusyError: 409,
    ReplayOverError: 409,
    UnknownReplayError: 404,
    UnknownDeadLetterError: 404,
    ActionTooLargeError: 422,
}
PLACES = frozenset({"body", "query", "path", "wait_s", *ReplayRequest.model_fields, *ReportBody.model_fields})
"""Words of a validation error's place that are ours; another one is a client's."""
SLACK = 1_024
"""Bytes of a poll's answer besides the action."""


def create_app(
    settings: Settings | None = None,
    *,
    validator: Validator | None = None,
    tracer_provider: TracerProvider | None = None,
) -> FastAPI:
    """The application. `settings` defaults to the `RPA_*` environment, `tracer_provider` to the global one.

    With `RPA_API_TOKEN` every call but health needs `Authorization: Bearer`; without one, bind to loopback only (as
    `otel-validation serve` does).
    """
    settings = settings or Settings()
    book = ReplayBook()
    bearer = Bearer(settings.api_token)
    # Not strict: an agent that sends no content type is read by the plugin, so it must be read here too.
    app = FastAPI(title="otel_validation reference replay server", version=__version__, strict_content_type=False)
    plugin = instrument(
        app,
        settings,
        observers=[book],
        validator=validator,
        tracer_provider=tracer_provider,
        authorize=bearer.allows,
    )
    app.state.book = book
    app.add_middleware(OwnMachine, book=book, poll_path=settings.poll_path, allows=bearer.allows)
    app.add_middleware(BodyLimit, limit=settings.max_report_bytes, own_limit={settings.report_path})
    guarded = [Depends(bearer)]
    app.include_router(_agent_calls(book, plugin), dependencies=guarded)
    app.include_router(OperatorCalls(book, plugin).router(), dependencies=guarded)
    app.include_router(_health(plugin))
    app.add_exception_handler(OtelValidationError, _explain)
    app.add_exception_handler(RequestValidationError, _explain_invalid)
    FastAPIInstrumentor.instrument_app(
        app, tracer_provider=tracer_provider, excluded_urls="healthz,readyz", exclude_spans=["receive", "send"]
    )
    return app


def _agent_calls(book: ReplayBook, plugin: Plugin) -> APIRouter:
    router = APIRouter(tags=["agents"])
    settings = plugin.settings

    @router.get(settings.poll_path)
    async def next_action(
        request: Request,
        session_id: Identifier,
        machine_id: Identifier,
        wait_s: Annotated[float, Query(ge=0)] = 0.0,
    ) -> dict[str, Any]:
        """The session's next action, or null; `wait_s` holds the poll until there is one."""
        action = book.next_action(session_id, machine_id)
        ends = stopwatch() + min(wait_s, settings.max_wait_s)
        while action is None and not book.paused(session_id) and (remaining := ends - stopwatch()) > 0:
            # Short rests: a client that went away must not be handed anything.
            await book.news.wait(session_id, min(remaining, 0.25))
            if await disconnected(request.receive):
                break
            action = book.next_action(session_id, machine_id)
        return {"action": action, "replay_paused": action is None and book.paused(session_id)}

    @router.post(settings.report_path)
    async def result(request: Request, report: ReportBody) -> dict[str, Any]:
        """What the agent says happened, judged by the time it gets here."""
        answer: ReportOutcome | None = request.scope.get(SCOPE_KEY)
        if answer is None or answer.status is ReportStatus.UNKNOWN:
            raise HTTPException(404, "no such action was handed out in this session: do not send this report again")
        if answer.outcome is None:
            return {}
        follow = book.settle(report.session_id, report.action_id, answer.outcome)
        if follow is Follow.ENDED:
            plugin.recorder.end_replay(report.session_id, end="completed", wall_ns=plugin.clock.wall_ns())
        elif follow is Follow.NEEDS_HELP:
            await plugin.engine.pause(report.session_id, "the last action failed")
        return {}

    return router


class OperatorCalls:
    """The calls of operators and of whoever starts replays."""

    def __init__(self, book: ReplayBook, plugin: Plugin) -> None:
        self._book = book
        self._plugin = plugin

    def router(self) -> APIRouter:
        """Their routes."""
        router = APIRouter(prefix="/api/v1", tags=["operators"])
        router.add_api_route("/replays", self.create_replay, methods=["POST"], status_code=201)
        router.add_api_route("/replays", self.replays, methods=["GET"])
        router.add_api_route("/replays/{replay_id}", self.replay, methods=["GET"])
        for operation in (self.pause, self.resume, self.cancel):
            router.add_api_route(f"/replays/{{replay_id}}/{operation.__name__}", operation, methods=["POST"])
        router.add_api_route("/dead-letters", self.dead_letters, methods=["GET"])
        router.add_api_route("/dead-letters/{dead_letter_id}/redrive", self.redrive, methods=["POST"])
        return router

    async def create_replay(self, request: ReplayRequest) -> ReplayCreated:
        """Queue a replay; 409 where its session has one in progress."""
        limit = self._plugin.settings.max_poll_answer_bytes - SLACK
        if any(len(json.dumps(action, ensure_ascii=False).encode()) > limit for action in request.actions):
            raise ActionTooLargeError(limit)
        replay = self._book.create(request)
        trace_id = self._plugin.recorder.start_replay(
            replay.session_id, replay_id=replay.replay_id, wall_ns=self._plugin.clock.wall_ns()
        )
        replay.trace_id = trace_id if int(trace_id, 16) else None
        return ReplayCreated(replay_id=replay.replay_id, status=replay.status, trace_id=replay.trace_id)

    async def replays(self) -> list[ReplaySummary]:
        """Every replay remembered."""
        return [replay.summary() for replay in self._book.all()]

    async def replay(self, replay_id: str) -> ReplayView:
        """Status, and for each action: state, attempts, verdict, route; the trace id of the whole."""
        return self._book.get(replay_id).view()

    async def pause(self, replay_id: str) -> StatusAnswer:
        """Hand out nothing more; lease clocks stand still."""
        found = self._book.get(replay_id)
        if not found.over:
            await self._plugin.engine.pause(found.session_id)
        return StatusAnswer(replay_id=replay_id, status=found.status)

    async def resume(self, replay_id: str) -> StatusAnswer:
        """Go on with the next action."""
        found = self._book.get(replay_id)
        if not found.over:
            with suppress(UnknownSessionError):  # nothing was handed out yet
                await self._plugin.engine.resume(found.session_id)
            if self._book.resume(found) is not None:
                _end(self._plugin, found, "completed")
        return StatusAnswer(replay_id=replay_id, status=found.status)

    async def cancel(self, replay_id: str) -> StatusAnswer:
        """Withdraw everything that has not been settled."""
        found = self._book.get(replay_id)
        if not found.over:
            with suppress(UnknownSessionError):
                await self._plugin.engine.cancel(found.session_id)
            self._book.cancel(found)
            _end(self._plugin, found, "cancelled")
        return StatusAnswer(replay_id=replay_id, status=found.status)

    async def dead_letters(self) -> list[DeadLetterView]:
        """Actions that were given up, oldest first."""
        return [_letter_view(letter) for letter in await self._plugin.engine.dead_letters()]

    async def redrive(self, dead_letter_id: str) -> dict[str, str]:
        """Put a dead letter back at the head of its session, with a fresh budget; 409 where its replay has ended."""
        letters = await self._plugin.engine.dead_letters()
        letter = next((d for d in letters if d.dead_letter_id == dead_letter_id), None)
        if letter is not None:
            self._book.must_run(letter)
        action = (await self._plugin.engine.redrive(dead_letter_id)).action
        return {"action_id": action.action_id, "session_id": action.session_id, "state": "waiting"}


def _health(plugin: Plugin) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthz() -> dict[str, Any]:
        """Alive; seconds since the watchdog's last scan."""
        return {"status": "ok", "last_scan_age_s": plugin.watchdog.last_scan_age_s}

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        """Ready: the timer runs and the checkers are warm; 503 until then."""
        state = {
            "watchdog": plugin.watchdog.running or not plugin.settings.watchdog_enabled,
            "checkers": plugin.validator.warm or routing_policy(plugin.settings).mode is Mode.OFF,
            "store": "memory",
        }
        ready = bool(state["watchdog"] and state["checkers"])
        return JSONResponse({"status": "ready" if ready else "not ready", **state}, 200 if ready else 503)

    return router


def _end(plugin: Plugin, replay: Replay, end: str) -> None:
    plugin.recorder.end_replay(replay.session_id, end=end, wall_ns=plugin.clock.wall_ns())


def _letter_view(letter: DeadLetter) -> DeadLetterView:
    action = letter.delivery.action
    return DeadLetterView(
        dead_letter_id=letter.dead_letter_id,
        action_id=action.action_id,
        type=action.type,
        session_id=action.session_id,
        machine_id=action.machine_id,
        cause=letter.cause.value,
        attempts=letter.delivery.attempts,
        age_s=round(letter.age_s, 3),
        given_up_at=utc(letter.wall_ns),
        late_reports=letter.late_reports,
    )


async def _explain(_request: Request, error: Exception) -> JSONResponse:
    status = next((code for kind, code in STATUS_OF_ERROR.items() if isinstance(error, kind)), 400)
    return JSONResponse({"detail": str(error)}, status)


async def _explain_invalid(_request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong and where, never what was sent, names included: a value or a key may be a patient's."""
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    detail = [{"type": e["type"], "loc": [_place(part) for part in e["loc"]], "msg": e["msg"]} for e in errors]
    return JSONResponse({"detail": detail}, 422)


def _place(part: object) -> object:
    return part if isinstance(part, int) or part in PLACES else "?"
