"""What operators do, and what an engine that delivers otherwise does."""

from __future__ import annotations

import pytest
from delivery_kit import (
    a_desk,
    an_action,
)

from otel_validation.delivery.outcome import Pause, PauseReason
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.session import dead_letter_id
from otel_validation.errors import UnknownDeadLetterError, UnknownSessionError
from otel_validation.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

DISABLED = DeliveryPolicy(enabled=False)


async def test_resuming_what_is_not_paused_changes_nothing():
    desk = a_desk()
    await desk.engine.dispatch(an_action())
    assert await desk.engine.resume("s") is False
    assert desk.seen.of("pause_changed") == []


@pytest.mark.parametrize("call", ["resume", "cancel"])
async def test_an_operator_is_told_of_a_session_that_does_not_exist(call):
    with pytest.raises(UnknownSessionError) as raised:
        await getattr(a_desk().engine, call)("ghost")
    assert raised.value.session_id == "ghost"


@pytest.mark.parametrize("paused", [True, False])
async def test_a_cancelled_session_is_told_and_no_longer_paused(paused):
    desk = a_desk()
    await desk.engine.dispatch(an_action())
    if paused:
        await desk.engine.pause("s")
    await desk.engine.cancel("s")
    (event,) = desk.seen.of("withdrawn")
    assert [delivery.action.action_id for delivery in event.deliveries] == ["a"]
    assert [event.pause is None for event in desk.seen.of("pause_changed")] == ([False, True] if paused else [])


async def test_a_redrive_goes_first_with_a_fresh_budget_and_lifts_the_pause_of_its_give_up():
    desk = a_desk()
    desk.host_has(an_action("a", resend="never"), an_action("b"))
    await desk.take()
    await desk.after(30)
    (letter,) = await desk.engine.dead_letters()
    await desk.engine.redrive(letter.dead_letter_id)
    ticket = await desk.take()
    assert (ticket.delivery.action.action_id, ticket.lease.attempt, ticket.delivery.retry) == ("a", 1, 1)
    assert [event.delivery.action.action_id for event in desk.seen.of("redriven")] == ["a"]
    with pytest.raises(UnknownDeadLetterError) as raised:
        await desk.engine.redrive(letter.dead_letter_id)
    assert raised.value.dead_letter_id == letter.dead_letter_id


async def test_a_redrive_leaves_an_operators_pause():
    desk = a_desk()
    desk.host_has(an_action("a", resend="never"))
    await desk.take()
    await desk.after(30)
    await desk.engine.resume("s")
    pause = await desk.engine.pause("s")
    await desk.engine.redrive(dead_letter_id("s", "a", 0))
    assert await desk.poll() == pause


async def test_a_redrive_leaves_the_pause_while_another_dead_letter_is_there():
    desk = a_desk()
    for name in ("a", "b"):
        desk.host_has(an_action(name, resend="never"))
        await desk.take()
        await desk.after(30)
        if name == "a":
            await desk.engine.resume("s")
    await desk.engine.redrive(dead_letter_id("s", "a", 0))
    assert isinstance(await desk.poll(), Pause)
    await desk.engine.redrive(dead_letter_id("s", "b", 0))
    assert (await desk.take()).delivery.action.action_id == "b"


async def test_one_of_two_operators_redrives():
    class Outdated(MemoryStore):
        """Names letters that are gone by the time the session is opened."""

        letters = None

        async def dead_letters(self):
            self.letters = self.letters or await super().dead_letters()
            return self.letters

    desk = a_desk(store=Outdated())
    desk.host_has(an_action(resend="never"))
    await desk.take()
    await desk.after(30)
    await desk.engine.redrive(dead_letter_id("s", "a", 0))
    with pytest.raises(UnknownDeadLetterError):
        await desk.engine.redrive(dead_letter_id("s", "a", 0))
    assert len(desk.seen.of("redriven")) == 1


# What happened elsewhere


async def test_an_attempt_that_ended_by_other_means_is_forgotten():
    desk = a_desk()
    ticket = await desk.engine.dispatch(an_action(), token="given")
    assert ticket.lease.token == "given"
    assert await desk.engine.forget("given") is True
    assert await desk.engine.forget("given") is False
    assert await desk.engine.in_flight() == 0
    assert await desk.state() == "nowhere"


async def test_an_attempt_that_ended_between_lookup_and_session_is_not_forgotten_again():
    class Outdated(MemoryStore):
        async def session_of(self, token):
            return "s"

    desk = a_desk(store=Outdated())
    await desk.engine.dispatch(an_action())
    assert await desk.engine.forget("old") is False
    assert await desk.engine.in_flight() == 1


async def test_a_give_up_elsewhere_pauses_once():
    desk = a_desk()
    await desk.engine.dispatch(an_action())
    for _ in range(2):
        await desk.engine.give_up_elsewhere("s")
    (event,) = desk.seen.of("pause_changed")
    assert event.pause.reason is PauseReason.GIVE_UP
    assert await desk.engine.knows("s")
    assert not await desk.engine.knows("other")


async def test_the_timer_tells_of_a_scan_that_found_nothing():
    desk = a_desk()
    scan = await desk.engine.expire(timer=True)
    assert scan.orphans == 0
    assert desk.seen.of("scanned") == [scan]


async def test_a_parallel_policy_holds_nothing_back():
    desk = a_desk(policy=DeliveryPolicy(serial=False))
    desk.host_has(an_action("a"), an_action("b"))
    assert [(await desk.take()).delivery.action.action_id for _ in range(2)] == ["a", "b"]
    await desk.engine.park(an_action("c"))
    assert await desk.engine.dispatch(an_action("d")) is not None
    assert (await desk.take()).delivery.action.action_id == "c"
    assert await desk.engine.in_flight() == 4


async def test_a_give_up_of_one_of_several_in_flight_pauses_once():
    desk = a_desk(policy=DeliveryPolicy(serial=False, max_resends=0))
    for name in ("a", "b"):
        await desk.engine.dispatch(an_action(name))
    await desk.after(30)
    assert len(await desk.engine.dead_letters()) == 2
    assert len(desk.seen.of("pause_changed")) == 1


async def test_a_session_paused_before_its_sweep_gives_nothing_up():
    """Named as due, then paused: its clocks stand still."""

    class PausesInBetween(MemoryStore):
        async def due(self, now, limit):
            names = await super().due(now, limit)
            for name in names:
                await desk.engine.pause(name)
            return names

    desk = a_desk(policy=DeliveryPolicy(max_resends=0), store=PausesInBetween())
    await desk.engine.dispatch(an_action())
    await desk.after(30)
    assert await desk.state() == "in_flight"
    assert await desk.engine.dead_letters() == []
