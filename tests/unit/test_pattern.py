"""Patterns: what they match, what is refused, and that no text makes one slow."""

import pytest

from otel_validation.clock import stopwatch
from otel_validation.errors import UnusableExpectationError
from otel_validation.pattern import LONGEST_PATTERN, LONGEST_TEXT, Pattern


def test_a_pattern_may_stand_anywhere_or_must_be_the_whole_text():
    assert Pattern(r"\d+").matches("Lit 12 nord")
    assert not Pattern(r"\d+", whole=True).matches("Lit 12 nord")
    assert not Pattern("a|b", whole=True).matches("ac")
    assert not Pattern("a$", whole=True).matches("a\n")


def test_case_counts_unless_told():
    assert not Pattern("LIT").matches("lit")
    assert Pattern("LIT", ignore_case=True).matches("lit")
    assert Pattern("ÉTÉ", ignore_case=True).matches("été")


@pytest.mark.parametrize(
    "source",
    ["(", "a)|(b", "(?=a)a", r"(a)\1", r"(\w{50}){50}", "(?x) a # b", "x" * (LONGEST_PATTERN + 1), "\ud800"],
)
def test_what_cannot_be_compiled_is_refused_and_not_quoted(source):
    with pytest.raises(UnusableExpectationError) as caught:
        Pattern(source, whole=True)
    assert source not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("source", ["(a+)+$", "(a|a)*b", "(a|aa)+$", "(.*a){30}b"])
def test_no_text_makes_a_pattern_slow(source):
    """Each takes a backtracking engine longer than this test runs: 2 to the length of the text."""
    pattern = Pattern(source, whole=True)
    began = stopwatch()
    assert not pattern.matches("a" * (LONGEST_TEXT - 1) + "!")
    assert stopwatch() - began < 5


def test_a_text_longer_than_the_limit_does_not_match():
    assert Pattern("a+", whole=True).matches("a" * LONGEST_TEXT)
    assert not Pattern("a+", whole=True).matches("a" * (LONGEST_TEXT + 1))


@pytest.mark.parametrize("text", ["\ud800", "\x00"])
def test_any_text_can_be_asked_about(text):
    assert Pattern("a").matches(text) is False
