"""What the change of a screen says about an action (E01, E02, E03, E07, G04)."""

import base64
import json
from importlib.resources import files

import pytest
from PIL import Image
from pixels_kit import BUTTON, CHECKBOX, FIELD, SIZE, Desk, encoded, jpeg, subject

from otel_validation.checkers.pixel_diff import (
    ANYWHERE,
    DISTURBED,
    IDENTICAL,
    LOADING,
    LOCAL,
    NOTIFIED,
    QUIET,
    PixelDiffChecker,
)
from otel_validation.delivery.action import Point
from otel_validation.validation.report import Captured
from otel_validation.validation.verdict import FailureCategory, Verdict

CHECKER = PixelDiffChecker()
NO_CHANGE = (Verdict.CONTINUE, FailureCategory.NO_VISUAL_CHANGE)
DEMO = files("otel_validation.cli").joinpath("demo_data")


def judged(*things, at=BUTTON, first=(), **options):
    before, after = Desk(), Desk()
    for thing in first:
        thing(before)
    for thing in things:
        thing(after)
    finding = CHECKER.check(subject(before.image, after.image, at, **options))
    json.dumps(dict(finding.evidence), allow_nan=False)
    return finding


def told(finding):
    return finding.verdict, finding.category


def caret(desk):
    desk.caret()


def clock(desk):
    desk.clock("14:33")


def pointer(desk):
    desk.pointer(1100, 800)


def toast(desk):
    desk.toast()


class TestClick:
    """Actions that change the screen."""

    def test_g04_identical_screens_mean_no_effect(self):
        finding = judged()
        assert told(finding) == NO_CHANGE
        assert finding.verified
        assert finding.confidence == IDENTICAL
        assert finding.evidence["identical"] is True

    @pytest.mark.parametrize(
        "things", [[caret], [caret, clock], [caret, clock, pointer], [caret, clock, pointer, toast]]
    )
    def test_e01_the_button_did_nothing(self, things):
        """E01: a caret, then a clock's digit too, then the pointer, then a toast."""
        finding = judged(*things)
        assert told(finding) == NO_CHANGE
        assert finding.verified
        assert finding.confidence == (NOTIFIED if toast in things else QUIET)

    def test_e02_a_checkbox_was_toggled(self):
        finding = judged(lambda d: d.checkbox(ticked=True), at=CHECKBOX)
        assert told(finding) == (Verdict.COMPLETE, None)
        assert finding.confidence == LOCAL
        assert finding.evidence["changed_share"] < 0.0005

    def test_a_change_elsewhere_is_less_sure(self):
        finding = judged(lambda d: d.box(900, 600, 1300, 900, fill=(220, 230, 240)), at=(100, 200))
        assert told(finding) == (Verdict.COMPLETE, None)
        assert finding.confidence == ANYWHERE

    def test_its_confidence_is_that_of_no_proof(self):
        """A wrong button changes the screen as well: under what routing takes for sure."""
        assert max(LOCAL, ANYWHERE) < 0.70

    @pytest.mark.parametrize("after", [lambda d: d.page(), lambda d: d.spinner(960, 700)])
    def test_e03_a_page_on_its_way(self, after):
        finding = judged(after)
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.UI_LOADING)
        assert finding.verified
        assert finding.confidence == LOADING
        assert finding.evidence["loading"] in {"blank", "spinner"}

    def test_e03_first_nothing_then_a_ring_then_the_page(self):
        """E03: no change at first, a spinner, and at last the new page; only the last is an effect."""
        ring = (lambda d: d.page(), lambda d: d.spinner(960, 520))
        page = (lambda d: d.page(*((100, 100 + 40 * i, f"Compte rendu {i}") for i in range(15))),)
        told_of = [told(judged(*things)) for things in ((), ring, page)]
        assert told_of == [NO_CHANGE, (Verdict.CONTINUE, FailureCategory.UI_LOADING), (Verdict.COMPLETE, None)]

    def test_a_double_compression_is_no_change(self):
        desk = Desk()
        twice = encoded(jpeg(desk.image, 60), "JPEG", quality=75)
        finding = CHECKER.check(subject(twice, desk.image, BUTTON))
        assert told(finding) == NO_CHANGE
        assert finding.reasoning.endswith("compression")

    def test_an_action_without_a_place_is_judged_on_the_whole_screen(self):
        finding = judged(lambda d: d.tab((20, 90, 200)), at=None, kind="key_combo")
        assert told(finding) == (Verdict.COMPLETE, None)
        assert finding.confidence == ANYWHERE
        assert finding.evidence["click_px"] is None


class TestExpectsNoChange:
    @pytest.mark.parametrize("things", [[], [caret], [caret, clock], [caret, clock, pointer]])
    def test_e01_caret_clock_and_pointer_pass(self, things):
        finding = judged(*things, at=None, kind="verify_screen")
        assert told(finding) == (Verdict.COMPLETE, None)
        assert finding.confidence == (QUIET if things else IDENTICAL)

    def test_e01_a_toast_is_an_unexpected_element(self):
        finding = judged(toast, caret, at=None, kind="verify_screen")
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.UNEXPECTED_DIALOG)
        assert finding.evidence["counts"]["panel"] == 1

    def test_any_other_change_is_reported(self):
        finding = judged(lambda d: d.field("Duraud"), payload={"expected_change": "none"})
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.UNKNOWN)
        assert finding.confidence == DISTURBED
        assert finding.verified

    def test_the_action_s_own_word_wins(self):
        finding = judged(lambda d: d.tab((20, 90, 200)), kind="verify_screen", payload={"expected_change": " Some "})
        assert finding.verdict is Verdict.COMPLETE
        assert judged(kind="click", payload={"expected_change": 3}).verdict is Verdict.CONTINUE


