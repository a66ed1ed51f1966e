"""Rechecks on the reference server: the state that operators see, and what follows for the replay."""

from __future__ import annotations

from typing import Any

import pytest
from http_kit import StubChecker, a_finding, click

from otel_validation.validation.verdict import FailureCategory, Verdict

pytestmark = pytest.mark.anyio

LOADING = a_finding(Verdict.CONTINUE, FailureCategory.UI_LOADING)
SOON = {"validator_recheck_delay_s": 0.05}


async def look(desk: Any) -> dict[str, Any]:
    """Poll as agents do until the look is handed out."""

    async def handed() -> Any:
        polled = await desk.poll(wait_s=5)
        return polled if polled["action"] is not None else None

    return await desk.until(handed)


async def test_an_action_is_rechecking_until_its_look_confirms_it(desk_with, shot):
    async with desk_with(StubChecker(LOADING), **SOON) as desk:
        await desk.start(click(), click("act_2"))
        first = await desk.report(await desk.poll(), screenshot_after=shot)
        assert first.json()["route"] == "recheck"
        view = await desk.view()
        assert view["status"] == "running"
        assert [(a["state"], a["route"]) for a in view["actions"]] == [("rechecking", "recheck"), ("queued", None)]
        polled = await look(desk)
        assert polled["action"]["look_of"] == "act_1"
        assert polled["action"]["replay_id"] == desk.replay_id
        assert await desk.states() == ["rechecking", "queued"]
        desk.checker.finding = a_finding()
        assert (await desk.report(polled, screenshot_after=shot)).json()["verdict"]["verdict"] == "complete"
        (done, _) = (await desk.view())["actions"]
        assert (done["state"], done["attempts"], done["retries"], done["route"]) == ("done", 1, 0, "continue")
        assert (await desk.poll())["action"]["action_id"] == "act_2"


async def test_the_last_action_ends_the_replay_by_its_look(desk_with, shot):
    async with desk_with(StubChecker(LOADING), **SOON) as desk:
        await desk.start(click())
        await desk.report(await desk.poll(), screenshot_after=shot)
        desk.checker.finding = a_finding()
        await desk.report(await look(desk), screenshot_after=shot)
        assert (await desk.view())["status"] == "completed"


async def test_what_is_never_seen_pauses_the_replay(desk_with, shot):
    async with desk_with(StubChecker(LOADING), **SOON) as desk:
        await desk.start(click(), click("act_2"))
        await desk.report(await desk.poll(), screenshot_after=shot)
        for _ in range(2):
            await desk.report(await look(desk), screenshot_after=shot)
        view = await desk.view()
        assert view["status"] == "paused_need_help"
        assert [(a["state"], a["error"]) for a in view["actions"]] == [
            ("failed", "validator_continue: ui_loading"),
            ("queued", None),
        ]
        assert await desk.do("resume") == "running"
        assert (await desk.poll())["action"]["action_id"] == "act_2"


async def test_a_wrong_target_on_the_look_is_resolved_again(desk_with, shot):
    async with desk_with(StubChecker(LOADING), **SOON) as desk:
        await desk.start(click())
        await desk.report(await desk.poll(), screenshot_after=shot)
        desk.checker.finding = a_finding(Verdict.TERMINATE, FailureCategory.WRONG_TARGET)
        answer = await desk.report(await look(desk), screenshot_after=shot)
        assert answer.json()["route"] == "retry_with_reresolve"
        again = await desk.poll()
        assert (again["action"]["action_id"], again["action"]["reresolve"]) == ("act_1", True)
        assert again["delivery"]["retry"] == 1


async def test_a_look_that_nobody_answers_fails_the_action_and_pauses(desk_with, shot):
    settings = {"watchdog_timeouts_s": {"screenshot_evidence": 0.1}, "watchdog_max_resends": 0}
    async with desk_with(StubChecker(LOADING), **SOON, **settings) as desk:
        await desk.start(click(), click("act_2"))
        await desk.report(await desk.poll(), screenshot_after=shot)
        await look(desk)
        await desk.until(lambda: desk.in_state("failed", "queued"))
        assert (await desk.view())["status"] == "paused_need_help"
        assert await desk.letters() == []
        assert (await desk.counters())["looks_lost_total"] == 1


@pytest.mark.parametrize("out", [False, True])
async def test_a_cancel_during_a_recheck(desk_with, shot, out):
    async with desk_with(StubChecker(LOADING), **SOON) as desk:
        await desk.start(click())
        await desk.report(await desk.poll(), screenshot_after=shot)
        polled = await look(desk) if out else None
        assert await desk.do("cancel") == "cancelled"
        assert await desk.states() == ["cancelled"]
        if polled is not None:
            late = await desk.report(polled, screenshot_after=shot)
            assert (late.status_code, late.json()["status"]) == (200, "duplicate")
        assert (await desk.poll())["action"] is None


async def test_another_machine_gets_no_look(desk_with, shot):
    async with desk_with(StubChecker(LOADING), **SOON) as desk:
        await desk.start(click())
        await desk.report(await desk.poll(), screenshot_after=shot)
        await look(desk)
        assert (await desk.poll(machine="m2"))["action"] is None
