"""What looks alone give away, where a click met no expected label: docks, bars with no border, title bars, icons."""

import pytest
from PIL import Image, ImageDraw, ImageFont

from otel_validation.vision.image import Frame
from otel_validation.vision.ocr.engine import TextBox
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.surfaces import Surface, SurfaceFinder

COLOURS = ("#de4c2b", "#0a84ff", "#34b45a", "#8842aa", "#f5b400", "#00a8a8")


@pytest.fixture(scope="module")
def finder():
    engine = PpOcrEngine()
    engine.warm_up()
    return SurfaceFinder(engine)


def desktop(ground="#3a6ea5", size=(1280, 800)):
    image = Image.new("RGB", size, ground)
    return image, ImageDraw.Draw(image)


def text(draw, at, words, fill="black", size=13):
    draw.text(at, words, fill=fill, font=ImageFont.load_default(size))


def launchers(draw, *, at=(400, 740), size=40, apart=52, count=6, upright=False):
    """Colourful squares in a row, or in a column, from `at` on."""
    for number in range(count):
        x, y = (at[0], at[1] + number * apart) if upright else (at[0] + number * apart, at[1])
        draw.rounded_rectangle((x, y, x + size, y + size), 8, fill=COLOURS[number % len(COLOURS)])


def label(box, words="Imagerie"):
    return TextBox(words, box, 1.0)


@pytest.mark.parametrize(
    ("ground", "dock"),
    [("#202020", "#404040"), ("#0a58c8", "#3f7fd8"), ("#c86414", "#d88c50")],
    ids=["grey", "blue", "orange"],
)
def test_a_dock_is_a_row_of_launchers_whatever_the_colour_of_the_desktop(finder, ground, dock):
    image, draw = desktop(ground)
    draw.rounded_rectangle((380, 730, 730, 790), 14, fill=dock)
    launchers(draw)
    assert finder.suspect(Frame(image), (474, 760), 1.0) is Surface.DOCK
    assert finder.suspect(Frame(image), (474, 700), 1.0) is None


def test_launchers_along_a_side_are_a_dock(finder):
    image, draw = desktop("#222222")
    launchers(draw, at=(12, 80), upright=True, apart=60)
    assert finder.suspect(Frame(image), (30, 160), 1.0) is Surface.DOCK


def test_launchers_in_a_bar_with_a_border_are_a_task_bar(finder):
    image, draw = desktop("white")
    draw.rectangle((0, 752, 1280, 800), fill="#dfe6ee")
    launchers(draw, at=(300, 762), size=26, apart=44)
    assert finder.suspect(Frame(image), (310, 775), 1.0) is Surface.TASKBAR


def test_tiles_in_the_middle_of_a_page_and_a_few_squares_are_no_dock(finder):
    image, draw = desktop("white")
    launchers(draw, at=(400, 400))
    assert finder.suspect(Frame(image), (474, 420), 1.0) is None
    image, draw = desktop("white")
    launchers(draw, count=3)
    assert finder.suspect(Frame(image), (474, 760), 1.0) is None


class TestBarWithoutABorder:
    def bar(self, *, between=False):
        image, draw = desktop("black")
        draw.rectangle((100, 60, 1100, 640), fill="white")
        text(draw, (20, 772), "Bureau 1", "white")
        text(draw, (1210, 772), "14:32", "white")
        if between:
            text(draw, (200, 746), "Derniere ligne", "white")
        return Frame(image)

    def test_its_clock_and_the_blank_rows_above_it_tell_it(self, finder):
        assert finder.suspect(self.bar(), (50, 780), 1.0, label=(18, 770, 84, 790)) is Surface.TASKBAR
        assert finder.suspect(self.bar(), (50, 700), 1.0) is None

    def test_a_label_that_is_expected_there_is_the_applications(self, finder):
        assert finder.find(self.bar(), (50, 780), 1.0) is None

    def test_where_something_stands_across_its_border_it_is_a_page(self, finder):
        assert finder.suspect(self.bar(between=True), (50, 780), 1.0) is None


def test_a_bar_whose_clock_is_in_the_upper_one(finder):
    def drawn(*, upper):
        image, draw = desktop("#223344")
        draw.rectangle((0, 774, 1280, 800), fill="#dddddd")
        text(draw, (40, 780), "Espace client")
        if upper:
            draw.rectangle((0, 0, 1280, 26), fill="#dddddd")
            text(draw, (12, 6), "Applications")
            text(draw, (1200, 6), "14:32")
        return Frame(image)

    assert finder.suspect(drawn(upper=True), (80, 787), 1.0) is Surface.TASKBAR
    assert finder.suspect(drawn(upper=True), (80, 740), 1.0) is None
    assert finder.suspect(drawn(upper=False), (80, 787), 1.0) is None


@pytest.mark.parametrize("rest", ["DuckDuckGo Search", "Recherche Google"], ids=["english", "french"])
def test_what_repeats_the_text_above_it_and_names_a_search_engine_is_a_suggestion(finder, rest):
    image, draw = desktop("white")
    text(draw, (200, 40), "printer offline what to do", size=15)
    text(draw, (200, 80), f"printer offline what to do - {rest}", size=15)
    text(draw, (200, 300), f"nothing above - {rest}", size=15)
    near = [label((200, 78, 480, 98), f"printer offline what to do - {rest}")]
    assert finder.suspect(Frame(image), (260, 90), 1.0, near=near) is Surface.BROWSER_POPUP
    near = [label((200, 298, 480, 318), f"nothing above - {rest}")]
    assert finder.suspect(Frame(image), (260, 308), 1.0, near=near) is None


def test_a_title_bar_by_its_box_and_its_cross(finder):
    image, draw = desktop("#222222")
    draw.rectangle((200, 200, 1000, 600), fill="white")
    draw.rectangle((200, 200, 1000, 232), fill="#e6e6e6")
    text(draw, (212, 209), "Bloc-notes")
    draw.rectangle((928, 211, 938, 221), outline="black")
    for slope in (1, -1):
        draw.line((973, 216 - slope * 5, 983, 216 + slope * 5), fill="black")
    assert finder.suspect(Frame(image), (240, 216), 1.0) is Surface.TITLE_BAR
    assert finder.suspect(Frame(image), (240, 400), 1.0) is None


def test_a_desktop_icon_by_its_light_text_with_a_shadow_under_a_picture(finder):
    image, draw = desktop("#1d6a96")
    draw.rounded_rectangle((40, 100, 88, 148), 6, fill="#f5b400")
    for offset in (1, 2):
        text(draw, (32 + offset, 156 + offset), "Documents", "#04141e")
    text(draw, (32, 156), "Documents", "white")
    box = (30, 154, 106, 174)
    assert finder.suspect(Frame(image), (60, 164), 1.0, label=box) is Surface.DESKTOP
    image, draw = desktop("white")
    text(draw, (32, 156), "Documents")
    assert finder.suspect(Frame(image), (60, 164), 1.0, label=box) is None
