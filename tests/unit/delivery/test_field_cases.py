"""Field cases of groups A, B, C and G that the delivery core decides; the case id opens each docstring."""

from __future__ import annotations

import threading

import anyio
import pytest
from anyio.lowlevel import checkpoint
from delivery_kit import (
    COMPLETE,
    NOTHING_TO_JUDGE,
    WRONG_APPLICATION,
    Broken,
    ScriptedJudge,
    a_desk,
    a_report,
    an_action,
)

from otel_validation.delivery.engine import Engine, Held, Ticket
from otel_validation.delivery.lease import GiveUpCause
from otel_validation.delivery.outcome import Pause, PauseReason, ReportStatus
from otel_validation.validation.matrix import Row
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import Finding, Verdict

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("broken", [False, True])
async def test_a02_orphans_and_give_ups_do_not_depend_on_telemetry(broken):
    """A02: 50 dispatches, 40 reports: 10 orphans with 2 resends and a give-up each, whatever observes."""
    desk = a_desk()
    if broken:
        desk.engine.observers.add(Broken())
    for number in range(50):
        desk.host_has(an_action(session_id=f"s{number}"))
        ticket = await desk.take(f"s{number}")
        if number < 40:
            await desk.engine.report(a_report(token=ticket.lease.token, session_id=f"s{number}"))
    scans = []
    for _ in range(3):
        desk.clock.advance(31)
        scans.append(await desk.engine.expire())
        for number in range(40, 50):
            await desk.poll(f"s{number}")
    assert [(s.orphans, s.resent, s.given_up) for s in scans] == [(10, 10, 0), (10, 10, 0), (10, 0, 10)]
    assert len(await desk.engine.dead_letters()) == 10


async def test_b01_a_report_after_the_requeue_withdraws_the_queued_copy():
    """B01: t=31 requeued, t=32 reported, t=33 polled: the next action, never the same again."""
    desk = a_desk()
    desk.host_has(an_action("a"), an_action("b"))
    ticket = await desk.take()
    await desk.after(31)
    assert await desk.state("a") == "waiting"
    desk.clock.advance(1)
    answer = await desk.engine.report(a_report("a", ticket.lease.token))
    assert answer.status is ReportStatus.STALE_ADOPTED
    desk.clock.advance(1)
    assert (await desk.take()).delivery.action.action_id == "b"
    assert desk.judge.calls == 1
    assert [event.delivery.attempts for event in desk.seen.of("dispatched")] == [1, 1]


@pytest.mark.parametrize("how", ["own timeout", "heartbeat"])
async def test_b02_long_work_that_says_so_is_not_delivered_again(how):
    """B02: 45 s of work with `visibility_timeout_s` of 120, or with heartbeats."""
    desk = a_desk()
    desk.host_has(an_action(**({"visibility_timeout_s": 120} if how == "own timeout" else {})))
    ticket = await desk.take()
    await desk.after(25)
    if how == "heartbeat":
        assert isinstance(await desk.engine.extend(ticket.lease.token), Ticket)
    await desk.after(20)
    assert desk.seen.of("orphaned") == []
    assert (await desk.engine.report(a_report(token=ticket.lease.token))).status is ReportStatus.ACCEPTED


async def test_b02_long_work_that_does_not_say_so_is_resent_and_settled_once():
    """B02: without either, attempt 2 carries the same id; the first valid report closes it, the second is told so."""
    desk = a_desk()
    desk.host_has(an_action())
    first = await desk.take()
    desk.clock.advance(31)
    second = await desk.take()
    assert (second.delivery.action.action_id, second.lease.attempt) == ("a", 2)
    assert (await desk.engine.report(a_report(token=first.lease.token))).status is ReportStatus.STALE_ADOPTED
    again = await desk.engine.report(a_report(token=second.lease.token))
    assert again.status is ReportStatus.DUPLICATE
    assert again.outcome is not None
    assert again.outcome.result is COMPLETE
    assert desk.judge.calls == 1


