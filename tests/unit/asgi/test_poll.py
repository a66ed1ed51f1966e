"""Polls through the plugin: what it adds, and that nothing else of the host's answer changes."""

from __future__ import annotations

import http.client
import json

import anyio
import pytest
from fastapi import FastAPI
from http_kit import NEXT, RESULT, Agent, a_site, body_of, click, exchange, in_process, serving
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from otel_validation.delivery.outcome import PauseReason

pytestmark = pytest.mark.anyio

ODD = (
    b'{"action": {"action_id": "a", "type": "click", "z": 1, "a": 0.30000000000000004, "big": 123456789012345678901234,'
    b' "e": 1E+2, "text": "\xc3\x89chec \xe2\x80\x93 dossier n\xc2\xb07 \xf0\x9f\xa9\xba", "esc": "\\u00e9\\ud83e",'
    b' "n": null, "dup": 1, "dup": 2, "": []}, "replay_paused":false}\n'
)


def raw_host(body: bytes, *, status: int = 200, kind: str | None = "application/json") -> FastAPI:
    """A host that answers every poll with these bytes."""
    app = FastAPI()
    headers = {} if kind is None else {"content-type": kind}

    @app.get(NEXT)
    async def poll() -> Response:
        return Response(body, status, headers=headers)

    return app


async def test_the_delivery_block_is_added_and_the_action_is_the_hosts():
    site = a_site()
    site.queue(click(), click("act_2"))
    async with in_process(site.app) as client:
        answer = await Agent(client).poll()
    delivery = answer.pop("delivery")
    assert answer == {"action": click(), "replay_paused": False, "machine_id": "m"}
    assert delivery["attempt"] == 1
    assert delivery["retry"] == 0
    assert delivery["redelivered"] is False
    assert delivery["visibility_timeout_s"] == 30
    assert len(delivery["token"]) >= 16
    assert delivery["deadline"].endswith("+00:00")


async def test_the_hosts_bytes_stay_as_they_are():
    site = a_site(raw_host(ODD))
    sent = await exchange(site.app)
    body = body_of(sent)
    assert body.startswith(ODD.rstrip()[:-1])
    assert list(json.loads(body)) == ["action", "replay_paused", "delivery"]
    assert dict(sent[0]["headers"])[b"content-length"] == str(len(body)).encode()


def test_c04_the_length_is_right_and_read_fully_by_http_client():
    site = a_site()
    site.queue(click(label="Échec \u2013 dossier n°7 🩺"))
    with serving(site.app) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request("GET", f"{NEXT}?session_id=s")
        answer = connection.getresponse()
        body = answer.read()
        assert len(body) == int(answer.getheader("content-length"))
        assert json.loads(body)["action"]["label"] == "Échec \u2013 dossier n°7 🩺"
        assert json.loads(body)["delivery"]["attempt"] == 1
        connection.close()


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b'{"action": null}', 200, "application/json"),
        (b'{"action": {"type": "click"}}', 200, "application/json"),
        (b'{"action": {"action_id": 5}}', 200, "application/json"),
        (b'{"action": {"action_id": ""}}', 200, "application/json"),
        (b'{"action": {"action_id": "a"}}', 503, "application/json"),
        (b'{"action": {"action_id": "a"}}', 200, "text/plain"),
        (b'{"action": {"action_id": "a"}}', 200, None),
        (b'[{"action_id": "a"}]', 200, "application/json"),
        (b"not json", 200, "application/json"),
        (b"[" * 200_000, 200, "application/json"),
        (b'{"n": ' + b"9" * 5_000 + b"}", 200, "application/json"),
        ('{"action": {"action_id": "a"}}'.encode("utf-16"), 200, "application/json"),
        ('{"action": {"action_id": "a"}}'.encode("utf-32-le"), 200, "application/json"),
        (b"", 200, "application/json"),
        (b"", 204, None),
        (b"", 304, "application/json"),
    ],
)
async def test_what_is_no_action_is_answered_message_for_message_as_by_the_bare_host(body, status, kind):
    site = a_site(raw_host(body, status=status, kind=kind))
    assert await exchange(site.app) == await exchange(raw_host(body, status=status, kind=kind))


async def test_a_byte_order_mark_and_a_json_suffix_are_json():
    bom = b"\xef\xbb\xbf" + b'{"action": {"action_id": "a"}}'
    body = body_of(await exchange(a_site(raw_host(bom, kind="application/vnd.replay+json")).app))
    assert body.startswith(bom[:-1])
    assert json.loads(body)["delivery"]["attempt"] == 1


