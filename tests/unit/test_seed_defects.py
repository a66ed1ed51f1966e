"""The delivery defects of the seeds' code (DESIGN section 9), each as a test by name."""

from __future__ import annotations

import pytest
from delivery_kit import COMPLETE, ScriptedJudge, a_desk, a_report, an_action

from otel_validation.delivery.engine import Forward, Ticket
from otel_validation.delivery.lease import GiveUpCause
from otel_validation.delivery.observer import Orphaned
from otel_validation.delivery.outcome import Pause, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.session import Session
from otel_validation.stores.memory import MemoryStore
from otel_validation.validation.fold import fold
from otel_validation.validation.matrix import Row
from otel_validation.validation.routing import RoutingPolicy, decide
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import Finding, ValidationResult, Verdict

pytestmark = pytest.mark.anyio


async def test_an_agent_that_never_polls_again_is_given_up():
    """A resend waits for a poll as long as the deliveries left would have taken; then its agent is dead (R4)."""
    desk = a_desk()
    desk.host_has(an_action(), an_action("next"))
    await desk.take()
    await desk.after(30)
    assert await desk.state() == "waiting"
    await desk.after(59.9)
    assert await desk.state() == "waiting"
    await desk.after(0.1)
    assert await desk.state() == "dead"
    assert [letter.cause for letter in await desk.engine.dead_letters()] == [GiveUpCause.AGENT_DEAD]
    assert (await desk.session()).pause is not None
    assert [scan.orphans for scan in desk.seen.of("scanned")] == [1, 0]


async def test_an_agent_that_comes_back_in_time_has_all_its_attempts():
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    await desk.after(30)
    desk.clock.advance(59)
    attempts = [(await desk.take()).lease.attempt]
    desk.clock.advance(30)
    attempts.append((await desk.take()).lease.attempt)
    assert attempts == [2, 3]


async def test_an_agent_that_comes_back_late_without_a_timer_in_between_still_gets_its_resend():
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    await desk.after(30)
    desk.clock.advance(3_600)
    assert (await desk.take()).lease.attempt == 2


async def test_an_agent_that_polls_is_not_dead_while_the_hosts_queue_goes_first():
    """Tail repush: the resend waits behind the host's queue for as long as the agent works on that."""
    desk = a_desk(policy=DeliveryPolicy(repush="tail"))
    desk.host_has(*(an_action(f"a{n}") for n in range(12)))
    await desk.take()
    await desk.after(30)
    for number in range(1, 12):
        ticket = await desk.take()
        assert ticket.delivery.action.action_id == f"a{number}"
        await desk.after(20)
        await desk.engine.report(a_report(f"a{number}", ticket.lease.token))
    assert (await desk.take()).lease.attempt == 2
    assert await desk.engine.dead_letters() == []


async def test_an_action_that_never_left_waits_without_limit():
    """Parked, behind another or for a redrive: no lease ran, so nothing is burnt and nobody is judged by it."""
    desk = a_desk()
    desk.host_has(an_action())
    await desk.engine.park(an_action("parked"))
    await desk.after(10**6)
    ticket = await desk.take()
    assert (ticket.delivery.action.action_id, ticket.lease.attempt) == ("parked", 1)
    await desk.after(90)
    await desk.after(90)
    (letter,) = await desk.engine.dead_letters()
    await desk.engine.redrive(letter.dead_letter_id)
    await desk.after(10**6)
    assert (await desk.take()).lease.attempt == 1


async def test_the_time_a_resend_waits_stops_in_a_pause():
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    await desk.after(30)
    await desk.engine.pause("s")
    await desk.after(3_600)
    await desk.engine.resume("s")
    await desk.after(59)
    assert await desk.state() == "waiting"
    await desk.after(1)
    assert await desk.state() == "dead"


async def test_a_report_after_the_repush_leaves_no_queued_copy():
    desk = a_desk()
    desk.host_has(an_action())
    ticket = await desk.take()
    await desk.after(31)
    await desk.engine.report(a_report(token=ticket.lease.token))
    assert await desk.poll() is None
    assert (await desk.session()).live == {}


async def test_a_resend_that_is_being_confirmed_is_not_handed_out():
    """The window between the late report and its verdict: the copy waits for the verdict."""
    polls = []

    async def meanwhile():
        polls.append(await desk.poll())

    desk = a_desk(judge=ScriptedJudge(COMPLETE, meanwhile))
    desk.host_has(an_action())
    ticket = await desk.take()
    await desk.after(31)
    answer = await desk.engine.report(a_report(token=ticket.lease.token))
    assert answer.status is ReportStatus.STALE_ADOPTED
    assert not isinstance(polls[0], Ticket)


async def test_the_give_up_is_decided_again_where_the_session_is_held():
    """Named as due, reported before it was opened: not given up. The claim is the session's, not the store's."""

    class ReportsInBetween(MemoryStore):
        async def due(self, now, limit):
            names = await super().due(now, limit)
            if names and not desk.seen.of("answered"):
                await desk.engine.report(a_report(token=ticket.lease.token))
            return names

    desk = a_desk(policy=DeliveryPolicy(max_resends=0), store=ReportsInBetween())
    desk.host_has(an_action())
    ticket = await desk.take()
    await desk.after(31)
    assert await desk.state() == "settled"
    assert await desk.engine.dead_letters() == []


