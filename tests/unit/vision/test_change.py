"""What is a change on a screen and what is not (E01, E02), as PNG, as JPEG, and with the two mixed."""

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pixels_kit import BLUE, BUTTON, CHECKBOX, FIELD, SIZE, TAB, Desk, desks, jpeg

from otel_validation.vision.change import Change, Kind, compare
from otel_validation.vision.image import Frame

SCREENS = {
    "light": (SIZE, 1.0, False),
    "dark": (SIZE, 1.0, True),
    "light at 150 %": ((2560, 1600), 1.5, False),
    "dark at 200 %": ((3840, 2160), 2.0, True),
}
CODINGS = {
    "png": lambda before, after: (before, after),
    "jpeg": lambda before, after: (jpeg(before, 80), jpeg(after, 80)),
    "png then jpeg 60": lambda before, after: (before, jpeg(after, 60)),
    "jpeg 60 then 95": lambda before, after: (jpeg(before, 60, 0), jpeg(after, 95)),
}
NOISE = {
    "caret": ((lambda d: d.caret(),), {Kind.CARET: 1}),
    "clock": ((lambda d: d.clock("14:33"),), {Kind.CLOCK: None}),
    "clock of the hour": ((lambda d: d.clock("15:00"),), {Kind.CLOCK: None}),
    "pointer": ((lambda d: d.pointer(640, 608),), {Kind.POINTER: 1}),
    "pointer, a triangle": ((lambda d: d.pointer(1100, 700, "triangle"),), {Kind.POINTER: 1}),
    "pointer over text": ((lambda d: d.beam(1100, 700),), {Kind.POINTER: 1}),
    "caret and clock and pointer": (
        (lambda d: d.caret(), lambda d: d.clock("14:33"), lambda d: d.pointer(1100, 800)),
        {Kind.CARET: 1, Kind.POINTER: 1, Kind.CLOCK: None},
    ),
    "toast": ((lambda d: d.toast(),), {Kind.PANEL: 1}),
}
REAL = {
    "checkbox": (CHECKBOX, lambda d: d.checkbox(ticked=True)),
    "tab": (TAB, lambda d: d.tab((0xDF, 0xE8, 0xF8))),
    "letter": (FIELD, lambda d: d.field("Duraud")),
    "button": (BUTTON, lambda d: d.button((20, 80, 170))),
}


def pair(screen, coding, *things, first=()):
    before, after = desks(SCREENS[screen], things, first)
    one, two = CODINGS[coding](before.image, after.image)
    return Frame(one), Frame(two), before


def compared(screen, coding, *things, click=BUTTON, first=()):
    one, two, desk = pair(screen, coding, *things, first=first)
    return compare(one, two, click=None if click is None else desk.at(click), scale=desk.scale)


def kinds(change):
    return {region.kind for region in change.regions}


@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize(
    ("screen", "coding"),
    [("light", "png"), ("dark", "png then jpeg 60"), ("light at 150 %", "jpeg"), ("dark at 200 %", "jpeg 60 then 95")],
)
def test_e01_what_moves_on_its_own_is_no_change(screen, coding, name):
    """E01: a caret, a clock's digit, the mouse pointer, a toast in a corner; the click was on a button."""
    things, expected = NOISE[name]
    change = compared(screen, coding, *things)
    assert kinds(change) == set(expected)
    assert not change.identical
    for kind, count in expected.items():
        assert count is None or len(change.of(kind)) == count


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize(
    ("screen", "coding"),
    [
        *(("light", coding) for coding in CODINGS),
        *((s, "png") for s in SCREENS if s != "light"),
        ("dark", "png then jpeg 60"),
    ],
)
def test_e02_a_small_change_is_one(screen, coding, name):
    """E02: a checkbox of 14 x 14, a tab's faint highlight, one letter in a field, a pressed button."""
    click, thing = REAL[name]
    change = compared(screen, coding, thing, click=click)
    assert kinds(change) == {Kind.CHANGE}
    assert all(region.near for region in change.regions)


