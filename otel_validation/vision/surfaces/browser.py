"""The browser's own parts: tab strip, toolbar with the address field, bookmarks bar, pop-ups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from otel_validation.vision.surfaces.fields import Field, fields_in, toolbars
from otel_validation.vision.surfaces.nav import icons_in, navigations
from otel_validation.vision.surfaces.popups import (
    HANGS,
    PANEL_SLACK,
    SHOULDER,
    goes_down,
    ground_under,
    hangings,
    panels_around,
)
from otel_validation.vision.surfaces.strip import (
    ABOVE,
    BELOW,
    EDGE_SHARE,
    FLAT,
    STRIP_ABOVE,
    STRIP_BELOW,
    Strip,
    strip_of,
)
from otel_validation.vision.surfaces.surface import Surface
from otel_validation.vision.surfaces.toolbar import (
    Toolbar,
    coverings,
    is_measured,
    outermost,
    toolbar_of,
    toolbars_by_icons,
)

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import OcrEngine, TextBox

COARSER = 1.5
"""How much larger than guessed from its size a screen may be drawn."""
LARGER = 2.0
"""The second size at which navigation icons are looked for: a screen may be drawn at up to three times the guess."""
SAME_ROWS, HUNG_ABOVE, HUNG_BELOW = 12, 70, 50
"""Rows so near to each other are looked at once, with so many above and under them."""
TOOLBAR_ROWS = (32.0, 95.0)
"""Rows above and under its icons that tell how a toolbar stands and what hangs from it, at the browser's scale."""
MAXIMISED_SLACK = 16
"""A maximised browser begins and ends within this distance of the screen's sides."""
TOP_ROWS, TOP_COLUMNS = 200, 330
"""The navigation icons of a maximised browser are in this corner."""
NAV_WIDTH = 150
"""Back, forward and reload stand within this distance left of the field."""
ICON_SIZES = (5, 26)
PAIR_LEAST = 9
ICONS = 1
"""How many must be seen: a capture may cut the others, and a dark theme hides the ones that are off."""
TOOLBAR_PAD = 7
FIELD_READ, FIELD_OVERLAP, FIELD_READS = 360, 60, 4
"""Length read of the field at a time, from its left end, and how often it is read on where a long host goes on."""
FIELD_ZOOM = 1.25
"""The field is first read at this scale; at the engine's own, which costs four times as much, where that fails."""
UNBROKEN = 20
"""A text of so many characters may be the beginning of a long host name."""
ADDRESS = re.compile(r"[a-z]{2,9}:/|www\.|(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[/:?]|$)|localhost|about:", re.IGNORECASE)
"""What an address field holds, looked for inside a field only."""
MARKS_BEFORE = 2
"""The field's padlock or shield may be read as so many characters."""
ADDRESS_LEGIBLE = 0.6
"""OCR confidence below which a text is no address."""
PLACEHOLDER = re.compile(
    r"(search|enter|type|recherch|saisi|entre[rz]).{0,36}(url|add?resse?|websitename|nomdesite)", re.IGNORECASE
)
"""What Chrome, Edge, Firefox and Safari write into an empty address field, in English and in French, without spaces:
"Search Google or type a URL", "Rechercher avec Google ou saisir une URL", "Search or enter website name"."""


