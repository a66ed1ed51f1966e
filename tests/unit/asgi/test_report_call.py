"""Reports through the plugin: judged once, told to the host as they were judged, answered in any case."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from http_kit import (
    JSON_HEADERS,
    RESULT,
    STOPPED,
    Agent,
    StubChecker,
    a_finding,
    a_site,
    body_of,
    click,
    exchange,
    in_process,
    legacy_host,
    post,
    recording_host,
)
from starlette.responses import JSONResponse, Response, StreamingResponse

from otel_validation import Settings, instrument
from otel_validation.delivery.outcome import ReportOutcome, ReportStatus
from otel_validation.validation.verdict import FailureCategory, Verdict

pytestmark = pytest.mark.anyio

SHOT = "iVBORw0KGgo="


async def test_a_confirmed_success_reaches_the_host_byte_for_byte():
    site = a_site(recording_host())
    await exchange(site.app)
    body = b'{"session_id":"s", "action_id":"act_1","success" :true,"n":1.50,"screenshot_after":"aaaa","e":"\xc3\xa9"}'
    answer = json.loads(body_of(await post(site.app, body)))
    assert site.app.state.bodies == [body]
    assert answer["received"] is True
    assert answer["status"] == "accepted"
    assert answer["route"] == "continue"
    assert answer["verdict"]["verdict"] == "complete"
    assert answer["verdict"]["verified"] is True
    assert answer["verdict"]["checks"] == [
        {
            "checker": "ocr_roi",
            "verdict": "complete",
            "failure_category": None,
            "confidence": 0.95,
            "verified": True,
        }
    ]
    (outcome,) = site.app.state.outcomes
    assert isinstance(outcome, ReportOutcome)
    assert outcome.status is ReportStatus.ACCEPTED


async def test_a_false_success_is_told_to_the_host_as_a_failure():
    site = a_site(recording_host(), checker=StubChecker(STOPPED))
    await exchange(site.app)
    sent = {"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": SHOT, "extra": [1.5, "é"]}
    answer = json.loads(body_of(await post(site.app, json.dumps(sent).encode())))
    told = json.loads(site.app.state.bodies[0])
    assert told == {**sent, "success": False, "error": "validator_terminate: wrong_application"}
    assert answer["verdict"]["failure_category"] == "wrong_application"
    assert answer["route"] == "pause"
    assert json.loads(body_of(await exchange(site.app)))["replay_paused"] is True


async def test_a_pydantic_host_reads_the_overridden_report_whole():
    site = a_site(checker=StubChecker(STOPPED))
    site.queue(click())
    async with in_process(site.app) as client:
        await Agent(client).poll()
        answer = await Agent(client).report(screenshot_after=SHOT, note="x" * 100)
    assert answer["success"] is False
    assert site.told[0]["success"] is False
    assert site.told[0]["note"] == "x" * 100


@pytest.mark.parametrize("settings", [{"validator_mode": "observe"}, {"validator_mode": "off"}])
async def test_observe_and_off_change_nothing_of_what_the_host_is_told(settings):
    site = a_site(recording_host(), checker=StubChecker(STOPPED), settings=settings)
    await exchange(site.app)
    body = b'{"session_id": "s", "action_id": "act_1", "success": true, "screenshot_after": "aaaa"}'
    answer = json.loads(body_of(await post(site.app, body)))
    assert site.app.state.bodies == [body]
    assert answer["route"] == "continue"
    assert answer["verdict"]["verdict"] == ("terminate" if settings["validator_mode"] == "observe" else "continue")
    assert site.checker.calls == (settings["validator_mode"] == "observe")


async def test_an_agents_own_failure_stays_one():
    site = a_site(recording_host())
    await exchange(site.app)
    body = b'{"session_id": "s", "action_id": "act_1", "success": false, "error": "no window"}'
    assert json.loads(body_of(await post(site.app, body)))["status"] == "accepted"
    assert site.app.state.bodies == [body]


async def test_the_hosts_own_members_win_and_the_delivery_block_tells_all_the_same():
    site = a_site(recording_host(answers=[JSONResponse({"status": "ok", "route": 7})]))
    await exchange(site.app)
    answer = json.loads(body_of(await post(site.app, b'{"session_id": "s", "action_id": "act_1", "success": true}')))
    assert answer["status"] == "ok"
    assert answer["route"] == 7
    assert answer["delivery"] == {"status": "accepted", "attempt": 1, "retry": 0}


@pytest.mark.parametrize("token_of", [0, 1])
async def test_a_duplicate_gets_the_same_answer_whichever_attempts_token_it_bears(token_of):
    """An agent that executes once answers every delivery of an action under that delivery's token."""
    site = a_site(recording_host())
    tokens = []
    for _ in range(2):
        tokens.append(json.loads(body_of(await exchange(site.app)))["delivery"]["token"])
        site.clock.advance(31)
    report = {"session_id": "s", "action_id": "act_1", "success": True, "screenshot_after": SHOT}
    first = body_of(await post(site.app, json.dumps({**report, "delivery_token": tokens[0]}).encode()))
    again = body_of(await post(site.app, json.dumps({**report, "delivery_token": tokens[token_of]}).encode()))
    assert json.loads(again) == {**json.loads(first), "status": "duplicate"}
    assert len(site.app.state.bodies) == 1
    assert site.checker.calls == 1


