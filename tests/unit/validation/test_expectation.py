"""What a host declares in an action."""

import pytest

from otel_validation.delivery.action import Action
from otel_validation.errors import UnusableExpectationError
from otel_validation.validation.expectation import expected_text, expects_text
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
