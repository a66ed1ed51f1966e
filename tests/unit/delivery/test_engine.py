"""The engine's order of things where it is not told as a field case or a seed's defect."""

from __future__ import annotations

import logging
from datetime import timedelta

import anyio
import pytest
from anyio.lowlevel import checkpoint
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

from otel_validation.clock import utc
from otel_validation.delivery.engine import QUARANTINE_S, Engine, Forward, Held, Ticket
from otel_validation.delivery.outcome import Pause, PauseReason, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.session import dead_letter_id
from otel_validation.stores.memory import MemoryStore
from otel_validation.validation.routing import Mode, OnUnverified, Route, RoutingPolicy

pytestmark = pytest.mark.anyio

DISABLED = DeliveryPolicy(enabled=False)


async def test_a_ticket_says_when_its_lease_ends_on_the_wall_clock():
    desk = a_desk()
    ticket = await desk.engine.dispatch(an_action())
    assert ticket.deadline == utc(desk.clock.wall_ns()) + timedelta(seconds=30)
    assert ticket.lease.deadline == desk.clock.now() + 30


async def test_tokens_cannot_be_guessed_and_the_clock_is_the_machines_by_default():
    engine = Engine(MemoryStore())
    tickets = [await engine.dispatch(an_action(session_id=f"s{n}")) for n in range(50)]
    tokens = {ticket.lease.token for ticket in tickets}
    assert len(tokens) == 50
    assert all(len(token) >= 22 for token in tokens)


async def test_a_poll_sweeps_where_no_timer_runs():
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    desk.clock.advance(30)
    await desk.poll("other")
    assert await desk.state() == "waiting"


async def test_the_host_goes_first_and_then_what_waits_with_tail_repush():
    desk = a_desk(policy=DeliveryPolicy(repush="tail"))
    desk.host_has(an_action("a"))
    await desk.take()
    await desk.after(30)
    assert await desk.engine.poll("s") == Forward(waiting=True)
    ticket = await desk.engine.dispatch_waiting("s")
    assert (ticket.delivery.action.action_id, ticket.lease.attempt) == ("a", 2)
    assert await desk.engine.dispatch_waiting("s") is None


async def test_an_aborted_poll_gives_its_action_to_the_next_one_as_attempt_1():
    desk = a_desk()
    await desk.engine.park(an_action())
    await desk.engine.park(an_action())
    assert (await desk.take()).lease.attempt == 1
    assert isinstance(await desk.poll(), Held)


async def test_a_disabled_policy_records_and_never_expires_and_loses_nothing():
    desk = a_desk(policy=DISABLED)
    desk.host_has(an_action("a"), an_action("b"))
    await desk.take()
    await desk.after(10**6)
    assert await desk.engine.next_due() is None
    assert (await desk.take()).delivery.action.action_id == "b"
    await desk.engine.park(an_action("c"))
    assert (await desk.take()).delivery.action.action_id == "c"
    assert await desk.engine.in_flight() == 3
    assert desk.seen.of("orphaned") == []


async def test_news_reaches_a_long_poll():
    desk, woken = a_desk(), []

    async def wait():
        woken.append(await desk.engine.news("s", 60))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        for _ in range(3):
            await checkpoint()
        await desk.engine.park(an_action())
    assert woken == [True]
    assert await desk.engine.news("s", 0) is False


@pytest.mark.parametrize("event", ["report", "orphan", "pause", "resume", "cancel", "redrive", "redrive unpaused"])
async def test_whatever_may_give_a_waiting_agent_something_to_do_is_news(event):
    desk, woken = a_desk(), []
    desk.host_has(an_action(resend="never"))
    ticket = await desk.take()
    if event in ("resume", "redrive", "redrive unpaused"):
        await desk.after(30)
    if event == "redrive unpaused":
        await desk.engine.resume("s")

    async def wait():
        woken.append(await desk.engine.news("s", 60))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        for _ in range(3):
            await checkpoint()
        if event == "report":
            await desk.engine.report(a_report(token=ticket.lease.token))
        elif event == "orphan":
            await desk.after(30)
        elif event.startswith("redrive"):
            await desk.engine.redrive(dead_letter_id("s", "a", 0))
        else:
            await getattr(desk.engine, event)("s")
    assert woken == [True]


