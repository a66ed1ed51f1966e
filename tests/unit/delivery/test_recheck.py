"""The recheck route: a fresh screenshot is asked of the agent, and the action judged again."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from delivery_kit import (
    COMPLETE,
    NOT_SEEN,
    NOTHING_TO_JUDGE,
    WRONG_APPLICATION,
    ScriptedJudge,
    a_desk,
    a_report,
    an_action,
)
from recheck_kit import ONCE, a_desk_that_sees_nothing, look, seen, unconfirmed

from otel_validation.delivery.action import Point
from otel_validation.delivery.engine import Held
from otel_validation.delivery.look import LOOK_TYPE
from otel_validation.delivery.outcome import NextLook, Pause, PauseReason, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.validation.report import Report
from otel_validation.validation.routing import Mode, OnUnverified, Route, RoutingPolicy

pytestmark = pytest.mark.anyio


async def test_what_was_not_seen_is_not_settled_and_its_look_comes_after_the_delay():
    desk = a_desk_that_sees_nothing()
    answer = await unconfirmed(desk, fields={"replay_id": "rep_1", "patient": "Durand"})
    assert (answer.status, answer.outcome.route) == (ReportStatus.ACCEPTED, Route.RECHECK)
    assert answer.outcome.next_look == NextLook(after_s=1.5, left=1)
    assert (answer.attempt, answer.retry, answer.look_of) == (1, 0, None)
    assert await desk.state() == "rechecking"
    desk.host_has(an_action("b"))
    desk.clock.advance(1.49)
    assert isinstance(await desk.poll(), Held)
    assert await desk.engine.next_due() == 1_001.5
    desk.clock.advance(0.01)
    ticket = await desk.take()
    action = ticket.delivery.action
    assert (action.type, action.look_of, action.machine_id) == (LOOK_TYPE, "a", "m")
    assert action.action_id.startswith("a~look1-")
    assert action.payload == {
        "action_id": action.action_id,
        "type": "screenshot_evidence",
        "look_of": "a",
        "purpose": "recheck",
        "replay_id": "rep_1",
    }
    assert (ticket.lease.attempt, ticket.lease.timeout_s, ticket.delivery.retry) == (1, 30.0, 0)
    assert isinstance(await desk.poll(), Held)
    assert (await desk.session()).pause is None


async def test_what_the_look_shows_settles_the_action_and_the_next_one_flows():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk, position=Point(0.25, 0.0), position_given=True, traceparent="00-aa")
    ticket = await look(desk)
    desk.judge.result = COMPLETE
    desk.host_has(an_action("b"))
    answer = await desk.engine.report(seen(ticket, success=None, error="of the look", position=Point(0.9, 0.9)))
    assert (answer.status, answer.look_of) == (ReportStatus.ACCEPTED, "a")
    assert (answer.outcome.success, answer.outcome.error, answer.outcome.route) == (True, None, Route.CONTINUE)
    action, judged = desk.judge.given[-1]
    assert action.action_id == "a"
    assert judged == Report(
        session_id="s",
        action_id="a",
        token="t1",
        success=True,
        position=Point(0.25, 0.0),
        position_given=True,
        screenshot_after="fresh",
    )
    assert answer.judged == judged
    assert await desk.state() == "settled"
    assert (await desk.take()).delivery.action.action_id == "b"
    (left,) = [event for event in desk.seen.of("answered") if event.delivery is not None]
    assert (left.delivery.action.action_id, left.look.action.look_of) == ("a", "a")


async def test_after_two_looks_that_show_nothing_the_session_is_paused():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    first = await desk.engine.report(seen(await look(desk)))
    assert (first.outcome.route, first.outcome.next_look) == (Route.RECHECK, NextLook(1.5, 0))
    ticket = await look(desk)
    assert ticket.delivery.action.action_id.startswith("a~look2-")
    last = await desk.engine.report(seen(ticket))
    assert (last.outcome.route, last.outcome.next_look) == (Route.PAUSE, None)
    assert (last.outcome.success, last.outcome.error) == (False, "validator_continue: unknown")
    pause = await desk.poll()
    assert isinstance(pause, Pause)
    assert pause.reason is PauseReason.VERDICT
    assert desk.judge.calls == 3
    assert len([event for event in desk.seen.of("answered") if event.delivery is not None]) == 1
    assert [event.delivery.recheck.number for event in desk.seen.of("rechecking")] == [1, 2]


async def test_a_look_that_shows_the_wrong_application_is_routed_by_its_category():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    desk.judge.result = WRONG_APPLICATION
    answer = await desk.engine.report(seen(await look(desk)))
    assert answer.outcome.error == "validator_terminate: wrong_application"
    assert isinstance(await desk.poll(), Pause)


@pytest.mark.parametrize(
    "more",
    [
        {"routing": RoutingPolicy(rechecks=0)},
        {"policy": DeliveryPolicy(enabled=False)},
    ],
    ids=["switched off", "no timer"],
)
async def test_without_rechecks_it_is_paused_at_once(more):
    desk = a_desk_that_sees_nothing(**more)
    answer = await unconfirmed(desk)
    assert (answer.outcome.route, answer.outcome.next_look) == (Route.PAUSE, None)
    assert isinstance(await desk.poll(), Pause)


@pytest.mark.parametrize(
    ("more", "route"),
    [
        ({"success": False}, Route.PAUSE),
        ({"success": False, "error": "no window"}, Route.PAUSE),
        ({"success": True, "error": "no window"}, Route.PAUSE),
        ({"success": None, "error": "no window"}, Route.PAUSE),
        ({"success": None}, Route.RECHECK),
    ],
)
async def test_an_agent_that_says_itself_that_something_went_wrong_is_not_asked_for_a_look(more, route):
    desk = a_desk_that_sees_nothing()
    assert (await unconfirmed(desk, **more)).outcome.route is route


async def test_observing_looks_at_nothing_again_and_says_that_it_would_have():
    desk = a_desk_that_sees_nothing(routing=RoutingPolicy(mode=Mode.OBSERVE))
    outcome = (await unconfirmed(desk)).outcome
    assert (outcome.route, outcome.advised, outcome.next_look) == (Route.CONTINUE, Route.RECHECK, None)
    assert await desk.state() == "settled"


@pytest.mark.parametrize("on_unverified", OnUnverified)
async def test_where_there_is_nothing_to_judge_there_is_nothing_to_look_at(on_unverified):
    desk = a_desk(judge=ScriptedJudge(NOTHING_TO_JUDGE), routing=RoutingPolicy(on_unverified=on_unverified))
    assert (await unconfirmed(desk)).outcome.route is not Route.RECHECK


@pytest.mark.parametrize("token", ["t1", None])
@pytest.mark.parametrize("when", ["before the look", "the look waits", "the look is out"])
async def test_the_first_report_once_more_gets_the_same_answer_and_is_not_judged(token, when):
    desk = a_desk_that_sees_nothing()
    first = await unconfirmed(desk)
    if when != "before the look":
        await desk.after(1.5)
    if when == "the look is out":
        await desk.take()
    again = await desk.engine.report(a_report(token=token, screenshot_after="other"))
    assert again == replace(first, status=ReportStatus.DUPLICATE)
    assert desk.judge.calls == 1
    assert await desk.state() == "rechecking"


async def test_a_token_that_was_never_given_out_is_unknown_during_a_recheck_too():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    assert (await desk.engine.report(a_report(token="forged"))).status is ReportStatus.UNKNOWN
    ticket = await look(desk)
    assert (await desk.engine.report(seen(ticket, token="t1"))).status is ReportStatus.UNKNOWN
    assert (await desk.engine.report(a_report(token=ticket.lease.token))).status is ReportStatus.UNKNOWN
    assert desk.judge.calls == 1


async def test_the_report_of_a_superseded_attempt_does_not_settle_what_is_looked_at_again():
    desk = a_desk_that_sees_nothing()
    desk.host_has(an_action())
    first = await desk.take()
    desk.clock.advance(31)
    second = await desk.take()
    await desk.engine.report(a_report(token=second.lease.token, screenshot_after="x"))
    desk.judge.result = COMPLETE
    late = await desk.engine.report(a_report(token=first.lease.token, screenshot_after="x"))
    assert (late.status, late.outcome.route) == (ReportStatus.DUPLICATE, Route.RECHECK)
    assert (await look(desk)).delivery.action.look_of == "a"


async def test_a_late_report_leads_to_a_look_and_withdraws_the_queued_copy():
    desk = a_desk_that_sees_nothing()
    desk.host_has(an_action())
    ticket = await desk.take()
    await desk.after(31)
    answer = await desk.engine.report(a_report(token=ticket.lease.token, screenshot_after="x"))
    assert (answer.status, answer.outcome.route) == (ReportStatus.STALE_ADOPTED, Route.RECHECK)
    assert (await look(desk)).delivery.action.look_of == "a"


async def test_a_late_report_over_a_newer_attempt_leads_to_no_look():
    desk = a_desk_that_sees_nothing()
    desk.host_has(an_action())
    ticket = await desk.take()
    desk.clock.advance(31)
    await desk.take()
    answer = await desk.engine.report(a_report(token=ticket.lease.token, screenshot_after="x", window={"title": "x"}))
    assert (answer.status, answer.outcome.route) == (ReportStatus.STALE_REJECTED, Route.PAUSE)
    assert await desk.state() == "in_flight"
    assert desk.seen.of("rechecking") == []


async def test_a_report_that_is_overtaken_while_it_is_judged_leads_to_no_look_either():
    async def meanwhile():
        desk.clock.advance(200)
        await desk.take()

    desk = a_desk(judge=ScriptedJudge(NOT_SEEN), policy=DeliveryPolicy(judging_s=10.0))
    desk.host_has(an_action())
    ticket = await desk.take()
    desk.judge.meanwhile = meanwhile
    answer = await desk.engine.report(a_report(token=ticket.lease.token, screenshot_after="x"))
    assert (answer.status, answer.outcome.route) == (ReportStatus.STALE_REJECTED, Route.PAUSE)
    assert answer.outcome.next_look is None
    assert await desk.state() == "in_flight"


@pytest.mark.parametrize("bears_token", [True, False])
async def test_a_looks_report_once_more_gets_the_same_answer_and_is_judged_once(bears_token):
    desk = a_desk_that_sees_nothing(routing=ONCE)
    await unconfirmed(desk)
    report = seen(await look(desk))
    answers = []

    async def send():
        answers.append(await desk.engine.report(report if bears_token else replace(report, token=None)))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(send)
    assert sorted(answer.status for answer in answers) == ["accepted"] + ["duplicate"] * 4
    assert len({(answer.outcome.route, answer.look_of, answer.attempt) for answer in answers}) == 1
    assert desk.judge.calls == 2


async def test_the_first_report_after_the_look_has_settled_is_a_duplicate_of_that():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    desk.judge.result = COMPLETE
    await desk.engine.report(seen(ticket))
    again = await desk.engine.report(a_report(token="t1"))
    assert (again.status, again.outcome.success, again.look_of) == (ReportStatus.DUPLICATE, True, None)


async def test_a_report_of_the_first_look_while_the_second_is_out_is_a_duplicate():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    first = seen(await look(desk))
    answer = await desk.engine.report(first)
    await look(desk)
    again = await desk.engine.report(first)
    assert again == replace(answer, status=ReportStatus.DUPLICATE, judged=None)
    assert desk.judge.calls == 2
