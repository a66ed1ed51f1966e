"""Browser chrome and OS bars, drawn in several themes, scales and places, and pages that only resemble them."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from otel_validation.vision.image import Frame
from otel_validation.vision.ocr.engine import TextBox
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.surfaces import Surface, SurfaceFinder
from otel_validation.vision.surfaces.browser import is_address, is_pair

LIGHT = {
    "strip": "#dee1e6",
    "bar": "#f7f7f7",
    "field": "#ffffff",
    "line": "#c8cbd0",
    "ink": "#202124",
    "page": "#ffffff",
}
DARK = {
    "strip": "#202124",
    "bar": "#35363a",
    "field": "#202124",
    "line": "#505256",
    "ink": "#e8eaed",
    "page": "#292a2d",
}
FLAT = {
    "strip": "#e9e9ed",
    "bar": "#ffffff",
    "field": "#f1f3f4",
    "line": "#dadce0",
    "ink": "#202124",
    "page": "#ffffff",
}


class Screen:
    """A desktop of `size` at 100 % with a browser window at `at`, drawn at `scale`."""

    def __init__(
        self, size=(1280, 800), *, at=(0, 0), width=None, theme=LIGHT, scale=1.0, url="https://chu.example.org/p/17"
    ):
        self.scale, self.theme, self.at = scale, theme, at
        self.size = size
        self.image = Image.new("RGB", tuple(round(v * scale) for v in size), "#3a6ea5")
        self.draw = ImageDraw.Draw(self.image)
        x0, y0, x1 = at[0], at[1], at[0] + (width or size[0])
        self.box((x0, y0, x1, size[1]), theme["page"])
        self.box((x0, y0, x1, y0 + 36), theme["strip"])
        self.round((x0 + 8, y0 + 6, x0 + 220, y0 + 44), theme["bar"])
        self.text((x0 + 36, y0 + 12), "Dossier patient", theme["ink"], 13)
        self.box((x0, y0 + 36, x1, y0 + 76), theme["bar"])
        for x in (x0 + 22, x0 + 58, x0 + 94):
            self.line((x - 6, y0 + 56, x + 6, y0 + 50), theme["ink"], 2)
            self.line((x - 6, y0 + 56, x + 6, y0 + 62), theme["ink"], 2)
        self.round((x0 + 130, y0 + 42, x1 - 120, y0 + 70), theme["field"])
        self.text((x0 + 160, y0 + 47), url, theme["ink"], 14)
        self.line((x0, y0 + 76, x1, y0 + 76), theme["line"], 1)

    def px(self, values):
        return tuple(round(v * self.scale) for v in values)

    def box(self, box, fill, outline=None):
        x0, y0, x1, y1 = self.px(box)
        self.draw.rectangle((x0, y0, x1 - 1, y1 - 1), fill=fill, outline=outline)

    def round(self, box, fill, outline=None):
        self.draw.rounded_rectangle(self.px(box), round(10 * self.scale), fill=fill, outline=outline)

    def line(self, points, fill, width):
        self.draw.line(self.px(points), fill=fill, width=max(1, round(width * self.scale)))

    def text(self, at, text, fill="#202124", size=14):
        self.draw.text(self.px(at), text, fill=fill, font=ImageFont.load_default(size * self.scale))

    def find(self, finder, at):
        return finder.find(Frame(self.image), self.px(at), self.scale)


@pytest.fixture(scope="module")
def finder():
    engine = PpOcrEngine()
    engine.warm_up()
    return SurfaceFinder(engine)


@pytest.mark.parametrize("theme", [LIGHT, DARK, FLAT], ids=["light", "dark", "flat"])
@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_the_browser_is_recognised_in_every_theme_and_scale(finder, theme, scale):
    screen = Screen(theme=theme, scale=scale)
    assert screen.find(finder, (400, 56)) is Surface.ADDRESS_BAR
    assert screen.find(finder, (58, 56)) is Surface.ADDRESS_BAR
    assert screen.find(finder, (1240, 56)) is Surface.ADDRESS_BAR
    assert screen.find(finder, (100, 22)) is Surface.TAB_STRIP
    assert screen.find(finder, (400, 90)) is None
    assert screen.find(finder, (400, 400)) is None


def test_a_window_anywhere_on_the_screen(finder):
    screen = Screen((1600, 900), at=(300, 260), width=900)
    assert screen.find(finder, (700, 316)) is Surface.ADDRESS_BAR
    assert screen.find(finder, (400, 282)) is Surface.TAB_STRIP
    assert screen.find(finder, (700, 360)) is None
    assert screen.find(finder, (150, 316)) is None


def test_a_bookmarks_bar_is_part_of_the_browser_and_a_page_menu_is_not(finder):
    screen = Screen()
    screen.box((0, 76, 1280, 106), LIGHT["bar"])
    for x, text in ((40, "Agenda"), (140, "Imagerie"), (240, "Biologie")):
        screen.text((x, 83), text)
    screen.line((0, 106, 1280, 106), LIGHT["line"], 1)
    assert screen.find(finder, (160, 91)) is Surface.BOOKMARKS_BAR
    assert screen.find(finder, (160, 130)) is None
    page = Screen()
    page.box((0, 77, 1280, 120), "#12305c")
    page.text((140, 90), "Imagerie", "white")
    assert page.find(finder, (160, 98)) is None


def test_a_long_host_name_is_read_on(finder):
    screen = Screen(url="dossier-patient-informatise-de-demonstration-0001-eu-west-tres-long.services.example.org")
    assert screen.find(finder, (600, 56)) is Surface.ADDRESS_BAR


def test_a_prompt_that_hangs_from_the_toolbar_is_the_browsers(finder):
    screen = Screen()
    screen.round((120, 72, 460, 240), "#ffffff", "#808080")
    screen.text((140, 90), "chu.example.org demande", size=14)
    for x, text in ((140, "Autoriser"), (300, "Bloquer")):
        screen.round((x, 190, x + 130, 220), "#e0e0e0", "#909090")
        screen.text((x + 30, 197), text)
    assert screen.find(finder, (350, 150)) is Surface.BROWSER_POPUP
    assert screen.find(finder, (315, 206)) is Surface.BROWSER_POPUP
    assert screen.find(finder, (700, 206)) is None


def test_a_menu_at_the_right_of_the_toolbar_is_the_browsers(finder):
    screen = Screen()
    screen.box((1000, 74, 1270, 380), "#ffffff", "#a0a0a0")
    for i, text in enumerate(("Nouvel onglet", "Historique", "Imprimer", "Aide")):
        screen.text((1020, 90 + 60 * i), text)
    assert screen.find(finder, (1050, 218)) is Surface.BROWSER_POPUP


def test_a_panel_of_the_page_is_not_the_browsers(finder):
    screen = Screen()
    screen.box((300, 200, 700, 460), "#f4f4f4", "#808080")
    screen.text((320, 220), "https://example.org")
    assert screen.find(finder, (500, 330)) is None


@pytest.mark.parametrize("text", ["Rechercher un patient", "dr.martin@chu-lyon.fr", "www.example.fr"])
def test_a_wide_field_of_the_page_is_not_the_address_bar(finder, text):
    screen = Screen()
    screen.round((200, 300, 900, 334), "#ffffff", "#909090")
    screen.text((230, 308), text)
    assert screen.find(finder, (400, 317)) is None
    assert screen.find(finder, (400, 280)) is None


@pytest.mark.parametrize(("fill", "ink"), [("#101418", "white"), ("#e8eef4", "#202020")], ids=["dark", "light"])
@pytest.mark.parametrize("height", [28, 40, 48])
def test_a_taskbar_is_known_by_its_border_and_its_clock(finder, fill, ink, height):
    screen = Screen()
    top = 800 - height
    screen.box((0, top, 1280, 800), fill)
    screen.text((60, top + height / 2 - 8), "Imagerie", ink, 13)
    screen.text((1200, top + height / 2 - 8), "14:32", ink, 13)
    assert screen.find(finder, (85, top + height // 2)) is Surface.TASKBAR
    assert screen.find(finder, (1215, top + height // 2)) is Surface.TASKBAR
    assert screen.find(finder, (85, top - 6)) is None


@pytest.mark.parametrize("words", ["Numero de securite sociale", "Site du medecin", "Adresse"])
def test_the_label_of_a_field_that_holds_an_address_is_no_navigation_icon(finder, words):
    page = Screen()
    page.box((0, 80, 1280, 800), "#f5f5f5")
    for row, value in enumerate(("www.exemple.fr", "Dr Lefevre", "17")):
        y = 300 + 44 * row
        page.text((230 - 7 * len(words), y + 6), words)
        page.box((240, y, 760, y + 30), "#ffffff", outline="#d0d0d0")
        page.text((252, y + 6), value)
    assert page.find(finder, (300, 315)) is None
    assert page.find(finder, (300, 270)) is None


def test_a_clock_over_its_date_is_one_clock(finder):
    screen = Screen()
    screen.box((0, 760, 1280, 800), "#101418")
    screen.text((1200, 764), "14:32", "white", 12)
    screen.text((1180, 780), "12/03/2026", "white", 12)
    assert screen.find(finder, (300, 780)) is Surface.TASKBAR


def test_a_footer_and_a_time_in_a_page_are_no_taskbar(finder):
    screen = Screen()
    screen.box((0, 760, 1280, 800), "#eeeeee")
    screen.text((40, 772), "Mentions")
    assert screen.find(finder, (60, 780)) is None
    chat = Screen()
    chat.text((1180, 772), "14:32")
    assert chat.find(finder, (60, 780)) is None


def test_a_menu_bar_along_the_top(finder):
    image = Screen(at=(0, 24)).image
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 1280, 23), fill="#f0f0f0")
    draw.text((60, 5), "Fichier", fill="black", font=ImageFont.load_default(13))
    draw.text((1190, 5), "Mar. 14:32", fill="black", font=ImageFont.load_default(13))
    assert finder.find(Frame(image), (75, 12), 1.0) is Surface.MENU_BAR


def test_a_clock_in_the_middle_of_the_top_bar_is_a_clock(finder):
    image = Screen(at=(0, 28)).image
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 1280, 27), fill="#131313")
    draw.text((16, 6), "Activities", fill="white", font=ImageFont.load_default(13))
    draw.text((606, 6), "Tue 14:32", fill="white", font=ImageFont.load_default(13))
    assert finder.find(Frame(image), (40, 13), 1.0) is Surface.MENU_BAR
    assert finder.find(Frame(Screen().image), (640, 13), 1.0) is not Surface.MENU_BAR


@pytest.mark.parametrize("drawn", [1.25, 1.5])
def test_a_larger_scale_than_the_size_suggests_is_recognised(finder, drawn):
    screen = Screen(scale=drawn)
    frame = Frame(screen.image)
    assert finder.find(frame, screen.px((400, 56)), 1.0, known=False) is Surface.ADDRESS_BAR
    assert finder.find(frame, screen.px((100, 22)), 1.0, known=False) is Surface.TAB_STRIP
    assert finder.find(frame, screen.px((400, 400)), 1.0, known=False) is None


def test_at_a_guessed_scale_text_beside_a_field_is_no_pair_of_icons(finder):
    screen = Screen(scale=1.5)
    for x in (8, 50, 80):
        screen.box((x, 44, x + 40, 70), LIGHT["bar"])
    screen.text((60, 47), "Voir :", LIGHT["ink"], 14)
    assert finder.find(Frame(screen.image), screen.px((400, 56)), 1.0, known=False) is not Surface.BROWSER_POPUP


@pytest.mark.parametrize(
    "shown", ["Search Google or type a URL", "Rechercher avec Google ou saisir une URL", "Search or enter address"]
)
def test_an_empty_address_field_is_known_by_what_the_browser_writes_in_it(finder, shown):
    assert Screen(url=shown).find(finder, (600, 56)) is Surface.ADDRESS_BAR


@pytest.mark.parametrize("shown", ["Rechercher un patient", "lit 12. Suite", "Search the docs"])
def test_another_text_in_such_a_field_is_no_address(finder, shown):
    assert Screen(url=shown).find(finder, (600, 56)) is None


def test_a_search_field_beside_the_address_belongs_to_its_bar(finder):
    screen = Screen()
    screen.box((700, 40, 1280, 74), LIGHT["bar"])
    screen.round((720, 42, 1160, 70), LIGHT["field"])
    screen.text((750, 47), "Rechercher", LIGHT["ink"], 14)
    assert screen.find(finder, (900, 56)) is Surface.ADDRESS_BAR


def test_an_illegible_text_is_no_address():
    assert not is_address(TextBox("chu.example.org", (0, 0, 90, 20), 0.3), first=False)
    assert is_address(TextBox("chu.example.org", (0, 0, 90, 20), 0.9), first=True)
    assert not is_address(TextBox("voir: chu.example.org", (0, 0, 90, 20), 0.9), first=True)
    assert is_address(TextBox("voir: chu.example.org", (0, 0, 90, 20), 0.9), first=False)


@pytest.mark.parametrize(
    ("blobs", "pair"),
    [
        ([[10, 8, 14, 14], [50, 8, 14, 14]], True),
        ([[50, 8, 14, 14]], False),
        ([[10, 8, 14, 14], [50, 8, 40, 14]], False),
        ([[10, 8, 14, 14], [50, 1, 14, 14]], False),
        ([[48, 8, 14, 14], [64, 8, 14, 14]], False),
        ([[10, 10, 9, 9], [50, 6, 18, 18]], False),
    ],
)
def test_a_pair_of_icons_is_alike_square_apart_and_centred(blobs, pair):
    assert is_pair(blobs, 30) is pair


@pytest.mark.parametrize("size", [(40, 20), (320, 5), (5, 320), (1, 1)])
def test_tiny_frames_are_harmless(finder, size):
    noise = np.random.default_rng(3).integers(0, 255, (size[1], size[0], 3), np.uint8)
    assert finder.find(Frame(Image.fromarray(noise)), (0, 0), 1.0) is None