# Reports


async def test_a_report_that_is_not_current_is_not_judged():
    desk = a_desk()
    desk.host_has(an_action())
    token = (await desk.take()).lease.token
    first = await desk.engine.report(a_report(token=token))
    again = await desk.engine.report(a_report(token=token))
    assert (again.status, again.outcome, again.attempt) == (ReportStatus.DUPLICATE, first.outcome, 1)
    assert (await desk.engine.report(a_report(token="forged"))).status is ReportStatus.UNKNOWN
    assert (await desk.engine.report(a_report(session_id="elsewhere"))).status is ReportStatus.UNKNOWN
    assert desk.judge.calls == 1


async def test_an_agent_that_knows_no_tokens_is_matched_by_its_action():
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    assert (await desk.engine.report(a_report(token=None))).status is ReportStatus.ACCEPTED


async def test_judging_holds_the_lease_and_not_for_ever():
    """A judge that outlasts `judging_s` loses the lease; its verdict is still adopted, and the copy withdrawn."""
    states = []

    async def meanwhile():
        await desk.after(100)
        states.append(await desk.state())
        await desk.after(20)
        states.append(await desk.state())

    desk = a_desk(judge=ScriptedJudge(COMPLETE, meanwhile))
    desk.host_has(an_action())
    ticket = await desk.take()
    answer = await desk.engine.report(a_report(token=ticket.lease.token))
    assert states == ["in_flight", "waiting"]
    assert answer.status is ReportStatus.STALE_ADOPTED
    assert await desk.poll() is None


async def test_an_action_given_up_while_it_was_judged_stays_given_up():
    async def meanwhile():
        await desk.after(200)

    desk = a_desk(judge=ScriptedJudge(COMPLETE, meanwhile), policy=DeliveryPolicy(max_resends=0))
    desk.host_has(an_action())
    ticket = await desk.take()
    answer = await desk.engine.report(a_report(token=ticket.lease.token))
    assert answer.status is ReportStatus.STALE_REJECTED
    assert answer.outcome is not None
    assert [letter.late_reports for letter in await desk.engine.dead_letters()] == [1]


async def test_an_action_cancelled_while_it_was_judged_stays_cancelled():
    async def meanwhile():
        await desk.engine.cancel("s")

    desk = a_desk(judge=ScriptedJudge(WRONG_APPLICATION, meanwhile))
    desk.host_has(an_action())
    ticket = await desk.take()
    answer = await desk.engine.report(a_report(token=ticket.lease.token))
    assert (answer.status, answer.outcome) == (ReportStatus.DUPLICATE, None)
    assert await desk.state() == "cancelled"
    assert (await desk.session()).pause is None


async def test_a_report_is_finished_although_its_client_is_gone():
    scope = anyio.CancelScope()

    async def meanwhile():
        scope.cancel()
        await checkpoint()

    desk = a_desk(judge=ScriptedJudge(COMPLETE, meanwhile))
    desk.host_has(an_action())
    ticket = await desk.take()
    with scope:
        await desk.engine.report(a_report(token=ticket.lease.token))
    assert await desk.state() == "settled"


async def test_a_judge_that_crashes_confirms_nothing(caplog):
    async def meanwhile():
        raise RuntimeError("boom")

    desk = a_desk(judge=ScriptedJudge(COMPLETE, meanwhile), routing=RoutingPolicy(rechecks=0))
    desk.host_has(an_action())
    ticket = await desk.take()
    with caplog.at_level(logging.ERROR):
        answer = await desk.engine.report(a_report(token=ticket.lease.token))
    assert (answer.status, answer.outcome.success) == (ReportStatus.ACCEPTED, False)
    assert answer.outcome.result.verified is False
    assert isinstance(await desk.poll(), Pause)


@pytest.mark.parametrize("how", ["no judge", "mode off"])
async def test_without_a_judge_the_agents_word_stands(how):
    judge = ScriptedJudge(WRONG_APPLICATION)
    desk = a_desk()
    engine = Engine(
        desk.store,
        judge=None if how == "no judge" else judge,
        routing=RoutingPolicy(mode=Mode.OFF if how == "mode off" else Mode.ENFORCE),
        clock=desk.clock,
    )
    ticket = await engine.dispatch(an_action())
    answer = await engine.report(a_report(token=ticket.lease.token))
    assert (answer.outcome.success, answer.outcome.result.validated, judge.calls) == (True, False, 0)


