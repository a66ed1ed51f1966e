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
    Desk,
    ScriptedJudge,
    a_desk,
    a_report,
    an_action,
)

from otel_validation.delivery.action import LONGEST_ID, Point
from otel_validation.delivery.engine import Engine, Held, Ticket
from otel_validation.delivery.lease import DeliveryState, GiveUpCause
from otel_validation.delivery.look import LOOK_TYPE
from otel_validation.delivery.outcome import NextLook, Pause, PauseReason, ReportOutcome, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.validation.report import Report
from otel_validation.validation.routing import Mode, OnUnverified, Route, RoutingPolicy

pytestmark = pytest.mark.anyio

ONCE = RoutingPolicy(rechecks=1)


def a_desk_that_sees_nothing(**more) -> Desk:
    return a_desk(judge=ScriptedJudge(NOT_SEEN), **more)


async def unconfirmed(desk: Desk, action_id: str = "a", fields: dict | None = None, **more) -> ReportOutcome:
    """Hand `a` out and report it, with a screenshot that does not show its effect."""
    desk.host_has(an_action(action_id, **(fields or {})))
    ticket = await desk.take()
    more = {"token": ticket.lease.token, "screenshot_after": "first", **more}
    return await desk.engine.report(a_report(action_id, **more))


async def look(desk: Desk) -> Ticket:
    """Wait for the look and take it."""
    desk.clock.advance(1.5)
    return await desk.take()


def seen(ticket: Ticket, shot: str | None = "fresh", **more) -> Report:
    """The report of a look."""
    more.setdefault("token", ticket.lease.token)
    return a_report(ticket.delivery.action.action_id, screenshot_after=shot, **more)


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


# Reports that come again, or late


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


# A look's own delivery


async def test_a_look_is_resent_and_a_stale_answer_counts_only_where_it_confirms():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    first = await look(desk)
    desk.clock.advance(31)
    second = await desk.take()
    assert second.delivery.action == first.delivery.action
    assert (second.lease.attempt, second.lease.token != first.lease.token) == (2, True)
    assert [event.orphan.action.look_of for event in desk.seen.of("orphaned")] == ["a"]
    rejected = await desk.engine.report(seen(first))
    assert (rejected.status, rejected.outcome.route) == (ReportStatus.STALE_REJECTED, Route.PAUSE)
    assert await desk.state() == "rechecking"
    desk.judge.result = COMPLETE
    adopted = await desk.engine.report(seen(first))
    assert (adopted.status, adopted.outcome.success) == (ReportStatus.STALE_ADOPTED, True)
    assert await desk.state() == "settled"
    assert (await desk.engine.report(seen(second))).status is ReportStatus.DUPLICATE


async def test_a_late_look_is_taken_while_its_resend_waits():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    await desk.after(31)
    desk.judge.result = COMPLETE
    assert (await desk.engine.report(seen(ticket))).status is ReportStatus.STALE_ADOPTED
    assert await desk.engine.next_due() is None


async def test_a_look_is_resent_before_the_hosts_queue_whatever_the_repush_position():
    desk = a_desk_that_sees_nothing(policy=DeliveryPolicy(repush="tail"))
    await unconfirmed(desk)
    desk.host_has(an_action("b"))
    await look(desk)
    desk.clock.advance(31)
    assert (await desk.take()).delivery.action.look_of == "a"


@pytest.mark.parametrize("polls", [True, False])
async def test_a_look_that_nobody_answers_settles_its_action_by_what_was_known(polls):
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    for _ in range(2 if polls else 0):
        desk.clock.advance(31)
        ticket = await desk.take()
    await desk.after(31)
    await desk.after(0 if polls else 61)
    (lost,) = desk.seen.of("look_lost")
    assert (lost.delivery.action.action_id, lost.delivery.state) == ("a", DeliveryState.SETTLED)
    assert lost.look.state is (DeliveryState.IN_FLIGHT if polls else DeliveryState.WAITING)
    assert lost.lateness_s == 1.0 if polls else lost.lateness_s > 0
    assert lost.cause is GiveUpCause.AGENT_DEAD
    assert (lost.outcome.route, lost.outcome.success, lost.outcome.next_look) == (Route.PAUSE, False, None)
    assert await desk.engine.dead_letters() == []
    pause = await desk.poll()
    assert isinstance(pause, Pause)
    assert pause.reason is PauseReason.VERDICT
    late = await desk.engine.report(seen(ticket))
    assert (late.status, late.outcome, late.look_of) == (ReportStatus.DUPLICATE, lost.outcome, "a")
    assert (await desk.engine.report(a_report(token="t1"))).outcome == lost.outcome


