"""A report's value as JSON: limits, paths, reading."""

import pytest

from otel_validation.validation.schema import jsonvalue
from otel_validation.validation.schema.jsonvalue import DEEPEST, LONGEST_TEXT, beyond_limits, path, read_json


def nested(levels):
    value = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("value", [None, 0, "", True, 1.5, [], {}, [{"a": [1, "b"]}], nested(DEEPEST)])
def test_what_is_within_the_limits(value):
    assert beyond_limits(value) is None


@pytest.mark.parametrize("levels", [DEEPEST + 1, 1_000, 100_000])
def test_f11_too_deep_a_value_is_refused_without_recursion(levels):
    assert beyond_limits(nested(levels)) == f"at most {DEEPEST} levels"


def test_the_limit_of_levels_may_be_another():
    assert beyond_limits(nested(DEEPEST + 1), deepest=DEEPEST + 1) is None


@pytest.mark.parametrize("value", [[0] * 60_000, [[0] * 300] * 300, {str(i): 0 for i in range(60_000)}])
def test_too_many_values_are_refused(value):
    assert beyond_limits(value) == "at most 50,000 values"


@pytest.mark.parametrize(
    "value", ["x" * (LONGEST_TEXT + 1), {"x" * (LONGEST_TEXT + 1): 1}, ["x" * 1_000] * 1_001, {"a": {"b": "x" * 10**7}}]
)
def test_too_much_text_is_refused(value):
    assert beyond_limits(value) == "at most 1,000,000 characters"


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {"b": -float("inf")}}])
def test_numbers_that_json_has_not_are_refused(value):
    assert beyond_limits(value) == "finite numbers"


def test_a_path_names_what_is_declared_and_hides_what_was_sent():
    names = frozenset({"rows", "a" * 100})
    assert path("value", ["rows", 3, "Jeanne Martin"], names) == "value.rows[3].*"
    assert path("value", ["a" * 100], names) == f"value.{'a' * jsonvalue.LONGEST_NAME}"
    assert path("value", [], names) == "value"


def test_json_is_read():
    assert read_json('{"a": [1, "b"]}') == {"a": [1, "b"]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        '{"a": -Infinity}',
        '{"a": 1, "a": 1}',
        "[" * 100_000,
        "1" * 5_000,
        '"' + "x" * LONGEST_TEXT + '"',
    ],
)
def test_f11_a_text_that_is_no_json_or_ambiguous_is_a_value_error(text):
    with pytest.raises(ValueError, match=r".*") as caught:
        read_json(text)
    assert not isinstance(caught.value, RecursionError)
