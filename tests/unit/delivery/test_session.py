"""The session's rules where they are not told as a field case or a seed's defect."""

from __future__ import annotations

import pytest
from delivery_kit import COMPLETE, an_action

from otel_validation.delivery.lease import DeliveryState, GiveUpCause
from otel_validation.delivery.outcome import Outcome, Pause, PauseReason, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.session import Session, dead_letter_id
from otel_validation.delivery.settlements import REMEMBERED
from otel_validation.delivery.standing import Gate, Settlement, Standing
from otel_validation.validation.routing import Route

POLICY = DeliveryPolicy()
DISABLED = DeliveryPolicy(enabled=False)
DONE = Outcome(success=True, error=None, route=Route.CONTINUE, result=COMPLETE)
FAILED = Outcome(success=False, error="no", route=Route.CONTINUE, result=COMPLETE)


class Desktop:
    """A session with its policy and tokens t1, t2, ... in hand."""

    def __init__(self, policy=POLICY):
        self.session, self.policy, self.count = Session("s"), policy, 0

    def token(self):
        self.count += 1
        return f"t{self.count}"

    def dispatch(self, action_id="a", now=0.0, **fields):
        return self.session.dispatch(an_action(action_id, **fields), token=self.token(), now=now, policy=self.policy)

    def hand_out(self, now):
        return self.session.hand_out(token=self.token(), now=now, policy=self.policy)

    def expire(self, now):
        return self.session.expire(now=now, wall_ns=0, policy=self.policy)

    def pause(self, now):
        return self.session.hold(Pause(PauseReason.OPERATOR, "", now))

    def dead(self):
        """Dispatch and let it be given up at once."""
        self.dispatch(resend="never")
        (expiry,) = self.expire(30.0)
        return expiry.dead


def test_the_gate_of_a_session():
    desktop = Desktop()
    session = desktop.session
    assert session.gate(0.0) is Gate.OPEN
    desktop.dispatch()
    assert session.gate(1.0) is Gate.HELD
    assert session.gate(1.0, serial=False) is Gate.OPEN
    desktop.expire(30.0)
    assert session.gate(31.0) is Gate.WAITING
    session.hold_for_judging("a", until=40.0)
    assert session.gate(39.0) is Gate.HELD
    assert session.gate(40.0) is Gate.WAITING
    desktop.pause(41.0)
    assert session.gate(42.0) is Gate.PAUSED


def test_the_hosts_queue_goes_first_with_tail_repush():
    desktop = Desktop(DeliveryPolicy(repush="tail"))
    desktop.dispatch()
    desktop.expire(30.0)
    assert desktop.session.gate(31.0) is Gate.HOST_FIRST
    assert desktop.dispatch("b", now=31.0) is not None
    assert list(desktop.session.live) == ["a", "b"]


def test_a_parked_action_goes_before_a_resend_that_yields():
    desktop = Desktop(DeliveryPolicy(repush="tail"))
    desktop.dispatch()
    desktop.expire(30.0)
    desktop.session.park(an_action("b"))
    assert desktop.session.gate(31.0) is Gate.WAITING
    assert desktop.hand_out(31.0).action.action_id == "b"


def test_head_repush_puts_the_orphan_before_what_was_parked_behind_it():
    desktop = Desktop()
    desktop.dispatch("a")
    desktop.dispatch("b")
    desktop.expire(30.0)
    assert list(desktop.session.live) == ["a", "b"]
    assert desktop.hand_out(31.0).action.action_id == "a"


def test_tail_repush_puts_the_orphan_behind_what_was_parked():
    desktop = Desktop(DeliveryPolicy(repush="tail"))
    desktop.dispatch("a")
    desktop.dispatch("b")
    desktop.expire(30.0)
    assert desktop.hand_out(31.0).action.action_id == "b"


def test_nothing_overtakes_what_waits():
    """The host let B go for a poll that passed before A was parked: A still leaves first."""
    desktop = Desktop()
    desktop.session.park(an_action("a"))
    assert desktop.dispatch("b") is None
    assert desktop.hand_out(1.0).action.action_id == "a"


def test_the_action_that_waits_may_be_dispatched_by_the_host_itself():
    desktop = Desktop()
    desktop.dispatch()
    desktop.expire(30.0)
    delivery = desktop.dispatch(now=31.0)
    assert (delivery.attempts, delivery.retry) == (2, 0)


def test_parked_actions_leave_in_the_order_they_were_parked_in():
    session = Session("s")
    for name in ("a", "b", "a"):
        session.park(an_action(name))
    assert list(session.live) == ["a", "b"]


def test_a_disabled_policy_holds_nothing_back_and_hands_out_what_was_parked():
    desktop = Desktop(DISABLED)
    assert desktop.dispatch("a") is not None
    assert desktop.dispatch("b") is not None
    desktop.session.park(an_action("c"))
    assert desktop.session.gate(1.0, serial=False) is Gate.WAITING