async def test_a_look_that_nobody_polls_for_is_given_up_like_a_resend():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    await desk.after(1.5)
    await desk.after(89)
    assert await desk.state() == "rechecking"
    await desk.after(1)
    assert await desk.state() == "settled"
    assert [event.look.attempts for event in desk.seen.of("look_lost")] == [0]
    assert isinstance(await desk.poll(), Pause)


async def test_looks_follow_the_policy_of_their_own_type():
    desk = a_desk_that_sees_nothing(
        policy=DeliveryPolicy(never_resend=frozenset({LOOK_TYPE}), timeouts_s={LOOK_TYPE: 5.0})
    )
    await unconfirmed(desk)
    assert (await look(desk)).lease.timeout_s == 5.0
    await desk.after(5)
    assert await desk.state() == "settled"


async def test_a_heartbeat_extends_a_look_and_not_the_action_that_was_reported():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    assert await desk.engine.extend("t1") is None
    ticket = await look(desk)
    desk.clock.advance(20)
    extended = await desk.engine.extend(ticket.lease.token)
    assert isinstance(extended, Ticket)
    assert extended.lease.deadline == ticket.lease.deadline + 20


async def test_a_business_retry_is_looked_at_under_another_id():
    ids, desk = set(), a_desk_that_sees_nothing(routing=ONCE)
    for retry in range(2):
        desk.judge.result = NOT_SEEN
        await unconfirmed(desk)
        ticket = await look(desk)
        assert ticket.delivery.retry == retry
        ids.add(ticket.delivery.action.action_id)
        desk.judge.result = COMPLETE
        assert (await desk.engine.report(seen(ticket))).retry == retry
    assert len(ids) == 2


# What a look must show


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


# The rest of the session meanwhile


@pytest.mark.parametrize("when", ["before the look", "the look waits", "the look is out"])
async def test_nothing_else_is_handed_out_meanwhile(when):
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    await desk.engine.park(an_action("parked"))
    if when != "before the look":
        await desk.after(1.5)
    if when == "the look is out":
        await desk.take()
    assert await desk.engine.dispatch(an_action("b")) is None
    assert await desk.engine.dispatch(an_action("a")) is None
    assert await desk.state() == "rechecking"
    assert isinstance(await desk.engine.poll("s", hand_out=False), Held)
    ticket = await look(desk) if when == "before the look" else await desk.poll()
    assert isinstance(ticket, Held) == (when == "the look is out")
    assert list((await desk.session()).live) == [
        *[k for k in (await desk.session()).live if "~" in k],
        "a",
        "parked",
        "b",
    ]


async def test_what_waits_leaves_in_its_order_once_the_action_is_settled():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    await desk.engine.park(an_action("parked"))
    ticket = await look(desk)
    desk.judge.result = COMPLETE
    await desk.engine.report(seen(ticket))
    assert (await desk.take()).delivery.action.action_id == "parked"


async def test_where_nothing_holds_back_a_rechecked_action_is_still_not_handed_out_again():
    desk = a_desk_that_sees_nothing(policy=DeliveryPolicy(serial=False))
    await unconfirmed(desk)
    assert await desk.engine.dispatch(an_action("a")) is None
    assert await desk.engine.dispatch(an_action("b")) is not None
    assert await desk.state() == "rechecking"
    assert (await look(desk)).delivery.action.look_of == "a"


async def test_a_redriven_action_does_not_overtake_a_look():
    desk = a_desk_that_sees_nothing()
    desk.host_has(an_action("dead", resend="never"))
    await desk.take()
    await desk.after(31)
    await desk.engine.resume("s")
    await unconfirmed(desk)
    (letter,) = await desk.engine.dead_letters()
    await desk.engine.redrive(letter.dead_letter_id)
    assert isinstance(await desk.poll(), Held)
    assert (await look(desk)).delivery.action.look_of == "a"


async def test_two_polls_at_once_get_one_look():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    desk.clock.advance(1.5)
    answers = []

    async def ask():
        answers.append(await desk.poll())

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        group.start_soon(ask)
    assert sorted(type(answer).__name__ for answer in answers) == ["Held", "Ticket"]


