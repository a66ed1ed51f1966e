"""The reference server in this process: a desk from which a test polls, reports and operates."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx
import pytest
from asgi_lifespan import LifespanManager
from http_kit import JSON_HEADERS, METRICS, NEXT, PROGRESS, RESULT, StubChecker, click
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_validation.server.app import create_app
from otel_validation.settings import Settings
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator

SHOT = "data:image/png;base64,eA=="


class Desk:
    """Calls of one agent and one operator on one server."""

    def __init__(self, app: Any, http: httpx.AsyncClient, checker: StubChecker, spans: InMemorySpanExporter) -> None:
        self.app = app
        self.http = http
        self.checker = checker
        self.spans = spans
        self.replay_id = ""

    @property
    def plugin(self) -> Any:
        return self.app.state.otel_validation

    async def start(self, *actions: Any, session: str = "s1", **more: Any) -> httpx.Response:
        body = {"session_id": session, "machine_id": "m1", "actions": list(actions) or [click()], **more}
        answer = await self.http.post("/api/v1/replays", json=body)
        if answer.status_code == 201:
            self.replay_id = answer.json()["replay_id"]
        return answer

    async def poll(self, session: str = "s1", machine: str = "m1", **more: Any) -> dict[str, Any]:
        answer = await self.http.get(NEXT, params={"session_id": session, "machine_id": machine, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def report(self, polled: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        body: dict[str, Any] = {"session_id": "s1", "success": True}
        if polled is not None:
            body |= {"action_id": polled["action"]["action_id"], "delivery_token": polled["delivery"]["token"]}
        return await self.http.post(RESULT, content=json.dumps(body | more).encode(), headers=JSON_HEADERS)

    async def do(self, operation: str) -> str:
        answer = await self.http.post(f"/api/v1/replays/{self.replay_id}/{operation}")
        assert answer.status_code == 200, answer.text
        return answer.json()["status"]

    async def view(self) -> dict[str, Any]:
        return (await self.http.get(f"/api/v1/replays/{self.replay_id}")).json()

    async def states(self) -> list[str]:
        return [action["state"] for action in (await self.view())["actions"]]

    async def progress(self, token: str) -> httpx.Response:
        return await self.http.post(PROGRESS, json={"token": token})

    async def counters(self) -> dict[str, float]:
        return (await self.http.get(METRICS)).json()["watchdog"]

    async def letters(self) -> list[dict[str, Any]]:
        return (await self.http.get("/api/v1/dead-letters")).json()

    async def until(self, happened: Callable[[], Awaitable[Any]], timeout_s: float = 10.0) -> Any:
        """Ask again and again; what was answered when it was true."""
        with anyio.fail_after(timeout_s):
            while True:
                if answer := await happened():
                    return answer
                await anyio.sleep(0.01)

    async def in_state(self, *states: str) -> bool:
        return await self.states() == list(states)

    async def redrive(self, letter: str) -> httpx.Response:
        return await self.http.post(f"/api/v1/dead-letters/{letter}/redrive")


@asynccontextmanager
async def a_desk(checker: StubChecker | None = None, *, headers: Any = None, **settings: Any) -> AsyncIterator[Desk]:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    told = Settings(**settings)
    stub = checker or StubChecker()
    validator = None
    if checker is not None or told.validator_mode == "enforce":
        validator = Validator([stub], subject=partial(ReportSubject, pixel_budget=told.image_max_pixels))
    app = create_app(told, validator=validator, tracer_provider=provider)
    async with (
        LifespanManager(app) as running,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=running.app), base_url="http://replay.test", headers=headers
        ) as http,
    ):
        yield Desk(app, http, stub, spans)


@pytest.fixture
def desk_with() -> Callable[..., AbstractAsyncContextManager[Desk]]:
    return a_desk


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with a_desk() as desk:
        yield desk


@pytest.fixture
def shot() -> str:
    return SHOT