@pytest.mark.parametrize(
    ("result", "routing", "reason"),
    [
        (COMPLETE, RoutingPolicy(), None),
        (NOT_SEEN, RoutingPolicy(), None),
        (NOT_SEEN, RoutingPolicy(rechecks=0), "not confirmed"),
        (WRONG_APPLICATION, RoutingPolicy(), "wrong_application"),
        (WRONG_APPLICATION, RoutingPolicy(mode=Mode.OBSERVE), None),
        (NOTHING_TO_JUDGE, RoutingPolicy(), None),
        (NOTHING_TO_JUDGE, RoutingPolicy(on_unverified=OnUnverified.PAUSE), "not confirmed"),
    ],
)
async def test_a_verdict_pauses_the_session_where_its_route_says_so(result, routing, reason):
    desk = a_desk(judge=ScriptedJudge(result), routing=routing)
    desk.host_has(an_action())
    ticket = await desk.take()
    await desk.engine.report(a_report(token=ticket.lease.token, screenshot_after="x"))
    pause = (await desk.session()).pause
    assert (pause is None) == (reason is None)
    if pause is not None:
        assert pause.reason is PauseReason.VERDICT
        assert reason in pause.message
        assert [event.pause for event in desk.seen.of("pause_changed")] == [pause]


async def test_a_stale_report_that_is_rejected_pauses_nothing():
    desk = a_desk(judge=ScriptedJudge(WRONG_APPLICATION))
    desk.host_has(an_action())
    first = await desk.take()
    desk.clock.advance(31)
    await desk.take()
    answer = await desk.engine.report(a_report(token=first.lease.token))
    assert (answer.status, answer.outcome.route) == (ReportStatus.STALE_REJECTED, Route.PAUSE)
    assert (await desk.session()).pause is None


# Leases


async def test_a_heartbeat_says_how_long_it_has_got_or_that_the_session_is_paused():
    desk = a_desk()
    desk.host_has(an_action())
    token = (await desk.take()).lease.token
    desk.clock.advance(20)
    ticket = await desk.engine.extend(token)
    assert isinstance(ticket, Ticket)
    assert ticket.deadline == utc(desk.clock.wall_ns()) + timedelta(seconds=30)
    pause = await desk.engine.pause("s")
    assert await desk.engine.extend(token) == pause
    await desk.engine.cancel("s")
    assert await desk.engine.extend(token) is None
    assert await desk.engine.extend("forged") is None


async def test_a_heartbeat_for_a_lease_that_ended_between_lookup_and_session_is_refused():
    class Outdated(MemoryStore):
        async def session_of(self, token):
            return "s"

    desk = a_desk(store=Outdated())
    desk.host_has(an_action())
    await desk.take()
    assert await desk.engine.extend("old") is None


async def test_a_heartbeat_is_a_sign_of_life():
    desk = a_desk()
    desk.host_has(an_action())
    token = (await desk.take()).lease.token
    desk.clock.advance(29)
    await desk.engine.extend(token)
    assert (await desk.session()).last_poll_at == desk.clock.now()


async def test_nothing_due_is_no_scan():
    desk = a_desk()
    assert await desk.engine.expire() is None
    await desk.engine.dispatch(an_action())
    assert await desk.engine.expire() is None
    assert desk.seen.of("scanned") == []


async def test_a_scan_is_counted():
    desk = a_desk()
    for number in range(3):
        await desk.engine.dispatch(an_action(session_id=f"s{number}", **({"resend": "never"} if not number else {})))
    await desk.engine.dispatch(an_action(session_id="slow", visibility_timeout_s=600))
    desk.clock.advance(30)
    scan = await desk.engine.expire()
    assert (scan.orphans, scan.resent, scan.given_up, scan.failed, scan.in_flight) == (3, 2, 1, 0, 1)
    assert desk.seen.of("scanned") == [scan]