def test_e02_a_share_of_the_screen_says_nothing():
    """E02: the checkbox is less of the screen than the noise of compression is."""
    change = compared("light", "png", lambda d: d.checkbox(ticked=True), click=CHECKBOX)
    assert 0 < change.share < 0.0005
    assert change.local_share > 10 * change.share


def test_equal_screens_are_identical_whatever_their_mode():
    desk = Desk((640, 400), 0.5)
    change = compare(desk.frame, Frame(desk.image.convert("RGBA")), click=(5, 5))
    assert change == Change(identical=True)
    assert change.difference is None


@pytest.mark.parametrize("quality", [60, 75, 95])
@pytest.mark.parametrize("subsampling", [0, 2])
@pytest.mark.parametrize("screen", ["light", "dark"])
def test_compression_alone_changes_nothing(screen, quality, subsampling):
    desk = Desk(SCREENS[screen][0], dark=SCREENS[screen][2])
    again = Frame(jpeg(desk.image, quality, subsampling))
    for click in (BUTTON, None):
        change = compare(desk.frame, again, click=click)
        assert change.regions == ()
        assert not change.identical


def test_screens_of_two_sizes_are_not_compared():
    with pytest.raises(ValueError, match="one size"):
        compare(Frame(Image.new("RGB", (10, 10))), Frame(Image.new("RGB", (10, 11))))


class TestCaret:
    def test_a_caret_that_moved_is_two(self):
        change = compared("light", "png", lambda d: d.caret(1140), first=(lambda d: d.caret(1100),))
        assert [region.kind for region in change.regions] == [Kind.CARET] * 2

    def test_one_that_the_click_placed_in_an_empty_field_is_a_change(self):
        empty = lambda d: d.field("")  # noqa: E731
        change = compared("light", "png", empty, lambda d: d.caret(398, 414), click=FIELD, first=(empty,))
        assert kinds(change) == {Kind.CHANGE}

    def test_one_that_the_click_placed_between_letters_is_a_change(self):
        change = compared("light", "png", lambda d: d.caret(452, 414), click=(455, 424))
        assert kinds(change) == {Kind.CHANGE}

    def test_one_that_went_away_or_stands_behind_a_border_is_not(self):
        went = compared("light", "png", click=(1105, 708), first=(lambda d: d.caret(),))
        assert kinds(went) == {Kind.CARET}
        beside = compared("light", "png", lambda d: d.caret(500, 602), click=(BUTTON[0], 610))
        assert kinds(beside) == {Kind.CARET}

    def test_a_letter_as_thin_is_a_change(self):
        change = compared("light", "png", lambda d: d.field("Durandl"), click=FIELD)
        assert kinds(change) == {Kind.CHANGE}

    @pytest.mark.parametrize("box", [(1100, 640, 1100, 720), (1100, 640, 1102, 651)])
    def test_a_line_too_long_and_a_bar_too_thick_are_changes(self, box):
        assert kinds(compared("light", "png", lambda d: d.box(*box, fill=d.ink))) == {Kind.CHANGE}

    def test_a_dotted_line_is_a_change(self):
        def dots(desk):
            for y in range(640, 660, 2):
                desk.box(1100, y, 1100, y, fill=desk.ink)

        assert kinds(compared("light", "png", dots)) == {Kind.CHANGE}


class TestClock:
    def test_digits_beside_the_click_are_a_change(self):
        change = compared("light", "png", lambda d: d.clock("14:33"), click=(1800, 1056))
        assert kinds(change) == {Kind.CHANGE}

    def test_with_no_click_they_are_one_in_a_bar_only(self):
        assert kinds(compared("light", "png", lambda d: d.clock("14:33"), click=None)) == {Kind.CLOCK}
        count = lambda text: lambda d: d.text(1100, 700, text)  # noqa: E731
        assert kinds(compared("light", "png", count("3"), click=None, first=(count("4"),))) == {Kind.CHANGE}

    def test_typed_letters_are_none_because_nothing_was_there(self):
        assert kinds(compared("light", "png", lambda d: d.text(1100, 800, "ab"))) == {Kind.CHANGE}

    def test_glyphs_in_several_places_are_none(self):
        count = lambda text: lambda d: [d.text(1100, 700 + 60 * i, text) for i in range(4)]  # noqa: E731
        change = compared("light", "png", count("3"), first=(count("4"),))
        assert kinds(change) == {Kind.CHANGE}


