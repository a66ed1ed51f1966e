"""What a look is judged by, and what of a report is kept for it."""

from __future__ import annotations

import pytest
from delivery_kit import (
    COMPLETE,
    NOT_SEEN,
    NOTHING_TO_JUDGE,
    an_action,
)
from recheck_kit import ONCE, a_desk_that_sees_nothing, look, seen, unconfirmed

from otel_validation.delivery.engine import Engine
from otel_validation.delivery.outcome import Pause, ReportStatus
from otel_validation.validation.routing import Route

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("more", [{}, {"success": False, "error": "unknown action type"}, {"window": {"title": "x"}}])
async def test_a_look_without_a_screenshot_is_no_confirmation(more):
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    desk.judge.result = COMPLETE
    answer = await desk.engine.report(seen(ticket, None, **more))
    assert (answer.status, answer.outcome.route) == (ReportStatus.ACCEPTED, Route.PAUSE)
    assert answer.outcome.success is False
    assert desk.judge.calls == 1
    assert isinstance(await desk.poll(), Pause)


async def test_a_look_that_no_checker_can_judge_is_no_confirmation():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    desk.judge.result = NOTHING_TO_JUDGE
    answer = await desk.engine.report(seen(ticket))
    assert (answer.outcome.success, answer.outcome.route) == (False, Route.PAUSE)
    assert answer.outcome.result == NOT_SEEN


async def test_the_screen_before_and_the_window_are_judged_again_with_the_fresh_screen():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk, screenshot_before="before", window={"title": "one"})
    ticket = await look(desk)
    assert (await desk.session()).live["a"].recheck.report.window is None
    await desk.engine.report(seen(ticket))
    await desk.engine.report(seen(await look(desk), window={"title": "two"}))
    judged = [report for _, report in desk.judge.given]
    assert [r.screenshot_after for r in judged] == ["first", "fresh", "fresh"]
    assert [r.screenshot_before for r in judged] == ["before"] * 3
    assert [r.window["title"] for r in judged] == ["one", "one", "two"]


async def test_where_the_screen_before_is_gone_nothing_is_judged_by_half():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk, screenshot_before="before")
    ticket = await look(desk)
    desk.judge.result = COMPLETE
    elsewhere = Engine(desk.store, judge=desk.judge, clock=desk.clock)
    answer = await elsewhere.report(seen(ticket))
    assert (answer.outcome.success, answer.outcome.route) == (False, Route.PAUSE)
    assert desk.judge.calls == 1


async def test_without_a_screen_before_another_process_can_judge_the_look():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    desk.judge.result = COMPLETE
    elsewhere = Engine(desk.store, judge=desk.judge, clock=desk.clock)
    assert (await elsewhere.report(seen(ticket))).outcome.success is True


async def test_a_report_without_a_screenshot_is_not_looked_at_again():
    """What an extraction read does not change by looking at the screen."""
    desk = a_desk_that_sees_nothing()
    answer = await unconfirmed(desk, screenshot_after=None, value="x", value_given=True)
    assert answer.outcome.route is Route.PAUSE


async def test_what_the_report_carries_is_judged_again_too():
    desk = a_desk_that_sees_nothing()
    carried = {"value": [1], "value_given": True, "members": {"http_status": 200}}
    await unconfirmed(desk, **carried)
    await desk.engine.report(seen(await look(desk), members={"http_status": 500}))
    judged = desk.judge.given[-1][1]
    assert {name: getattr(judged, name) for name in carried} == carried


@pytest.mark.parametrize("fields", [{"kind": "type_secret"}, {"target_spec": {"secret": True}}])
async def test_nothing_that_the_report_of_a_secret_carries_is_kept(fields):
    desk = a_desk_that_sees_nothing()
    more = {"value": "s3cret", "value_given": True, "members": {"typed": "s3cret"}, "screenshot_before": "before"}
    answer = await unconfirmed(desk, fields=fields, **more)
    assert answer.outcome.next_look.secret is True
    kept = desk.engine._reports._evidence.of(an_action())
    assert (kept.screenshot_before, kept.value, kept.members) == ("before", None, {})
    assert "s3cret" not in str(await desk.session())
    told = [event.report for _, event in desk.seen.events if hasattr(event, "report")]
    assert len(told) == 2
    assert all(report.value is None and not report.members for report in told)
    await desk.engine.report(seen(await look(desk)))
    assert desk.judge.calls == 2


@pytest.mark.parametrize("end", ["settled", "lost", "cancelled"])
async def test_no_screen_is_kept_of_an_action_that_is_over(end):
    desk = a_desk_that_sees_nothing(routing=ONCE)
    await unconfirmed(desk, screenshot_before="before")
    kept = desk.engine._reports._evidence
    assert kept.of(an_action()) is not None
    ticket = await look(desk)
    if end == "settled":
        await desk.engine.report(seen(ticket))
    elif end == "lost":
        await desk.after(31)
        await desk.after(61)
    else:
        await desk.engine.cancel("s")
    assert kept.of(an_action()) is None