async def test_a_business_retry_is_no_duplicate():
    site = a_site(recording_host(queue=[click(), click()]))
    for retry in range(2):
        delivery = json.loads(body_of(await exchange(site.app)))["delivery"]
        assert delivery["retry"] == retry
        body = json.dumps({"session_id": "s", "action_id": "act_1", "success": True}).encode()
        assert json.loads(body_of(await post(site.app, body)))["status"] == "accepted"
        assert json.loads(body_of(await post(site.app, body)))["status"] == "duplicate"
    assert len(site.app.state.bodies) == 2


async def test_twenty_identical_reports_at_once_are_judged_once_and_told_once():
    site = a_site()
    site.queue(click())
    answers: list[dict] = []

    async def tell(agent: Agent, token: str) -> None:
        answers.append(await agent.report(token=token, screenshot_after=SHOT))

    async with in_process(site.app) as client:
        agent = Agent(client)
        token = (await agent.poll())["delivery"]["token"]
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(tell, agent, token)
    assert site.checker.calls == 1
    assert len(site.told) == 1
    assert sorted(answer["status"] for answer in answers) == ["accepted"] + ["duplicate"] * 19
    assert len({json.dumps({**answer, "status": ""}) for answer in answers}) == 1


async def test_a_host_that_fails_the_first_time_sees_the_next_try():
    site = a_site(recording_host(answers=[JSONResponse({"oops": 1}, 500), JSONResponse({"ok": 1})]))
    await exchange(site.app)
    body = b'{"session_id": "s", "action_id": "act_1", "success": true, "screenshot_after": "aaaa"}'
    first = await post(site.app, body)
    assert first[0]["status"] == 500
    second = await post(site.app, body)
    assert second[0]["status"] == 200
    assert json.loads(body_of(second))["status"] == "duplicate"
    third = json.loads(body_of(await post(site.app, body)))
    assert third["ok"] == 1
    assert len(site.app.state.bodies) == 2
    assert site.checker.calls == 1


async def test_a_rejected_late_report_is_not_told_to_the_host():
    site = a_site(recording_host(), checker=StubChecker(STOPPED))
    token = json.loads(body_of(await exchange(site.app)))["delivery"]["token"]
    site.clock.advance(31)
    await exchange(site.app)
    report = {"session_id": "s", "action_id": "act_1", "success": True, "delivery_token": token}
    answer = await post(site.app, json.dumps({**report, "screenshot_after": SHOT}).encode())
    assert answer[0]["status"] == 200
    assert json.loads(body_of(answer))["status"] == "stale_rejected"
    assert site.app.state.bodies == []


async def test_an_unknown_report_is_the_hosts_and_says_so():
    for report in ({"session_id": "nobody", "action_id": "a"}, {"session_id": "s", "action_id": "other"}):
        for more in ({}, {"delivery_token": "made-up"}):
            site = a_site(recording_host())
            await exchange(site.app)
            body = json.dumps({**report, **more, "success": True}).encode()
            answer = json.loads(body_of(await post(site.app, body)))
            assert answer["received"] is True
            assert answer["status"] == "unknown"
            assert site.app.state.bodies == [body]
            assert site.checker.calls == 0