class Poison(dict):
    """A payload that cannot be read."""

    broken = True

    def get(self, key, default=None):
        if self.broken and key == "resend":
            raise ValueError("corrupt")
        return super().get(key, default)


async def test_one_corrupt_entry_is_left_alone_and_counted_and_the_others_go_on(caplog):
    desk = a_desk()
    payload = Poison(action_id="a", type="click")
    action = an_action()
    corrupt = type(action)(action_id="a", type="click", session_id="corrupt", machine_id="m", payload=payload)
    await desk.engine.dispatch(corrupt)
    for number in range(3):
        await desk.engine.dispatch(an_action(session_id=f"s{number}"))
    desk.clock.advance(30)
    with caplog.at_level(logging.ERROR):
        scan = await desk.engine.expire()
    assert (scan.orphans, scan.failed) == (3, 1)
    assert await desk.state("a", "corrupt") == "in_flight"
    desk.clock.advance(QUARANTINE_S - 1)
    assert await desk.engine.expire() is None
    payload.broken = False
    desk.clock.advance(1)
    assert (await desk.engine.expire()).failed == 0
    assert await desk.state("a", "corrupt") == "waiting"


async def test_more_due_sessions_than_a_batch_are_all_swept(monkeypatch):
    monkeypatch.setattr("otel_validation.delivery.engine.CLAIM_BATCH", 4)
    desk = a_desk()
    for number in range(10):
        await desk.engine.dispatch(an_action(session_id=f"s{number}"))
    desk.clock.advance(30)
    assert (await desk.engine.expire()).orphans == 10


# Operators


async def test_an_operator_pauses_and_resumes():
    desk = a_desk()
    pause = await desk.engine.pause("s", "lunch")
    assert await desk.engine.pause("s", "again") == pause
    assert await desk.poll() == pause
    assert await desk.engine.resume("s") is True
    assert [event.pause for event in desk.seen.of("pause_changed")] == [pause, None]


class TestGlance:
    """A report that holds nothing to judge is settled at a glance: in one visit to its session, without the judge."""

    async def test_it_takes_one_visit_and_no_judge(self):
        class Counting(MemoryStore):
            opened = 0

            def session(self, session_id):
                self.opened += 1
                return super().session(session_id)

        desk = a_desk(store=Counting())
        engine = Engine(desk.store, judge=desk.judge, glance=lambda *_: NOTHING_TO_JUDGE, observer=desk.seen)
        ticket = await engine.dispatch(an_action())
        desk.store.opened = 0
        answer = await engine.report(a_report(token=ticket.lease.token))
        assert (answer.status, answer.outcome.success) == (ReportStatus.ACCEPTED, True)
        assert (desk.store.opened, desk.judge.calls) == (1, 0)
        assert [hook for hook, _ in desk.seen.events] == ["dispatched", "reported", "answered"]

    async def test_what_it_leaves_open_is_judged(self):
        desk = a_desk(judge=ScriptedJudge(WRONG_APPLICATION))
        engine = Engine(desk.store, judge=desk.judge, glance=lambda *_: None)
        ticket = await engine.dispatch(an_action())
        answer = await engine.report(a_report(token=ticket.lease.token))
        assert (answer.outcome.success, desk.judge.calls) == (False, 1)

    async def test_one_that_raises_leaves_it_to_the_judge(self, caplog):
        def explode(*_):
            raise RuntimeError

        desk = a_desk(judge=ScriptedJudge(WRONG_APPLICATION))
        engine = Engine(desk.store, judge=desk.judge, glance=explode)
        ticket = await engine.dispatch(an_action())
        answer = await engine.report(a_report(token=ticket.lease.token))
        assert (answer.outcome.success, desk.judge.calls) == (False, 1)
        assert "it is asked to judge" in caplog.text

    async def test_a_verdict_of_its_own_is_the_judges_to_give(self):
        """Only the judge may stop an action: it is the judge that observers hear of."""
        desk = a_desk(judge=ScriptedJudge(COMPLETE))
        engine = Engine(desk.store, judge=desk.judge, glance=lambda *_: WRONG_APPLICATION)
        ticket = await engine.dispatch(an_action())
        answer = await engine.report(a_report(token=ticket.lease.token))
        assert (answer.outcome.success, desk.judge.calls) == (True, 1)
