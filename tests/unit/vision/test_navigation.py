"""A browser known by its navigation icons, whatever its field holds, and what hangs from its toolbar."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from otel_validation.vision.image import Frame
from otel_validation.vision.ocr.engine import OcrEngine
from otel_validation.vision.surfaces import Surface, SurfaceFinder
from otel_validation.vision.surfaces.nav import Icon, icons_in, is_arrow, is_box, is_cross, is_ring, tile_of

LIGHT = {
    "strip": "#dfe3e8",
    "bar": "#f7f8fa",
    "field": "#ffffff",
    "ink": "#303030",
    "off": "#a0a0a0",
    "page": "#ffffff",
}
DARK = {"strip": "#1c1d20", "bar": "#35363a", "field": "#202124", "ink": "#e8eaed", "off": "#80868b", "page": "#1e1e1e"}


class Blind(OcrEngine):
    """An engine that reads nothing: what is found without it was found by its shape."""

    name = "blind"

    def read(self, image, *, near=None, limit=None):
        return []

    def warm_up(self):
        pass


class Desk:
    """A screen of `size` at 100 %, drawn at `scale` three times as large and reduced: soft edges as real ones have."""

    FINE = 3

    def __init__(self, size=(1280, 800), *, scale=1.0, ground="#3a6ea5"):
        self.size, self.scale = size, scale
        self.by = scale * self.FINE
        self.image = Image.new("RGB", tuple(round(v * self.by) for v in size), ground)
        self.draw = ImageDraw.Draw(self.image)

    def px(self, values):
        return tuple(round(v * self.by) for v in values)

    def box(self, box, fill, *, outline=None, radius=0):
        width = max(1, round(self.by)) if outline else 0
        self.draw.rounded_rectangle(self.px(box), round(radius * self.by), fill=fill, outline=outline, width=width)

    def line(self, *points, fill, width=1.6):
        self.draw.line(self.px(points), fill=fill, width=round(width * self.by))

    def text(self, at, text, fill="#202020", size=14):
        self.draw.text(self.px(at), text, fill=fill, font=ImageFont.load_default(size * self.by))

    def arrow(self, x, y, ink, *, left):
        tip, tail = (x - 6, x + 6) if left else (x + 6, x - 6)
        wing = x - 0.5 if left else x + 0.5
        self.line(tip, y, tail, y, fill=ink)
        for rise in (-5.5, 5.5):
            self.line(tip, y, wing, y + rise, fill=ink)

    def reload(self, x, y, ink):
        x0, y0, x1, y1 = self.px((x - 6, y - 6, x + 6, y + 6))
        self.draw.arc((x0, y0, x1, y1), 20, 310, fill=ink, width=round(1.7 * self.by))
        self.draw.polygon(self.px((x + 6, y - 7, x + 6, y - 1.5, x + 0.5, y - 1.5)), fill=ink)

    def home(self, x, y, ink):
        self.line(x - 7, y, x, y - 7, x + 7, y, fill=ink)
        self.line(x - 5, y - 1, x - 5, y + 6, x + 5, y + 6, x + 5, y - 1, fill=ink)

    def browser(self, theme=LIGHT, *, at=(0, 0), width=None, bottom=None, forward=True, typed=None, shown="icons"):
        x0, y0 = at
        x1 = x0 + (width or self.size[0])
        self.box((x0, y0, x1, bottom or self.size[1]), theme["page"])
        self.box((x0, y0, x1, y0 + 40), theme["strip"])
        self.box((x0 + 8, y0 + 6, x0 + 220, y0 + 44), theme["bar"], radius=8)
        self.box((x0, y0 + 40, x1, y0 + 80), theme["bar"])
        self.text((x0 + 36, y0 + 14), "Dossier patient", theme["ink"], 13)
        if shown == "icons":
            self.arrow(x0 + 22, y0 + 60, theme["ink"], left=True)
            if forward:
                self.arrow(x0 + 56, y0 + 60, theme["off"], left=False)
            self.reload(x0 + (90 if forward else 56), y0 + 60, theme["ink"])
        else:
            self.home(x0 + 22, y0 + 60, theme["ink"])
            self.arrow(x0 + 56, y0 + 60, theme["ink"], left=False)
            self.home(x0 + 90, y0 + 60, theme["ink"])
        self.box((x0 + 120, y0 + 45, x1 - 90, y0 + 75), theme["field"], radius=15)
        self.text((x0 + 140, y0 + 51), typed or "horaires pharmacie", theme["ink"])
        self.line(x0, y0 + 80, x1, y0 + 80, fill="#9aa0a6", width=1)
        return self

    def find(self, at, *, known=True, guess=None):
        size = tuple(round(v * self.scale) for v in self.size)
        frame = Frame(self.image.resize(size, Image.Resampling.BOX))
        click = tuple(round(v * self.scale) for v in at)
        return SurfaceFinder(Blind()).find(frame, click, guess or self.scale, known=known)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("scale", [1.0, 1.25, 1.5, 2.0])
def test_the_icons_tell_the_browser_whatever_is_typed_into_its_field(theme, scale):
    desk = Desk(scale=scale).browser(theme)
    assert desk.find((400, 60)) is Surface.ADDRESS_BAR
    assert desk.find((22, 60)) is Surface.ADDRESS_BAR
    assert desk.find((1250, 60)) is Surface.ADDRESS_BAR
    assert desk.find((100, 22)) is Surface.TAB_STRIP
    assert desk.find((900, 22)) is Surface.TAB_STRIP
    assert desk.find((400, 120)) is None
    assert desk.find((400, 500)) is None


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0, 2.5])
def test_a_scale_that_nobody_declared_does_not_matter(scale):
    desk = Desk((1000, 500), scale=scale).browser()
    assert desk.find((400, 60), known=False, guess=1.0) is Surface.ADDRESS_BAR
    assert desk.find((100, 22), known=False, guess=1.0) is Surface.TAB_STRIP
    assert desk.find((400, 300), known=False, guess=1.0) is None


def test_edge_has_no_forward_arrow():
    desk = Desk().browser(forward=False)
    assert desk.find((400, 60)) is Surface.ADDRESS_BAR


def test_a_window_has_its_tab_strip_and_what_is_beside_it_has_none():
    desk = Desk((1600, 900)).browser(at=(300, 260), width=900)
    assert desk.find((800, 320)) is Surface.ADDRESS_BAR
    assert desk.find((400, 282)) is Surface.TAB_STRIP
    assert desk.find((150, 282)) is None
    assert desk.find((1350, 320)) is None


def test_other_icons_before_a_field_are_no_browser():
    desk = Desk().browser(shown="home")
    assert desk.find((400, 60)) is None


def test_a_bar_of_the_page_under_the_toolbar_is_the_pages():
    desk = Desk().browser()
    desk.box((0, 81, 1280, 125), "#eeeeee")
    desk.arrow(22, 103, "#303030", left=True)
    desk.arrow(56, 103, "#303030", left=False)
    desk.reload(90, 103, "#303030")
    desk.line(0, 126, 1280, 126, fill="#9aa0a6", width=1)
    assert desk.find((400, 103)) is None
    assert desk.find((400, 60)) is Surface.ADDRESS_BAR


def test_a_bookmarks_bar_of_the_toolbars_colour_is_the_browsers():
    desk = Desk().browser()
    desk.box((0, 79, 1280, 112), LIGHT["bar"])
    desk.text((140, 88), "Imagerie")
    desk.line(0, 112, 1280, 112, fill="#9aa0a6", width=1)
    assert desk.find((165, 96)) is Surface.BOOKMARKS_BAR
    assert desk.find((165, 130)) is None


class TestHanging:
    def test_suggestions_as_wide_as_the_field(self):
        desk = Desk().browser()
        desk.box((112, 42, 1198, 300), "#ffffff", outline="#808080", radius=12)
        desk.text((150, 120), "horaires pharmacie de garde")
        assert desk.find((200, 128)) is Surface.BROWSER_POPUP
        assert desk.find((1100, 280)) is Surface.BROWSER_POPUP
        assert desk.find((200, 330)) is None
        assert desk.find((60, 200)) is None

    def test_a_long_menu_at_the_right(self):
        desk = Desk().browser(DARK)
        desk.box((900, 76, 1272, 700), "#2b2c2f", outline="#5f6368")
        for row in range(16):
            desk.text((930, 90 + 38 * row), "Nouvelle fenêtre", "#e8eaed")
        assert desk.find((960, 660)) is Surface.BROWSER_POPUP
        assert desk.find((1100, 99)) is Surface.BROWSER_POPUP
        assert desk.find((500, 400)) is None

    def test_a_menu_of_a_window_that_stands_anywhere(self):
        desk = Desk((1600, 900)).browser(at=(200, 150), width=1100, bottom=800)
        desk.box((900, 226, 1290, 640), "#ffffff", outline="#808080")
        desk.text((930, 500), "Imprimer")
        assert desk.find((960, 507)) is Surface.BROWSER_POPUP
        assert desk.find((500, 507)) is None

    def test_what_the_page_draws_from_its_top_on_is_the_pages(self):
        desk = Desk().browser()
        desk.box((0, 81, 260, 800), "#12305c")
        desk.box((700, 81, 1100, 500), "#ffffff", outline="#808080")
        desk.text((30, 200), "Imagerie", "white")
        assert desk.find((60, 207)) is None
        assert desk.find((800, 300)) is None

    def test_a_panel_lower_in_the_page_is_the_pages(self):
        desk = Desk().browser()
        desk.box((300, 200, 900, 500), "#f4f4f4", outline="#808080")
        assert desk.find((600, 350)) is None


class TestShapes:
    def tiles(self, *draws):
        desk = Desk((40 * len(draws) + 40, 60), ground="#ffffff")
        for index, draw in enumerate(draws):
            draw(desk, 40 * index + 40)
        grey = np.asarray(desk.image.resize(desk.size, Image.Resampling.BOX).convert("L"))
        places = [40 * index + 40 for index in range(len(draws))]
        icons = [min(icons_in(grey), key=lambda icon: abs(icon.x - place)) for place in places]
        assert all(abs(icon.x - place) < 4 for icon, place in zip(icons, places, strict=True))
        return [tile_of(grey, icon) for icon in icons]

    def test_arrows_rings_crosses_and_boxes_are_told_from_each_other(self):
        shapes = self.tiles(
            lambda d, x: d.arrow(x, 30, "black", left=True),
            lambda d, x: d.arrow(x, 30, "black", left=False),
            lambda d, x: d.reload(x, 30, "black"),
            lambda d, x: (d.line(x - 5, 25, x + 5, 35, fill="black"), d.line(x + 5, 25, x - 5, 35, fill="black")),
            lambda d, x: d.box((x - 6, 24, x + 6, 36), "white", outline="black"),
            lambda d, x: d.home(x, 30, "black"),
        )
        told = [
            (is_arrow(t, left=True), is_arrow(t, left=False), is_ring(t), is_cross(t), is_box(t)) for t in shapes
        ]  # fmt: skip
        assert told[:4] == [tuple(i == j for j in range(5)) for i in range(4)]
        assert told[4][4]
        assert not any(told[4][:4])
        assert not any(told[5][:4])

    def test_an_even_patch_is_no_shape(self):
        tile = tile_of(np.full((40, 40), 200, np.uint8), Icon(10, 10, 24, 24))
        assert not is_arrow(tile, left=True)
        assert not is_ring(tile)
        assert not is_cross(tile)
        assert not is_box(tile)