async def test_b03_a_superseded_failure_does_not_overwrite_the_success_that_follows():
    """B03, first run: attempt 1 fails late, attempt 2 succeeds: success, the stale report stored as such."""
    desk = a_desk(judge=ScriptedJudge(NOTHING_TO_JUDGE))
    desk.host_has(an_action())
    first = await desk.take()
    desk.clock.advance(31)
    second = await desk.take()
    stale = await desk.engine.report(a_report(token=first.lease.token, success=False))
    assert stale.status is ReportStatus.STALE_REJECTED
    final = await desk.engine.report(a_report(token=second.lease.token))
    assert final.status is ReportStatus.ACCEPTED
    assert final.outcome is not None
    assert final.outcome.success is True
    assert [event.status.value for event in desk.seen.of("answered")] == ["stale_rejected", "accepted"]


async def test_b03_a_success_after_the_give_up_is_recorded_and_changes_nothing():
    """B03, second run: given up at t=95, reported at t=100: the state stays, the answer is explicit."""
    desk = a_desk()
    desk.host_has(an_action())
    ticket = await desk.take()
    for _ in range(2):
        desk.clock.advance(31)
        ticket = await desk.take()
    await desk.after(33)
    desk.clock.advance(5)
    answer = await desk.engine.report(a_report(token=ticket.lease.token))
    assert answer.status is ReportStatus.STALE_REJECTED
    assert await desk.state() == "dead"
    assert isinstance(await desk.poll(), Pause)
    assert [letter.late_reports for letter in await desk.engine.dead_letters()] == [1]


@pytest.mark.parametrize("copies", [2, 20])
async def test_b05_concurrent_identical_reports_are_judged_once(copies):
    """B05: 2, then 20, identical reports while the judge is at work: one judgement, one answer for all."""
    working, release = anyio.Event(), anyio.Event()

    async def meanwhile():
        working.set()
        await release.wait()

    desk = a_desk(judge=ScriptedJudge(COMPLETE, meanwhile))
    desk.host_has(an_action())
    token = (await desk.take()).lease.token
    answers = []

    async def send():
        answers.append(await desk.engine.report(a_report(token=token)))

    async with anyio.create_task_group() as group:
        for _ in range(copies):
            group.start_soon(send)
        await working.wait()
        for _ in range(5):
            await checkpoint()
        release.set()
    assert desk.judge.calls == 1
    assert sorted(answer.status.value for answer in answers) == ["accepted"] + ["duplicate"] * (copies - 1)
    assert len({id(answer.outcome) for answer in answers}) == 1
    assert sum(event.delivery is not None for event in desk.seen.of("answered")) == 1


async def test_b12_a_report_to_a_server_that_restarted_is_answered_unknown():
    """B12: what memory held is gone: an explicit answer, nothing raised, nothing kept."""
    before = a_desk()
    before.host_has(an_action())
    ticket = await before.take()
    restarted = a_desk()
    answer = await restarted.engine.report(a_report(token=ticket.lease.token))
    assert (answer.status, answer.outcome) == (ReportStatus.UNKNOWN, None)
    assert await restarted.engine.extend(ticket.lease.token) is None
    assert await restarted.store.known("s") is False


async def test_b12_a_store_that_outlives_the_server_redelivers_within_one_lease():
    """B12: on a store that survives, the action is delivered again, once, and nothing overtakes it."""
    before = a_desk()
    before.host_has(an_action("a"), an_action("b"))
    await before.take()
    after = Engine(before.store, clock=before.clock)
    assert isinstance(await after.poll("s"), Held)
    before.clock.advance(31)
    again = await after.poll("s")
    assert isinstance(again, Ticket)
    assert (again.delivery.action.action_id, again.lease.attempt) == ("a", 2)