async def test_an_answer_that_is_too_long_passes_untracked():
    host = raw_host(b'{"action": {"action_id": "a", "x": "' + b"x" * 2_000 + b'"}}')
    site = a_site(host, settings={"max_poll_answer_bytes": 1_000})
    assert b"delivery" not in body_of(await exchange(site.app))
    assert await site.plugin.engine.in_flight() == 0


async def test_an_empty_object_gets_no_stray_comma():
    site = a_site(raw_host(b'{"action": {"action_id": "a"}, "delivery": {"own": 1}}'))
    assert json.loads(body_of(await exchange(site.app)))["delivery"]["attempt"] == 1


async def test_nothing_leaves_while_an_action_is_in_flight_then_it_is_resent():
    site = a_site()
    site.queue(click(), click("act_2"))
    async with in_process(site.app) as client:
        agent = Agent(client)
        first = await agent.poll()
        assert await agent.poll() == {"action": None, "replay_paused": False}
        site.clock.advance(31)
        second = await agent.poll()
    assert second["action"] == first["action"]
    assert second["delivery"]["attempt"] == 2
    assert second["delivery"]["redelivered"] is True
    assert second["delivery"]["token"] != first["delivery"]["token"]


async def test_a_resend_carries_the_actions_json_value_for_value():
    site = a_site(raw_host(ODD))
    await exchange(site.app)
    site.clock.advance(31)
    again = json.loads(body_of(await exchange(site.app)))
    assert again["action"] == json.loads(ODD)["action"]
    assert list(again["action"]) == list(json.loads(ODD)["action"])


async def test_a_pause_is_told_and_lifted():
    site = a_site()
    site.queue(click(), click("act_2"))
    async with in_process(site.app) as client:
        agent = Agent(client)
        await agent.poll()
        await site.plugin.engine.pause("s", "tea")
        paused = await agent.poll()
        assert paused == {
            "action": None,
            "replay_paused": True,
            "pause": {"reason": PauseReason.OPERATOR.value, "message": "tea"},
        }
        await site.plugin.engine.resume("s")
        assert (await agent.poll())["replay_paused"] is False


async def test_two_polls_at_once_give_one_action_and_keep_the_other():
    release = anyio.Event()
    app = FastAPI()
    queue = [click("act_1"), click("act_2")]

    @app.get(NEXT)
    async def poll() -> dict:
        action = queue.pop(0) if queue else None
        if action is not None:
            await release.wait()
        return {"action": action}

    @app.post(RESULT)
    async def report() -> dict:
        return {}

    site = a_site(app)
    answers = []
    async with in_process(app) as client, anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(lambda: _collect(Agent(client), answers))
        await anyio.wait_all_tasks_blocked()
        release.set()
    first, other = sorted(answers, key=lambda answer: answer["action"] is None)
    assert other == {"action": None, "replay_paused": False}
    async with in_process(app, lifespan=False) as client:
        agent = Agent(client)
        await agent.report(first["action"]["action_id"])
        following = await agent.poll()
    assert {first["action"]["action_id"], following["action"]["action_id"]} == {"act_1", "act_2"}
    assert following["delivery"]["attempt"] == 1
    assert site.plugin.counters.snapshot()["orphans_detected_total"] == 0


async def _collect(agent: Agent, answers: list) -> None:
    answers.append(await agent.poll())


async def test_a_poll_without_a_usable_session_is_the_hosts():
    for query in ("", "session_id=", f"session_id={'x' * 300}", "session_id=s&session_id="):
        bare, site = raw_host(b'{"action": {"action_id": "a"}}'), a_site(raw_host(b'{"action": {"action_id": "a"}}'))
        assert await exchange(site.app, query=query) == await exchange(bare, query=query)


async def test_of_a_repeated_session_the_last_counts_as_it_does_for_the_host():
    site = a_site()
    site.queue(click("hers"), session_id="hers")
    site.queue(click("mine"), session_id="mine")
    await exchange(site.app, query="session_id=hers", headers={"authorization": "Bearer hers"})
    await exchange(site.app, query="session_id=hers&session_id=mine", headers={"authorization": "Bearer mine"})
    site.clock.advance(31)
    stolen = await exchange(site.app, query="session_id=hers", headers={"authorization": "Bearer mine"})
    assert stolen[0]["status"] == 401


