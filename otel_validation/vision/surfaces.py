"""Surfaces that are not the application: the browser's own chrome, the OS's bars.

Structure decides: a wide, low, evenly filled field with small icons at its left, at the top of a window; a band
along an edge of the screen, parted from what lies above by an edge over its whole width, with a clock at its end.
A text is read only inside a structure already found (the field, the end of the band), to confirm it. So a page that
shows an e-mail address, "Compte rendu operatoire" or "Knowledge base" is never taken for the address bar
(DESIGN section 9).

Lengths are in pixels at 100 % scale, as browsers and desktops draw them; the finder works on a reduced image.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import OcrEngine, TextBox

FLAT_PASSES = (4, 7)
"""Grey levels between neighbours within which an area is even. The faintest fields differ by 8 from their bar, over
two pixels; JPEG noise around letters is stronger than that. So each is tried."""
FLAT = 4
FIELD_MIN_WIDTH, FIELD_MIN_SHARE = 240, 0.18
"""An address field is at least so many pixels, and so much of the screen's width, wide."""
FIELD_HEIGHTS = (13, 46)
FIELD_CLEAR = 24
"""A field stands further than this from the screen's left edge: the navigation icons are there."""
FIELD_FILL = 0.3
"""Share of its box that a field's ground covers; its text and icons take the rest."""
FIELD_GRAIN = 2
"""Columns looked at as one where fields are searched: half the pixels to label. At 4 the field's edges are no longer
told exactly enough."""
BORDER_BLOCK, BORDER_SHARE = 16, 0.8
"""Borders are looked for in blocks of so many columns; this share of a field's is an edge, over two rows."""
BAND_MARGIN = 4
NAV_WIDTH = 150
"""Back, forward and reload stand within this distance left of the field."""
ICON_SIZES = (5, 26)
PAIR_LEAST = 9
ICONS = 1
"""How many must be seen: a capture may cut the others, and a dark theme hides the ones that are off."""
ABOVE = 90
"""Tab strip and title bar lie within this distance above the field."""
BELOW = 48
"""Toolbar padding and a bookmarks bar lie within this distance under the field."""
STRIP_ABOVE, STRIP_BELOW = BELOW + 46, ABOVE + 46
"""Rows looked at above and under a click: as far as a field of which it could be the bar, and that field's height."""
TOOLBAR_PAD = 7
FIELD_READ, FIELD_OVERLAP, FIELD_READS = 360, 60, 4
"""Length read of the field at a time, from its left end, and how often it is read on where a long host goes on."""
FIELD_ZOOM = 1.25
"""The field is first read at this scale; at the engine's own, which costs four times as much, where that fails."""
UNBROKEN = 20
"""A text of so many characters may be the beginning of a long host name."""
PANEL_REACH = 420
"""A browser's pop-up reaches at most this far above, left or right of a click in it."""
SIDE_SHARE = 0.8
"""Share of its rows over which a pop-up's side must be seen."""
PANEL_SLACK = 6
"""A pop-up begins at most this far under the field: still inside the toolbar, where no page can draw."""
PANEL_LEAST, PANEL_FILL = 60, 0.4
"""Smallest side of a pop-up, and the share of it that its ground covers."""
BAR_HEIGHT = 64
"""No taskbar or menu bar is higher than this."""
CLOCK_WIDTH = 260
"""The clock lies within this distance of the bar's end (one clock, tray icons, a show-desktop edge)."""
BORDER_SLACK = 9
"""A bar's border lies within this distance of where its clock says."""
EDGE_SHARE = 0.6
"""Share of the columns over which a bar's border must be seen."""

COARSER = 1.5
"""How much larger than guessed from its size a screen may be drawn."""
ADDRESS = re.compile(r"[a-z]{2,9}:/|www\.|(?:[a-z0-9-]+\.)+[a-z]{2,}(?:[/:?]|$)|localhost|about:", re.IGNORECASE)
"""What an address field holds, looked for inside a field only."""
MARKS_BEFORE = 2
"""The field's padlock or shield may be read as so many characters."""
SURE_SHARE = 0.28
"""At a guessed scale an address field is at least so much of the screen's width wide."""
ADDRESS_LEGIBLE = 0.6
"""OCR confidence below which a text is no address."""
PLACEHOLDER = re.compile(
    r"(search|enter|type|recherch|saisi|entre[rz]).{0,36}(url|add?resse?|websitename|nomdesite)", re.IGNORECASE
)
"""What Chrome, Edge, Firefox and Safari write into an empty address field, in English and in French, without spaces:
"Search Google or type a URL", "Rechercher avec Google ou saisir une URL", "Search or enter website name"."""
CLOCK = re.compile(r"(?<!\d)[0-2]?\d[:.h][0-5]\d(?!\d)")