async def test_a_pause_stops_the_clock_of_a_recheck_and_hands_out_no_look():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    desk.clock.advance(0.5)
    await desk.engine.pause("s")
    await desk.after(100)
    assert isinstance(await desk.poll(), Pause)
    assert await desk.engine.next_due() is None
    await desk.engine.resume("s")
    desk.clock.advance(0.9)
    assert isinstance(await desk.poll(), Held)
    desk.clock.advance(0.1)
    assert (await desk.take()).delivery.action.look_of == "a"


async def test_a_look_that_is_out_in_a_pause_is_judged_and_leads_to_the_next_after_it():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    await desk.engine.pause("s")
    desk.clock.advance(60)
    answer = await desk.engine.report(seen(ticket))
    assert answer.outcome.route is Route.RECHECK
    desk.clock.advance(60)
    await desk.engine.resume("s")
    assert isinstance(await desk.poll(), Held)
    assert (await look(desk)).delivery.action.action_id.startswith("a~look2")


@pytest.mark.parametrize("when", ["before the look", "the look waits", "the look is out", "the look is judged"])
async def test_a_cancel_withdraws_the_action_and_its_look(when):
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = None
    if when != "before the look":
        await desk.after(1.5)
    if when in ("the look is out", "the look is judged"):
        ticket = await desk.take()
    if when == "the look is judged":

        async def cancel():
            await desk.engine.cancel("s")

        desk.judge.meanwhile = cancel
        await desk.engine.report(seen(ticket))
    else:
        await desk.engine.cancel("s")
    assert await desk.state() == "cancelled"
    assert (await desk.session()).live == {}
    (withdrawn,) = desk.seen.of("withdrawn")
    assert [d.action.look_of for d in withdrawn.deliveries if d.action.action_id != "a"] == ["a"] * (
        when != "before the look"
    )
    if ticket is not None:
        late = await desk.engine.report(seen(ticket))
        assert (late.status, late.outcome, late.look_of) == (ReportStatus.DUPLICATE, None, "a")
    assert (await desk.engine.report(a_report(token="t1"))).outcome is None
    assert await desk.poll() is None


async def test_an_attempt_that_ended_elsewhere_takes_its_action_along_where_it_was_a_look():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    ticket = await look(desk)
    assert await desk.engine.forget(ticket.lease.token) is True
    assert await desk.state() == "nowhere"
    assert await desk.poll() is None


async def test_whoever_waits_for_news_hears_of_the_look_when_its_time_comes():
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk)
    heard = []

    async def wait():
        heard.append(await desk.engine.news("s", 5))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await desk.after(1.5)
    assert heard == [True]


# Ids that look like a look's


async def test_an_action_that_a_host_names_like_a_look_is_an_action():
    desk = a_desk_that_sees_nothing(routing=ONCE)
    await unconfirmed(desk, "a~look1")
    ticket = await look(desk)
    assert ticket.delivery.action.look_of == "a~look1"
    desk.judge.result = COMPLETE
    await desk.engine.report(seen(ticket))
    mine = ticket.delivery.action.action_id
    desk.host_has(an_action(mine, look_of="x", purpose="recheck"))
    again = await desk.take()
    assert (again.delivery.action.look_of, again.delivery.retry) == (None, 0)
    answer = await desk.engine.report(a_report(mine, again.lease.token))
    assert (answer.status, answer.look_of) == (ReportStatus.ACCEPTED, None)
    assert desk.judge.given[-1][0].action_id == mine


async def test_the_longest_id_has_a_look_whose_report_can_be_read():
    longest = "x" * LONGEST_ID
    desk = a_desk_that_sees_nothing()
    await unconfirmed(desk, longest)
    action = (await look(desk)).delivery.action
    assert action.look_of == longest
    body = {"session_id": "s", "action_id": action.action_id}
    assert Report.from_json(body).action_id == action.action_id


async def test_a_look_is_no_dead_letter_and_an_orphan_before_it_still_is_one():
    desk = a_desk_that_sees_nothing(policy=DeliveryPolicy(max_resends=0))
    await unconfirmed(desk)
    await look(desk)
    await desk.after(31)
    assert await desk.engine.dead_letters() == []
    await desk.engine.resume("s")
    desk.host_has(an_action("b"))
    await desk.take()
    await desk.after(31)
    (letter,) = await desk.engine.dead_letters()
    assert (letter.delivery.action.action_id, letter.cause) == ("b", GiveUpCause.AGENT_DEAD)