@pytest.mark.parametrize("empty", [b'{"action": null}', b"{}", None])
async def test_tail_lets_the_hosts_queue_go_first_then_the_waiting_action(empty):
    queue = [click("act_1"), click("act_2")]
    app = FastAPI()

    @app.get(NEXT)
    async def poll() -> Response:
        if queue:
            return JSONResponse({"action": queue.pop(0)})
        return Response(status_code=204) if empty is None else Response(empty, media_type="application/json")

    @app.post(RESULT)
    async def report() -> dict:
        return {}

    site = a_site(app, settings={"watchdog_repush_position": "tail"})
    async with in_process(app) as client:
        agent = Agent(client)
        assert (await agent.poll())["action"]["action_id"] == "act_1"
        site.clock.advance(31)
        assert (await agent.poll())["action"]["action_id"] == "act_2"
        await agent.report("act_2")
        resent = await agent.poll()
        assert resent["action"]["action_id"] == "act_1"
        assert resent["delivery"]["attempt"] == 2


async def test_tail_asks_for_the_same_credentials_as_head():
    site = a_site(settings={"watchdog_repush_position": "tail"})
    site.queue(click())
    async with in_process(site.app) as client:
        assert (await Agent(client, headers={"x-api-key": "k"}).poll())["delivery"]["attempt"] == 1
        site.clock.advance(31)
        assert (await Agent(client).poll())["action"] is None
        assert (await Agent(client, headers={"x-api-key": "k"}).poll())["delivery"]["attempt"] == 2


async def test_tail_hands_out_nothing_where_the_host_says_it_is_paused():
    answers = [{"action": click()}, {"action": None, "replay_paused": True}, {"action": None}]
    app = FastAPI()

    @app.get(NEXT)
    async def poll() -> dict:
        return answers.pop(0)

    site = a_site(app, settings={"watchdog_repush_position": "tail"})
    async with in_process(app) as client:
        agent = Agent(client)
        await agent.poll()
        site.clock.advance(31)
        assert await agent.poll() == {"action": None, "replay_paused": True}
        assert (await agent.poll())["delivery"]["attempt"] == 2


async def test_a_waiting_action_never_hides_one_of_the_hosts_that_cannot_be_tracked():
    answers = [{"action": click()}, {"action": {"type": "wait"}}]
    app = FastAPI()

    @app.get(NEXT)
    async def poll() -> dict:
        return answers.pop(0)

    site = a_site(app, settings={"watchdog_repush_position": "tail"})
    async with in_process(app) as client:
        await Agent(client).poll()
        site.clock.advance(31)
        assert (await Agent(client).poll()) == {"action": {"type": "wait"}}


async def test_a_disabled_watchdog_holds_nothing_back_and_resends_nothing():
    site = a_site(settings={"watchdog_enabled": False})
    site.queue(click(), click("act_2"))
    async with in_process(site.app) as client:
        agent = Agent(client)
        assert (await agent.poll())["action"]["action_id"] == "act_1"
        assert (await agent.poll())["action"]["action_id"] == "act_2"
        site.clock.advance(3_600)
        assert (await agent.poll())["action"] is None
        assert (await agent.report("act_1"))["status"] == "accepted"
    assert site.plugin.counters.snapshot()["orphans_detected_total"] == 0


class TestHead:
    """C12: whatever does not read an answer takes no action."""

    @staticmethod
    def get_for_head_host(queue: list) -> Starlette:
        async def poll(request) -> JSONResponse:
            return JSONResponse({"action": queue.pop(0) if queue else None})

        return Starlette(routes=[Route(NEXT, poll)])

    async def test_a_host_that_runs_get_for_head_keeps_the_action_and_its_order(self):
        queue = [click("act_1"), click("act_2"), click("act_3")]
        site = a_site(self.get_for_head_host(queue))
        for _ in range(20):
            assert (await exchange(site.app, "HEAD"))[0]["status"] == 200
        assert await site.plugin.engine.in_flight() == 0
        answer = json.loads(body_of(await exchange(site.app)))
        assert answer["action"]["action_id"] == "act_1"
        assert answer["delivery"]["attempt"] == 1

    async def test_a_probe_without_credentials_does_not_shut_the_agent_out(self):
        site = a_site(self.get_for_head_host([click()]))
        await exchange(site.app, "HEAD")
        answer = json.loads(body_of(await exchange(site.app, headers={"authorization": "Bearer a"})))
        assert answer["delivery"]["attempt"] == 1

    async def test_its_answer_is_the_hosts(self):
        bare, site = self.get_for_head_host([click()]), a_site(self.get_for_head_host([click()]))
        assert await exchange(site.app, "HEAD") == await exchange(bare, "HEAD")

    @pytest.mark.parametrize("name", ["Sec-Purpose", "Purpose", "X-Moz"])
    async def test_a_browsers_prefetch_takes_no_action(self, name):
        site = a_site()
        site.queue(click())
        for _ in range(3):
            sent = await exchange(site.app, headers={name: "prefetch;prerender"})
            assert sent[0]["status"] == 503
        assert json.loads(body_of(await exchange(site.app)))["delivery"]["attempt"] == 1


