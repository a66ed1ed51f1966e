"""What engines share: the order of lines, boxes around corners, where characters stand."""

from __future__ import annotations

import pytest

from otel_validation.vision.ocr.engine import TextBox, char_centres, nearest, upright


def line(text, x, y):
    return TextBox(text, (x, y, x + 40, y + 20), 1.0)


LINES = [line("low", 10, 80), line("right", 60, 10), line("left", 10, 10)]


def test_without_a_point_lines_come_in_reading_order():
    assert [each.text for each in nearest(LINES, None, None)] == ["left", "right", "low"]
    assert [each.text for each in nearest(LINES, None, 1)] == ["left"]


def test_with_a_point_the_nearest_comes_first_and_limit_cuts_the_rest():
    assert [each.text for each in nearest(LINES, (90, 15), 2)] == ["right", "left"]
    assert nearest([], (0, 0), 3) == []


def test_the_box_of_a_tilted_quadrilateral_is_upright():
    assert upright([[10, 5], [50, 2], [52, 18], [12, 20]]) == (10.0, 2.0, 52.0, 20.0)


@pytest.mark.parametrize(
    ("text", "seen", "centres"),
    [
        ("OK", [("O", 5), ("K", 9)], (5, 9)),
        ("a b", [("a", 2), ("b", 10)], (2, 6, 10)),
        (" a ", [("a", 2)], (2, 2, 2)),
        ("a  b", [("a", 2), ("b", 10)], (2, 6, 8, 10)),
        ("", [], ()),
    ],
)
def test_each_character_has_a_centre_and_a_space_stands_midway(text, seen, centres):
    assert char_centres(text, seen) == centres


@pytest.mark.parametrize(
    "seen", [[], [("a", 1)], [("a", 1), ("c", 2)], [("a", 2), ("b", 1)], [("a", 1), ("b", 2), ("c", 3)]]
)
def test_centres_that_do_not_spell_the_text_from_left_to_right_are_none(seen):
    assert char_centres("a b", seen) == ()