class Browser:
    """Recognises the browser that a click is in. It holds the engine and nothing else."""

    def __init__(self, engine: OcrEngine) -> None:
        self._engine = engine

    def find(self, frame: Frame, click: tuple[int, int], scale: float, *, known: bool = True) -> Surface | None:
        """The part of a browser that holds `click` (pixels) on a screen drawn at `scale`; None where there is none.

        Where the scale is not `known`, a browser at up to three times of it is found too.
        """
        factors: tuple[float, ...] = (1.0,) if known else (1.0, COARSER)
        reach = 1.0 if known else LARGER
        top = top_browser(frame, scale, reach)
        if top is not None:
            surface = top.surface_at(frame, click)
            if surface is not None:
                return surface
            if top.is_maximised(frame):  # what is found besides is a browser in its page: a remote desktop
                factors, reach = (), 1.0
        tall = strip_of(frame, click[1] - STRIP_ABOVE * reach * scale, click[1] + STRIP_BELOW * reach * scale, scale)
        surface = self._by_icons(tall, click, reach)
        if surface is not None:
            return surface
        for factor in factors:
            surface = self._by_address(frame, click, tall.part(click[1] / scale, factor))
            if surface is not None:
                return surface
        for factor in factors:
            surface = self._popup(frame, click, scale * factor, guessed=factor != 1.0)
            if surface is not None:
                return surface
        return None

    def _by_icons(self, tall: Strip, click: tuple[int, int], reach: float) -> Surface | None:
        """The part of a browser with navigation icons that holds the click."""
        for factor in (1.0, reach) if reach > 1.0 else (1.0,):
            strip = tall.part(click[1] / tall.scale, factor)
            at = (click[0] / strip.scale, click[1] / strip.scale)
            for toolbar in outermost(toolbars_by_icons(strip)):
                surface = toolbar.place_of(*at)
                if surface is not None:
                    return surface
        return None

    def _by_address(self, frame: Frame, click: tuple[int, int], strip: Strip) -> Surface | None:
        """The part of a browser whose field holds an address that holds the click."""
        at = (click[0] / strip.scale, click[1] / strip.scale)
        for bar in toolbars(fields_in(strip)):
            places = (place_of(at, field, strip) for field in bar)
            surface = next((place for place in places if place is not None), None)
            if surface is not None and self._is_browser(frame, bar, strip):
                return surface
        return None

    def _popup(self, frame: Frame, click: tuple[int, int], scale: float, *, guessed: bool) -> Surface | None:
        """A panel that hangs from the toolbar or covers part of it: nothing of a page can."""
        at = (click[0] / scale, click[1] / scale)
        seen: set[int] = set()
        for hanging in hangings(frame, at, scale):
            row = round(hanging.top / SAME_ROWS)
            if row not in seen:
                seen.add(row)
                top = (hanging.top - HUNG_ABOVE) * scale
                strip = strip_of(frame, top, top + (HUNG_ABOVE + HUNG_BELOW) * scale, scale, guessed=guessed)
                if hangs(frame, at, strip, outermost(toolbars_by_icons(strip))):
                    return Surface.BROWSER_POPUP
        for panel in panels_around(frame, at, scale):
            strip = strip_of(frame, (panel.y0 - 60) * scale, (panel.y0 + 40) * scale, scale, guessed=guessed)
            for bar in toolbars(fields_in(strip)):
                field = bar[0]
                attached = field.y0 - PANEL_SLACK <= panel.y0 <= field.y1 + PANEL_SLACK and panel.y1 > field.y1 + 30
                if attached and self._is_browser(frame, bar, strip):
                    return Surface.BROWSER_POPUP
        return None

    def _is_browser(self, frame: Frame, toolbar: list[Field], strip: Strip) -> bool:
        """Whether navigation icons stand at the left of the bar's fields, and an address in one of them."""
        if not icons_left(toolbar[0], strip):
            return False
        return any(self._holds_address(frame, field, strip) for field in toolbar)

    def _holds_address(self, frame: Frame, field: Field, strip: Strip) -> bool:
        for step in range(FIELD_READS):
            left = field.x0 - 4 + step * (FIELD_READ - FIELD_OVERLAP)
            box = (left, field.y0 - 2, min(field.x1, left + FIELD_READ), field.y1 + 2)
            if box[2] - left < FIELD_OVERLAP:
                return False
            x0, y0, x1, y1 = (value * strip.scale for value in box)
            pixels = frame.crop((x0, y0, x1, y1))
            longest = 0
            for zoom in (FIELD_ZOOM / strip.scale, None):
                for line in self._engine.lines(pixels, (0, pixels.shape[0] / 2), zoom=zoom):
                    longest = max(longest, len(line.text.replace(" ", "")))
                    if is_address(line, first=strip.guessed):
                        return True
            if longest < UNBROKEN:
                return False
        return False


@dataclass(frozen=True, slots=True)
class TopBrowser:
    """A browser whose navigation icons are in the upper left corner of the screen, as a maximised one's are."""

    toolbar: Toolbar
    strip: Strip

    def surface_at(self, frame: Frame, click: tuple[int, int]) -> Surface | None:
        """The browser's part that holds the click (pixels): one of its bars, or what hangs from its toolbar."""
        at = (click[0] / self.strip.scale, click[1] / self.strip.scale)
        if hangs(frame, at, self.strip, [self.toolbar]):
            return Surface.BROWSER_POPUP
        return self.toolbar.place_of(*at)

    def is_maximised(self, frame: Frame) -> bool:
        """Whether the toolbar is as wide as the screen."""
        slack = MAXIMISED_SLACK * self.toolbar.unit
        return self.toolbar.x0 <= slack and self.toolbar.x1 >= frame.width / self.strip.scale - slack


def top_browser(frame: Frame, scale: float, reach: float) -> TopBrowser | None:
    """The browser in the upper left corner of a screen drawn at `scale` or, with a `reach` over 1, so much larger."""
    for by in (scale, scale * reach) if reach > 1.0 else (scale,):
        box = frame.clip((0, 0, TOP_COLUMNS * by, TOP_ROWS * by))
        corner = Strip(pixels=frame.grey(box, by), top=0, scale=by, guessed=by != scale)
        for nav in navigations(corner):
            y0, y1 = nav.y - TOOLBAR_ROWS[0] * nav.unit, nav.y + TOOLBAR_ROWS[1] * nav.unit
            strip = strip_of(frame, y0 * by, y1 * by, by, guessed=by != scale)
            toolbar = toolbar_of(nav, strip)
            if toolbar is not None and is_measured(nav, strip):
                return TopBrowser(toolbar, strip)
    return None