class Surface(StrEnum):
    """What a click can land on instead of the application."""

    TAB_STRIP = "tab_strip"
    ADDRESS_BAR = "address_bar"
    BOOKMARKS_BAR = "bookmarks_bar"
    BROWSER_POPUP = "browser_popup"
    TASKBAR = "taskbar"
    MENU_BAR = "menu_bar"
    OS_DIALOG = "os_dialog"


@dataclass(frozen=True, slots=True)
class _Strip:
    """Grey rows of the screen at 100 % scale, over its whole width. `top` is the first row's y at that scale. Where the
    scale is `guessed`, more is asked of what is found: a page drawn at 100 % looks smaller than it should.
    """

    pixels: Grey
    top: float
    scale: float
    guessed: bool = False

    def part(self, y: float, factor: float) -> _Strip:
        """The rows in which a browser's bars around row `y` can stand if all is drawn `factor` times larger."""
        first = max(0, int(y - STRIP_ABOVE * factor - self.top))
        last = max(first + 1, math.ceil(y + STRIP_BELOW * factor - self.top))
        rows, top = self.pixels[first:last], self.top + first
        if factor == 1.0:
            return replace(self, pixels=rows, top=top)
        size = max(1, round(rows.shape[1] / factor)), max(1, round(rows.shape[0] / factor))
        small = cv2.resize(rows, size, interpolation=cv2.INTER_LINEAR).astype(np.uint8, copy=False)
        return _Strip(pixels=small, top=top / factor, scale=self.scale * factor, guessed=True)


@dataclass(frozen=True, slots=True)
class _Field:
    """A candidate for the address field; coordinates at 100 % scale, in the screen."""

    x0: float
    y0: float
    x1: float
    y1: float


class SurfaceFinder:
    """Tells which foreign surface a click is on. Thread-safe: it holds the engine and nothing else."""

    def __init__(self, engine: OcrEngine) -> None:
        self._engine = engine

    def find(self, frame: Frame, click: tuple[int, int], scale: float, *, known: bool = True) -> Surface | None:
        """The surface under `click` (pixels) of a screen drawn at `scale` (1.0 is 100 %); None for the application.

        Where the scale is not `known` but guessed from the screen's size, the surfaces of a larger one are searched
        too: a 1920 x 1080 screen is as often drawn at 125 or 150 % as at 100 %.
        """
        factors = (1.0,) if known else (1.0, COARSER)
        for factor in factors:
            surface = self._bar(frame, click, scale * factor)
            if surface is not None:
                return surface
        reach = factors[-1] * scale
        tall = _strip(frame, click[1] - STRIP_ABOVE * reach, click[1] + STRIP_BELOW * reach, scale)
        for factor in factors:
            surface = self._browser(frame, click, tall.part(click[1] / scale, factor))
            if surface is not None:
                return surface
        return None

    def _bar(self, frame: Frame, click: tuple[int, int], scale: float) -> Surface | None:
        if click[1] >= frame.height - BAR_HEIGHT * scale:
            return Surface.TASKBAR if self._is_bar(frame, click[1], scale, bottom=True) else None
        if click[1] < BAR_HEIGHT * scale / 2:
            return Surface.MENU_BAR if self._is_bar(frame, click[1], scale, bottom=False) else None
        return None

    def _is_bar(self, frame: Frame, y: int, scale: float, *, bottom: bool) -> bool:
        """Whether a bar with a clock lies along the edge of the screen and holds row `y`: a clock at its right end, or
        in the middle of an upper bar, where GNOME has it.

        A bar's clock stands at half its height, so the clock tells where the bar's border must be.
        """
        deep, wide = BAR_HEIGHT * scale, CLOCK_WIDTH * scale
        y0 = frame.height - deep if bottom else 0.0
        ends = (frame.width - wide,) if bottom else (frame.width - wide, (frame.width - wide) / 2)
        reads = (self._engine.read(frame.crop((x0, y0, x0 + wide, y0 + deep))) for x0 in ends)
        centre = next((y for y in map(_clock_centre, reads) if y is not None), None)
        if centre is None:
            return False
        border = 2 * (y0 + centre) - frame.height if bottom else 2 * centre
        strip = _strip(frame, border - BORDER_SLACK * scale, border + BORDER_SLACK * scale, scale)
        row = _crossing(strip, border / scale)
        if row is None:
            return False
        return y >= row * scale if bottom else y <= row * scale

    def _browser(self, frame: Frame, click: tuple[int, int], strip: _Strip) -> Surface | None:
        at = (click[0] / strip.scale, click[1] / strip.scale)
        for toolbar in _toolbars(_fields(strip)):
            places = (_place_of(at, field, strip) for field in toolbar)
            surface = next((place for place in places if place is not None), None)
            if surface is not None and self._is_browser(frame, toolbar, strip):
                return surface
        return self._popup(frame, at, strip.scale, strip.guessed)

    def _popup(self, frame: Frame, at: tuple[float, float], scale: float, guessed: bool) -> Surface | None:
        """A panel that hangs from the toolbar or covers part of it: nothing of a page can."""
        for panel in _panels(frame, at, scale):
            strip = _strip(frame, (panel.y0 - 60) * scale, (panel.y0 + 40) * scale, scale, guessed=guessed)
            for toolbar in _toolbars(_fields(strip)):
                field = toolbar[0]
                attached = field.y0 - PANEL_SLACK <= panel.y0 <= field.y1 + PANEL_SLACK and panel.y1 > field.y1 + 30
                if attached and self._is_browser(frame, toolbar, strip):
                    return Surface.BROWSER_POPUP
        return None

    def _is_browser(self, frame: Frame, toolbar: list[_Field], strip: _Strip) -> bool:
        """Whether navigation icons stand at the left of the bar's fields, and an address in one of them."""
        if not _icons_left(toolbar[0], strip):
            return False
        return any(self._holds_address(frame, field, strip) for field in toolbar)

    def _holds_address(self, frame: Frame, field: _Field, strip: _Strip) -> bool:
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
                    if _is_address(line, first=strip.guessed):
                        return True
            if longest < UNBROKEN:
                return False
        return False