def test_a_wait_is_over_when_the_page_has_settled():
    for kind in ("wait", "wait_for_anchor"):
        assert judged(at=None, kind=kind).verdict is Verdict.COMPLETE
    assert judged(lambda d: d.tab((20, 90, 200)), at=None, kind="wait").verdict is Verdict.COMPLETE
    waiting = judged(lambda d: d.page(), lambda d: d.spinner(960, 520), at=None, kind="wait")
    assert told(waiting) == (Verdict.CONTINUE, FailureCategory.UI_LOADING)


class TestTyping:
    """`type`, `type_secret`, `paste_and_execute`: the field that was filled is the one aimed at."""

    @pytest.mark.parametrize("kind", ["type", "type_secret", "paste_and_execute"])
    def test_a_filled_field(self, kind):
        empty = lambda d: d.field("")  # noqa: E731
        finding = judged(lambda d: d.field("\u2022" * 9), at=FIELD, first=[empty], kind=kind)
        assert told(finding) == (Verdict.COMPLETE, None)

    def test_an_empty_field_with_a_caret_is_not_filled(self):
        empty = lambda d: d.field("")  # noqa: E731
        finding = judged(empty, caret, at=FIELD, first=[empty], kind="type_secret")
        assert told(finding) == NO_CHANGE

    def test_another_field_is_not_the_one(self):
        finding = judged(lambda d: d.text(1000, 900, "Durand"), at=FIELD, kind="type_secret")
        assert told(finding) == NO_CHANGE
        assert "field" in finding.reasoning

    def test_a_secret_is_neither_read_nor_kept(self):
        secret = "Zephyr42"
        finding = judged(
            lambda d: d.field(secret), at=FIELD, kind="type_secret", payload={"value": secret, "text": secret}
        )
        assert finding.verdict is Verdict.COMPLETE
        assert secret not in repr(finding)
        values = json.dumps(dict(finding.evidence))
        assert set(finding.evidence) == {
            "expected_change",
            "identical",
            "counts",
            "regions",
            "changed_share",
            "local_share",
            "loading",
            "click_px",
        }
        assert len(values) < 2_000


class TestNothingToJudge:
    BLACK = Image.new("RGB", SIZE, "black")

    @pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (False, False)])
    def test_it_applies_to_two_screens_only(self, before, after):
        image = encoded(Image.new("RGB", (64, 64)))
        one = subject(image if before else None, image if after else None)
        assert not CHECKER.applies(one)
        assert CHECKER.check(one).verified is False
        assert CHECKER.applies(subject(image, image))

    @pytest.mark.parametrize("both", [False, True])
    def test_e07_a_black_screen_is_no_effect(self, both):
        """E07: every pixel changed."""
        desk = Desk().image
        for before, after in ((self.BLACK if both else desk, self.BLACK), (self.BLACK, desk)):
            finding = CHECKER.check(subject(before, after, BUTTON))
            assert told(finding) == (Verdict.CONTINUE, FailureCategory.SCREEN_UNAVAILABLE)
            assert not finding.verified

    def test_e07_a_stale_frame_is_no_effect(self):
        """E07: byte for byte the frame of 20 s ago."""
        desk = Desk().image
        finding = CHECKER.check(subject(desk, desk, BUTTON, captured=Captured(before=100.0, after=80.0)))
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.SCREEN_UNAVAILABLE)
        assert not finding.verified

    def test_a_place_outside_the_screen_is_not_moved_inside(self):
        desk = Desk().image
        one = subject(desk, desk, None, given=True)
        assert CHECKER.check(one).verified is False
        object.__setattr__(one.report, "position", Point(-1.0, 0.5))
        finding = CHECKER.check(one)
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.UNKNOWN)
        assert "outside" in finding.reasoning


RECORDED = json.loads(DEMO.joinpath("replay.json").read_text("utf-8"))["steps"]


class TestRecordedScreens:
    """The demo's real screens, 2560 x 1600."""

    @staticmethod
    def finding(step, before, after):
        aim = step["actual_position"]
        at = round(aim["x_pct"] * 2560), round(aim["y_pct"] * 1600)
        return CHECKER.check(subject(before, after, at))

    @staticmethod
    def text(name):
        return base64.b64encode(DEMO.joinpath(name).read_bytes()).decode()

    @pytest.mark.parametrize("step", RECORDED, ids=lambda step: step["name"])
    def test_every_recorded_click_changed_something(self, step):
        finding = self.finding(step, self.text(step["before"]), self.text(step["after"]))
        assert told(finding) == (Verdict.COMPLETE, None)

    @pytest.mark.parametrize("name", sorted({step["after"] for step in RECORDED})[:3])
    def test_none_of_them_differs_from_its_own_jpeg(self, name):
        with DEMO.joinpath(name).open("rb") as file:
            again = encoded(Image.open(file).convert("RGB"), "JPEG", quality=60)
        finding = self.finding(RECORDED[0], self.text(name), again)
        assert told(finding) == NO_CHANGE
        assert finding.evidence["counts"] == {}
