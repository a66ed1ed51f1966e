"""Rechecks over HTTP: the host hears of an action once, when it is settled, and never of a look."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from fastapi import FastAPI, Request
from http_kit import (
    NEXT,
    RESULT,
    STOPPED,
    Agent,
    Site,
    StubChecker,
    a_finding,
    a_site,
    body_of,
    click,
    exchange,
    in_process,
    post,
    recording_host,
)
from starlette.responses import JSONResponse

from otel_validation.asgi.first_reports import FirstReports
from otel_validation.asgi.report import SCOPE_KEY
from otel_validation.delivery.outcome import ReportOutcome, ReportStatus
from otel_validation.validation.verdict import FailureCategory, Verdict

pytestmark = pytest.mark.anyio

LOADING = a_finding(Verdict.CONTINUE, FailureCategory.UI_LOADING)
FIRST = {
    "session_id": "s",
    "action_id": "act_1",
    "success": True,
    "error": "",
    "actual_position": {"x_pct": 0.0, "y_pct": 0.5},
    "screenshot_before": "YmVmb3Jl",
    "screenshot_after": "Zmlyc3Q=",
    "step_label": "Imagerie é",
    "timings": [1.5, None],
}
FRESH = "ZnJlc2g="


def a_slow_site(**more: Any) -> Site:
    """Its host keeps the bodies that it is given; its checker sees nothing yet."""
    return a_site(more.pop("host", None) or recording_host(), checker=StubChecker(LOADING), **more)


async def poll(site: Site, **more: Any) -> dict[str, Any]:
    return json.loads(body_of(await exchange(site.app, **more)))


async def send(site: Site, report: dict[str, Any], **headers: str) -> dict[str, Any]:
    return json.loads(body_of(await post(site.app, json.dumps(report).encode(), **headers)))


async def first_report(site: Site, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the host's action and report it: the report as it was sent, and its answer."""
    delivery = (await poll(site))["delivery"]
    report = {**FIRST, "delivery_token": delivery["token"], **more}
    return report, await send(site, report)


async def take_look(site: Site) -> dict[str, Any]:
    site.clock.advance(1.5)
    return await poll(site)


