"""What is not the plugin's passes through message for message; the timer lives with the host's lifespan."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
from typing import Any

import anyio
import pytest
import trio
from asgi_lifespan import LifespanManager
from fastapi import FastAPI
from fastapi.responses import FileResponse
from http_kit import (
    JSON_HEADERS,
    METRICS,
    NEXT,
    PROGRESS,
    RESULT,
    Agent,
    a_site,
    body_of,
    click,
    exchange,
    in_process,
    legacy_host,
)
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute

from otel_validation.clock import SystemClock

pytestmark = pytest.mark.anyio


def rich_host(tmp_path: Any) -> FastAPI:
    """Every kind of answer, on routes of its own and (by query) on the poll's."""
    app = legacy_host()
    picture = tmp_path / "a.json"
    picture.write_bytes(b'{"action": {"action_id": "file"}}')

    def answer(kind: str) -> Response:
        return {
            "stream": lambda: StreamingResponse(iter([b"data: 1\n\n", b"data: 2\n\n"]), media_type="text/event-stream"),
            "json_stream": lambda: StreamingResponse(iter([b'{"act', b'ion": null}']), media_type="application/json"),
            "file": lambda: FileResponse(picture, media_type="application/octet-stream"),
            "204": lambda: Response(status_code=204),
            "304": lambda: Response(status_code=304, headers={"etag": '"a"'}),
            "text": lambda: Response("Échec 🩺", media_type="text/plain"),
            "empty": lambda: Response(b"", media_type="application/json"),
        }[kind]()

    @app.get("/other/{kind}")
    async def other(kind: str) -> Response:
        return answer(kind)

    app.router.routes[:] = [route for route in app.router.routes if getattr(route, "path", "") != NEXT]

    @app.get(NEXT)
    async def poll(kind: str = "204") -> Response:
        return answer(kind)

    return app


KINDS = ("stream", "json_stream", "file", "204", "304", "text", "empty")


def flat(sent: list[dict]) -> tuple:
    """The head and the bytes; `date` and `last-modified` aside."""
    start = sent[0]
    headers = sorted(line for line in start["headers"] if line[0] not in (b"last-modified", b"etag"))
    return start["status"], headers, body_of(sent)


@pytest.mark.parametrize("kind", KINDS)
async def test_other_routes_pass_message_for_message(kind, tmp_path):
    bare, site = rich_host(tmp_path), a_site(rich_host(tmp_path))
    path = f"/other/{kind}"
    sent, expected = await exchange(site.app, path=path), await exchange(bare, path=path)
    assert flat(sent) == flat(expected)
    assert len(sent) == len(expected)


@pytest.mark.parametrize("kind", KINDS)
async def test_odd_answers_of_the_poll_route_pass_byte_for_byte(kind, tmp_path):
    bare, site = rich_host(tmp_path), a_site(rich_host(tmp_path))
    query = f"session_id=s&kind={kind}"
    assert flat(await exchange(site.app, query=query)) == flat(await exchange(bare, query=query))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("OPTIONS", NEXT), ("HEAD", NEXT), ("POST", NEXT), ("PUT", RESULT), ("GET", RESULT), ("OPTIONS", RESULT),
        ("HEAD", RESULT), ("DELETE", METRICS), ("GET", f"{NEXT}/"), ("GET", "/nowhere"), ("GET", f"/x{NEXT}"),
    ],
)  # fmt: skip
async def test_other_methods_and_paths_are_the_hosts(method, path):
    bare, site = legacy_host(), a_site()
    site.queue(click())
    assert await exchange(site.app, method, path) == await exchange(bare, method, path)
    assert len(site.app.state.queues["s"]) == 1


async def test_the_hosts_compression_still_works_and_the_delivery_block_is_inside():
    """The plugin is innermost: it adds to what the host answered, then the host's middleware compresses it."""
    app = legacy_host()
    app.add_middleware(GZipMiddleware, minimum_size=10)
    site = a_site(app)
    site.queue(click(note="x" * 500))
    async with in_process(app) as client:
        answer = await Agent(client, headers={"accept-encoding": "gzip"}).ask()
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json()["delivery"]["attempt"] == 1


async def test_an_answer_that_the_handler_compressed_itself_passes_untouched():
    packed = gzip.compress(b'{"action": {"action_id": "a"}}')

    def host() -> Starlette:
        async def poll(request: Any) -> Response:
            return Response(packed, media_type="application/json", headers={"content-encoding": "gzip"})

        return Starlette(routes=[Route(NEXT, poll)])

    site = a_site(host())
    assert await exchange(site.app) == await exchange(host())
    assert await site.plugin.engine.in_flight() == 0