async def test_b13_three_deliveries_then_give_up_and_nothing_follows():
    """B13: polls at 0, 31, 62 without a report: three deliveries, a dead letter at 95, the session paused."""
    desk = a_desk()
    desk.host_has(an_action("a"), an_action("b"))
    attempts = [(await desk.take()).lease.attempt]
    for _ in range(2):
        desk.clock.advance(31)
        attempts.append((await desk.take()).lease.attempt)
    await desk.after(33)
    assert attempts == [1, 2, 3]
    pause = await desk.poll()
    assert isinstance(pause, Pause)
    assert pause.reason is PauseReason.GIVE_UP
    assert [letter.delivery.action.action_id for letter in await desk.engine.dead_letters()] == ["a"]
    assert [action.action_id for action in desk.queues["s"]] == ["b"]
    assert [event.dead.cause.value for event in desk.seen.of("orphaned") if event.dead] == ["agent_dead"]


async def test_b14_one_action_in_flight_per_session():
    """B14: an agent that polls three times at once gets one action; the others wait and burn nothing."""
    desk = a_desk()
    desk.host_has(an_action("a"), an_action("b"), an_action("c"))
    ticket = await desk.take()
    assert isinstance(await desk.poll(), Held)
    assert isinstance(await desk.poll(), Held)
    for seconds, name in ((20, "a"), (20, "b"), (20, "c")):
        assert ticket.delivery.action.action_id == name
        desk.clock.advance(seconds)
        await desk.engine.report(a_report(name, ticket.lease.token))
        if name != "c":
            ticket = await desk.take()
    assert desk.seen.of("orphaned") == []


async def test_b14_two_actions_let_go_by_the_host_at_once_leave_in_order():
    """B14: the host popped two for two polls at once: the second is parked, and goes out as its own attempt 1."""
    desk = a_desk()
    first = await desk.engine.dispatch(an_action("a"))
    assert first is not None
    assert await desk.engine.dispatch(an_action("b")) is None
    await desk.engine.report(a_report("a", first.lease.token))
    second = await desk.take()
    assert (second.delivery.action.action_id, second.lease.attempt) == ("b", 1)


async def test_b16_already_done_is_an_acknowledgement():
    """B16: an agent that knows the id answers the resend without screenshots: settled, not resent, not given up."""
    desk = a_desk(judge=ScriptedJudge(NOTHING_TO_JUDGE))
    desk.host_has(an_action())
    await desk.take()
    desk.clock.advance(31)
    resend = await desk.take()
    answer = await desk.engine.report(a_report(token=resend.lease.token, success=None))
    assert answer.status is ReportStatus.ACCEPTED
    assert answer.outcome is not None
    assert answer.outcome.result.verified is False
    await desk.after(3_600)
    assert await desk.state() == "settled"
    assert len(desk.seen.of("dispatched")) == 2


async def test_b18_reports_that_match_nothing_are_answered_and_change_nothing():
    """B18: an id never issued, one given up an hour ago, another session's id and token."""
    desk = a_desk()
    desk.host_has(an_action(resend="never"), an_action("z", session_id="other"))
    given_up = await desk.take()
    other = await desk.take("other")
    await desk.after(31)
    await desk.take("other")
    desk.clock.advance(3_600)
    report = desk.engine.report
    assert (await report(a_report("ghost"))).status is ReportStatus.UNKNOWN
    assert (await report(a_report("a", given_up.lease.token))).status is ReportStatus.STALE_REJECTED
    assert (await report(a_report("z", other.lease.token))).status is ReportStatus.UNKNOWN
    assert (await report(a_report("a", other.lease.token))).status is ReportStatus.UNKNOWN
    assert await desk.state("z", "other") == "in_flight"
    assert desk.judge.calls == 0
    assert [event.status.value for event in desk.seen.of("answered")].count("unknown") == 3


