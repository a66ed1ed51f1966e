"""What every store promises (`delivery.store.Store`). A store joins by a line in STORES."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from delivery_kit import COMPLETE, NOT_SEEN, a_report, an_action

from otel_validation.delivery.lease import DeliveryState
from otel_validation.delivery.look import Recheck
from otel_validation.delivery.outcome import NextLook, Outcome, Pause, PauseReason
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.session import dead_letter_id
from otel_validation.delivery.store import Store
from otel_validation.stores.memory import MemoryStore
from otel_validation.validation.routing import Route

pytestmark = pytest.mark.anyio

POLICY = DeliveryPolicy(max_resends=0)
DONE = Outcome(success=True, error=None, route=Route.CONTINUE, result=COMPLETE)
AGAIN = Outcome(success=False, error="x", route=Route.RECHECK, result=NOT_SEEN, next_look=NextLook(1.5, 1))


@asynccontextmanager
async def memory() -> AsyncIterator[Store]:
    yield MemoryStore()


STORES: dict[str, Callable[[], AbstractAsyncContextManager[Store]]] = {"memory": memory}


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    async with STORES[request.param]() as opened:
        yield opened


async def dispatch(store, session_id="s", action_id="a", *, now=0.0, timeout_s=30.0):
    async with store.session(session_id) as session:
        action = an_action(action_id, session_id=session_id, visibility_timeout_s=timeout_s)
        return session.dispatch(action, token=f"{session_id}/{action_id}/{now}", now=now, policy=POLICY)


async def kept(store, session_id="s"):
    async with store.session(session_id) as session:
        return session.draft()


async def give_up(store, session_id="s", *, now=100.0, wall_ns=0):
    async with store.session(session_id) as session:
        session.expire(now=now, wall_ns=wall_ns, policy=POLICY)


async def test_it_has_every_primitive_and_no_engine_needs_more(store):
    primitives = {name for name in vars(Store) if not name.startswith("_")}
    assert primitives == {
        "session",
        "known",
        "due",
        "next_due",
        "defer",
        "session_of",
        "dead_letters",
        "in_flight",
    }
    assert all(callable(getattr(store, name)) for name in primitives)


async def test_a_session_is_new_until_something_is_kept(store):
    assert (await kept(store)).blank
    assert await store.known("s") is False
    await dispatch(store)
    assert await store.known("s") is True
    assert await store.known("other") is False


async def test_what_was_changed_is_there_again_whole(store):
    delivery = await dispatch(store, now=5.0)
    async with store.session("s") as session:
        session.hold(Pause(PauseReason.OPERATOR, "lunch", 6.0))
        session.last_poll_at = 5.5
        session.park(an_action("b", anything={"else": [1, None, "é"]}))
    again = await kept(store)
    assert again.live["a"] == delivery
    assert again.live["b"].action.payload["anything"] == {"else": [1, None, "é"]}
    assert list(again.live) == ["a", "b"]
    assert (again.pause, again.last_poll_at) == (Pause(PauseReason.OPERATOR, "lunch", 6.0), 5.5)


async def test_settled_actions_are_remembered_with_their_outcome(store):
    await dispatch(store)
    async with store.session("s") as session:
        session.settle("a", None, DONE)
    settled = (await kept(store)).settled["a"]
    assert (settled.outcome, settled.tokens) == (DONE, ("s/a/0.0",))


async def recheck(store, *, not_before=11.5):
    """`a` was reported at 10.0, and is to be looked at again."""
    await dispatch(store)
    why = Recheck(number=1, not_before=not_before, report=a_report().bare(), outcome=AGAIN, more_evidence=True)
    async with store.session("s") as session:
        session.settle("a", None, AGAIN, why)
    return why


async def test_an_action_that_is_rechecked_is_there_again_with_the_reason(store):
    why = await recheck(store)
    delivery = (await kept(store)).live["a"]
    assert (delivery.state, delivery.recheck) == (DeliveryState.RECHECKING, why)
    assert await store.in_flight() == 0
    assert await store.session_of("s/a/0.0") is None
    assert await store.next_due() == 11.5
    assert await store.due(11.5, 10) == ["s"]


async def test_a_look_waits_and_leaves_as_an_action_of_its_own(store):
    await recheck(store)
    async with store.session("s") as session:
        session.expire(now=11.5, wall_ns=0, policy=POLICY)
    look, action = (await kept(store)).live.values()
    assert (look.state, look.action.look_of) == (DeliveryState.WAITING, "a")
    assert action.recheck.look_id == look.action.action_id
    assert await store.next_due() == 41.5
    async with store.session("s") as session:
        session.hand_out(token="of-the-look", now=12.0, policy=POLICY)
    assert await store.session_of("of-the-look") == "s"
    assert (await store.in_flight(), await store.next_due()) == (1, 42.0)
    async with store.session("s") as session:
        session.settle(look.action.action_id, "of-the-look", DONE)
    again = await kept(store)
    assert (again.live, await store.in_flight(), await store.next_due()) == ({}, 0, None)
    assert {name: settled.look_of for name, settled in again.settled.items()} == {look.action.action_id: "a", "a": None}


async def test_a_block_that_raises_leaves_a_recheck_as_it_was(store):
    await recheck(store)
    before = await kept(store)

    async def ask_and_fail():
        async with store.session("s") as session:
            session.expire(now=11.5, wall_ns=0, policy=POLICY)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await ask_and_fail()
    assert await kept(store) == before
    assert await store.next_due() == 11.5


async def test_a_block_that_raises_changes_nothing(store):
    await dispatch(store)
    before = await kept(store)

    async def change_and_fail():
        async with store.session("s") as session:
            session.settle("a", None, DONE)
            session.park(an_action("b"))
            session.last_poll_at = 9.0
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await change_and_fail()
    assert await kept(store) == before
    assert await store.session_of("s/a/0.0") == "s"
    assert await store.next_due() == 30.0


async def test_a_block_that_raises_makes_no_session(store):
    async def start_and_fail():
        async with store.session("s") as session:
            session.park(an_action())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await start_and_fail()
    assert await store.known("s") is False


async def test_sessions_that_are_due_are_named_earliest_first(store):
    for name, timeout_s in (("late", 30.0), ("early", 10.0), ("middle", 20.0), ("far", 500.0)):
        await dispatch(store, name, timeout_s=timeout_s)
    assert await store.next_due() == 10.0
    assert await store.due(9.9, 10) == []
    assert await store.due(30.0, 10) == ["early", "middle", "late"]


async def test_no_more_sessions_are_named_than_asked_for_and_the_rest_is_named_next(store):
    for number in range(5):
        await dispatch(store, f"s{number}", timeout_s=10.0 + number)
    first = await store.due(100.0, 2)
    assert first == ["s0", "s1"]
    for name in first:
        await give_up(store, name)
    assert await store.due(100.0, 10) == ["s2", "s3", "s4"]


async def test_a_session_that_was_swept_is_not_named_again(store):
    await dispatch(store)
    assert await store.due(30.0, 10) == ["s"]
    await give_up(store)
    assert await store.due(10**6, 10) == []
    assert await store.next_due() is None


async def test_a_session_that_was_named_and_only_looked_at_is_named_again(store):
    await dispatch(store)
    assert await store.due(30.0, 10) == ["s"]
    await kept(store)
    assert await store.due(30.0, 10) == ["s"]


async def test_the_deadline_follows_a_heartbeat_a_report_and_a_pause(store):
    await dispatch(store)
    async with store.session("s") as session:
        session.extend("s/a/0.0", now=20.0, policy=POLICY)
    assert await store.next_due() == 50.0
    assert await store.due(49.0, 10) == []
    async with store.session("s") as session:
        session.hold(Pause(PauseReason.OPERATOR, "", 30.0))
    assert await store.next_due() is None
    assert await store.due(10**6, 10) == []
    async with store.session("s") as session:
        session.resume(130.0)
    assert await store.next_due() == 150.0
    async with store.session("s") as session:
        session.settle("a", None, DONE)
    assert await store.next_due() is None


async def test_a_deferred_session_is_not_named_before_its_time(store):
    await dispatch(store)
    await store.due(30.0, 10)
    await store.defer("s", 90.0)
    await kept(store)
    assert await store.next_due() == 90.0
    assert await store.due(89.9, 10) == []
    assert await store.due(90.0, 10) == ["s"]


async def test_a_deferral_ends_with_what_it_was_for(store):
    await dispatch(store)
    await store.due(30.0, 10)
    await store.defer("s", 90.0)
    async with store.session("s") as session:
        session.settle("a", None, DONE)
    await dispatch(store, action_id="b", now=40.0)
    assert await store.next_due() == 70.0


async def test_a_token_names_its_session_while_it_is_in_flight(store):
    await dispatch(store, "s1")
    await dispatch(store, "s2")
    assert await store.session_of("s2/a/0.0") == "s2"
    assert await store.in_flight() == 2
    async with store.session("s2") as session:
        session.settle("a", None, DONE)
    assert await store.session_of("s2/a/0.0") is None
    assert await store.session_of("forged") is None
    assert await store.in_flight() == 1


async def test_dead_letters_are_listed_oldest_first(store):
    for name, wall_ns in (("s1", 30), ("s2", 10), ("s3", 20)):
        await dispatch(store, name)
        await give_up(store, name, wall_ns=wall_ns)
    assert [letter.delivery.action.session_id for letter in await store.dead_letters()] == ["s2", "s3", "s1"]
    assert await store.in_flight() == 0
    async with store.session("s3") as session:
        session.redrive(dead_letter_id("s3", "a", 0))
    assert len(await store.dead_letters()) == 2
