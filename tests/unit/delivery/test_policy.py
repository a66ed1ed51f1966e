from __future__ import annotations

import pytest
from delivery_kit import an_action

from otel_validation.delivery.policy import DeliveryPolicy, RepushPosition


@pytest.mark.parametrize(
    ("action", "seconds"),
    [
        (an_action(), 30.0),
        (an_action(kind="wait"), 60.0),
        (an_action(kind="verify_screen"), 60.0),
        (an_action(kind="ai_summarize"), 90.0),
        (an_action(kind="wait", visibility_timeout_s=5), 5.0),
        (an_action(visibility_timeout_s=-5), 30.0),
        (an_action(visibility_timeout_s=10_000), 600.0),
    ],
)
def test_the_lease_is_the_actions_own_then_its_types_then_the_default(action, seconds):
    assert DeliveryPolicy().timeout_for(action) == seconds


def test_the_seeds_defaults():
    policy = DeliveryPolicy()
    assert (policy.enabled, policy.max_resends, policy.repush) == (True, 2, RepushPosition.HEAD)


@pytest.mark.parametrize(("attempts", "allowed"), [(1, True), (2, True), (3, False)])
def test_two_resends_after_the_first_delivery(attempts, allowed):
    assert DeliveryPolicy().may_resend(an_action(), attempts) is allowed


@pytest.mark.parametrize(
    ("action", "policy"),
    [
        (an_action(resend="never"), DeliveryPolicy()),
        (an_action(kind="save"), DeliveryPolicy(never_resend=frozenset({"save"}))),
    ],
)
def test_an_action_or_its_type_may_forbid_a_resend(action, policy):
    assert policy.may_resend(action, 1) is False


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 60.0), (2, 30.0), (3, 30.0)])
def test_a_resend_waits_as_long_as_the_deliveries_left_would_take(attempts, seconds):
    assert DeliveryPolicy().patience_for(an_action(), attempts) == seconds
