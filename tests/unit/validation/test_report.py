from __future__ import annotations

import pytest

from otel_validation.delivery.action import LONGEST_ID, Point
from otel_validation.validation.report import Report

IDS = {"session_id": "s", "action_id": "a"}


def read(**fields):
    report = Report.from_json({**IDS, **fields})
    assert report is not None
    return report


@pytest.mark.parametrize("missing", ["session_id", "action_id"])
@pytest.mark.parametrize("value", [None, "", 3, "x" * (LONGEST_ID + 1)])
def test_a_report_names_its_session_and_its_action(missing, value):
    assert Report.from_json({**IDS, missing: value}) is None


@pytest.mark.parametrize(
    ("sent", "success"), [(True, True), (False, False), (None, None), ("true", None), (1, None), ([], None)]
)
def test_g01_only_a_bool_says_success(sent, success):
    """G01: null, 'true' and 1 are unknown, never a success."""
    assert read(success=sent).success is success


def test_g01_a_missing_success_is_unknown():
    """G01."""
    assert read().success is None


@pytest.mark.parametrize(
    ("sent", "position", "given"),
    [
        ({"x_pct": 0.0, "y_pct": 0.0}, Point(0.0, 0.0), True),
        ({"x_pct": float("nan"), "y_pct": 0.5}, None, True),
        ("left", None, True),
        (0, None, True),
        (None, None, False),
        ({}, None, False),
    ],
)
def test_a_position_that_cannot_be_used_is_not_a_missing_one(sent, position, given):
    report = read(actual_position=sent)
    assert (report.position, report.position_given) == (position, given)


def test_a_missing_position():
    assert read().position_given is False


@pytest.mark.parametrize("field", ["screenshot_before", "screenshot_after"])
def test_either_screenshot_is_something_to_judge(field):
    assert read(**{field: "aGVsbG8="}).has_screenshot


@pytest.mark.parametrize("sent", [None, "", 3, {"path": "/etc/passwd"}])
def test_what_is_no_text_is_no_screenshot(sent):
    assert not read(screenshot_after=sent).has_screenshot


def test_everything_else_is_text_or_nothing():
    report = read(delivery_token="t", error="no", window={"title": "x"}, traceparent="00-1")
    assert (report.token, report.error, report.window, report.traceparent) == ("t", "no", {"title": "x"}, "00-1")
    nothing = read(delivery_token=3, error=["no"], window="x", traceparent=0)
    assert (nothing.token, nothing.error, nothing.window, nothing.traceparent) == (None, None, None, None)