async def test_an_unknown_report_is_told_to_the_host_each_time():
    site = a_site(recording_host())
    body = b'{"session_id": "s", "action_id": "x", "success": true, "delivery_token": "t"}'
    for _ in range(2):
        await post(site.app, body)
    assert len(site.app.state.bodies) == 2


class TestSuccessField:
    """G01: null, missing or not a bool is unknown, and judged on evidence."""

    @pytest.mark.parametrize("success", [None, "true", 1, "missing"])
    async def test_proof_makes_it_a_success(self, success):
        site = a_site(recording_host())
        await exchange(site.app)
        report = {"session_id": "s", "action_id": "act_1", "success": success, "screenshot_after": SHOT}
        if success == "missing":
            del report["success"]
        await post(site.app, json.dumps(report).encode())
        assert json.loads(site.app.state.bodies[0])["success"] is True

    @pytest.mark.parametrize("success", [None, "true", 1])
    async def test_without_proof_it_is_none(self, success):
        unsure = StubChecker(a_finding(Verdict.CONTINUE, verified=False))
        site = a_site(recording_host(), checker=unsure, settings={"validator_rechecks": 0})
        await exchange(site.app)
        report = {"session_id": "s", "action_id": "act_1", "success": success, "screenshot_after": SHOT}
        await post(site.app, json.dumps(report).encode())
        assert json.loads(site.app.state.bodies[0])["success"] is False

    async def test_a_success_with_an_error_is_not_complete(self):
        site = a_site(recording_host())
        await exchange(site.app)
        report = {"session_id": "s", "action_id": "act_1", "success": True, "error": "element not found"}
        answer = json.loads(body_of(await post(site.app, json.dumps({**report, "screenshot_after": SHOT}).encode())))
        assert answer["verdict"]["verdict"] == "continue"
        assert answer["verdict"]["verified"] is False
        assert json.loads(site.app.state.bodies[0])["success"] is False


