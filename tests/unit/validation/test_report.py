from __future__ import annotations

import pytest

from otel_validation.delivery.action import LONGEST_ID, PixelPoint, Point
from otel_validation.validation.report import Captured, Report
from otel_validation.validation.window import WindowFacts

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
        ({"x_px": -800, "y_px": 300}, PixelPoint(-800.0, 300.0), True),
        ({"x_px": -800}, None, True),
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
    assert (report.token, report.error, report.window, report.traceparent) == (
        "t",
        "no",
        WindowFacts(title="x"),
        "00-1",
    )
    nothing = read(delivery_token=3, error=["no"], window="x", traceparent=0)
    assert (nothing.token, nothing.error, nothing.window, nothing.traceparent) == (None, None, None, None)


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ({"value": 0, "extracted": "x", "result": "y"}, 0),
        ({"value": "", "result": "y"}, ""),
        ({"value": False, "extracted": {}}, False),
        ({"extracted": [], "result": "y"}, []),
        ({"result": {"decision": "NA"}}, {"decision": "NA"}),
        ({"value": None, "result": 0}, 0),
        ({"value": None}, None),
    ],
)
def test_f11_the_first_value_that_is_there_counts_whatever_it_holds(sent, value):
    """F11; `value or extracted or result` drops 0 and "" (DESIGN section 9)."""
    report = read(**sent)
    assert (report.value, report.value_given) == (value, True)
    assert type(report.value) is type(value)


def test_f11_a_missing_value_is_not_a_null_one():
    assert (read().value, read().value_given) == (None, False)


def test_what_the_class_does_not_read_is_kept_as_it_was_sent():
    report = read(
        http_status=500, record_count=0, success=True, value="v", screenshot_after="aGVsbG8=", delivery_token="t"
    )
    assert report.members == {"http_status": 500, "record_count": 0, "success": True}


def test_a_repr_shows_neither_the_value_nor_the_members():
    assert "S3cret" not in repr(read(value="S3cret", detail="S3cret"))


def test_a_report_can_be_emptied_of_what_it_carries():
    report = read(value="S3cret", detail="S3cret", success=True, screenshot_after="aGVsbG8=").without_contents()
    assert (report.value, report.value_given, dict(report.members)) == (None, False, {})
    assert (report.success, report.screenshot_after) == (True, "aGVsbG8=")


class TestCaptured:
    @pytest.mark.parametrize(
        ("sent", "seconds"),
        [
            (1764590400.5, 1764590400.5),
            (1764590400500, 1764590400.5),
            ("2025-12-01T12:00:00.500Z", 1764590400.5),
            ("2025-12-01T13:00:00.500+01:00", 1764590400.5),
            ("2025-12-01T12:00:00.500", 1764590400.5),
            (0, 0.0),
            ("yesterday", None),
            (True, None),
            (float("nan"), None),
            (None, None),
        ],
    )
    def test_a_time_is_seconds_milliseconds_or_iso_8601(self, sent, seconds):
        assert read(captured_at={"after": sent}).captured == Captured(after=seconds)

    @pytest.mark.parametrize("sent", [None, 3, "now", []])
    def test_anything_else_says_nothing(self, sent):
        assert read(captured_at=sent).captured == Captured()

    def test_order(self):
        assert Captured(before=2.0, after=1.0).out_of_order
        assert Captured(action=2.0, after=1.0).out_of_order
        assert not Captured(before=1.0, action=1.5, after=2.0).out_of_order
        assert not Captured(before=1.0).out_of_order
        assert Captured(before=1.0, after=1.0).at_once
        assert not Captured().at_once