async def test_the_next_action_does_not_flow_after_a_give_up():
    desk = a_desk(policy=DeliveryPolicy(max_resends=0))
    desk.host_has(an_action("a"), an_action("b"))
    await desk.take()
    desk.clock.advance(30)
    assert isinstance(await desk.poll(), Pause)
    assert await desk.engine.dispatch(an_action("b")) is None
    assert len(desk.seen.of("dispatched")) == 1


@pytest.mark.parametrize("when", ["in flight", "waiting"])
async def test_the_action_of_a_paused_replay_is_not_resent(when):
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    await desk.after(31 if when == "waiting" else 10)
    await desk.engine.pause("s")
    await desk.after(3_600)
    assert isinstance(await desk.poll(), Pause)
    assert await desk.engine.dispatch_waiting("s") is None
    assert len(desk.seen.of("dispatched")) == 1
    assert await desk.engine.next_due() is None


@pytest.mark.parametrize("jump", [-86_400, 86_400])
async def test_ages_do_not_come_from_the_wall_clock(jump):
    desk = a_desk()
    desk.host_has(an_action(resend="never"))
    await desk.take()
    desk.clock.jump_wall(jump)
    await desk.after(29)
    assert await desk.state() == "in_flight"
    await desk.after(1)
    (letter,) = await desk.engine.dead_letters()
    assert letter.age_s == 30


async def test_a_sweep_opens_only_the_sessions_that_are_due():
    class Counting(MemoryStore):
        opened = 0

        def session(self, session_id):
            self.opened += 1
            return super().session(session_id)

    store = Counting()
    desk = a_desk(store=store)
    for number in range(500):
        timeout_s = 10 if number < 3 else 1_000
        await desk.engine.dispatch(an_action(session_id=f"s{number}", visibility_timeout_s=timeout_s))
    store.opened = 0
    await desk.after(11)
    assert store.opened == 3
    assert [event.resent for event in desk.seen.of("scanned")] == [3]


def test_a_sweep_of_a_session_reads_no_action_that_is_not_due():
    """Nothing changes, and nothing is looked at, before the deadline."""
    session = Session("s")
    session.dispatch(an_action(), token="t", now=0.0, policy=DeliveryPolicy())
    before = session.draft()
    assert session.expire(now=29.9, wall_ns=0, policy=DeliveryPolicy()) == []
    assert session == before


class _Checker:
    name = "it"

    def __init__(self, finding):
        self.finding = finding

    def applies(self, subject):
        return True

    def check(self, subject):
        if isinstance(self.finding, Exception):
            raise self.finding
        return self.finding

    def warm_up(self):
        """Nothing."""


class _Subject:
    before = after = None

    def __init__(self, action, report):
        self.action, self.report = action, report


async def test_no_checker_is_not_complete():
    """Fail open: nothing that judged must not read as something that passed."""
    result = await Validator([], subject=_Subject).validate(an_action(), a_report())
    assert (result.verdict, result.verified, result.validated) == (Verdict.CONTINUE, False, False)


def test_no_schema_is_not_complete():
    """Fail open: COMPLETE 0.5 for want of a schema is no success, neither alone nor beside another finding."""
    for_want_of_a_schema = Finding(
        checker="json_schema", verdict=Verdict.COMPLETE, confidence=0.5, reasoning="no schema", verified=False
    )
    seen = Finding(checker="it", verdict=Verdict.COMPLETE, confidence=0.9, reasoning="seen")
    for findings in ([for_want_of_a_schema], [seen, for_want_of_a_schema]):
        result = fold(findings, a_report())
        assert (result.verdict, result.verified) == (Verdict.CONTINUE, False)


def test_a_judge_that_completes_without_evidence_is_not_believed():
    unproved = ValidationResult(verdict=Verdict.COMPLETE, confidence=0.5, reasoning="no schema", verified=False)
    assert decide(success=True, error=None, result=unproved, policy=RoutingPolicy()).success is False


async def test_an_exploding_checker_is_not_skipped():
    """Fail open: the others' COMPLETE does not stand in for the one that crashed."""
    fine = _Checker(Finding(checker="it", verdict=Verdict.COMPLETE, confidence=0.9, reasoning="seen"))
    exploding = _Checker(RuntimeError("boom"))
    exploding.name = "exploding"
    validator = Validator([fine, exploding], subject=_Subject, matrix={"click": Row(checks=("it", "exploding"))})
    result = await validator.validate(an_action(), a_report())
    assert (result.verdict, result.verified, len(result.findings)) == (Verdict.CONTINUE, False, 2)


async def test_every_orphan_says_how_late_it_was_noticed():
    desk = a_desk()
    desk.host_has(an_action())
    await desk.take()
    await desk.after(30.25)
    (event,) = desk.seen.of("orphaned")
    assert isinstance(event, Orphaned)
    assert (event.lateness_s, event.age_s) == (0.25, 30.25)


async def test_an_unknown_session_is_the_hosts():
    assert await a_desk().engine.poll("new") == Forward()
