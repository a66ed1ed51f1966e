"""What a session remembers of settled actions."""

import pytest

from otel_validation.delivery.outcome import Settled
from otel_validation.delivery.settlements import REMEMBERED, Settlements


def settled(action_id, attempts=1):
    return Settled(action_id=action_id, retry=0, attempts=attempts, tokens=(), outcome=None)


def kept(*action_ids):
    settlements = Settlements()
    for action_id in action_ids:
        settlements.remember(settled(action_id))
    settlements.keep()
    return settlements


def test_changes_are_seen_before_they_are_kept():
    settlements = kept("a", "b")
    settlements.remember(settled("c"))
    settlements.forget("a")
    assert list(settlements) == ["b", "c"]
    assert len(settlements) == 2
    assert "a" not in settlements
    with pytest.raises(KeyError):
        settlements["a"]


def test_changes_are_undone_as_if_they_had_never_been():
    settlements = kept("a", "b")
    settlements.remember(settled("a", attempts=2))
    settlements.remember(settled("c"))
    settlements.forget("b")
    settlements.undo()
    assert dict(settlements) == {"a": settled("a"), "b": settled("b")}
    settlements.keep()
    assert dict(settlements) == {"a": settled("a"), "b": settled("b")}


def test_what_is_remembered_again_is_the_latest():
    settlements = kept("a", "b")
    settlements.remember(settled("a", attempts=2))
    assert list(settlements) == ["b", "a"]
    settlements.keep()
    assert list(settlements) == ["b", "a"]
    assert settlements["a"].attempts == 2


def test_what_is_forgotten_before_it_is_kept_leaves_nothing():
    settlements = Settlements()
    settlements.remember(settled("a"))
    settlements.forget("a")
    settlements.forget("b")
    assert not settlements
    settlements.keep()
    assert not settlements


def test_the_oldest_are_forgotten_once_they_are_kept():
    settlements = kept(*(f"a{number}" for number in range(REMEMBERED + 2)))
    assert next(iter(settlements)) == "a2"
    assert len(settlements) == REMEMBERED


def test_none_is_false_and_any_is_true():
    assert not Settlements()
    settlements = kept("a")
    assert settlements
    settlements.forget("a")
    assert not settlements