def test_nothing_to_hand_out():
    assert Desktop().hand_out(0.0) is None


def test_an_action_dispatched_again_after_it_was_over_is_a_business_retry():
    desktop = Desktop()
    desktop.dispatch()
    desktop.session.settle("a", "t1", FAILED)
    again = desktop.dispatch(now=5.0)
    assert (again.retry, again.attempts) == (1, 1)
    assert not desktop.session.settled
    desktop = Desktop()
    desktop.dead()
    assert desktop.dispatch(now=40.0, resend="never").retry == 1
    assert desktop.session.dead == {}


@pytest.mark.parametrize(
    ("token", "standing"),
    [("t1", Standing.LATE_SUPERSEDED), ("t2", Standing.CURRENT), (None, Standing.CURRENT), ("x", Standing.UNKNOWN)],
)
def test_the_standing_of_a_report_while_a_resend_is_in_flight(token, standing):
    desktop = Desktop()
    desktop.dispatch()
    desktop.expire(30.0)
    desktop.hand_out(31.0)
    assert desktop.session.standing("a", token) is standing


@pytest.mark.parametrize(
    ("token", "standing"), [("t1", Standing.LATE_WAITING), (None, Standing.LATE_WAITING), ("x", Standing.UNKNOWN)]
)
def test_the_standing_of_a_report_while_a_resend_waits(token, standing):
    desktop = Desktop()
    desktop.dispatch()
    desktop.expire(30.0)
    assert desktop.session.standing("a", token) is standing


@pytest.mark.parametrize(
    ("token", "standing"), [("t1", Standing.SETTLED), (None, Standing.SETTLED), ("x", Standing.UNKNOWN)]
)
def test_the_standing_of_a_report_of_a_settled_action(token, standing):
    desktop = Desktop()
    desktop.dispatch()
    desktop.session.settle("a", "t1", DONE)
    assert desktop.session.standing("a", token) is standing


@pytest.mark.parametrize(
    ("token", "standing"), [("t1", Standing.LATE_DEAD), (None, Standing.LATE_DEAD), ("x", Standing.UNKNOWN)]
)
def test_the_standing_of_a_report_of_a_dead_letter(token, standing):
    desktop = Desktop()
    desktop.dead()
    assert desktop.session.standing("a", token) is standing


def test_a_report_of_an_action_that_never_left_is_unknown():
    session = Session("s")
    session.park(an_action())
    assert session.standing("a", None) is Standing.UNKNOWN
    assert session.settle("a", None, DONE) == Settlement(ReportStatus.UNKNOWN)


def test_a_duplicate_is_one_while_the_business_retry_waits_to_leave():
    desktop = Desktop()
    desktop.dispatch()
    desktop.session.settle("a", "t1", FAILED)
    desktop.pause(1.0)
    assert desktop.dispatch(now=2.0) is None
    assert desktop.session.standing("a", "t1") is Standing.SETTLED


def test_a_late_success_settles_a_redriven_action_before_it_leaves_again():
    desktop = Desktop()
    letter = desktop.dead()
    desktop.session.redrive(letter.dead_letter_id)
    done = desktop.session.settle("a", "t1", DONE)
    assert done.status is ReportStatus.STALE_ADOPTED
    assert done.settled.state is DeliveryState.SETTLED
    assert desktop.session.live == {}


def test_a_late_success_settles_while_a_newer_attempt_is_in_flight_and_a_failure_does_not():
    desktop = Desktop()
    desktop.dispatch()
    desktop.expire(30.0)
    desktop.hand_out(31.0)
    assert desktop.session.settle("a", "t1", FAILED) == Settlement(ReportStatus.STALE_REJECTED)
    assert desktop.session.settle("a", "t1", DONE).status is ReportStatus.STALE_ADOPTED
    assert desktop.session.settle("a", "t2", DONE) == Settlement(ReportStatus.DUPLICATE)


def test_a_rejected_late_report_does_not_lengthen_the_lease_in_flight():
    desktop = Desktop()
    desktop.dispatch()
    desktop.expire(30.0)
    desktop.hand_out(31.0)
    desktop.session.hold_for_judging("a", until=500.0)
    assert desktop.session.next_due() == 500.0
    desktop.session.settle("a", "t1", FAILED)
    assert desktop.session.next_due() == 61.0


def test_late_reports_are_counted_with_the_dead_letter_only():
    session = Session("s")
    session.note_late_report("a")
    desktop = Desktop()
    desktop.dead()
    desktop.session.note_late_report("a")
    desktop.session.note_late_report("b")
    assert desktop.session.dead["a"].late_reports == 1


def test_a_heartbeat_extends_the_attempt_in_flight_only():
    desktop = Desktop()
    desktop.dispatch()
    assert desktop.session.extend("t1", now=20.0, policy=POLICY).due_at == 50.0
    assert desktop.session.extend("x", now=20.0, policy=POLICY) is None
    desktop.expire(50.0)
    assert desktop.session.extend("t1", now=51.0, policy=POLICY) is None


