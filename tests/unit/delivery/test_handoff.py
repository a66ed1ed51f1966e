"""The dialog hand-off: a hook that deals with what is in the way, and says whether it is gone."""

from __future__ import annotations

import logging

import anyio
import pytest
from delivery_kit import COMPLETE, DIALOG, NOT_SEEN, WRONG_APPLICATION, Desk, ScriptedJudge, a_desk, a_report, an_action

from otel_validation.delivery.outcome import NextLook, Pause, ReportStatus
from otel_validation.validation.routing import Mode, Route, RoutingPolicy

pytestmark = pytest.mark.anyio


class Hand:
    """A hook that answers `gone`, or raises it, after `seconds`."""

    def __init__(self, gone: object = True, *, seconds: float = 0.0) -> None:
        self.gone, self.seconds = gone, seconds
        self.calls: list[tuple] = []

    async def __call__(self, action, result) -> bool:
        self.calls.append((action.action_id, result))
        await anyio.sleep(self.seconds)
        if isinstance(self.gone, Exception):
            raise self.gone
        return self.gone


def a_desk_with(hand: Hand | None, result=DIALOG, **routing) -> Desk:
    return a_desk(judge=ScriptedJudge(result), handoff=hand, routing=RoutingPolicy(**routing))


async def reported(desk: Desk, **more):
    desk.host_has(an_action())
    ticket = await desk.take()
    return await desk.engine.report(a_report(token=ticket.lease.token, screenshot_after="first", **more))


async def test_a_dialog_that_was_dealt_with_leads_to_a_look_that_settles_the_action():
    hand = Hand()
    desk = a_desk_with(hand)
    answer = await reported(desk)
    assert hand.calls == [("a", DIALOG)]
    assert (answer.outcome.route, answer.outcome.next_look) == (Route.RECHECK, NextLook(1.5, 1))
    assert answer.outcome.error == "validator_terminate: unexpected_dialog"
    assert (await desk.session()).pause is None
    desk.clock.advance(1.5)
    look = await desk.take()
    desk.judge.result = COMPLETE
    seen = a_report(look.delivery.action.action_id, look.lease.token, screenshot_after="fresh")
    assert (await desk.engine.report(seen)).outcome.success is True
    assert len(hand.calls) == 1


async def test_a_dialog_on_each_look_is_dealt_with_until_no_look_is_left():
    hand = Hand()
    desk = a_desk_with(hand)
    await reported(desk)
    for route in (Route.RECHECK, Route.PAUSE):
        desk.clock.advance(1.5)
        look = await desk.take()
        seen = a_report(look.delivery.action.action_id, look.lease.token, screenshot_after="fresh")
        assert (await desk.engine.report(seen)).outcome.route is route
    assert len(hand.calls) == 3
    assert isinstance(await desk.poll(), Pause)


@pytest.mark.parametrize("gone", [False, None, 1, "yes", RuntimeError("Durand")])
async def test_anything_but_true_leaves_the_dialog_to_a_person(gone, caplog):
    desk = a_desk_with(Hand(gone))
    with caplog.at_level(logging.DEBUG):
        answer = await reported(desk)
    assert (answer.outcome.route, answer.outcome.next_look) == (Route.HANDOFF_DIALOG, None)
    assert isinstance(await desk.poll(), Pause)
    assert "Durand" not in caplog.text
    assert ("RuntimeError" in caplog.text) == isinstance(gone, Exception)


async def test_without_a_hook_it_is_a_persons():
    desk = a_desk_with(None)
    assert (await reported(desk)).outcome.route is Route.HANDOFF_DIALOG
    assert isinstance(await desk.poll(), Pause)


async def test_a_hook_that_takes_too_long_is_not_waited_for(caplog):
    desk = a_desk_with(Hand(seconds=60), handoff_timeout_s=0.01)
    with anyio.fail_after(5):
        assert (await reported(desk)).outcome.route is Route.HANDOFF_DIALOG
    assert "took longer than 0.01 s" in caplog.text


@pytest.mark.parametrize(
    ("routing", "more"),
    [({"rechecks": 0}, {}), ({}, {"success": False}), ({}, {"success": True, "error": "a box"})],
    ids=["no rechecks", "the agent failed", "the agent is of two minds"],
)
async def test_where_no_look_can_follow_it_is_called_and_the_session_paused(routing, more):
    hand = Hand()
    desk = a_desk_with(hand, **routing)
    answer = await reported(desk, **more)
    assert (len(hand.calls), answer.outcome.route) == (1, Route.PAUSE)
    assert answer.outcome.success is False
    assert isinstance(await desk.poll(), Pause)


@pytest.mark.parametrize(
    ("result", "routing"),
    [
        (COMPLETE, {}),
        (NOT_SEEN, {}),
        (WRONG_APPLICATION, {}),
        (DIALOG, {"mode": Mode.OBSERVE}),
        (DIALOG, {"mode": Mode.OFF}),
        (DIALOG, {"accept_confidence": 0.95}),
    ],
)
async def test_it_is_called_for_a_dialog_that_stops_the_replay_and_nothing_else(result, routing):
    hand = Hand()
    await reported(a_desk_with(hand, result, **routing))
    assert hand.calls == []


async def test_a_superseded_attempt_calls_nobody():
    """The newer attempt may be executing right now."""
    hand = Hand()
    desk = a_desk_with(hand)
    desk.host_has(an_action())
    first = await desk.take()
    desk.clock.advance(31)
    await desk.take()
    answer = await desk.engine.report(a_report(token=first.lease.token, screenshot_after="x"))
    assert (answer.status, hand.calls) == (ReportStatus.STALE_REJECTED, [])


async def test_identical_reports_at_once_call_it_once():
    hand = Hand(seconds=0.01)
    desk = a_desk_with(hand)
    desk.host_has(an_action())
    token = (await desk.take()).lease.token
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(desk.engine.report, a_report(token=token, screenshot_after="first"))
    assert len(hand.calls) == 1