class TestPassesThrough:
    """What is not read stays as it is, and the action stays tracked."""

    @pytest.mark.parametrize(
        ("body", "headers"),
        [
            (b"{broken", JSON_HEADERS),
            (b"\xff\xfe\x00", JSON_HEADERS),
            (b"[1]", JSON_HEADERS),
            (b"{}", JSON_HEADERS),
            (b'{"session_id": 5, "action_id": "act_1"}', JSON_HEADERS),
            (b'{"session_id": "s", "action_id": "' + b"x" * 257 + b'"}', JSON_HEADERS),
            (b"[" * 100_000, JSON_HEADERS),
            (b'{"session_id": "s", "action_id": "act_1", "success": true}', {"content-type": "text/plain"}),
            (b"a=1", {"content-type": "application/x-www-form-urlencoded"}),
            (
                gzip.compress(b'{"session_id": "s", "action_id": "act_1", "success": true}'),
                {**JSON_HEADERS, "content-encoding": "gzip"},
            ),
            (b"not gzip", {**JSON_HEADERS, "content-encoding": "gzip"}),
            (gzip.compress(bytes(10_000_000)), {**JSON_HEADERS, "content-encoding": "gzip"}),
        ],
        ids=lambda value: value[:24] if isinstance(value, bytes) else None,
    )
    async def test_like_the_bare_host(self, body, headers):
        bare, site = recording_host(), a_site(recording_host())
        await exchange(site.app)
        assert await exchange(site.app, "POST", RESULT, "", headers, body) == await exchange(
            bare, "POST", RESULT, "", headers, body
        )
        assert site.app.state.bodies == bare.state.bodies
        assert await site.plugin.engine.in_flight() == 1

    async def test_fastapi_answers_compressed_and_broken_bodies_with_a_4xx(self):
        """C06: a FastAPI host says so itself, and the action is resent."""
        site = a_site()
        site.queue(click())
        await exchange(site.app)
        for body, headers in (
            (gzip.compress(b'{"session_id": "s"}'), {"content-encoding": "gzip"}),
            (b"not gzip", {"content-encoding": "gzip"}),
            (b"{broken", {}),
        ):
            answer = await exchange(site.app, "POST", RESULT, "", {**JSON_HEADERS, **headers}, body)
            assert 400 <= answer[0]["status"] < 500
        site.clock.advance(31)
        assert json.loads(body_of(await exchange(site.app)))["delivery"]["attempt"] == 2

    async def test_c10_multipart(self):
        bare, site = recording_host(), a_site(recording_host())
        await exchange(site.app)
        parts = "".join(
            f'--b\r\ncontent-disposition: form-data; name="{name}"; filename="{name}.png"\r\n\r\n{"x" * 2_500_000}\r\n'
            for name in ("before", "after")
        )
        body = f"{parts}--b--\r\n".encode()
        headers = {"content-type": "multipart/form-data; boundary=b"}
        sent = await exchange(site.app, "POST", RESULT, "", headers, body)
        assert sent == await exchange(bare, "POST", RESULT, "", headers, body)
        assert site.app.state.bodies == [body]
        assert await site.plugin.engine.in_flight() == 1

    @pytest.mark.parametrize("headers", [{}, {"content-type": "application/vnd.report+json"}])
    async def test_not_a_report_that_only_lacks_the_usual_content_type(self, headers):
        site = a_site(recording_host())
        await exchange(site.app)
        body = b'{"session_id": "s", "action_id": "act_1", "success": true}'
        answer = json.loads(body_of(await exchange(site.app, "POST", RESULT, "", headers, body)))
        assert answer["status"] == "accepted"

    @pytest.mark.parametrize(
        "answer",
        [
            lambda: Response(status_code=204),
            lambda: Response("fine", media_type="text/plain"),
            lambda: JSONResponse([1, 2]),
            lambda: Response(b"{", media_type="application/json"),
            lambda: StreamingResponse(iter([b"a", b"b"]), media_type="text/event-stream"),
            lambda: JSONResponse({"x": "x" * 70_000}),
            lambda: Response(gzip.compress(b"{}"), media_type="application/json", headers={"content-encoding": "gzip"}),
        ],
    )
    async def test_an_answer_that_nothing_can_be_added_to(self, answer):
        bare, site = recording_host(answers=[answer()]), a_site(recording_host(answers=[answer()]))
        await exchange(site.app)
        body = b'{"session_id": "s", "action_id": "act_1", "success": true}'
        assert await post(site.app, body) == await post(bare, body)
        assert site.plugin.counters.snapshot()["reports_accepted_total"] == 1


