"""The legacy host, unchanged, behind a real uvicorn: what clients do to sockets."""

from __future__ import annotations

import gc
import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from http_kit import (
    JSON_HEADERS,
    METRICS,
    NEXT,
    RESULT,
    STOPPED,
    Server,
    Site,
    StubChecker,
    a_site,
    answered,
    click,
    legacy_host,
    request_bytes,
    serving,
)
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from otel_validation.clock import SystemClock

SHOT = "iVBORw0KGgo="


@contextmanager
def running(app: Any = None, **more: Any) -> Iterator[tuple[Site, Server, httpx.Client]]:
    site = a_site(app, clock=more.pop("clock", None) or SystemClock(), **more)
    with serving(site.app) as server, httpx.Client(base_url=server.url, timeout=10) as client:
        yield site, server, client


def poll(client: httpx.Client, **query: Any) -> dict[str, Any]:
    answer = client.get(NEXT, params={"session_id": "s", "machine_id": "m", **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def report(client: httpx.Client, action_id: str = "act_1", **more: Any) -> httpx.Response:
    return client.post(RESULT, json={"session_id": "s", "action_id": action_id, "success": True, **more})


def until(true: Any, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)


def reset(connection: socket.socket) -> None:
    """Close with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Logger(BaseHTTPMiddleware):
    """Reads the body before and after the call, as hosts' logging does."""

    seen: list[bytes] = []  # noqa: RUF012

    async def dispatch(self, request: Any, call_next: Any) -> Any:
        self.seen.append(await request.body())
        answer = await call_next(request)
        self.seen.append(await request.body())
        return answer


class Passing(BaseHTTPMiddleware):
    async def dispatch(self, request: Any, call_next: Any) -> Any:
        return await call_next(request)


def test_c01_a_middleware_that_reads_the_body_before_and_after_sees_the_same(caplog):
    app = legacy_host()
    app.add_middleware(Logger)
    Logger.seen.clear()
    with running(app) as (site, _, client):
        site.queue(click())
        poll(client)
        Logger.seen.clear()
        body = json.dumps(
            {"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": "a" * 2_000_000}
        ).encode()
        began = time.monotonic()
        answer = client.post(RESULT, content=body, headers=JSON_HEADERS)
        assert time.monotonic() - began < 1
    assert answer.json()["status"] == "accepted"
    assert Logger.seen == [body, body]
    assert site.told[0]["screenshot_after"] == "a" * 2_000_000
    assert "Stream consumed" not in caplog.text


def test_c02_stacked_middleware_and_clients_that_hang_up_end_quietly(caplog):
    app = legacy_host()
    for _ in range(4):
        app.add_middleware(Passing)
    entered = threading.Semaphore(0)
    release = threading.Event()

    def slow() -> None:
        entered.release()
        release.wait(5)

    @app.middleware("http")
    async def hold(request: Any, call_next: Any) -> Any:
        if request.url.path == RESULT:
            await anyio.to_thread.run_sync(slow, limiter=anyio.CapacityLimiter(1))
        return await call_next(request)

    with running(app) as (site, server, client):
        site.queue(*(click(f"act_{n}") for n in range(100)))
        sockets = []
        for number in range(100):
            body = json.dumps({"session_id": f"s{number}", "action_id": "x", "success": True}).encode()
            sockets.append(server.send(request_bytes("POST", RESULT, JSON_HEADERS, body)))
            entered.acquire(timeout=5)
        for connection in sockets:
            reset(connection)
        release.set()
        site.queue(click("last"), session_id="t")
        assert client.get(NEXT, params={"session_id": "t"}).json()["action"]["action_id"] == "last"
    assert "RuntimeError" not in caplog.text
    assert "Exception in ASGI application" not in caplog.text


def test_c02_a_poll_whose_client_hung_up_under_stacked_middleware_gives_its_action_to_the_next():
    app, entered, release = FastAPI(), threading.Event(), threading.Event()
    queue = [click()]
    for _ in range(4):
        app.add_middleware(Passing)

    @app.get(NEXT)
    def next_action() -> dict:
        if queue:
            entered.set()
            release.wait(5)
        return {"action": queue.pop() if queue else None}

    with running(app) as (site, server, client):
        connection = server.send(request_bytes())
        assert entered.wait(5)
        reset(connection)
        time.sleep(0.05)
        release.set()
        until(lambda: not queue)
        time.sleep(0.05)
        answer = poll(client)
    assert answer["action"]["action_id"] == "act_1"
    assert answer["delivery"]["attempt"] == 1
    assert site.plugin.counters.snapshot()["orphans_detected_total"] == 0


@pytest.mark.parametrize("passing", [0, 1])
def test_c03_a_client_that_closes_at_once_gets_its_verdict_and_waits_for_no_background_task(passing):
    app, gate, done = legacy_host(), threading.Event(), threading.Event()
    for _ in range(passing):
        app.add_middleware(Passing)

    @app.middleware("http")
    async def afterwards(request: Any, call_next: Any) -> Any:
        answer = await call_next(request)
        if request.url.path == RESULT:
            answer.background = BackgroundTask(lambda: (gate.wait(5), done.set()))
        return answer

    with running(app) as (site, server, client):
        site.queue(click(), click("act_2"))
        poll(client)
        body = json.dumps({"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": SHOT}).encode()
        connection = server.send(request_bytes("POST", RESULT, JSON_HEADERS, body))
        began = time.monotonic()
        assert b'"status":"accepted"' in answered(connection)
        assert time.monotonic() - began < 1
        reset(connection)
        assert not done.is_set()
        gate.set()
        assert done.wait(5)
        assert site.plugin.counters.snapshot()["verdicts_complete_total"] == 1


def test_c03_a_client_that_closes_before_the_verdict_still_gets_one():
    gate = threading.Event()
    checker = StubChecker(gate=gate)
    with running(checker=checker) as (site, server, client):
        site.queue(click())
        poll(client)
        body = json.dumps({"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": SHOT}).encode()
        connection = server.send(request_bytes("POST", RESULT, JSON_HEADERS, body))
        assert checker.began.wait(5)
        reset(connection)
        gate.set()
        until(lambda: site.plugin.counters.snapshot().get("verdicts_complete_total") == 1)
        until(lambda: len(site.told) == 1)
        assert report(client, screenshot_after=SHOT).json()["status"] == "duplicate"
        assert len(site.told) == 1


def get_for_head_host() -> Starlette:
    queue = [click()]

    async def next_action(request: Any) -> JSONResponse:
        return JSONResponse({"action": queue.pop(0) if queue else None})

    return Starlette(routes=[Route(NEXT, next_action)])


@pytest.mark.parametrize("host", [legacy_host, get_for_head_host])
def test_c12_head_and_options_take_no_action(host):
    with running(host()) as (site, server, client):
        if host is legacy_host:
            site.queue(click())
        for _ in range(20):
            with server.send(request_bytes("HEAD", headers={"connection": "close"})) as connection:
                answer = b"".join(iter(lambda: connection.recv(65_536), b""))
            assert answer.endswith(b"\r\n\r\n"), "no body after the head"
            client.options(NEXT, params={"session_id": "s"})
        answer = poll(client)
    assert answer["action"]["action_id"] == "act_1"
    assert answer["delivery"]["attempt"] == 1


def test_c14_a_busy_checker_delays_nobody_and_invents_no_orphan():
    gate = threading.Event()
    with running(
        checker=StubChecker(gate=gate), settings={"watchdog_orphan_timeout_s": 0.3, "watchdog_scan_interval_s": 0.1}
    ) as (site, server, client):

        @site.app.get("/healthz")
        async def healthz() -> str:
            return "ok"

        for number in range(4):
            site.queue(click(), session_id=f"r{number}")
            client.get(NEXT, params={"session_id": f"r{number}"})
        bodies = [
            json.dumps(
                {"session_id": f"r{n}", "action_id": "act_1", "success": True, "screenshot_after": SHOT}
            ).encode()
            for n in range(4)
        ]
        busy = [server.send(request_bytes("POST", RESULT, JSON_HEADERS, body)) for body in bodies]
        until(lambda: site.checker.calls >= 4)
        took = []
        for _ in range(20):
            for path in (f"{NEXT}?session_id=other", "/healthz"):
                began = time.monotonic()
                assert client.get(path).status_code == 200
                took.append(time.monotonic() - began)
            time.sleep(0.02)
        scans = site.plugin.counters.snapshot()["scans_total"]
        gate.set()
        for connection in busy:
            assert b'"status":"accepted"' in answered(connection)
            connection.close()
        assert sorted(took)[int(len(took) * 0.95)] < 0.2
        assert scans >= 3, "the watchdog looked on time"
        assert site.plugin.counters.snapshot()["orphans_detected_total"] == 0


def long_polling_host() -> FastAPI:
    """A host that holds a poll itself until its queue has something."""
    app = FastAPI()
    app.state.queue, app.state.waiting = [], 0

    @app.get(NEXT)
    async def next_action() -> dict:
        app.state.waiting += 1
        for _ in range(2_000):
            if app.state.queue:
                break
            await anyio.sleep(0.005)
        return {"action": app.state.queue.pop(0) if app.state.queue else None}

    return app


@pytest.mark.parametrize("hang_up", [socket.socket.close, reset])
def test_b06_a_dead_long_poller_swallows_nothing(hang_up):
    app = long_polling_host()
    with running(app) as (_, server, client):
        connection = server.send(request_bytes())
        until(lambda: app.state.waiting == 1)
        hang_up(connection)
        time.sleep(0.05)
        app.state.queue.append(click())
        until(lambda: not app.state.queue)
        time.sleep(0.05)
        began = time.monotonic()
        answer = poll(client)
        assert time.monotonic() - began < 1
    assert answer["action"]["action_id"] == "act_1"
    assert answer["delivery"]["attempt"] == 1


def test_b06_a_client_that_hangs_up_on_the_plugins_own_long_poll_takes_nothing():
    with running() as (site, server, client):
        site.queue(click(), click("act_2"))
        poll(client)
        connection = server.send(request_bytes(path=f"{NEXT}?session_id=s&wait_s=20"))
        time.sleep(0.05)
        reset(connection)
        time.sleep(0.05)
        report(client)
        assert poll(client)["action"]["action_id"] == "act_2"


def test_a_report_releases_a_long_poll_on_a_real_socket():
    with running() as (site, server, client):
        site.queue(click(), click("act_2"))
        poll(client)
        connection = server.send(request_bytes(path=f"{NEXT}?session_id=s&wait_s=20"))
        time.sleep(0.05)
        report(client)
        began = time.monotonic()
        assert b"act_2" in answered(connection)
        assert time.monotonic() - began < 1
        connection.close()


def test_b08_a_client_that_resets_in_the_middle_of_an_action_gets_it_once_more(caplog):
    with running(settings={"watchdog_orphan_timeout_s": 0.2}) as (site, server, client):
        site.queue(click(blob="x" * 2_000_000))
        connection = server.send(request_bytes())
        assert connection.recv(10) == b"HTTP/1.1 2"
        reset(connection)
        until(lambda: site.plugin.counters.snapshot()["orphans_resent_total"] == 1)
        answer = poll(client)
        assert answer["action"]["blob"] == "x" * 2_000_000
        assert answer["delivery"]["attempt"] == 2
        assert report(client).json()["status"] == "accepted"
        time.sleep(0.3)
        counters = client.get(METRICS).json()["watchdog"]
    assert counters["orphans_detected_total"] == 1
    assert counters["orphans_giveup_total"] == 0
    assert counters["current_in_flight_count"] == 0
    assert "Exception in ASGI application" not in caplog.text


def test_b10_an_orphan_is_resent_after_collections_and_a_scan_that_raised(monkeypatch, caplog):
    with running(settings={"watchdog_orphan_timeout_s": 0.2, "watchdog_scan_interval_s": 0.05}) as (site, _, client):
        store, failed = site.plugin.engine._store, threading.Event()
        due = store.due

        async def poisoned(now: float, limit: int) -> list[str]:
            if not failed.is_set():
                failed.set()
                msg = "poisoned entry"
                raise RuntimeError(msg)
            return await due(now, limit)

        monkeypatch.setattr(store, "due", poisoned)
        assert failed.wait(5)
        for _ in range(3):
            gc.collect()
        site.queue(click())
        poll(client)
        until(lambda: site.plugin.counters.snapshot()["orphans_resent_total"] == 1)
        assert site.plugin.watchdog.failed_scans == 1
        age = site.plugin.watchdog.last_scan_age_s
        assert age is not None
        assert age < 5
    assert "a watchdog scan failed" in caplog.text


def test_a_body_over_the_limit_is_answered_413_and_the_answer_arrives():
    with running(settings={"max_report_bytes": 1_000_000}) as (site, server, client):
        site.queue(click())
        poll(client)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        body = b'{"session_id": "s", "action_id": "act_1", "x": "' + b"x" * 3_500_000 + b'"}'
        connection.request("POST", RESULT, body, JSON_HEADERS)
        answer = connection.getresponse()
        assert answer.status == 413
        assert b"RPA_MAX_REPORT_BYTES" in answer.read()
        connection.close()
        assert report(client).json()["status"] == "accepted"


def test_a_chunked_report_with_an_overridden_success_is_whole():
    with running(checker=StubChecker(STOPPED)) as (site, _, client):
        site.queue(click())
        poll(client)
        body = json.dumps({"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": SHOT}).encode()
        answer = client.post(RESULT, content=iter([body[:20], body[20:]]), headers=JSON_HEADERS)
        assert answer.json()["success"] is False
        assert site.told[0]["error"] == "validator_terminate: wrong_application"
