"""What becomes of a look: resent, late, unanswered, given up."""

from __future__ import annotations

import pytest
from delivery_kit import (
    COMPLETE,
    NOT_SEEN,
    a_report,
    an_action,
)
from recheck_kit import ONCE, a_desk_that_sees_nothing, look, seen, unconfirmed

from otel_validation.delivery.engine import Ticket
from otel_validation.delivery.lease import DeliveryState, GiveUpCause
from otel_validation.delivery.look import LOOK_TYPE
from otel_validation.delivery.outcome import Pause, PauseReason, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.validation.routing import Route

pytestmark = pytest.mark.anyio


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