def test_a_heartbeat_in_a_pause_counts_from_where_the_clocks_stopped():
    desktop = Desktop()
    desktop.dispatch()
    desktop.pause(10.0)
    desktop.session.extend("t1", now=500.0, policy=POLICY)
    desktop.session.resume(1_010.0)
    assert desktop.session.next_due() == 1_040.0


def test_a_pause_stops_the_clocks_and_a_resume_gives_the_time_back():
    desktop = Desktop()
    desktop.dispatch()
    assert desktop.pause(10.0)
    assert not desktop.pause(11.0)
    assert desktop.session.next_due() is None
    assert desktop.expire(10_000.0) == []
    assert desktop.session.resume(110.0)
    assert not desktop.session.resume(111.0)
    assert desktop.session.next_due() == 130.0


def test_a_pause_from_the_future_gives_no_time_away():
    desktop = Desktop()
    desktop.dispatch()
    desktop.pause(10.0)
    desktop.session.resume(5.0)
    assert desktop.session.next_due() == 30.0


def cause_after(desktop, *, now, polled_at, heartbeat_at=None):
    if heartbeat_at is not None:
        desktop.session.extend(f"t{desktop.count}", now=heartbeat_at, policy=desktop.policy)
    desktop.session.last_poll_at = polled_at
    (expiry,) = desktop.expire(now)
    return expiry.dead.cause


def test_the_cause_of_a_give_up():
    for polled_at, heartbeat_at, now, cause in [
        (None, None, 30.0, GiveUpCause.AGENT_DEAD),
        (0.0, None, 30.0, GiveUpCause.AGENT_DEAD),
        (0.1, None, 30.0, GiveUpCause.REPORT_LOST),
        (20.0, 20.0, 50.0, GiveUpCause.AGENT_SLOW),
    ]:
        desktop = Desktop(DeliveryPolicy(max_resends=0))
        desktop.dispatch()
        assert cause_after(desktop, now=now, polled_at=polled_at, heartbeat_at=heartbeat_at) is cause


def test_a_resend_that_was_forbidden_says_so():
    assert Desktop().dead().cause is GiveUpCause.ACTION_POISON


def test_cancelling_withdraws_everything_and_lifts_a_pause():
    desktop = Desktop()
    desktop.dispatch("a")
    desktop.dispatch("b")
    desktop.pause(5.0)
    withdrawn = desktop.session.cancel()
    assert [d.state for d in withdrawn] == [DeliveryState.IN_FLIGHT, DeliveryState.WAITING], "as they were"
    assert desktop.session.pause is None
    assert desktop.session.standing("a", "t1") is Standing.SETTLED


def test_redriving_needs_a_dead_letter():
    assert Session("s").redrive(dead_letter_id("s", "a", 0)) is None
    desktop = Desktop()
    desktop.dead()
    assert desktop.session.redrive(dead_letter_id("s", "other", 0)) is None


def test_a_redriven_action_goes_first():
    desktop = Desktop()
    letter = desktop.dead()
    desktop.session.park(an_action("b"))
    desktop.session.redrive(letter.dead_letter_id)
    assert desktop.hand_out(40.0).action.action_id == "a"


def test_a_redriven_action_takes_the_place_of_the_copy_its_host_handed_out_again():
    desktop = Desktop()
    letter = desktop.dead()
    desktop.pause(30.0)
    desktop.session.park(an_action("b"))
    assert desktop.dispatch(now=31.0) is None
    redriven = desktop.session.redrive(letter.dead_letter_id)
    assert list(desktop.session.live) == ["a", "b"]
    assert desktop.session.live["a"] is redriven


def test_as_many_settled_actions_are_remembered_as_an_agent_remembers():
    desktop = Desktop()
    for number in range(REMEMBERED + 1):
        desktop.dispatch(f"a{number}")
        desktop.session.settle(f"a{number}", None, DONE)
    desktop.session.keep()
    assert len(desktop.session.settled) == REMEMBERED
    assert desktop.session.standing("a0", None) is Standing.UNKNOWN
    assert desktop.session.standing("a1", None) is Standing.SETTLED


def test_a_session_is_blank_until_something_is_kept():
    session = Session("s", last_poll_at=3.0)
    assert session.blank
    session.park(an_action())
    assert not session.blank


def test_a_draft_changes_alone_and_can_be_put_back():
    desktop = Desktop()
    desktop.dead()
    draft = desktop.session.draft()
    desktop.session.note_late_report("a")
    desktop.session.last_poll_at = 3.0
    desktop.session.park(an_action("b"))
    assert draft.dead["a"].late_reports == 0
    assert draft.live == {}
    desktop.session.restore(draft)
    assert desktop.session == draft
