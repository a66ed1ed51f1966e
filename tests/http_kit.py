"""The drop-in plugin around the legacy host, in this process or behind a real uvicorn on loopback."""

from __future__ import annotations

import http.client
import importlib.util
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import uvicorn
from asgi_lifespan import LifespanManager
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from otel_validation.asgi.report import SCOPE_KEY
from otel_validation.clock import VirtualClock
from otel_validation.plugin import Plugin, instrument
from otel_validation.server.listen import listen
from otel_validation.settings import STREAM, Settings
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict

ROOT = Path(__file__).parent.parent
NEXT, RESULT, PROGRESS, METRICS = (f"{STREAM}/{end}" for end in ("next", "result", "progress", "watchdog/metrics"))
JSON_HEADERS = {"content-type": "application/json"}


def legacy_host() -> Any:
    """The example's application, as it is in its file."""
    spec = importlib.util.spec_from_file_location("legacy_host", ROOT / "examples" / "legacy_host.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.create_host()


def recording_host(*, answers: list[Response] | None = None, queue: list[dict] | None = None) -> FastAPI:
    """A host that keeps the raw bodies and the plugin's answers it is given; answers may be scripted."""
    app = FastAPI()
    app.state.bodies, app.state.outcomes = [], []
    queue = [click()] if queue is None else queue

    @app.get(NEXT)
    async def poll() -> dict:
        return {"action": queue.pop(0) if queue else None}

    @app.post(RESULT)
    async def report(request: Request) -> Response:
        app.state.bodies.append(await request.body())
        app.state.outcomes.append(request.scope.get(SCOPE_KEY))
        return answers.pop(0) if answers else JSONResponse({"received": True})

    return app


def click(action_id: str = "act_1", **more: Any) -> dict[str, Any]:
    return {"action_id": action_id, "type": "click", "x_pct": 0.0, "y_pct": 0.5, **more}


def a_finding(verdict: Verdict = Verdict.COMPLETE, category: FailureCategory | None = None, **more: Any) -> Finding:
    return Finding(checker="ocr_roi", verdict=verdict, confidence=0.95, reasoning="as told", category=category, **more)


STOPPED = a_finding(Verdict.TERMINATE, FailureCategory.WRONG_APPLICATION)


@dataclass
class StubChecker:
    """Says `finding`, after `gate` opens where there is one."""

    finding: Finding = field(default_factory=a_finding)
    gate: threading.Event | None = None
    name: str = "ocr_roi"
    calls: int = 0
    warmed: int = 0
    began: threading.Event = field(default_factory=threading.Event)

    def applies(self, subject: Any) -> bool:
        return subject.report.has_screenshot

    def check(self, subject: Any) -> Finding:
        self.calls += 1
        self.began.set()
        if self.gate is not None:
            assert self.gate.wait(5)
        return self.finding

    def warm_up(self) -> None:
        self.warmed += 1


@dataclass
class Site:
    """An instrumented application and its parts."""

    app: Any
    plugin: Plugin
    checker: StubChecker
    clock: VirtualClock

    def queue(self, *actions: dict[str, Any], session_id: str = "s") -> None:
        self.app.state.queues[session_id].extend(actions)

    @property
    def told(self) -> list[dict[str, Any]]:
        """The reports that the host's handler was given."""
        return self.app.state.results


def a_site(
    app: Any = None,
    *,
    checker: StubChecker | None = None,
    clock: Any = None,
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> Site:
    app = legacy_host() if app is None else app
    checker = checker or StubChecker()
    chosen = Settings(**(settings or {}))
    validator = Validator([checker], subject=partial(ReportSubject, pixel_budget=chosen.image_max_pixels))
    clock = clock or VirtualClock()
    more.setdefault("validator", validator)
    return Site(app, instrument(app, chosen, clock=clock, **more), checker, clock)


class Agent:
    """What an agent does over HTTP, with an httpx client."""

    def __init__(self, client: httpx.AsyncClient, session_id: str = "s", headers: dict[str, str] | None = None) -> None:
        self.client, self.session_id, self.headers = client, session_id, headers or {}

    async def ask(self, **query: Any) -> httpx.Response:
        query = {"session_id": self.session_id, "machine_id": "m", **query}
        return await self.client.get(NEXT, params=query, headers=self.headers)

    async def poll(self, **query: Any) -> dict[str, Any]:
        answer = await self.ask(**query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def tell(self, action_id: str = "act_1", token: str | None = None, **more: Any) -> httpx.Response:
        report = {"session_id": self.session_id, "action_id": action_id, "success": True, **more}
        if token is not None:
            report["delivery_token"] = token
        body = json.dumps(report).encode()
        return await self.client.post(RESULT, content=body, headers={**JSON_HEADERS, **self.headers})

    async def report(self, action_id: str = "act_1", token: str | None = None, **more: Any) -> dict[str, Any]:
        answer = await self.tell(action_id, token, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()


@asynccontextmanager
async def in_process(app: Any, *, lifespan: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://host") as client:
        if not lifespan:
            yield client
            return
        async with LifespanManager(app):
            yield client


async def exchange(
    app: Any,
    method: str = "GET",
    path: str = NEXT,
    query: str = "session_id=s&machine_id=m",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    **scope: Any,
) -> list[dict[str, Any]]:
    """One request straight through ASGI: every message that the application sent, as it sent it."""
    sent: list[dict[str, Any]] = []
    incoming = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return incoming.pop() if incoming else {"type": "http.disconnect"} if sent else await _never()

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            message = {"body": b"", "more_body": False, **message}
        sent.append(dict(message))

    lines = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    if body:
        lines.append((b"content-length", str(len(body)).encode()))
    whole = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode("latin-1"),
        "headers": lines,
        "client": ("127.0.0.1", 4711),
        "server": ("127.0.0.1", 80),
        **scope,
    }
    await app(whole, receive, send)
    return sent


async def post(app: Any, body: bytes, **headers: str) -> list[dict]:
    return await exchange(app, "POST", RESULT, "", {**JSON_HEADERS, **headers}, body)


async def _never() -> Any:
    await anyio.sleep_forever()


def body_of(sent: list[dict[str, Any]]) -> bytes:
    return b"".join(message.get("body", b"") for message in sent)


@dataclass
class Server:
    """A uvicorn in a thread."""

    port: int
    uvicorn: uvicorn.Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def send(self, request: bytes) -> socket.socket:
        """A socket on which `request` was sent."""
        connection = self.connect()
        connection.sendall(request)
        return connection


@contextmanager
def serving(app: Any, **options: Any) -> Iterator[Server]:
    """`app` behind a real uvicorn on a free port of loopback."""
    listener = listen("127.0.0.1", 0)
    options = {"log_level": "warning", "lifespan": "on", "timeout_graceful_shutdown": 3, **options}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "uvicorn did not start"
            thread.join(0.01)
        yield Server(listener.getsockname()[1], server)
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()
    assert not thread.is_alive()


def answered(connection: socket.socket) -> bytes:
    """The whole body of the answer that comes on this socket."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.read()


def request_bytes(
    method: str = "GET",
    path: str = f"{NEXT}?session_id=s&machine_id=m",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> bytes:
    """A raw HTTP/1.1 request."""
    lines = {"host": "host", **(headers or {})}
    if body:
        lines.setdefault("content-length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body