def _is_address(line: TextBox, *, first: bool) -> bool:
    """Whether the line is an address, or what a browser writes into its empty field.

    Spaces that the engine saw are dropped, but after a full stop: "au lit. Suite" names no host.
    With `first` the address must begin the line.
    """
    if line.confidence < ADDRESS_LEGIBLE:
        return False
    text = re.sub(r"(?<![.,;])\s+", "", line.text)
    address = ADDRESS.search(text)
    return bool(PLACEHOLDER.search(text) or (address and (not first or address.start() <= MARKS_BEFORE)))


def _toolbars(fields: list[_Field]) -> list[list[_Field]]:
    """The fields by the bar that they stand in, from left to right; the bar with the widest field first."""
    bars: list[list[_Field]] = []
    for field in fields:
        middle = (field.y0 + field.y1) / 2
        bar = next((bar for bar in bars if bar[0].y0 <= middle <= bar[0].y1), None)
        if bar is None:
            bars.append([field])
        else:
            bar.append(field)
    return [sorted(bar, key=lambda field: field.x0) for bar in bars]


def _strip(frame: Frame, y0: float, y1: float, scale: float, *, guessed: bool = False) -> _Strip:
    box = frame.clip((0, y0, frame.width, y1))
    return _Strip(pixels=frame.grey(box, scale), top=box[1] / scale, scale=scale, guessed=guessed)


def _even(grey: Grey, flat: int) -> npt.NDArray[np.uint8]:
    """1 where a pixel is like its left and upper neighbours."""
    even = np.ones(grey.shape, np.uint8)
    if min(grey.shape) < 2:
        return even
    even[:, 1:] = cv2.absdiff(grey[:, 1:], grey[:, :-1]) < flat
    even[1:] &= cv2.absdiff(grey[1:], grey[:-1]) < flat
    return even


