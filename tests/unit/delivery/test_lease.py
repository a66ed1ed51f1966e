from __future__ import annotations

from dataclasses import fields

import pytest
from delivery_kit import an_action

from otel_validation.delivery.lease import Delivery, DeliveryState, Lease

NEW = Delivery(an_action(), DeliveryState.WAITING)


def test_a_heartbeat_gives_a_full_timeout_from_now():
    lease = Lease("t", 1, 100.0, 130.0, 30.0).extended(120.0, total_s=600.0)
    assert (lease.deadline, lease.heartbeats) == (150.0, 1)


def test_heartbeats_end_at_the_total_deadline():
    lease = Lease("t", 1, 100.0, 130.0, 30.0)
    for now in (120.0, 145.0, 150.0):
        lease = lease.extended(now, total_s=60.0)
    assert (lease.deadline, lease.heartbeats) == (160.0, 3)


def test_a_heartbeat_never_shortens():
    assert Lease("t", 1, 100.0, 190.0, 30.0).extended(120.0, total_s=60.0).deadline == 190.0


def test_attempts_are_numbered_and_every_token_stays_known():
    first = NEW.dispatched(token="t1", now=0.0, timeout_s=30.0)
    second = first.orphaned(yields=True).dispatched(token="t2", now=40.0, timeout_s=30.0)
    assert (second.attempts, second.tokens, second.former) == (2, ("t1", "t2"), ("t1",))
    assert second.lease == Lease("t2", 2, 40.0, 70.0, 30.0)
    assert second.yields is False


@pytest.mark.parametrize("now", [0.0, 100.0])
def test_the_first_dispatch_is_remembered_at_zero_too(now):
    """A clock may start at zero, as a virtual loop's does: zero is a time, not a missing one."""
    first = NEW.dispatched(token="t1", now=now, timeout_s=30.0)
    assert first.orphaned(yields=False).dispatched(token="t2", now=now + 31, timeout_s=30.0).first_dispatched_at == now


def test_what_waits_for_its_first_dispatch_is_never_due():
    assert NEW.due_at is None


def test_a_delivery_is_due_at_its_deadline_or_when_its_judgement_took_too_long():
    flying = NEW.dispatched(token="t", now=0.0, timeout_s=30.0)
    assert flying.due_at == 30.0
    judged = Delivery(flying.action, flying.state, attempts=1, lease=flying.lease, judged_until=120.0)
    assert judged.due_at == 120.0
    assert judged.being_judged(119.9)
    assert not judged.being_judged(120.0)
    assert not flying.being_judged(0.0)


def test_a_resend_is_due_when_nobody_polled_for_it():
    waiting = NEW.dispatched(token="t", now=0.0, timeout_s=30.0).orphaned(yields=False, unpolled_until=90.0)
    assert waiting.due_at == 90.0
    assert waiting.dispatched(token="u", now=50.0, timeout_s=30.0).due_at == 80.0
    assert waiting.given_up().due_at is None


def test_a_redrive_has_a_fresh_budget_and_the_old_tokens():
    dead = NEW.dispatched(token="t", now=0.0, timeout_s=30.0).orphaned(yields=False, unpolled_until=90.0).given_up()
    redriven = dead.redriven()
    assert (redriven.attempts, redriven.retry, redriven.tokens, redriven.due_at) == (0, 1, ("t",), None)


def test_a_pause_moves_every_moment_that_is_to_come():
    flying = NEW.dispatched(token="t", now=0.0, timeout_s=30.0)
    paused = flying.shifted(100.0)
    assert paused.due_at == 130.0
    waiting = flying.orphaned(yields=False, unpolled_until=90.0).shifted(100.0)
    assert waiting.due_at == 190.0
    assert NEW.shifted(100.0) == NEW
    judged = Delivery(flying.action, flying.state, lease=flying.lease, judged_until=120.0).shifted(100.0)
    assert judged.judged_until == 220.0


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda d: d.orphaned(yields=True, unpolled_until=7.0), {"state", "yields", "unpolled_until", "judged_until"}),
        (
            lambda d: d.dispatched(token="t9", now=50.0, timeout_s=30.0),
            {"state", "attempts", "lease", "former", "judged_until", "yields", "unpolled_until"},
        ),
    ],
)
def test_a_transition_changes_only_what_it_is_for(change, kept):
    """The transitions of the hot path name every field: one that is added later must not be lost there."""
    lease = Lease("t2", 2, 10.0, 40.0, 30.0, heartbeats=1)
    before = Delivery(
        an_action(),
        DeliveryState.IN_FLIGHT,
        3,
        2,
        lease,
        ("t1",),
        5.0,
        judged_until=60.0,
        yields=False,
        unpolled_until=1.0,
    )
    after = change(before)
    same = {f.name for f in fields(Delivery)} - kept
    assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}
