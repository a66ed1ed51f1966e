"""What is kept of a report until the next look: within bounds, and nothing that the next look shows anew."""

from __future__ import annotations

import pytest
from delivery_kit import a_report, an_action

from otel_validation.delivery.evidence import Evidence


def kept_of(evidence, count):
    return [number for number in range(count) if evidence.of(an_action(str(number))) is not None]


@pytest.mark.parametrize(
    "more",
    [
        {"screenshot_before": "b"},
        {"window": {"title": "x"}},
        {"value": 0, "value_given": True},
        {"members": {"http_status": 200}},
    ],
)
def test_what_is_evidence_is_kept_without_the_screenshot_that_comes_anew(more):
    evidence = Evidence()
    evidence.keep(a_report(screenshot_after="after", **more))
    assert evidence.of(an_action()) == a_report(**more)
    evidence.drop(an_action())
    evidence.drop(an_action())
    assert evidence.of(an_action()) is None


@pytest.mark.parametrize(
    "more", [{}, {"traceparent": "00-a"}, {"members": {"success": True, "error": None, "actual_position": {}}}]
)
def test_what_is_no_evidence_is_not_kept(more):
    evidence = Evidence()
    evidence.keep(a_report(screenshot_after="after", **more))
    assert evidence.of(an_action()) is None


@pytest.mark.parametrize(
    "more",
    [
        {"screenshot_before": "x" * 100},
        {"window": {"title": "x" * 100}},
        {"value": ["x" * 100], "value_given": True},
        {"members": {"log": "x" * 100}},
    ],
)
def test_the_oldest_go_where_there_are_too_many_bytes(more):
    evidence = Evidence(most_bytes=320)
    for number in range(4):
        evidence.keep(a_report(str(number), **more))
    assert kept_of(evidence, 4) in ([2, 3], [1, 2, 3])
    evidence.keep(a_report("large", screenshot_before="x" * 321))
    assert evidence.of(an_action("large")) is None
    assert kept_of(evidence, 4) in ([2, 3], [1, 2, 3])


def test_the_oldest_go_where_there_are_too_many_reports():
    evidence = Evidence(most_bytes=1000, most_reports=2)
    for number in range(3):
        evidence.keep(a_report(str(number), screenshot_before="x"))
    assert kept_of(evidence, 3) == [1, 2]