class TestPointer:
    def test_one_of_any_shape_that_moved_is_two(self):
        def hand(desk, x, y):
            desk.box(x + 5, y, x + 8, y + 11, fill=desk.ink)
            desk.box(x, y + 11, x + 15, y + 21, fill=desk.ink)
            desk.box(x + 12, y + 8, x + 15, y + 11, fill=desk.ink)

        change = compared("light", "png", lambda d: hand(d, 1300, 760), first=(lambda d: hand(d, 1100, 800),))
        assert [region.kind for region in change.regions] == [Kind.POINTER] * 2

    def test_a_dot_that_moved_is_a_radio_button(self):
        def dot(desk, y):
            desk._draw.ellipse((1100, y, 1116, y + 16), fill=BLUE)

        change = compared("light", "png", lambda d: dot(d, 840), first=(lambda d: dot(d, 800),))
        assert kinds(change) == {Kind.CHANGE}

    @pytest.mark.parametrize(
        "points", [((0, 0), (0, 16), (12, 8)), ((0, 0), (12, 0), (0, 16)), ((0, 16), (12, 16), (6, 0))]
    )
    def test_other_triangles_are_no_pointer(self, points):
        def mark(desk):
            desk._draw.polygon([(1100 + x, 800 + y) for x, y in points], fill=desk.ink)

        assert kinds(compared("light", "png", mark)) == {Kind.CHANGE}

    def test_a_checkbox_under_the_pointer_is_no_pointer(self):
        change = compared(
            "light", "png", lambda d: d.checkbox(ticked=True), lambda d: d.pointer(404, 524), click=CHECKBOX
        )
        assert Kind.CHANGE in kinds(change)


class TestPanel:
    @pytest.mark.parametrize("click", [(1700, 960), (1560, 980)])
    def test_one_at_the_click_is_a_change(self, click):
        assert kinds(compared("light", "png", lambda d: d.toast(), click=click)) == {Kind.CHANGE}

    def test_one_in_the_middle_is_a_change(self):
        panel = lambda d: d.box(760, 640, 1160, 740, fill=(250, 240, 210))  # noqa: E731
        assert kinds(compared("light", "png", panel)) == {Kind.CHANGE}

    def test_a_frame_without_a_ground_is_one_too(self):
        def toast(desk):
            desk.box(1560, 930, 1904, 1020, outline=(0, 0, 0))
            desk.box(1561, 931, 1903, 1019, outline=(0, 0, 0))

        assert kinds(compared("light", "png", toast)) == {Kind.PANEL}


def test_many_small_places_are_changes():
    rng = np.random.default_rng(5)
    before = Image.new("RGB", SIZE, "white")
    after = before.copy()
    draw = ImageDraw.Draw(after)
    for i in range(60):
        x, y = 100 + 170 * (i % 10), 100 + 150 * (i // 10)
        draw.rectangle((x, y, x + int(rng.integers(4, 12)), y + 10), fill="black")
    change = compare(Frame(before), Frame(after), click=(960, 540))
    assert kinds(change) == {Kind.CHANGE}
    assert len(change.regions) == 60


def test_a_change_at_the_screen_s_edge_is_cut_there():
    before = Image.new("RGB", (101, 67), "white")
    after = before.copy()
    after.paste("black", (93, 60, 101, 67))
    (region,) = compare(Frame(before), Frame(after), click=(95, 62)).regions
    assert region.box == (93, 60, 101, 67)