class TestLimits:
    async def test_a_body_that_is_announced_too_long_is_refused_unread(self):
        site = a_site(recording_host(), settings={"max_report_bytes": 1_000})
        await exchange(site.app)
        sent = await post(site.app, b'{"session_id": "s", "x": "' + b"x" * 5_000 + b'"}')
        assert sent[0]["status"] == 413
        assert b"RPA_MAX_REPORT_BYTES" in body_of(sent)
        assert dict(sent[0]["headers"])[b"connection"] == b"close"
        assert site.app.state.bodies == []
        assert await site.plugin.engine.in_flight() == 1

    @staticmethod
    def chunked(chunk: bytes, chunks: int) -> Any:
        left = chunks

        async def receive() -> dict:
            nonlocal left
            left -= 1
            return {"type": "http.request", "body": chunk, "more_body": left > 0}

        return receive, lambda: left

    async def send_chunks(self, site: Any, receive: Any) -> list[dict]:
        sent: list[dict] = []

        async def send(message: dict) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": RESULT,
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        await site.app(scope, receive, send)
        return sent

    async def test_a_body_of_no_announced_length_is_refused_when_it_is_too_long(self):
        site = a_site(recording_host(), settings={"max_report_bytes": 1_000})
        receive, left = self.chunked(b"x" * 300, 8)
        assert (await self.send_chunks(site, receive))[0]["status"] == 413
        assert left() == 0, "the rest is read, so that the sender sees the answer"

    async def test_an_endless_body_is_not_read_to_its_end(self):
        site = a_site(recording_host(), settings={"max_report_bytes": 1_000})
        receive, left = self.chunked(b"x" * 300, 1_000)
        assert (await self.send_chunks(site, receive))[0]["status"] == 413
        assert left() > 900

    async def test_a_client_that_goes_away_while_sending_settles_nothing(self):
        site = a_site(recording_host())
        await exchange(site.app)
        messages = [{"type": "http.request", "body": b'{"session', "more_body": True}, {"type": "http.disconnect"}]

        async def receive() -> dict:
            return messages.pop(0)

        assert await self.send_chunks(site, receive) == []
        assert await site.plugin.engine.in_flight() == 1

    @pytest.mark.parametrize("begun", [False, True])
    async def test_clients_that_vanish_while_sending_do_not_block_the_others(self, begun):
        """One that sent nothing yet holds nothing, as with any host; one that sent a part has its time."""
        site = a_site(recording_host(), settings={"max_reports_at_once": 1, "report_read_timeout_s": 0.05})
        await exchange(site.app)
        messages = [{"type": "http.request", "body": b'{"session', "more_body": True}] * begun
        slow: list[list[dict]] = []
        refused = anyio.Event()

        async def receive() -> dict:
            return messages.pop() if messages else await anyio.sleep_forever()

        async def stall() -> None:
            slow.append(await self.send_chunks(site, receive))
            refused.set()

        with anyio.fail_after(3):
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(stall)
                await anyio.wait_all_tasks_blocked()
                answer = await post(site.app, b'{"session_id": "s", "action_id": "act_1", "success": true}')
                if begun:
                    await refused.wait()
                group.cancel_scope.cancel()
        assert json.loads(body_of(answer))["status"] == "accepted"
        assert [sent[0]["status"] for sent in slow[:1]] == [408] * begun

    @pytest.mark.parametrize("length", ["9" * 5_000, "-1", "x", ""])
    async def test_an_odd_content_length_is_no_error(self, length):
        site = a_site(recording_host())
        sent = await exchange(site.app, "POST", RESULT, "", {**JSON_HEADERS, "content-length": length})
        assert sent[0]["status"] in (200, 413)


async def test_a_report_is_settled_and_told_though_its_client_is_cancelled():
    """Judged once begun; the agent's next try tells the host, where this one did not."""
    gate = threading.Event()
    site = a_site(recording_host(), checker=StubChecker(gate=gate))
    await exchange(site.app)
    body = b'{"session_id": "s", "action_id": "act_1", "success": true, "screenshot_after": "aaaa"}'
    async with anyio.create_task_group() as group:
        group.start_soon(post, site.app, body)
        await to_thread.run_sync(site.checker.began.wait)
        group.cancel_scope.cancel()
        gate.set()
    assert site.plugin.counters.snapshot()["reports_accepted_total"] == 1
    assert json.loads(body_of(await post(site.app, body)))["status"] == "duplicate"
    assert site.app.state.bodies == [body]
    assert site.checker.calls == 1


DEMO = Path(__file__).parents[3] / "otel_validation" / "cli" / "demo_data"


@pytest.mark.parametrize("name", ["imagerie", "barre-adresse", "onglet-voisin"])
async def test_recorded_screens_are_judged_and_the_host_is_told(name):
    steps = json.loads((DEMO / "replay.json").read_text(encoding="utf-8"))["steps"]
    step = next(step for step in steps if step["name"] == name)
    app = legacy_host()
    instrument(app, Settings())
    app.state.queues["s"].append(step["action"])
    shots = {
        f"screenshot_{moment}": base64.b64encode((DEMO / step[moment]).read_bytes()).decode()
        for moment in ("before", "after")
    }
    async with in_process(app) as client:
        agent = Agent(client)
        token = (await agent.poll())["delivery"]["token"]
        answer = await agent.report(
            step["action"]["action_id"], token, actual_position=step["actual_position"], **shots
        )
    expected = step["expected"]
    assert answer["verdict"]["verdict"] == expected["verdict"]
    assert answer["verdict"]["failure_category"] == expected["failure_category"]
    told = app.state.results[0]
    right = expected["verdict"] == "complete"
    assert told["success"] is right
    assert told["error"] == (None if right else f"validator_terminate: {expected['failure_category']}")
    assert FailureCategory(expected["failure_category"]) if not right else True