async def test_websockets_pass_through():
    async def echo(websocket: Any) -> None:
        await websocket.accept()
        await websocket.send_text(await websocket.receive_text())
        await websocket.close()

    site = a_site(Starlette(routes=[WebSocketRoute(NEXT, echo)]))
    incoming = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "é"}]
    sent: list[dict] = []

    async def receive() -> dict:
        return incoming.pop(0)

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": NEXT, "query_string": b"", "headers": [], "subprotocols": []}
    await site.app(scope, receive, send)
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.send", "websocket.close"]


async def test_a_host_that_raises_is_answered_by_its_own_error_page():
    app = FastAPI()

    @app.get(NEXT)
    async def poll() -> None:
        msg = "host's own"
        raise RuntimeError(msg)

    a_site(app)
    sent: list[dict] = []
    with pytest.raises(RuntimeError, match="host's own"):
        sent = await exchange(app)
    assert sent == []


class TestOwnCalls:
    async def test_a_heartbeat_extends_the_lease(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            delivery = (await Agent(client).poll())["delivery"]
            site.clock.advance(20)
            answer = (await client.post(PROGRESS, json={"delivery_token": delivery["token"]})).json()
            assert answer["status"] == "extended"
            assert answer["deadline"] > delivery["deadline"]
            assert answer["visibility_timeout_s"] == 30
            site.clock.advance(20)
            assert (await Agent(client).poll())["action"] is None
            assert site.plugin.counters.snapshot()["orphans_detected_total"] == 0

    async def test_a_heartbeat_in_a_pause_says_so(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            token = (await Agent(client).poll())["delivery"]["token"]
            await site.plugin.engine.pause("s")
            answer = (await client.post(PROGRESS, json={"token": token})).json()
        assert answer == {"status": "paused", "reason": "operator"}

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"token": 5}', b'{"token": null}', b"\xff"])
    async def test_a_heartbeat_that_is_none_is_refused(self, body):
        assert (await exchange(a_site().app, "POST", PROGRESS, "", JSON_HEADERS, body))[0]["status"] == 422

    async def test_a_heartbeat_that_is_too_long_is_refused(self):
        sent = await exchange(a_site().app, "POST", PROGRESS, "", JSON_HEADERS, b"x" * 20_000)
        assert sent[0]["status"] == 413

    async def test_a_heartbeat_of_a_client_that_is_gone_is_no_error(self):
        async def receive() -> dict:
            return {"type": "http.disconnect"}

        async def send(message: dict) -> None:
            raise AssertionError(message)

        scope = {"type": "http", "method": "POST", "path": PROGRESS, "query_string": b"", "headers": []}
        await a_site().app(scope, receive, send)

    async def test_the_counters_carry_the_seeds_names(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client).poll()
            site.clock.advance(31)
            await Agent(client).poll()
            counters = (await client.get(METRICS)).json()["watchdog"]
        assert counters["orphans_detected_total"] == 1
        assert counters["orphans_resent_total"] == 1
        assert counters["orphans_giveup_total"] == 0
        assert {"scans_total", "last_scan_ts", "last_scan_duration_ms", "current_in_flight_count"} <= counters.keys()

    async def test_a_call_whose_path_is_empty_is_the_hosts(self):
        site = a_site(settings={"metrics_path": "", "progress_path": ""})
        assert (await exchange(site.app, path=METRICS))[0]["status"] == 404
        assert (await exchange(site.app, "POST", PROGRESS))[0]["status"] == 404

    async def test_paths_are_settings(self):
        app = FastAPI()

        @app.get("/todo")
        async def poll() -> dict:
            return {"action": click()}

        a_site(app, settings={"poll_path": "/todo"})
        assert b"delivery" in body_of(await exchange(app, path="/todo"))


class TestLifespan:
    async def test_the_timer_runs_with_the_host_and_the_hosts_own_handlers_still_run(self):
        """C08."""
        said: list[str] = []

        @contextlib.asynccontextmanager
        async def lifespan(app: FastAPI):
            said.append("lifespan up")
            yield {"key": "value"}
            said.append("lifespan down")

        app = FastAPI(lifespan=lifespan)
        site = a_site(app)
        async with LifespanManager(app) as manager:
            assert site.plugin.watchdog.running
            assert manager._state == {"key": "value"}
            await _until(lambda: site.checker.warmed == 1)
        assert said == ["lifespan up", "lifespan down"]
        assert not site.plugin.watchdog.running

    async def test_on_event_handlers_still_run(self):
        """C08: the old way, which FastAPI keeps under a deprecation warning."""
        said: list[str] = []
        app = FastAPI()
        app.router.on_startup.append(lambda: said.append("up"))
        app.router.on_shutdown.append(lambda: said.append("down"))
        site = a_site(app)
        async with LifespanManager(app):
            assert site.plugin.watchdog.running
        assert said == ["up", "down"]

    async def test_the_timer_is_over_before_the_host_shuts_down(self):
        seen: list[bool] = []

        @contextlib.asynccontextmanager
        async def lifespan(app: FastAPI):
            yield
            seen.append(site.plugin.watchdog.running)

        app = FastAPI(lifespan=lifespan)
        site = a_site(app)
        async with LifespanManager(app):
            pass
        assert seen == [False]

    async def test_a_host_that_fails_to_start_fails_as_before_and_starts_no_timer(self):
        @contextlib.asynccontextmanager
        async def lifespan(app: FastAPI):
            msg = "no database"
            raise RuntimeError(msg)
            yield

        app = FastAPI(lifespan=lifespan)
        site = a_site(app)
        messages, sent = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}], []

        async def receive() -> dict:
            return messages.pop(0)

        async def send(message: dict) -> None:
            sent.append(message["type"])

        with pytest.raises(BaseExceptionGroup):
            await app({"type": "lifespan", "state": {}}, receive, send)
        assert sent == ["lifespan.startup.failed"]
        assert not site.plugin.watchdog.running

    async def test_a_timer_that_fails_does_not_take_the_host_down(self, monkeypatch, caplog):
        said: list[str] = []

        @contextlib.asynccontextmanager
        async def lifespan(app: FastAPI):
            yield
            said.append("down in order")

        app = FastAPI(lifespan=lifespan)

        @app.get("/alive")
        async def alive() -> str:
            return "yes"

        site = a_site(app)

        async def explode() -> None:
            msg = "no loop"
            raise RuntimeError(msg)

        monkeypatch.setattr(site.plugin.watchdog, "run", explode)
        async with in_process(app) as client:
            await _until(lambda: "the watchdog stopped" in caplog.text)
            assert (await client.get("/alive")).json() == "yes"
        assert said == ["down in order"]
        caplog.clear()

    @pytest.mark.usefixtures("lazy_timer")
    async def test_a_mounted_application_starts_its_timer_at_the_first_poll(self):
        """C08: its lifespan never runs."""
        sub = legacy_host()
        site = a_site(sub, clock=SystemClock(), settings={"watchdog_orphan_timeout_s": 0.05})
        site.queue(click())
        app = Starlette(routes=[Mount("/rpa", sub)])
        async with in_process(app) as client:
            assert not site.plugin.watchdog.running
            first = (await client.get(f"/rpa{NEXT}?session_id=s")).json()
            await _until(lambda: site.plugin.counters.snapshot()["orphans_resent_total"] == 1)
            assert site.plugin.watchdog.running
            again = (await client.get(f"/rpa{NEXT}?session_id=s")).json()
            assert again["action"] == first["action"]
            assert again["delivery"]["attempt"] == 2
            answer = await client.post(f"/rpa{RESULT}", json={"session_id": "s", "action_id": "act_1", "success": True})
            assert answer.json()["status"] == "accepted"
            gc.collect()
            assert site.plugin.watchdog.running

    @pytest.mark.usefixtures("lazy_timer")
    async def test_b10_the_lazy_timer_is_one_and_is_not_collected(self):
        site = a_site()
        site.queue(click())
        async with in_process(site.app, lifespan=False) as client:
            for _ in range(3):
                await Agent(client).poll()
                gc.collect()
        await _until(lambda: site.plugin.watchdog.running)
        await _until(lambda: site.checker.warmed)
        assert site.checker.warmed == 1

    async def test_other_requests_start_no_timer(self):
        site = a_site()
        async with in_process(site.app, lifespan=False) as client:
            await client.get("/docs")
        assert not site.plugin.watchdog.running


async def _until(true: Any) -> None:
    with anyio.fail_after(5):
        while not true():  # noqa: ASYNC110 - a condition of another task
            await anyio.sleep(0.002)


async def test_no_middleware_of_starlettes_base_class_is_used():
    site = a_site()
    assert not any(issubclass(m.cls, BaseHTTPMiddleware) for m in site.app.user_middleware)


def test_on_trio_without_a_lifespan_each_poll_sweeps():
    async def run() -> None:
        site = a_site()
        site.queue(click())
        await exchange(site.app)
        assert not site.plugin.watchdog.running
        site.clock.advance(31)
        assert json.loads(body_of(await exchange(site.app)))["delivery"]["attempt"] == 2

    trio.run(run)
