import pytest

from otel_validation.delivery.action import Action, Point
from otel_validation.errors import UnplacedError
from otel_validation.validation.place import Place, guess_scale, place_of
from otel_validation.validation.report import Report

SIZE = (1280, 800)


def action(**payload):
    return Action("a1", "click", "s1", "m1", payload)


def report(position=None, *, given=None, window=None):
    return Report(
        session_id="s1",
        action_id="a1",
        position=position,
        position_given=position is not None if given is None else given,
        window=window,
    )


@pytest.mark.parametrize(("at", "pixel"), [((0.0, 0.0), (0, 0)), ((1.0, 1.0), (1279, 799)), ((0.5, 0.25), (640, 200))])
def test_fractions_are_pixels_of_the_screenshot(at, pixel):
    assert place_of(action(), report(Point(*at)), SIZE) == Place(*pixel, 1.0, known=False)


def test_the_reported_position_wins_over_the_aim():
    aimed = action(x_pct=0.5, y_pct=0.5)
    assert place_of(aimed, report(), SIZE).x == 640
    assert place_of(aimed, report(Point(0.0, 0.0)), SIZE).x == 0


@pytest.mark.parametrize("at", [(-0.1, 0.5), (0.5, 1.1), (1e9, 0.5)])
def test_a_position_outside_is_not_moved_inside(at):
    with pytest.raises(UnplacedError, match="outside the screen"):
        place_of(action(x_pct=0.5, y_pct=0.5), report(Point(*at)), SIZE)


def test_a_position_that_cannot_be_used_is_not_replaced_by_the_aim():
    with pytest.raises(UnplacedError, match="cannot be used"):
        place_of(action(x_pct=0.5, y_pct=0.5), report(given=True), SIZE)
    with pytest.raises(UnplacedError, match="no position"):
        place_of(action(), report(), SIZE)


def test_the_scale_is_the_declared_one_else_that_of_the_size():
    assert guess_scale((1280, 720)) == 1.0
    assert guess_scale((3840, 2160)) == 2.0
    centre = Point(0.5, 0.5)
    assert place_of(action(), report(centre, window={"dpi_scale": 1.5}), SIZE) == Place(640, 400, 1.5, known=True)
    for absurd in (0, 90, "huge", None, True):
        assert place_of(action(), report(centre, window={"dpi_scale": absurd}), (3840, 2160)).scale == 2.0