def of_look(look: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What an agent reports of a look."""
    return {
        "session_id": "s",
        "action_id": look["action"]["action_id"],
        "success": True,
        "screenshot_after": FRESH,
        "delivery_token": look["delivery"]["token"],
        **more,
    }


def told(site: Site) -> list[dict[str, Any]]:
    return [json.loads(body) for body in site.app.state.bodies]


async def test_the_first_report_is_answered_by_the_plugin_and_the_host_hears_nothing():
    site = a_slow_site()
    _, answer = await first_report(site)
    assert answer["status"] == "accepted"
    assert answer["route"] == "recheck"
    assert answer["recheck"] == {"after_s": 1.5, "left": 1}
    assert answer["delivery"] == {"status": "accepted", "attempt": 1, "retry": 0}
    assert (answer["verdict"]["verdict"], answer["verdict"]["failure_category"]) == ("continue", "ui_loading")
    assert site.app.state.bodies == []


async def test_a_poll_before_the_look_is_due_gets_nothing_and_one_after_gets_the_look():
    site = a_slow_site(host=recording_host(queue=[click(replay_id="rep"), click("act_2")]))
    await first_report(site)
    assert await poll(site) == {"action": None, "replay_paused": False}
    look = await take_look(site)
    action, delivery = look["action"], look["delivery"]
    assert action == {
        "action_id": action["action_id"],
        "type": "screenshot_evidence",
        "look_of": "act_1",
        "purpose": "recheck",
        "replay_id": "rep",
    }
    assert delivery["look_of"] == "act_1"
    assert (delivery["attempt"], delivery["redelivered"], delivery["visibility_timeout_s"]) == (1, False, 30.0)
    assert "look_of" not in (await poll(a_slow_site()))["delivery"]


async def test_the_look_tells_the_host_the_first_report_with_the_fresh_screenshot():
    site = a_slow_site()
    report, _ = await first_report(site, window={"title": "one"})
    look = await take_look(site)
    site.checker.finding = a_finding()
    answer = await send(site, of_look(look, window={"title": "two"}, note="of the look", success=None))
    assert answer["received"] is True
    assert (answer["status"], answer["route"], answer["verdict"]["verdict"]) == ("accepted", "continue", "complete")
    assert "recheck" not in answer
    expected = {k: v for k, v in report.items() if k != "screenshot_before"}
    assert told(site) == [{**expected, "screenshot_after": FRESH, "window": {"title": "two"}}]
    (outcome,) = site.app.state.outcomes
    assert isinstance(outcome, ReportOutcome)
    assert (outcome.status, outcome.look_of, outcome.outcome.success) == (ReportStatus.ACCEPTED, "act_1", True)


@pytest.mark.parametrize(
    ("finding", "error", "route"),
    [
        (LOADING, "validator_continue: ui_loading", "pause"),
        (STOPPED, "validator_terminate: wrong_application", "pause"),
    ],
)
async def test_looks_that_do_not_confirm_tell_the_host_a_failure_once(finding, error, route):
    site = a_slow_site()
    await first_report(site)
    again = await send(site, of_look(await take_look(site)))
    assert (again["route"], again["recheck"]["left"]) == ("recheck", 0)
    assert site.app.state.bodies == []
    site.checker.finding = finding
    last = await send(site, of_look(await take_look(site)))
    assert last["route"] == route
    assert [(t["action_id"], t["success"], t["error"]) for t in told(site)] == [("act_1", False, error)]
    assert (await poll(site))["replay_paused"] is True


async def test_a_claim_that_was_missing_becomes_a_success_on_the_looks_proof():
    site = a_slow_site()
    await first_report(site, success=None)
    look = await take_look(site)
    site.checker.finding = a_finding()
    await send(site, of_look(look))
    assert told(site)[0]["success"] is True


@pytest.mark.parametrize("settings", [{"validator_rechecks": 0}, {"watchdog_enabled": False}])
async def test_without_rechecks_the_host_is_told_at_once(settings):
    site = a_slow_site(settings=settings)
    _, answer = await first_report(site)
    assert answer["route"] == "pause"
    assert len(site.app.state.bodies) == 1


async def test_a_shorter_delay_and_fewer_rechecks_are_settings():
    site = a_slow_site(settings={"validator_rechecks": 1, "validator_recheck_delay_s": 0.25})
    _, answer = await first_report(site)
    assert answer["recheck"] == {"after_s": 0.25, "left": 0}
    site.clock.advance(0.25)
    assert (await poll(site))["action"]["look_of"] == "act_1"


async def test_a_dialog_that_the_hosts_hook_dealt_with_is_looked_at_again():
    calls = []

    async def close_it(action: Any, result: Any) -> bool:
        calls.append((action.payload["action_id"], result.category))
        return True

    dialog = a_finding(Verdict.TERMINATE, FailureCategory.UNEXPECTED_DIALOG)
    site = a_site(recording_host(), checker=StubChecker(dialog), handoff=close_it)
    _, answer = await first_report(site)
    assert (answer["route"], answer["verdict"]["failure_category"]) == ("recheck", "unexpected_dialog")
    assert calls == [("act_1", "unexpected_dialog")]
    look = await take_look(site)
    site.checker.finding = a_finding()
    await send(site, of_look(look))
    assert [(t["action_id"], t["success"]) for t in told(site)] == [("act_1", True)]


class TestAgain:
    """What is sent twice is answered twice, and told to the host once."""

    async def test_the_first_report_during_the_recheck(self):
        site = a_slow_site()
        report, answer = await first_report(site)
        expected = {**answer, "status": "duplicate", "delivery": {**answer["delivery"], "status": "duplicate"}}
        assert await send(site, report) == expected
        await take_look(site)
        del report["delivery_token"]
        assert await send(site, report) == expected
        assert site.app.state.bodies == []
        assert site.checker.calls == 1

    async def test_either_report_after_the_look_gets_the_hosts_answer(self):
        site = a_slow_site()
        report, _ = await first_report(site)
        look = await take_look(site)
        site.checker.finding = a_finding()
        answer = await send(site, of_look(look))
        assert await send(site, of_look(look)) == {**answer, "status": "duplicate"}
        assert await send(site, report) == {**answer, "status": "duplicate"}
        assert len(site.app.state.bodies) == 1

    async def test_a_look_that_led_to_the_next_one(self):
        site = a_slow_site()
        await first_report(site)
        look = await take_look(site)
        answer = await send(site, of_look(look))
        await take_look(site)
        again = await send(site, of_look(look))
        assert (again["status"], again["recheck"]) == ("duplicate", answer["recheck"])
        assert site.app.state.bodies == []

    async def test_a_host_that_fails_is_told_again_by_the_looks_next_try(self):
        host = recording_host(answers=[JSONResponse({"oops": 1}, 500), JSONResponse({"ok": 1})])
        site = a_slow_site(host=host)
        await first_report(site)
        look = await take_look(site)
        site.checker.finding = a_finding()
        assert (await post(site.app, json.dumps(of_look(look)).encode()))[0]["status"] == 500
        assert (await send(site, of_look(look)))["ok"] == 1
        assert (await send(site, of_look(look)))["ok"] == 1
        first, second = told(site)
        assert first == second
        assert first["step_label"] == FIRST["step_label"]

    async def test_the_first_report_waits_while_the_host_is_told_by_the_look(self):
        entered, gate, app = anyio.Event(), anyio.Event(), FastAPI()
        app.state.bodies = []
        queue = [click()]

        @app.get(NEXT)
        async def next_action() -> dict:
            return {"action": queue.pop(0) if queue else None}

        @app.post(RESULT)
        async def result(request: Request) -> dict:
            app.state.bodies.append(await request.body())
            entered.set()
            await gate.wait()
            return {"received": True}

        site = a_slow_site(host=app)
        report, _ = await first_report(site)
        look = await take_look(site)
        site.checker.finding = a_finding()
        answers: list[dict[str, Any]] = []

        async def tell(body: dict[str, Any]) -> None:
            answers.append(await send(site, body))

        async with anyio.create_task_group() as group:
            group.start_soon(tell, of_look(look))
            await entered.wait()
            group.start_soon(tell, report)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        assert [answer["status"] for answer in answers] == ["accepted", "duplicate"]
        assert [answer["received"] for answer in answers] == [True, True]
        assert len(app.state.bodies) == 1

    async def test_a_look_whose_action_the_host_heard_of_meanwhile_gets_the_same_answer(self):
        """The look's client vanished once it was judged; the agent then sent its first report again."""
        site = a_slow_site()
        report, _ = await first_report(site)
        look = await take_look(site)
        site.checker.finding = a_finding()
        await site.plugin.engine.report(_as_value(of_look(look)))
        assert (await send(site, report))["received"] is True
        answer = await send(site, of_look(look))
        assert (answer["received"], answer["status"]) == (True, "duplicate")
        assert [t["action_id"] for t in told(site)] == ["act_1"]


def _as_value(body: dict[str, Any]) -> Any:
    from otel_validation.validation.report import Report

    return Report.from_json(body)


class TestNeverTold:
    """Reports of looks that have nothing to say of their action."""

    async def test_after_a_cancel(self):
        site = a_slow_site()
        await first_report(site)
        look = await take_look(site)
        await site.plugin.engine.cancel("s")
        answer = await send(site, of_look(look))
        assert (answer["status"], answer["verdict"], answer["route"]) == ("duplicate", None, None)
        assert site.app.state.bodies == []

    async def test_of_an_attempt_that_was_superseded(self):
        site = a_slow_site()
        await first_report(site)
        look = await take_look(site)
        site.clock.advance(31)
        assert (await poll(site))["delivery"]["attempt"] == 2
        assert (await send(site, of_look(look)))["status"] == "stale_rejected"
        assert site.app.state.bodies == []


async def test_a_look_that_nobody_answered_is_told_when_its_report_comes_after_all():
    site = a_slow_site(settings={"watchdog_max_resends": 0})
    report, _ = await first_report(site)
    look = await take_look(site)
    site.clock.advance(31)
    assert (await poll(site))["replay_paused"] is True
    assert site.app.state.bodies == []
    assert (await send(site, of_look(look)))["status"] == "duplicate"
    assert (await send(site, report))["status"] == "duplicate"
    assert [(t["action_id"], t["success"], t["step_label"]) for t in told(site)] == [
        ("act_1", False, FIRST["step_label"])
    ]


async def test_a_legacy_agent_needs_no_token_and_a_pydantic_host_reads_what_it_is_told():
    site = a_site(checker=StubChecker(LOADING))
    site.queue(click())
    async with in_process(site.app) as client:
        agent = Agent(client)
        await agent.poll()
        assert (await agent.report(screenshot_after="Zmlyc3Q=", note="x"))["route"] == "recheck"
        site.clock.advance(1.5)
        look = (await agent.poll())["action"]
        site.checker.finding = a_finding()
        answer = await agent.report(look["action_id"], screenshot_after=FRESH)
    assert (answer["received"], answer["success"]) == ("act_1", True)
    assert [(t["action_id"], t["note"], t["screenshot_after"]) for t in site.told] == [("act_1", "x", FRESH)]


async def test_a_look_is_as_hard_to_get_as_the_hosts_own_answers():
    site = a_slow_site()
    headers = {"authorization": "Bearer mine"}
    delivery = (await poll(site, headers=headers))["delivery"]
    await send(site, {**FIRST, "delivery_token": delivery["token"]}, **headers)
    site.clock.advance(1.5)
    other = await exchange(site.app, headers={"authorization": "Bearer other"})
    assert other[0]["status"] == 401
    assert (await poll(site, headers=headers))["action"]["look_of"] == "act_1"


async def test_of_a_first_report_that_is_too_large_the_host_gets_the_known_fields():
    site = a_slow_site()
    report, _ = await first_report(site, table=["x" * 1000] * 100)
    look = await take_look(site)
    site.checker.finding = a_finding()
    await send(site, of_look(look))
    assert told(site) == [
        {
            "session_id": "s",
            "action_id": "act_1",
            "success": True,
            "error": None,
            "actual_position": {"x_pct": 0.0, "y_pct": 0.5},
            "delivery_token": report["delivery_token"],
            "screenshot_after": FRESH,
        }
    ]


async def test_of_a_secret_the_host_gets_the_known_fields_and_nothing_is_kept():
    site = a_slow_site(host=recording_host(queue=[click(secret=True)]))
    await first_report(site, typed="s3cret")
    look = await take_look(site)
    site.checker.finding = a_finding()
    await send(site, of_look(look))
    assert "typed" not in told(site)[0]
    assert (told(site)[0]["action_id"], told(site)[0]["success"]) == ("act_1", True)


def an_answer(**more: Any) -> ReportOutcome:
    return ReportOutcome(status=ReportStatus.DUPLICATE, look_of="a", **more)


async def test_where_nothing_is_known_any_more_the_ids_are():
    body = FirstReports().told(("s", "a", 0), an_answer(), {"screenshot_after": FRESH})
    assert json.loads(body) == {
        "session_id": "s",
        "action_id": "a",
        "success": None,
        "error": None,
        "screenshot_after": FRESH,
    }


async def test_first_reports_take_bounded_memory():
    firsts = FirstReports(largest=100, most_bytes=250)
    for number in range(5):
        firsts.keep(("s", str(number), 0), {"n": number, "screenshot_after": "x" * 10_000, "note": "y" * 60})
    kept = [b"note" in firsts.told(("s", str(number), 0), an_answer(), {}) for number in (4, 3)]
    assert kept == [True, True]
    assert b"note" not in firsts.told(("s", "0", 0), an_answer(), {})
    firsts.keep(("s", "large", 0), {"note": "y" * 200})
    assert b"note" not in firsts.told(("s", "large", 0), an_answer(), {})


async def test_the_handler_finds_no_outcome_of_a_look_in_its_scope_but_that_of_its_action():
    seen: list[Any] = []
    app, queue = FastAPI(), [click()]

    @app.get(NEXT)
    async def next_action() -> dict:
        return {"action": queue.pop(0) if queue else None}

    @app.post(RESULT)
    async def result(request: Request, report: dict) -> dict:
        seen.append((report["action_id"], request.scope[SCOPE_KEY].outcome.route, len(await request.body())))
        return {"length": int(request.headers["content-length"])}

    site = a_slow_site(host=app)
    await first_report(site)
    look = await take_look(site)
    site.checker.finding = a_finding()
    answer = await send(site, of_look(look))
    assert seen == [("act_1", "continue", answer["length"])]