class TestLongPoll:
    async def test_a_report_releases_it_with_the_next_action(self):
        site = a_site()
        site.queue(click(), click("act_2"))
        answers: list = []
        async with in_process(site.app) as client, anyio.create_task_group() as group:
            agent = Agent(client)
            await agent.poll()
            group.start_soon(lambda: _wait(agent, answers))
            await anyio.wait_all_tasks_blocked()
            assert not answers
            await agent.report()
        assert answers[0]["action"]["action_id"] == "act_2"

    async def test_a_pause_releases_it(self):
        site = a_site()
        site.queue(click())
        answers: list = []
        async with in_process(site.app) as client, anyio.create_task_group() as group:
            await Agent(client).poll()
            group.start_soon(lambda: _wait(Agent(client), answers))
            await anyio.wait_all_tasks_blocked()
            await site.plugin.engine.pause("s")
        assert answers[0]["replay_paused"] is True

    async def test_it_is_capped(self):
        site = a_site(settings={"max_wait_s": 0.05})
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client).poll()
            with anyio.fail_after(2):
                assert (await Agent(client).poll(wait_s=1e9))["action"] is None

    @pytest.mark.parametrize("wait_s", ["nan", "inf", "-1", "x", ""])
    async def test_a_wait_that_is_no_duration_is_no_error(self, wait_s):
        site = a_site(settings={"max_wait_s": 0.02})
        site.queue(click())
        async with in_process(site.app) as client:
            await Agent(client).poll()
            assert (await Agent(client).poll(wait_s=wait_s))["action"] is None

    async def test_a_host_that_reads_the_body_after_the_wait_does_not_hang(self):
        app, queue = FastAPI(), [click(), click("act_2")]

        async def poll(request) -> JSONResponse:
            await request.body()
            return JSONResponse({"action": queue.pop(0)})

        app.add_route(NEXT, poll, methods=["GET"])
        app.add_route(RESULT, lambda request: JSONResponse({}), methods=["POST"])
        a_site(app)
        answers: list = []
        with anyio.fail_after(2):
            async with in_process(app) as client, anyio.create_task_group() as group:
                await Agent(client).poll()
                group.start_soon(lambda: _wait(Agent(client), answers))
                await anyio.wait_all_tasks_blocked()
                await Agent(client).report()
        assert answers[0]["action"]["action_id"] == "act_2"

    async def test_a_body_that_is_too_long_is_refused(self):
        site = a_site(settings={"max_report_bytes": 10})
        site.queue(click())
        await exchange(site.app)
        sent = await exchange(site.app, query="session_id=s&wait_s=5", body=b"x" * 11)
        assert sent[0]["status"] == 413

    async def test_a_client_that_goes_away_ends_the_wait_and_gets_nothing(self):
        site = a_site()
        site.queue(click())
        await exchange(site.app)
        gone, sent = anyio.Event(), []
        incoming = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if incoming:
                return incoming.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "GET", "path": NEXT, "query_string": b"session_id=s&wait_s=30", "headers": [],
        }  # fmt: skip
        with anyio.fail_after(2):
            async with anyio.create_task_group() as group:
                group.start_soon(site.app, scope, receive, send)
                await anyio.wait_all_tasks_blocked()
                gone.set()
        assert sent == []
        site.clock.advance(31)
        assert json.loads(body_of(await exchange(site.app)))["delivery"]["attempt"] == 2

    async def test_a_client_that_is_gone_at_once_is_no_error(self):
        site = a_site()
        site.queue(click())
        await exchange(site.app)

        async def receive():
            return {"type": "http.disconnect"}

        async def send(message):
            raise AssertionError(message)

        scope = {"type": "http", "method": "GET", "path": NEXT, "query_string": b"session_id=s&wait_s=9", "headers": []}
        await site.app(scope, receive, send)


async def _wait(agent: Agent, answers: list) -> None:
    with anyio.fail_after(3):
        answers.append(await agent.poll(wait_s=20))
