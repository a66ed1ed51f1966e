"""What may leave, and what must wait, while an action is looked at again."""

from __future__ import annotations

import anyio
import pytest
from delivery_kit import (
    COMPLETE,
    a_report,
    an_action,
)
from recheck_kit import ONCE, a_desk_that_sees_nothing, look, seen, unconfirmed

from otel_validation.delivery.action import LONGEST_ID
from otel_validation.delivery.engine import Held
from otel_validation.delivery.lease import GiveUpCause
from otel_validation.delivery.outcome import Pause, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.validation.report import Report
from otel_validation.validation.routing import Route

pytestmark = pytest.mark.anyio


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
