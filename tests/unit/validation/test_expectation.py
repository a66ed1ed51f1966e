"""What a host declares in an action."""

import pytest

from otel_validation.delivery.action import Action
from otel_validation.errors import UnusableExpectationError
from otel_validation.validation.expectation import (
    Condition,
    declared_schema,
    declares_postcondition,
    expected_headers,
    expected_text,
    expects_text,
    postcondition,
)
from otel_validation.vision.expected import MOST_TEXTS, ExpectedText


def action(**payload):
    return Action("a1", "click", "s1", "m1", payload)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"by_text": "Imagerie"}, ExpectedText(("Imagerie",))),
        ({"target_spec": {"by_text": "Imagerie"}, "by_text": "other"}, ExpectedText(("Imagerie",))),
        ({"target_spec": {"by_text": " "}, "by_text": "Imagerie"}, ExpectedText(("Imagerie",))),
        ({"target_spec": "x", "by_text": ["OK", "", 3, "Valider", "OK"]}, ExpectedText(("OK", "Valider"))),
        ({"by_text": "OK", "by_text_any": ["Valider"]}, ExpectedText(("OK", "Valider"))),
        ({"target_spec": {"by_text_any": "OK"}}, ExpectedText(("OK",))),
        ({"by_text_pattern": r"\d+"}, ExpectedText(pattern=r"\d+")),
        ({"by_text": "OK", "by_text_pattern": r"\d+"}, ExpectedText(("OK",), r"\d+")),
        (
            {"target_spec": {"by_text": "côte", "accent_sensitive": True, "case_sensitive": "yes"}},
            ExpectedText(("côte",), accent_sensitive=True),
        ),
        ({"by_text": "US", "case_sensitive": True}, ExpectedText(("US",), case_sensitive=True)),
    ],
)
def test_the_expected_text_is_read_from_the_target_or_from_the_action(payload, expected):
    assert expects_text(action(**payload))
    assert expected_text(action(**payload)) == expected


@pytest.mark.parametrize(
    "payload", [{}, {"by_text": None}, {"by_text": []}, {"by_text": 3}, {"by_text": [" "]}, {"by_text_pattern": ""}]
)
def test_an_action_may_name_no_text(payload):
    assert not expects_text(action(**payload))
    with pytest.raises(UnusableExpectationError):
        expected_text(action(**payload))


@pytest.mark.parametrize("payload", [{"by_text_pattern": "("}, {"by_text": [str(i) for i in range(MOST_TEXTS + 1)]}])
def test_a_text_that_cannot_be_used_is_not_a_missing_one(payload):
    assert expects_text(action(**payload))
    with pytest.raises(UnusableExpectationError):
        expected_text(action(**payload))


RANGE = {"type": "number", "minimum": 200, "maximum": 299}


@pytest.mark.parametrize("member", ["postcondition", "expected_post"])
def test_a_post_condition_is_a_schema_a_range_or_a_value_by_member(member):
    declared = {"http_status": [200, 299], "saved": True, "fields": {"name": {"minLength": 1}, "http_status": None}}
    made = action(**{member: declared})
    assert declares_postcondition(made)
    assert postcondition(made) == [
        Condition("http_status", of_value=False, schema=RANGE),
        Condition("saved", of_value=False, schema={"const": True}),
        Condition("name", of_value=True, schema={"minLength": 1}),
        Condition("http_status", of_value=True, schema={"const": None}),
    ]


@pytest.mark.parametrize("declared", [None, {}])
def test_there_may_be_no_post_condition(declared):
    made = action(postcondition=declared)
    assert not declares_postcondition(made)
    assert postcondition(made) == []


@pytest.mark.parametrize(
    "declared", [200, "ok", [], {"fields": 3}, {"n": [1]}, {"n": [1, "2"]}, {"n": [1, float("nan")]}, {"n": [1, 2, 3]}]
)
def test_a_post_condition_that_cannot_be_used_is_not_a_missing_one(declared):
    made = action(postcondition=declared)
    assert declares_postcondition(made)
    with pytest.raises(UnusableExpectationError):
        postcondition(made)


def test_the_schema_of_a_value_is_not_the_name_of_a_databases():
    assert declared_schema(action(expected_schema={"type": "object"}, schema={})) == {"type": "object"}
    assert declared_schema(action(schema={"type": "object"})) == {"type": "object"}
    assert declared_schema(action(schema="public")) is None
    assert declared_schema(action(expected_schema="public")) == "public"
    assert declared_schema(action()) is None


def test_expected_headers():
    assert expected_headers(action(expected_headers=["Nom", "", 3, "Date"])) == ["Nom", "Date"]
    assert expected_headers(action(expected_headers={"Nom": 1})) == []
