"""A replay's life: run, stopped, resumed, given up, redriven, cancelled."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from http_kit import JSON_HEADERS, NEXT, RESULT, STOPPED, StubChecker, a_finding, click

from otel_validation.agent import AgentClient, Execution
from otel_validation.validation.verdict import FailureCategory, Verdict

pytestmark = pytest.mark.anyio
WRONG_TARGET = a_finding(Verdict.TERMINATE, FailureCategory.WRONG_TARGET)
NOTHING = {"action": None, "replay_paused": False}


async def test_it_runs_to_completion(desk, shot):
    await desk.start(click(), click("act_2"))
    for _ in range(2):
        answer = await desk.report(await desk.poll(), screenshot_after=shot)
        assert answer.json()["status"] == "accepted"
        assert answer.json()["verdict"]["verdict"] == "complete"
        assert answer.json()["route"] == "continue"
    view = await desk.view()
    assert view["status"] == "completed"
    assert [(a["state"], a["attempts"], a["route"]) for a in view["actions"]] == [("done", 1, "continue")] * 2
    assert await desk.poll() == NOTHING
    root = next(span for span in desk.spans.get_finished_spans() if span.name == "replay")
    assert root.attributes["rpa.replay.end"] == "completed"
    assert f"{root.context.trace_id:032x}" == view["trace_id"]


async def test_a_poll_while_an_action_is_in_flight_gets_nothing(desk):
    await desk.start(click(), click("act_2"))
    await desk.poll()
    assert await desk.poll() == NOTHING


async def test_a_wrong_application_pauses_and_holds_back_the_next_action(desk_with, shot):
    async with desk_with(StubChecker(STOPPED)) as desk:
        await desk.start(click(), click("act_2"))
        answer = await desk.report(await desk.poll(), screenshot_after=shot)
        assert answer.json()["route"] == "pause"
        view = await desk.view()
        assert view["status"] == "paused_need_help"
        assert "wrong_application" in view["message"]
        assert await desk.states() == ["failed", "queued"]
        assert (await desk.poll())["replay_paused"] is True
        assert await desk.do("resume") == "running"
        assert (await desk.poll())["action"]["action_id"] == "act_2"


async def test_a_wrong_target_is_tried_once_more_then_pauses(desk_with, shot):
    async with desk_with(StubChecker(WRONG_TARGET)) as desk:
        await desk.start(click(), click("act_2"))
        first = await desk.poll()
        assert "reresolve" not in first["action"]
        assert (await desk.report(first, screenshot_after=shot)).json()["route"] == "retry_with_reresolve"
        assert (await desk.view())["status"] == "running"
        second = await desk.poll()
        assert second["action"]["action_id"] == "act_1"
        assert second["action"]["reresolve"] is True
        assert (second["delivery"]["retry"], second["delivery"]["attempt"]) == (1, 1)
        await desk.report(second, screenshot_after=shot)
        view = await desk.view()
        assert view["status"] == "paused_need_help"
        assert [(a["state"], a["attempts"], a["retries"]) for a in view["actions"]] == [
            ("failed", 2, 1),
            ("queued", 0, 0),
        ]
        assert (await desk.poll())["action"] is None


async def test_a_retried_action_may_succeed(desk_with, shot):
    async with desk_with(StubChecker(WRONG_TARGET)) as desk:
        await desk.start()
        await desk.report(await desk.poll(), screenshot_after=shot)
        desk.checker.finding = a_finding()
        await desk.report(await desk.poll(), screenshot_after=shot)
        assert (await desk.view())["status"] == "completed"


@pytest.mark.parametrize("said", [False, None, "maybe", "false", 1, [], {}])
async def test_an_agent_that_claims_no_success_pauses(desk, said):
    await desk.start(click(), click("act_2"))
    answer = await desk.report(await desk.poll(), success=said, error={"any": "thing"})
    assert (answer.status_code, answer.json()["status"]) == (200, "accepted")
    view = await desk.view()
    assert (view["status"], view["message"]) == ("paused_need_help", "the last action failed")
    assert await desk.states() == ["failed", "queued"]


async def test_a_failed_last_action_waits_for_a_person_who_ends_it(desk):
    await desk.start()
    await desk.report(await desk.poll(), success=False)
    assert (await desk.view())["status"] == "paused_need_help"
    assert await desk.do("resume") == "completed"
    assert await desk.do("resume") == "completed"


@pytest.mark.parametrize("odd", [{"detail": "\ud83e"}, {"error": 7}, {"value": "\ud800"}, {"x": float("nan")}])
async def test_a_settled_report_never_fails_in_the_servers_own_handler(desk, odd):
    await desk.start()
    polled = await desk.poll()
    answer = await desk.report(polled, **odd)
    assert answer.status_code == 200
    assert (await desk.view())["status"] == "completed"


async def test_a_report_without_a_content_type_is_a_report(desk):
    await desk.start()
    polled = await desk.poll()
    body = b'{"session_id": "s1", "action_id": "act_1", "success": true, "delivery_token": "%s"}'
    answer = await desk.http.post(RESULT, content=body % polled["delivery"]["token"].encode())
    assert "content-type" not in answer.request.headers
    assert (answer.status_code, answer.json()["status"]) == (200, "accepted")
    assert (await desk.view())["status"] == "completed"


@pytest.mark.parametrize(
    ("session", "action"), [("none", "act_1"), ("s1", "none"), ("s1", "act_2"), ("s2", "act_1"), ("s1", "x" * 256)]
)
async def test_a_report_of_what_was_never_handed_out_is_a_404_with_unknown(desk, session, action):
    await desk.start(click(), click("act_2"))
    await desk.start(session="s2")
    await desk.poll()
    answer = await desk.http.post(RESULT, json={"session_id": session, "action_id": action, "success": True})
    assert (answer.status_code, answer.json()["status"]) == (404, "unknown")
    assert "do not send" in answer.json()["detail"]
    summaries = (await desk.http.get("/api/v1/replays")).json()
    assert [(s["status"], s["done"]) for s in summaries] == [("running", 0), ("running", 0)]


async def test_another_sessions_token_changes_nothing(desk):
    await desk.start()
    mine = await desk.poll()
    first = desk.replay_id
    await desk.start(session="s2")
    await desk.poll(session="s2")
    answer = await desk.report(mine, session_id="s2")
    assert (answer.status_code, answer.json()["status"]) == (404, "unknown")
    assert await desk.states() == ["in_flight"]
    desk.replay_id = first
    assert await desk.states() == ["in_flight"]
    assert (await desk.report(mine)).json()["status"] == "accepted"


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"", b'{"session_id": "s1"}', b'{"session_id": 1}', b"\xff"])
async def test_a_report_that_cannot_be_read_is_a_4xx_and_the_action_stays_out(desk, body):
    await desk.start()
    polled = await desk.poll()
    answer = await desk.http.post(RESULT, content=body, headers=JSON_HEADERS)
    assert 400 <= answer.status_code < 500
    assert await desk.states() == ["in_flight"]
    assert (await desk.report(polled)).json()["status"] == "accepted"


async def test_a_duplicate_changes_nothing(desk):
    await desk.start(click(), click("act_2"))
    polled = await desk.poll()
    first = await desk.report(polled)
    again = await desk.report(polled, success=False)
    assert (first.json()["status"], again.json()["status"]) == ("accepted", "duplicate")
    assert await desk.states() == ["done", "queued"]
    assert (await desk.view())["status"] == "running"


@pytest.mark.parametrize("when", ["before the first poll", "in flight", "between"])
async def test_pause_and_resume_at_every_state(desk, when):
    await desk.start(click(), click("act_2"))
    polled = await desk.poll() if when != "before the first poll" else None
    if when == "between":
        await desk.report(polled)
    assert await desk.do("pause") == "paused_need_help"
    assert await desk.do("pause") == "paused_need_help"
    paused = await desk.poll(wait_s=5)
    assert (paused["action"], paused["replay_paused"]) == (None, True)
    if when == "in flight":
        assert (await desk.progress(polled["delivery"]["token"])).json()["status"] == "paused"
        assert (await desk.report(polled)).json()["status"] == "accepted"
        assert (await desk.view())["status"] == "paused_need_help"
    assert await desk.do("resume") == "running"
    expected = "act_1" if when == "before the first poll" else "act_2"
    polled = await desk.poll()
    assert (polled["action"]["action_id"], polled["delivery"]["attempt"]) == (expected, 1)
    assert await desk.do("resume") == "running"


@pytest.mark.parametrize("when", ["before the first poll", "in flight", "paused", "paused before the first poll"])
async def test_cancel_at_every_state(desk, when):
    await desk.start(click(), click("act_2"))
    polled = None if "before the first poll" in when else await desk.poll()
    if "paused" in when:
        await desk.do("pause")
    assert await desk.do("cancel") == "cancelled"
    assert await desk.states() == ["cancelled", "cancelled"]
    for operation in ("cancel", "pause", "resume"):
        assert await desk.do(operation) == "cancelled"
    assert await desk.poll() == NOTHING
    if polled is not None:
        assert (await desk.progress(polled["delivery"]["token"])).status_code == 409
        assert (await desk.report(polled)).json()["status"] == "duplicate"
    assert (await desk.start()).status_code == 201
    assert (await desk.poll())["action"]["action_id"] == "act_1"


async def test_a_late_report_of_a_cancelled_replay_does_nothing_to_the_next(desk):
    await desk.start()
    old = await desk.poll()
    await desk.do("cancel")
    await desk.start()
    assert (await desk.report(old)).json()["status"] == "duplicate"
    assert await desk.states() == ["queued"]
    assert (await desk.poll())["action"]["action_id"] == "act_1"


async def give_up(desk):
    """Poll once and let every lease run out."""
    polled = await desk.poll()
    await desk.until(desk.letters)
    return polled


async def test_a_give_up_becomes_a_dead_letter_that_can_be_redriven(desk_with):
    async with desk_with(watchdog_orphan_timeout_s=0.05, watchdog_max_resends=0) as desk:
        await desk.start(click(), click("act_2"))
        late = await give_up(desk)
        view = await desk.view()
        assert view["status"] == "paused_need_help"
        assert "given up" in view["message"]
        assert await desk.states() == ["dead", "queued"]
        (letter,) = await desk.letters()
        assert (letter["action_id"], letter["attempts"], letter["cause"]) == ("act_1", 1, "agent_dead")
        assert letter["given_up_at"].endswith(("Z", "+00:00"))
        assert (await desk.report(late)).json()["status"] == "stale_rejected"
        assert (await desk.letters())[0]["late_reports"] == 1
        answer = await desk.redrive(letter["dead_letter_id"])
        assert answer.json() == {"action_id": "act_1", "session_id": "s1", "state": "waiting"}
        assert await desk.states() == ["waiting", "queued"]
        assert (await desk.redrive(letter["dead_letter_id"])).status_code == 404
        for expected in ("act_1", "act_2"):
            polled = await desk.poll()
            assert polled["action"]["action_id"] == expected
            await desk.report(polled)
        view = await desk.view()
        assert view["status"] == "completed"
        assert [a["attempts"] for a in view["actions"]] == [2, 1]
        assert await desk.letters() == []


async def test_a_dead_letter_of_an_ended_replay_is_not_put_into_another(desk_with):
    async with desk_with(watchdog_orphan_timeout_s=0.05, watchdog_max_resends=0) as desk:
        await desk.start()
        await give_up(desk)
        await desk.do("cancel")
        await desk.start(click(text="another"))
        (letter,) = await desk.letters()
        assert (await desk.redrive(letter["dead_letter_id"])).status_code == 409
        polled = await desk.poll()
        assert polled["action"]["text"] == "another"


@pytest.mark.parametrize("odd", ["a/b", "../x", "a?b#c", "%2F", " é🩺", "a:b"])
async def test_dead_letters_have_ids_that_fit_in_a_url(desk_with, odd):
    async with desk_with(watchdog_orphan_timeout_s=0.05, watchdog_max_resends=0) as desk:
        await desk.start(click(odd), session=odd)
        await desk.poll(session=odd)
        letters = await desk.until(desk.letters)
        assert letters[0]["dead_letter_id"].isalnum()
        assert (await desk.redrive(letters[0]["dead_letter_id"])).json()["session_id"] == odd


async def test_another_machine_gets_nothing_a_resend_included(desk_with):
    async with desk_with(watchdog_orphan_timeout_s=0.05) as desk:
        await desk.start()
        assert await desk.poll(machine="m2") == NOTHING
        await desk.poll()
        await desk.until(partial(desk.in_state, "waiting"))
        assert await desk.poll(machine="m2", wait_s=0.1) == NOTHING
        assert await desk.poll(machine="") == NOTHING
        assert (await desk.http.get(NEXT, params={"session_id": "s1"})).json() == NOTHING
        assert (await desk.poll())["delivery"]["attempt"] == 2


async def test_the_agent_runs_it_in_one_trace(desk, shot):
    await desk.start(click(), click("act_2"))
    runs = []
    agent = AgentClient(
        "http://replay.test",
        session_id="s1",
        machine_id="m1",
        execute=lambda _context: Execution(True),
        http=desk.http,
        poll_interval_s=0.01,
        on_run=runs.append,
        tracer_provider=desk.plugin._tracer_provider,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(agent.run)
        await desk.until(partial(desk.in_state, "done", "done"))
        group.cancel_scope.cancel()
    assert [(run.action_id, run.answer.status) for run in runs] == [("act_1", "accepted"), ("act_2", "accepted")]
    spans = desk.spans.get_finished_spans()
    mine = [s for s in spans if s.name.split()[0] in ("replay", "step", "dispatch", "execute", "report")]
    assert {f"{s.context.trace_id:032x}" for s in mine} == {(await desk.view())["trace_id"]}
    assert len(mine) == 9


async def test_what_the_engine_says_of_a_session_without_a_replay_changes_nothing(desk):
    await desk.start()
    polled = await desk.poll()
    await desk.plugin.engine.pause("elsewhere")
    assert (await desk.view())["status"] == "running"
    # Somebody uses the engine directly: another action of the session is not one of the replay's.
    book = desk.app.state.book
    book.replays[desk.replay_id].steps.clear()
    assert (await desk.report(polled)).json()["status"] == "accepted"
    assert (await desk.view())["status"] == "running"


async def test_a_duplicate_whose_first_answer_is_forgotten_does_not_fail_the_retry(desk_with, shot, monkeypatch):
    monkeypatch.setattr("otel_validation.asgi.report.Answers.kept", lambda *_: None)
    async with desk_with(StubChecker(WRONG_TARGET)) as desk:
        await desk.start()
        first = await desk.poll()
        for status in ("accepted", "duplicate"):
            assert (await desk.report(first, screenshot_after=shot)).json()["status"] == status
        assert await desk.states() == ["queued"]
        assert (await desk.view())["status"] == "running"