def _columns(even: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Each `FIELD_GRAIN` columns as one, even where all of them are: a field is far wider than that."""
    width = even.shape[1] // FIELD_GRAIN * FIELD_GRAIN
    grains = even[:, :width:FIELD_GRAIN].copy()
    for column in range(1, FIELD_GRAIN):
        grains &= even[:, column:width:FIELD_GRAIN]
    return grains


def _bands(grey: Grey, least: float) -> list[tuple[slice, slice]]:
    """Rows and columns in which fields may lie: within two edges over a field's width, a field's height apart.

    Labelling areas is the costliest step of the search, and most parts of most screens are in no such band.
    """
    steps = (cv2.absdiff(grey[1:], grey[:-1]) >= FLAT_PASSES[0]).view(np.uint8) * np.uint8(255)
    edges = cv2.max(steps[1:], steps[:-1])
    blocks = max(1, edges.shape[1] // BORDER_BLOCK)
    share = cv2.resize(edges[:, : blocks * BORDER_BLOCK], (blocks, len(edges)), interpolation=cv2.INTER_AREA)
    run = max(1, int(least / BORDER_BLOCK) - 1)
    long = cv2.blur(share, (run, 1)) >= BORDER_SHARE * 255
    rows = np.flatnonzero(long.any(axis=1))
    apart = np.subtract.outer(rows, rows)
    lower, upper = np.nonzero((apart >= FIELD_HEIGHTS[0] - 2) & (apart <= FIELD_HEIGHTS[1] + 2))
    both = long[rows[lower]] & long[rows[upper]]
    first, last = both.argmax(axis=1), both.shape[1] - 1 - both[:, ::-1].argmax(axis=1)
    pairs = np.stack([rows[upper], rows[lower], first, last], axis=1)[both.any(axis=1)]
    bands: list[list[int]] = []
    for top, bottom, left, right in sorted(pairs.tolist()):
        if bands and top <= bands[-1][1] + BAND_MARGIN:
            above = bands[-1]
            bands[-1] = [above[0], max(above[1], bottom), min(above[2], left), max(above[3], right)]
        else:
            bands.append([top, bottom, left, right])
    reach = (run + 2) * BORDER_BLOCK
    return [
        (
            slice(max(0, top - BAND_MARGIN), bottom + BAND_MARGIN + 2),
            slice(max(0, left * BORDER_BLOCK - reach), right * BORDER_BLOCK + reach),
        )
        for top, bottom, left, right in bands
    ]


def _fields(strip: _Strip) -> list[_Field]:
    """Wide, low, evenly filled boxes that stand clear of the screen's left edge, widest first."""
    height, width = strip.pixels.shape[:2]
    if height <= FIELD_HEIGHTS[0]:
        return []
    least = max(FIELD_MIN_WIDTH, (SURE_SHARE if strip.guessed else FIELD_MIN_SHARE) * width)
    passes = FLAT_PASSES[:1] if strip.guessed else FLAT_PASSES
    found: list[_Field] = []
    for rows, columns in _bands(strip.pixels, least):
        for flat in passes:
            for left, top, wide, high in _low_boxes(strip.pixels[rows, columns], flat, least):
                x, y = left + columns.start, top + rows.start + strip.top
                if x > FIELD_CLEAR:
                    found.append(_Field(x, y, x + wide, y + high))
    return sorted(found, key=lambda field: field.x0 - field.x1)


def _low_boxes(grey: Grey, flat: int, least: float) -> list[list[int]]:
    """x, y, width and height of the even areas that are as high as a field and wide enough, wholly inside `grey`."""
    even = _columns(_even(grey, flat))
    _, _, stats, _ = cv2.connectedComponentsWithStats(even, connectivity=4, ltype=cv2.CV_16U)
    stats[:, [0, 2, 4]] *= FIELD_GRAIN
    x, y, w, h, area = stats[1:].T
    fits = (w >= least) & (h >= FIELD_HEIGHTS[0]) & (h <= FIELD_HEIGHTS[1]) & (area >= FIELD_FILL * w * h)
    fits &= (x > 0) & (y > 0) & (y + h < len(grey))
    boxes: list[list[int]] = stats[1:][fits][:, :4].tolist()
    return boxes


def _icons_left(field: _Field, strip: _Strip) -> bool:
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
        return _is_pair(stats[1:count, :4].tolist(), part.shape[0])
    low, high = ICON_SIZES
    w, h = stats[1:count, 2], stats[1:count, 3]
    fits = (w >= low) & (w <= high) & (h >= low) & (h <= high)
    return int(np.count_nonzero(fits)) >= ICONS


def _is_pair(blobs: list[list[int]], height: int) -> bool:
    nearest = sorted(blobs, key=lambda blob: -blob[0])[:2]
    if len(nearest) < 2:
        return False
    square = all(min(w, h) >= PAIR_LEAST and max(w, h) <= min(1.6 * min(w, h), ICON_SIZES[1]) for _, _, w, h in nearest)
    centred = all(abs(y + h / 2 - height / 2) <= height / 6 for _, y, _, h in nearest)
    (x1, _, w1, h1), (x0, _, w0, h0) = nearest
    apart = x1 - (x0 + w0) >= min(w0, w1) / 2
    return square and centred and apart and max(w1, h1) <= 1.7 * max(w0, h0) and max(w0, h0) <= 1.7 * max(w1, h1)


def _place_of(at: tuple[float, float], field: _Field, strip: _Strip) -> Surface | None:
    """Which part of the browser `at` is in, if `field` is its address field."""
    x, y = at
    if field.y0 - TOOLBAR_PAD <= y <= field.y1 + TOOLBAR_PAD:
        return Surface.ADDRESS_BAR if _same_bar(x, field, strip) else None
    if y < field.y0:
        return Surface.TAB_STRIP if field.y0 - y <= ABOVE else None
    if y - field.y1 > BELOW or not _same_bar(x, field, strip):
        return None
    return None if _line_between(field, y, strip) else Surface.BOOKMARKS_BAR


def _same_bar(x: float, field: _Field, strip: _Strip) -> bool:
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


def _line_between(field: _Field, y: float, strip: _Strip) -> bool:
    """Whether an edge over most of the field's columns parts it from row `y`."""
    y0, y1 = int(field.y1 - strip.top) + 2, int(y - strip.top) + 6
    part = strip.pixels[y0:y1, int(field.x0) : int(field.x1)].astype(np.int16)
    if part.shape[0] < 2:
        return False
    steps = np.abs(np.diff(part, axis=0)) >= FLAT
    return bool((steps.mean(axis=1) >= EDGE_SHARE).any())


def _panels(frame: Frame, at: tuple[float, float], scale: float) -> list[_Field]:
    """The bounded, evenly filled panel around `at`, at 100 % scale; none on open ground."""
    x, y = at
    half = FIELD_HEIGHTS[1] // 2
    reach = ((x - PANEL_REACH) * scale, (x + PANEL_REACH) * scale)
    rows = frame.clip((reach[0], (y - half) * scale, reach[1], (y + half) * scale))
    if not _between_sides(frame.grey(rows, scale), int(x - rows[0] / scale)):
        return []
    box = frame.clip((reach[0], (y - PANEL_REACH) * scale, reach[1], (y + PANEL_REACH / 2) * scale))
    left, top = box[0] / scale, box[1] / scale
    ground = _ground(frame.grey(box, scale), int(x - left), int(y - top))
    if ground is None:
        return []
    x0, y0, x1, y1 = ground
    return [_Field(x0 + left, y0 + top, x1 + left, y1 + top)]


def _ground(grey: Grey, x: int, y: int) -> tuple[int, int, int, int] | None:
    """The bounded ground that holds (x, y). The point may be on a button of it, so its surroundings are tried too."""
    even = _even(grey, FLAT_PASSES[1])
    height, width = even.shape
    for column, row in ((x, y), (x, y - 18), (x, y - 30), (x - 60, y), (x + 60, y)):
        if not (0 <= column < width and 0 <= row < height) or even[row, column] != 1:
            continue
        area, _, _, (x0, y0, w, h) = cv2.floodFill(even, None, (column, row), 2, flags=4)
        x1, y1 = x0 + w, y0 + h
        bounded = x0 > 1 and x1 < width - 1 and y0 > 1 and y1 < height - 1
        filled = min(w, h) >= PANEL_LEAST and area >= PANEL_FILL * w * h
        if bounded and filled and x0 <= x <= x1 and y0 <= y <= y1:
            return x0, y0, x1, y1
    return None


def _between_sides(rows: Grey, x: int) -> bool:
    """Whether an upright edge over the rows stands on either side of `x`."""
    if min(rows.shape) < 2:
        return False
    edges = (cv2.absdiff(rows[:, 1:], rows[:, :-1]) >= FLAT).view(np.uint8)
    sides = np.flatnonzero(cv2.reduce(edges, 0, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[0] >= SIDE_SHARE * len(edges))
    return bool(sides.size and sides[0] < x < sides[-1])


def _clock_centre(lines: list[TextBox]) -> float | None:
    """The y of the middle of the clock (with its date, where that stands above or under it)."""
    clock = next((line for line in lines if CLOCK.search(line.text.replace(" ", ""))), None)
    if clock is None:
        return None
    block = [
        line
        for line in lines
        if min(line.box[2], clock.box[2]) > max(line.box[0], clock.box[0])
        and max(line.box[1] - clock.box[3], clock.box[1] - line.box[3]) < clock.height / 2
    ]
    return (min(line.box[1] for line in block) + max(line.box[3] for line in block)) / 2


def _crossing(strip: _Strip, near: float) -> float | None:
    """The row nearest to `near` along which an edge runs over most of the screen's width; None without one."""
    rows = strip.pixels.astype(np.int16)
    if len(rows) < 3:
        return None
    steps = np.abs(rows[2:] - rows[:-2]) >= FLAT_PASSES[0]
    edges = np.flatnonzero(steps.mean(axis=1) >= EDGE_SHARE) + 1 + strip.top
    return float(min(edges, key=lambda row: abs(row - near))) if edges.size else None
