from __future__ import annotations

import pytest
from delivery_kit import an_action

from otel_validation.delivery.action import LONGEST_ID, Action, PixelPoint, Point, finite, read_position

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0.0),
        (0.0, 0.0),
        (-1.5, -1.5),
        (NAN, None),
        (INF, None),
        (-INF, None),
        (True, None),
        ("1", None),
        (None, None),
    ],
)
def test_finite_numbers_only(value, number):
    assert finite(value) == number


def test_an_integer_too_large_for_a_float_is_not_a_number():
    assert finite(10**400) is None


@pytest.mark.parametrize(
    ("value", "point"),
    [
        ({"x_pct": 0.0, "y_pct": 0.0}, Point(0.0, 0.0)),
        ({"x_pct": 0, "y_pct": 1, "more": "ignored"}, Point(0.0, 1.0)),
        ({"x_pct": 0.5}, None),
        ({"x_pct": NAN, "y_pct": 0.5}, None),
        ({"x_pct": "0.5", "y_pct": 0.5}, None),
        ([0.5, 0.5], None),
        (None, None),
    ],
)
def test_a_point_needs_two_finite_coordinates_and_zero_is_one(value, point):
    assert Point.from_json(value) == point


@pytest.mark.parametrize(
    ("value", "position"),
    [
        ({"x_pct": 0.0, "y_pct": 0.5}, Point(0.0, 0.5)),
        ({"x_px": -800, "y_px": 300}, PixelPoint(-800.0, 300.0)),
        ({"x_px": 0, "y_px": 0.0}, PixelPoint(0.0, 0.0)),
        ({"x": 640, "y": 400}, PixelPoint(640.0, 400.0)),
        ({"x": 0, "y": 1}, PixelPoint(0.0, 1.0)),
        ({"x": 0.25, "y": 1}, Point(0.25, 1.0)),
        ({"x": 0.5, "y": 640}, PixelPoint(0.5, 640.0)),
        ({"x_pct": 0.5, "y_pct": 0.5, "x_px": 3, "y_px": 4, "x": 3, "y": 4}, Point(0.5, 0.5)),
        ({"x_pct": None, "y_pct": None, "x_px": 3, "y_px": 4}, PixelPoint(3.0, 4.0)),
        ({"x_pct": NAN, "y_pct": 0.5, "x_px": 3, "y_px": 4}, None),
        ({"x_px": 3, "x": 3, "y": 4}, None),
        ({"x": "3", "y": 4}, None),
        ({"x": True, "y": False}, None),
        ({}, None),
        (None, None),
        ([3, 4], None),
    ],
)
def test_a_position_is_fractions_or_pixels(value, position):
    assert read_position(value) == position


@pytest.mark.parametrize("action_id", [None, "", 17, "x" * (LONGEST_ID + 1), ["a"]])
def test_an_action_without_a_usable_id_is_none(action_id):
    assert Action.from_json({"action_id": action_id}, session_id="s", machine_id="m") is None


@pytest.mark.parametrize(("kind", "read"), [("click", "click"), ("", "unknown"), (None, "unknown"), (3, "unknown")])
def test_a_type_that_is_no_text_is_unknown(kind, read):
    assert an_action(kind=kind).type == read


def test_the_payload_is_carried_as_it_is():
    payload = {"action_id": "x" * LONGEST_ID, "type": "click", "anything": {"else": [1, None]}}
    action = Action.from_json(payload, session_id="s", machine_id="m")
    assert action is not None
    assert action.payload is payload


@pytest.mark.parametrize(
    ("given", "seconds"), [(45, 45.0), (0.5, 0.5), (0, None), (-3, None), (NAN, None), ("9", None)]
)
def test_its_own_visibility_timeout_is_positive_or_none(given, seconds):
    assert an_action(visibility_timeout_s=given).visibility_timeout_s == seconds


def test_without_its_own_visibility_timeout_it_has_none():
    assert an_action().visibility_timeout_s is None


@pytest.mark.parametrize(
    ("fields", "point"),
    [
        ({"x_pct": 0.0, "y_pct": 0.0, "target_spec": {"x_pct": 0.9, "y_pct": 0.9}}, Point(0.0, 0.0)),
        ({"target_spec": {"x_pct": 0.9, "y_pct": 0.8}}, Point(0.9, 0.8)),
        ({"x_pct": 0.1}, None),
    ],
)
def test_the_aim_is_its_own_coordinates_first_zero_included(fields, point):
    assert an_action(**fields).aim == point