def hangs(frame: Frame, at: tuple[float, float], strip: Strip, over: list[Toolbar]) -> bool:
    """Whether the point (at 100 %) is in what covers the lower edge of one of the toolbars and goes down from it."""
    x, y = at
    for toolbar in over:
        if not toolbar.bottom < y <= toolbar.bottom + HANGS:
            continue
        for x0, x1 in coverings(toolbar, strip):
            if x0 <= x <= x1 and goes_down(frame, (x0, x1), (toolbar.bottom, y), strip.scale):
                return True
            if x0 - SHOULDER <= x <= x1 + SHOULDER:
                ground = ground_under(frame, (x0, x1), toolbar.bottom, strip.scale)
                if ground is not None and ground.x0 <= x <= ground.x1 and y <= ground.y1:
                    return True
    return False


def is_address(line: TextBox, *, first: bool) -> bool:
    """Whether the line is an address, or what a browser writes into its empty field.

    Spaces that the engine saw are dropped, but after a full stop: "au lit. Suite" names no host.
    With `first` the address must begin the line.
    """
    if line.confidence < ADDRESS_LEGIBLE:
        return False
    text = re.sub(r"(?<![.,;])\s+", "", line.text)
    address = ADDRESS.search(text)
    return bool(PLACEHOLDER.search(text) or (address and (not first or address.start() <= MARKS_BEFORE)))


def icons_left(field: Field, strip: Strip) -> bool:
    """Whether small marks stand between the field and the window's left side, on the field's rows.

    At a guessed scale the two nearest must be a pair of icons: alike, square, apart, at the field's half height.
    """
    x0, x1 = max(0, int(field.x0 - NAV_WIDTH)), int(field.x0) - 3
    y0, y1 = max(0, int(field.y0 - strip.top)), int(field.y1 - strip.top)
    part = strip.pixels[y0:y1, x0:x1]
    if part.shape[0] < 8 or part.shape[1] < 20:
        return False
    grey = part.astype(np.int16)
    ink = (np.abs(grey - int(np.median(grey))) > 24).astype(np.uint8)
    blobs = cv2.dilate(ink, np.ones((3, 3), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(blobs, connectivity=8)
    if strip.guessed:
        return is_pair(stats[1:count, :4].tolist(), part.shape[0])
    middle = part.shape[0] / 2
    alone = [icon for icon in icons_in(part) if icon.size <= ICON_SIZES[1] and abs(icon.y - middle) <= middle / 2]
    return len(alone) >= ICONS


def is_pair(blobs: list[list[int]], height: int) -> bool:
    """Whether the two rightmost of the boxes (x, y, width, height) are a pair of icons in a row of `height`."""
    nearest = sorted(blobs, key=lambda blob: -blob[0])[:2]
    if len(nearest) < 2:
        return False
    square = all(min(w, h) >= PAIR_LEAST and max(w, h) <= min(1.6 * min(w, h), ICON_SIZES[1]) for _, _, w, h in nearest)
    centred = all(abs(y + h / 2 - height / 2) <= height / 6 for _, y, _, h in nearest)
    (x1, _, w1, h1), (x0, _, w0, h0) = nearest
    apart = x1 - (x0 + w0) >= min(w0, w1) / 2
    return square and centred and apart and max(w1, h1) <= 1.7 * max(w0, h0) and max(w0, h0) <= 1.7 * max(w1, h1)


def place_of(at: tuple[float, float], field: Field, strip: Strip) -> Surface | None:
    """Which part of the browser `at` is in, if `field` is its address field."""
    x, y = at
    if field.y0 - TOOLBAR_PAD <= y <= field.y1 + TOOLBAR_PAD:
        return Surface.ADDRESS_BAR if _same_bar(x, field, strip) else None
    if y < field.y0:
        return Surface.TAB_STRIP if field.y0 - y <= ABOVE else None
    if y - field.y1 > BELOW or not _same_bar(x, field, strip):
        return None
    return None if _line_between(field, y, strip) else Surface.BOOKMARKS_BAR


def _same_bar(x: float, field: Field, strip: Strip) -> bool:
    """Whether the field's own bar reaches `x`: the row just above or under the field has the bar's colour there."""
    if field.x0 <= x <= field.x1:
        return True
    height, width = strip.pixels.shape[:2]
    for row in (int(field.y0 - strip.top) - 3, int(field.y1 - strip.top) + 3):
        if not 0 <= row < height:
            continue
        line = strip.pixels[row].astype(np.int16)
        bar = np.median(line[int(field.x0) : int(field.x1)])
        near = line[max(0, int(x) - 6) : min(width, int(x) + 7)]
        if abs(np.median(near) - bar) <= 3 * FLAT:
            return True
    return False


def _line_between(field: Field, y: float, strip: Strip) -> bool:
    """Whether an edge over most of the field's columns parts it from row `y`."""
    y0, y1 = int(field.y1 - strip.top) + 2, int(y - strip.top) + 6
    part = strip.pixels[y0:y1, int(field.x0) : int(field.x1)].astype(np.int16)
    if part.shape[0] < 2:
        return False
    steps = np.abs(np.diff(part, axis=0)) >= FLAT
    return bool((steps.mean(axis=1) >= EDGE_SHARE).any())
