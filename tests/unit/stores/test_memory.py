"""What only the in-memory store promises: bounded memory."""

from __future__ import annotations

import pytest
from delivery_kit import a_desk, a_report, an_action

from otel_validation.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio


async def settle(desk, session_id):
    desk.host_has(an_action(session_id=session_id))
    ticket = await desk.take(session_id)
    await desk.engine.report(a_report(token=ticket.lease.token, session_id=session_id))


async def test_the_least_recently_used_idle_session_is_forgotten():
    desk = a_desk(store=MemoryStore(idle_sessions=2))
    for name in ("s1", "s2"):
        await settle(desk, name)
    await desk.engine.poll("s1")
    await settle(desk, "s3")
    assert [await desk.store.known(name) for name in ("s1", "s2", "s3")] == [True, False, True]


async def test_sessions_that_wait_for_an_operator_or_a_report_are_never_forgotten():
    desk = a_desk(store=MemoryStore(idle_sessions=1))
    desk.host_has(an_action(resend="never", session_id="dead"))
    await desk.take("dead")
    await desk.after(30)
    await desk.engine.resume("dead")
    await desk.engine.pause("paused")
    await desk.engine.dispatch(an_action(session_id="flying"))
    for number in range(10):
        await settle(desk, f"s{number}")
    assert all([await desk.store.known(name) for name in ("dead", "paused", "flying")])
    assert len(desk.store._sessions) == 4


async def test_polls_of_sessions_without_work_leave_nothing_behind():
    store = MemoryStore()
    for number in range(100):
        async with store.session(f"s{number}") as session:
            session.last_poll_at = 1.0
    assert (store._sessions, store._idle, store._tokens) == ({}, {}, {})


async def test_outdated_deadlines_do_not_pile_up():
    desk = a_desk()
    desk.host_has(an_action())
    token = (await desk.take()).lease.token
    for _ in range(5_000):
        desk.clock.advance(0.1)
        await desk.engine.extend(token)
    assert len(desk.store._heap) < 100
    assert await desk.engine.next_due() == desk.clock.now() + 30


async def test_a_session_that_is_over_leaves_no_index_entries():
    desk = a_desk()
    await settle(desk, "s")
    assert (desk.store._tokens, desk.store._running, desk.store._scheduled) == ({}, {}, {})
    assert await desk.engine.next_due() is None
