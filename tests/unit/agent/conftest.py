"""A replay server to poll: what it answers is written by the test, what it hears is kept."""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trio.testing
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from otel_validation.agent import AgentClient, Backoff

if TYPE_CHECKING:
    from starlette.requests import Request

ACCEPTED = {"status": "accepted", "verdict": {"verdict": "complete", "confidence": 0.9}, "route": "continue"}
EXTENDED = {"status": "extended", "deadline": "2026-01-01T00:00:30Z", "visibility_timeout_s": 30}


def click(action_id: str = "act_1", **more: Any) -> dict[str, Any]:
    return {"action_id": action_id, "type": "click", "x_pct": 0.0, "y_pct": 0.5, **more}


def delivery(token: str = "t1", **more: Any) -> dict[str, Any]:
    return {"token": token, "attempt": 1, "retry": 0, "redelivered": False, "visibility_timeout_s": 30, **more}


class Host:
    """Three endpoints. Each answer is JSON, or (status, JSON), or a Response, or a function that makes one of them."""

    def __init__(self) -> None:
        self.polls: list[Request] = []
        self.reports: list[dict[str, Any]] = []
        self.report_headers: list[dict[str, str]] = []
        self.beats: list[dict[str, Any]] = []
        self.poll_answers: deque[Any] = deque()
        self.report_answers: deque[Any] = deque()
        self.beat_answers: deque[Any] = deque()
        base = "/api/v1/traces/stream/replay"
        self.app = Starlette(
            routes=[
                Route(f"{base}/next", self._next, methods=["GET"]),
                Route(f"{base}/result", self._result, methods=["POST"]),
                Route(f"{base}/progress", self._progress, methods=["POST"]),
            ]
        )

    def give(self, *actions: dict[str, Any], paused: bool = False, **block: Any) -> None:
        for action in actions:
            self.poll_answers.append({"action": action, "replay_paused": paused, "delivery": delivery(**block)})

    async def _next(self, request: Request) -> Response:
        self.polls.append(request)
        return await self._answer(self.poll_answers, {"action": None, "replay_paused": False})

    async def _result(self, request: Request) -> Response:
        self.reports.append(json.loads(await request.body()))
        self.report_headers.append(dict(request.headers))
        return await self._answer(self.report_answers, ACCEPTED)

    async def _progress(self, request: Request) -> Response:
        self.beats.append(json.loads(await request.body()))
        return await self._answer(self.beat_answers, EXTENDED)

    async def _answer(self, queue: deque[Any], default: Any) -> Response:
        answer = queue.popleft() if queue else default
        if callable(answer) and not isinstance(answer, Response):
            answer = await answer()
        if isinstance(answer, Response):
            return answer
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return JSONResponse(body, status_code=status)


@pytest.fixture
def anyio_backend() -> Any:
    """Virtual time: whatever sleeps, sleeps at once."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPA_API_TOKEN", raising=False)


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def make_action() -> Callable[..., dict[str, Any]]:
    return click


@pytest.fixture
def make_delivery() -> Callable[..., dict[str, Any]]:
    return delivery


@pytest.fixture
def make_agent(host: Host) -> Callable[..., AgentClient]:
    """An agent of `host`; the callback is the only argument it needs."""

    def make(execute: Any, **options: Any) -> AgentClient:
        transport = httpx.ASGITransport(app=options.pop("app", host.app), raise_app_exceptions=False)
        options.setdefault("http", httpx.AsyncClient(transport=transport))
        options.setdefault("backoff", Backoff(initial_s=1.0, cap_s=8.0))
        return AgentClient("http://replay.test/", session_id="s1", machine_id="m1", execute=execute, **options)

    return make


@pytest.fixture
def serve() -> Any:
    """Run an application on uvicorn on loopback: `async with serve(app, port=0) as base_url`."""
    return _serve


@contextlib.asynccontextmanager
async def _serve(app: Any, port: int = 0) -> Any:
    import anyio
    import uvicorn

    config = uvicorn.Config(app, port=port, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve)
        with anyio.fail_after(10):
            while not server.started:  # noqa: ASYNC110 - nothing tells when
                await anyio.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        finally:
            server.should_exit = True
