"""Who may call, how large a body may be, and what health says."""

from __future__ import annotations

import gzip
import json

import anyio
import httpx
import pytest
from http_kit import JSON_HEADERS, METRICS, NEXT, PROGRESS, RESULT, click
from opentelemetry.trace import ProxyTracerProvider

from otel_validation.server.app import create_app
from otel_validation.settings import Settings

pytestmark = pytest.mark.anyio
TOKEN = {"Authorization": "Bearer s3cret"}
QUERY = {"session_id": "s1", "machine_id": "m1"}
CALLS = [
    ("POST", "/api/v1/replays"),
    ("GET", "/api/v1/replays"),
    ("GET", "/api/v1/replays/x"),
    ("POST", "/api/v1/replays/x/pause"),
    ("POST", "/api/v1/replays/x/resume"),
    ("POST", "/api/v1/replays/x/cancel"),
    ("GET", "/api/v1/dead-letters"),
    ("POST", "/api/v1/dead-letters/x/redrive"),
    ("GET", f"{NEXT}?session_id=s1&machine_id=m1"),
    ("GET", f"{NEXT}?session_id=s1&machine_id=m2"),
    ("POST", RESULT),
    ("GET", METRICS),
]


@pytest.fixture
async def guarded(desk_with):
    async with desk_with(api_token="s3cret", headers=TOKEN) as desk:
        yield desk


@pytest.mark.parametrize(("method", "path"), CALLS)
async def test_every_call_but_health_needs_the_token(guarded, method, path):
    await guarded.start()
    body = {"session_id": "s1", "machine_id": "m1", "actions": [click()], "action_id": "act_1"}
    for given in ("", "Bearer wrong", "Basic s3cret", "s3cret", "Bearer", "Bearer s3cret2"):
        headers = {"Authorization": given}
        answer = await guarded.http.request(method, path, headers=headers, json=body if method == "POST" else None)
        assert answer.status_code == 401
    assert await guarded.states() == ["queued"]


async def test_with_the_token_the_calls_answer(guarded):
    assert (await guarded.start()).status_code == 201
    polled = await guarded.poll()
    assert (await guarded.report(polled)).json()["status"] == "accepted"
    assert (await guarded.counters())["reports_accepted_total"] == 1


async def test_a_heartbeat_is_proved_by_its_delivery_token(guarded):
    await guarded.start()
    token = (await guarded.poll())["delivery"]["token"]
    without = {"Authorization": ""}
    assert (await guarded.http.post(PROGRESS, json={"token": token}, headers=without)).json()["status"] == "extended"
    assert (await guarded.http.post(PROGRESS, json={"token": "guess"}, headers=without)).status_code == 409


async def test_health_needs_no_token(guarded):
    health = await guarded.http.get("/healthz", headers={"Authorization": ""})
    assert health.json()["status"] == "ok"
    assert (await guarded.http.get("/readyz", headers={"Authorization": ""})).status_code in (200, 503)


async def test_ready_says_what_is_missing(desk):
    async def ready():
        answer = await desk.http.get("/readyz")
        return answer if answer.is_success else None

    answer = await desk.until(ready)
    assert answer.json() == {"status": "ready", "watchdog": True, "checkers": True, "store": "memory"}
    desk.plugin.validator.warm = False
    answer = await desk.http.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")


@pytest.mark.parametrize("mode", [{"validator_mode": "off"}, {"validator_enabled": False}])
async def test_a_server_that_does_not_judge_is_ready_without_checkers(desk_with, mode):
    async with desk_with(watchdog_enabled=False, **mode) as desk:
        await anyio.sleep(0.05)
        answer = await desk.http.get("/readyz")
        assert (answer.status_code, answer.json()["checkers"]) == (200, True)


async def test_the_counters_are_the_seeds(desk):
    await desk.start()
    await desk.report(await desk.poll())
    counters = await desk.counters()
    assert {"orphans_detected_total", "orphans_resent_total", "orphans_giveup_total", "scans_total"} <= set(counters)


async def test_without_a_provider_there_is_no_trace_id():
    app = create_app(Settings(validator_mode="off"), tracer_provider=ProxyTracerProvider())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://replay.test") as http:
        body = {"session_id": "s1", "machine_id": "m1", "actions": [click()]}
        assert (await http.post("/api/v1/replays", json=body)).json()["trace_id"] is None


async def chunks(total, size=65_536):
    for _ in range(0, total, size):
        yield b" " * size


@pytest.mark.parametrize("path", ["/api/v1/replays", RESULT, "/api/v1/replays/x/pause", "/nowhere"])
async def test_a_body_over_the_limit_is_a_413_before_it_is_held(desk_with, path):
    async with desk_with(max_report_bytes=100_000) as desk:
        announced = await desk.http.post(path, content=b" " * 100_001, headers=JSON_HEADERS)
        streamed = await desk.http.post(path, content=chunks(50_000_000), headers=JSON_HEADERS)
        assert (announced.status_code, streamed.status_code) == (413, 413)
        assert "100000 bytes" in announced.json()["detail"]


@pytest.mark.parametrize("path", ["/api/v1/replays", RESULT])
@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
async def test_a_compressed_body_is_a_415_and_the_action_stays_tracked(desk, path, encoding):
    await desk.start()
    polled = await desk.poll()
    body = gzip.compress(json.dumps({"session_id": "s1", "action_id": "act_1", "success": True}).encode())
    answer = await desk.http.post(path, content=body, headers={**JSON_HEADERS, "Content-Encoding": encoding})
    assert answer.status_code == 415
    assert "uncompressed" in answer.json()["detail"]
    assert await desk.states() == ["in_flight"]
    assert (await desk.report(polled)).json()["status"] == "accepted"


@pytest.mark.parametrize("path", ["/api/v1/replays", "/api/v1/dead-letters", "/healthz", METRICS, RESULT])
async def test_other_methods_are_harmless(desk, path):
    await desk.start()
    for method in ("HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"):
        answer = await desk.http.request(method, path)
        assert answer.status_code in (200, 404, 405)
    assert (await desk.view())["status"] == "running"


async def test_a_body_that_breaks_off_is_not_answered():
    from otel_validation.server.limits import BodyLimit

    async def receive():
        return {"type": "http.disconnect"}

    reached = []

    async def app(scope, receive, send):
        reached.append(scope)

    limit = BodyLimit(app, limit=10)
    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    await limit(scope, receive, reached.append)
    assert reached == []
    await limit({"type": "websocket"}, receive, reached.append)
    assert reached == [{"type": "websocket"}]
