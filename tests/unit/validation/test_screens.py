"""Which screens of a report can be judged at all (E07)."""

import pytest
from PIL import Image
from pixels_kit import Desk, encoded, subject

from otel_validation.validation.report import Captured
from otel_validation.validation.screens import STALE, Screens, Unusable, screens_of
from otel_validation.validation.verdict import FailureCategory, Verdict

SIZE = (640, 400)


@pytest.fixture(scope="module")
def desk():
    return Desk(SIZE, 0.5).image


@pytest.fixture(scope="module")
def other():
    desk = Desk(SIZE, 0.5)
    desk.page((100, 100, "Imagerie"))
    return desk.image


BLACK = Image.new("RGB", SIZE, "black")


def test_two_screens_that_show_something(desk, other):
    screens = screens_of(subject(desk, other))
    assert isinstance(screens, Screens)
    assert screens.before.size == screens.after.size == SIZE


def test_e07_black_after_is_unavailable_whatever_was_before(desk):
    for before in (desk, BLACK, None):
        unusable = screens_of(subject(before, BLACK))
        assert unusable == Unusable(FailureCategory.SCREEN_UNAVAILABLE, "the screen is blank")


def test_e07_a_black_screen_before_is_none(desk):
    assert screens_of(subject(BLACK, desk)).before is None
    assert screens_of(subject(BLACK, None)) == Unusable(FailureCategory.SCREEN_UNAVAILABLE, "the screen is blank")


def test_one_screen_is_enough(desk):
    assert screens_of(subject(None, desk)).before is None
    assert screens_of(subject(desk, None)).after is None
    assert screens_of(subject(None, None)) == Screens(None, None)


def test_what_cannot_be_read_and_what_differs_in_size(desk):
    assert screens_of(subject(desk, encoded(desk)[:400])).category is FailureCategory.IMAGE_INVALID
    resized = screens_of(subject(desk, desk.resize((600, 400))))
    assert resized == Unusable(FailureCategory.UNKNOWN, "the screens before and after differ in size")


class TestStale:
    """E07: a frame 20 s old, byte for byte."""

    def test_equal_screens_alone_are_no_stale_frame(self, desk):
        assert isinstance(screens_of(subject(desk, desk)), Screens)
        assert isinstance(screens_of(subject(desk, desk, captured=Captured(before=100.0, after=101.0))), Screens)

    @pytest.mark.parametrize("captured", [Captured(before=100.0, after=80.0), Captured(action=100.0, after=80.0)])
    def test_e07_a_screen_captured_before_the_action_is_stale(self, desk, other, captured):
        for after in (desk, other):
            found = screens_of(subject(desk, after, captured=captured))
            assert found == Unusable(FailureCategory.SCREEN_UNAVAILABLE, STALE)

    def test_one_screen_is_stale_by_the_time_of_its_action(self, desk):
        found = screens_of(subject(None, desk, captured=Captured(action=100.0, after=80.0)))
        assert found == Unusable(FailureCategory.SCREEN_UNAVAILABLE, STALE)

    def test_e07_one_picture_with_one_time_was_sent_twice(self, desk, other):
        once = Captured(before=100.0, after=100.0)
        assert screens_of(subject(desk, desk, captured=once)).reason == STALE
        assert isinstance(screens_of(subject(desk, other, captured=once)), Screens)


def test_the_finding_of_unusable_screens_is_never_a_success():
    finding = Unusable(FailureCategory.UNKNOWN, "why").finding("pixel_diff", {"a": 1})
    assert (finding.verdict, finding.verified, finding.confidence) == (Verdict.CONTINUE, False, 0.0)
    assert (finding.checker, finding.category, finding.reasoning) == ("pixel_diff", FailureCategory.UNKNOWN, "why")