async def test_c14_a_checker_that_blocks_its_thread_does_not_block_the_engine():
    """C14: while a checker is stuck, other sessions poll and report, and the sweep invents no orphan of ours."""
    working, release = threading.Event(), threading.Event()

    class Stuck:
        name = "stuck"

        def applies(self, subject):
            return True

        def check(self, subject):
            working.set()
            assert release.wait(10)
            return Finding(checker=self.name, verdict=Verdict.COMPLETE, confidence=0.9, reasoning="seen")

        def warm_up(self):
            """Nothing."""

    desk = a_desk()
    validator = Validator([Stuck()], subject=_Subject, matrix={"slow": Row(checks=("stuck",), budget_s=5.0)})
    engine = Engine(desk.store, judge=validator.validate, clock=desk.clock, observer=desk.seen)
    ticket = await engine.dispatch(an_action(kind="slow"))
    assert ticket is not None
    answers = []

    async def send():
        answers.append(await engine.report(a_report(token=ticket.lease.token)))

    async with anyio.create_task_group() as group:
        group.start_soon(send)
        while not working.is_set():
            await checkpoint()
        desk.clock.advance(60)
        await engine.expire()
        assert isinstance(await engine.poll("s"), Held)
        assert await engine.dispatch(an_action(session_id="other")) is not None
        release.set()
    assert [answer.status for answer in answers] == [ReportStatus.ACCEPTED]
    assert desk.seen.of("orphaned") == []


class _Subject:
    before = after = None

    def __init__(self, action, report):
        self.action, self.report = action, report


async def test_g02_the_queue_does_not_go_on_after_a_failed_step():
    """G02: polls while the verdict is made and after it get nothing; other sessions go on."""
    polls = []

    async def meanwhile():
        polls.append(await desk.poll())

    desk = a_desk(judge=ScriptedJudge(WRONG_APPLICATION, meanwhile))
    desk.host_has(an_action("a"), an_action("b"), an_action("c"), an_action("x", session_id="other"))
    ticket = await desk.take()
    answer = await desk.engine.report(a_report("a", ticket.lease.token))
    polls.append(await desk.poll())
    assert answer.outcome is not None
    assert (answer.outcome.success, answer.outcome.overridden) == (False, True)
    assert isinstance(polls[0], Held)
    assert isinstance(polls[1], Pause)
    assert polls[1].reason is PauseReason.VERDICT
    assert "wrong_application" in polls[1].message
    assert (await desk.take("other")).delivery.action.action_id == "x"
    assert await desk.engine.resume("s")
    assert (await desk.take()).delivery.action.action_id == "b"


async def test_g06_an_action_that_may_not_be_repeated_is_never_resent():
    """G06: "resend": "never" and no report: given up at the first orphan, with a cause that says why; paused."""
    desk = a_desk()
    desk.host_has(an_action("save", resend="never"), an_action("next"))
    ticket = await desk.take()
    await desk.after(31)
    assert isinstance(await desk.poll(), Pause)
    assert [letter.cause for letter in await desk.engine.dead_letters()] == [GiveUpCause.ACTION_POISON]
    late = await desk.engine.report(a_report("save", ticket.lease.token, success=False, error="timeout"))
    assert late.status is ReportStatus.STALE_REJECTED
    assert len(desk.seen.of("dispatched")) == 1


async def test_g08_dead_agents_leave_paused_sessions_and_an_empty_gauge():
    """G08: three agents take an action and disappear: given up within 90 s, paused with a reason, nothing in flight."""
    desk = a_desk()
    names = ["s1", "s2", "s3"]
    for name in names:
        desk.host_has(an_action(session_id=name), an_action("b", session_id=name))
        await desk.take(name)
    assert await desk.engine.in_flight() == 3
    for _ in range(90):
        await desk.after(1)
    assert await desk.engine.in_flight() == 0
    assert [letter.cause for letter in await desk.engine.dead_letters()] == [GiveUpCause.AGENT_DEAD] * 3
    for name in names:
        pause = (await desk.session(name)).pause
        assert pause is not None
        assert "agent_dead" in pause.message


async def test_g08_a_cancelled_session_is_not_resent():
    """G08: a session deleted with actions pending: none of them leaves again."""
    desk = a_desk()
    desk.host_has(an_action("a"), an_action("b"))
    await desk.take()
    await desk.engine.dispatch(desk.queues["s"].popleft())
    assert [delivery.action.action_id for delivery in await desk.engine.cancel("s")] == ["a", "b"]
    await desk.after(3_600)
    assert await desk.poll() is None
    assert await desk.engine.in_flight() == 0
    assert len(desk.seen.of("dispatched")) == 1
