"""Panels: evenly filled, bounded boxes on a screen, and the signs that one lies over the rest and asks something.

A panel may be a card, a side bar or a dialog. What tells them apart is not its words but how it stands: a dialog dims
what is behind it or cuts it off at its sides, throws a wide shadow, has a close mark, has a row of buttons.

Panels are searched on an overview at half size; close marks and buttons need the panel at 100 %.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.windows import closable

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import Box

Cells = tuple[int, int, int, int]
"""x0, y0, x1, y1 in pixels of the overview, x1 and y1 exclusive."""

REDUCED = 2.0
"""The overview is so many times smaller than the screen at 100 %; lengths below are in its pixels."""
FLAT = 4
"""Grey levels between neighbours within which a ground is even."""
FLAT_BUTTON = 6
LEAST_WIDTH, LEAST_HEIGHT = 90, 40
LEAST_PART = 12
"""Lowest band of a panel that has several grounds: its title bar, its row of buttons."""
FILL = 0.3
"""Share of its box that a panel's ground covers; texts and fields take the rest."""
MOST_PANELS = 60
ALIGNED, TOUCHING = 3, 4
"""The bands of one panel have the same sides, and touch, within so many pixels (a line between them is thinner)."""
WHOLE_WIDTH = 0.97
"""A panel so wide reaches from side to side: a banner, not a box."""
BANNER_HEIGHTS = (26, 0.4)
"""Heights of a banner: in pixels, and as a share of the screen. Status and find bars are lower."""
CHROME_TOP, CHROME_BOTTOM = 0.16, 0.94
"""Rows of the screen in which a browser's bars and the taskbar stand, which a page's own overlay does not dim."""
DIMMED = 0.8
"""The brightest things beside a panel are at most so bright, against the brightest in it, where the page is dimmed:
overlays take away a third to two thirds (Material: 32 %, Bootstrap: 50 %, Windows' secure desktop: more)."""
BRIGHTEST, BRIGHT = 0.998, 0.99
"""Shares of the pixels that are darker than "the brightest": outside, where a pointer may be; and in the panel."""
CONTENT = 0.004
"""Share of edges among the pixels beside a panel, with which something is there that can be dimmed."""
EDGE = 6
RING = 4
"""Distance at which what a panel's sides cut off is counted."""
CUT_STEP, CUTS = 8, 2
"""Grey levels of an edge that runs into a side, and how many must on one side."""
SHADOW_NEAR, SHADOW_FAR, SHADOW_LEVELS = 4, 18, 3
"""Between these distances (8 and 36 pixels at 100 %) a floating panel's shadow still fades, by so many levels at least;
a card's has ended before."""
SHADOW_STEP, SHADOW_STEPS = 8, 3
"""A shadow fades over several pixels, none of them a jump: the next card's border is one."""
LARGER, CORNER = 1.5, 60
"""How much larger the screen may be drawn than it is taken for; and the corner with the close mark, at 100 %."""
BUTTON_WIDTHS, BUTTON_HEIGHTS = (32, 300), (18, 52)
"""Sizes of a button, in pixels at 100 %."""
BUTTON_FILL, BUTTON_SHAPE = 0.35, 1.2
BUTTON_SHARE = 0.96
"""A button is narrower than its panel: a line of a list is not."""
INK = 40
"""Grey levels by which a button's text differs from its ground."""


class Overview:
    """A screen in grey at half size, and what is counted on it once for all its panels."""

    def __init__(self, frame: Frame, scale: float) -> None:
        self.unit = REDUCED * scale
        self.grey: Grey = frame.grey((0, 0, frame.width, frame.height), self.unit)

    @property
    def width(self) -> int:
        """Width in its own pixels."""
        return int(self.grey.shape[1])

    @property
    def height(self) -> int:
        """Height in its own pixels."""
        return int(self.grey.shape[0])

    def cells(self, box: Box) -> Cells:
        """A box in pixels of the screen, in those of the overview."""
        x0, y0, x1, y1 = (round(value / self.unit) for value in box)
        return max(0, x0), max(0, y0), min(self.width, x1), min(self.height, y1)

    def box(self, cells: Cells) -> Box:
        """The other way round."""
        x0, y0, x1, y1 = (value * self.unit for value in cells)
        return x0, y0, x1, y1

    @cached_property
    def page(self) -> slice:
        """The rows that a page's overlay dims."""
        return slice(int(CHROME_TOP * self.height), int(CHROME_BOTTOM * self.height))

    @cached_property
    def edges(self) -> npt.NDArray[np.int32]:
        """Counts of edges above and left of each pixel (an integral image)."""
        edge = np.zeros(self.grey.shape, np.uint8)
        edge[:, 1:] = cv2.absdiff(self.grey[:, 1:], self.grey[:, :-1]) >= EDGE
        return cv2.integral(edge).astype(np.int32, copy=False)

    @cached_property
    def levels(self) -> npt.NDArray[np.float64]:
        """How many pixels of the page have each grey level."""
        return _histogram(self.grey[self.page])


class Signs:
    """What is seen of one panel of `frame`; each sign is looked for when it is asked for."""

    def __init__(self, overview: Overview, cells: Cells, frame: Frame) -> None:
        self._overview = overview
        self._cells = cells
        self._frame = frame

    @cached_property
    def dimmed(self) -> bool:
        """Whether the page beside it is darkened (`is_dimmed`)."""
        return is_dimmed(self._overview, self._cells)

    @cached_property
    def close(self) -> bool:
        """Whether it has a close mark, at the scale of the screen or a larger one (it may be guessed too small)."""
        return closable(self._panel) or closable(self._frame.grey(self._corner, LARGER * self._scale))

    @cached_property
    def buttons(self) -> int:
        """How many buttons it holds."""
        return count_buttons(self._panel)

    @cached_property
    def cuts(self) -> int:
        """Sides at which something else is cut off."""
        return _cut_sides(self._overview, self._cells)

    @cached_property
    def shadow(self) -> bool:
        """Whether it throws one."""
        return has_shadow(self._overview.grey, self._cells)

    @property
    def asks(self) -> bool:
        """Whether it wants an answer."""
        return self.close or self.buttons > 0

    @property
    def over(self) -> bool:
        """Whether it lies over the rest."""
        return self.dimmed or self.shadow or self.cuts >= CUTS

    @cached_property
    def _panel(self) -> Grey:
        return self._frame.grey(self._box, self._scale)

    @property
    def _scale(self) -> float:
        return self._overview.unit / REDUCED

    @property
    def _box(self) -> tuple[int, int, int, int]:
        return self._frame.clip(self._overview.box(self._cells))

    @property
    def _corner(self) -> tuple[int, int, int, int]:
        """The upper right one, in which the close mark is."""
        x0, y0, x1, y1 = self._box
        side = round(CORNER * LARGER * self._scale)
        return max(x0, x1 - side), y0, x1, min(y1, y0 + side)


def panels(overview: Overview, *, least: tuple[int, int] = (LEAST_WIDTH, LEAST_HEIGHT)) -> list[Cells]:
    """The evenly filled boxes of a screen, at least so wide and high (by default, as a dialog), largest first; also
    those of several bands one under the other with the same sides, and banners from side to side.
    """
    bands = _bands(overview.grey, least[0])
    found = set(bands)
    for index, band in enumerate(bands):
        whole = band
        for other in bands[index + 1 :]:
            same = abs(other[0] - whole[0]) <= ALIGNED and abs(other[2] - whole[2]) <= ALIGNED
            if same and -ALIGNED <= other[1] - whole[3] <= TOUCHING:
                whole = (min(whole[0], other[0]), whole[1], max(whole[2], other[2]), other[3])
                found.add(whole)
    fits = (cells for cells in found if _fits(cells, overview, least[1]))
    return sorted(fits, key=lambda cells: -area(cells))[:MOST_PANELS]


def lies_over(overview: Overview, cells: Cells) -> bool:
    """Whether the panel cuts off what is beside it, or throws a shadow on it."""
    return _cut_sides(overview, cells) > 0 or has_shadow(overview.grey, cells)


def area(cells: Cells) -> int:
    """Its pixels."""
    return (cells[2] - cells[0]) * (cells[3] - cells[1])


def overlap(first: Cells, second: Cells) -> float:
    """Their common area as a share of that of both together."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (area(first) + area(second) - width * height)


def is_banner(cells: Cells, overview: Overview) -> bool:
    """Whether the panel reaches from side to side."""
    return cells[2] - cells[0] >= WHOLE_WIDTH * overview.width


def is_dimmed(overview: Overview, cells: Cells) -> bool:
    """Whether all that is beside the panel on the page is darker than the brightest in it, and something is there."""
    x0, y0, x1, y1 = cells
    top, bottom = max(y0, overview.page.start), min(y1, overview.page.stop)
    inside = _histogram(overview.grey[y0:y1, x0:x1])
    outside = overview.levels.copy()
    if bottom > top:
        outside -= _histogram(overview.grey[top:bottom, x0:x1])
    pixels = outside.sum()
    if pixels < inside.sum() / 2 or _quantile(outside, BRIGHTEST) > DIMMED * _quantile(inside, BRIGHT):
        return False
    first, last = overview.page.start, overview.page.stop
    edges = _count(overview.edges, (0, first, overview.width, last))
    edges -= _count(overview.edges, (x0, top, x1, max(top, bottom)))
    return bool(edges >= CONTENT * pixels)


def crossings(grey: Grey, cells: Cells, off: int) -> tuple[int, ...]:
    """How many edges cross lines along the panel's four sides, `off` pixels outside (left, top, right, bottom); a
    side along the screen's edge has none.
    """
    x0, y0, x1, y1 = cells
    height, width = grey.shape
    left, top, right, bottom = x0 - off, y0 - off, x1 - 1 + off, y1 - 1 + off
    return (
        _steps(grey[y0:y1, left]) if left >= 0 else 0,
        _steps(grey[top, x0:x1]) if top >= 0 else 0,
        _steps(grey[y0:y1, right]) if right < width else 0,
        _steps(grey[bottom, x0:x1]) if bottom < height else 0,
    )


def has_shadow(grey: Grey, cells: Cells) -> bool:
    """Whether the ground fades in away from the panel, further than from a card, on two of its sides."""
    x0, y0, x1, y1 = cells
    left = grey[y0:y1, max(0, x0 - SHADOW_FAR) : x0][:, ::-1].T
    right = grey[y0:y1, x1 : x1 + SHADOW_FAR].T
    below = grey[y1 : y1 + SHADOW_FAR, x0:x1]
    return sum(map(_fades, (left, right, below))) >= 2


def count_buttons(panel: Grey) -> int:
    """How many buttons a panel holds: low boxes of their own ground with a text in the middle. `panel` is at 100 %."""
    even = np.ones(panel.shape, np.uint8)
    even[:, 1:] = cv2.absdiff(panel[:, 1:], panel[:, :-1]) < FLAT_BUTTON
    even[1:] &= cv2.absdiff(panel[1:], panel[:-1]) < FLAT_BUTTON
    _, _, stats, _ = cv2.connectedComponentsWithStats(even, connectivity=4, ltype=cv2.CV_32S)
    x, y, w, h, filled = stats[1:].T
    fits = (w >= BUTTON_WIDTHS[0]) & (w <= BUTTON_WIDTHS[1]) & (w <= BUTTON_SHARE * panel.shape[1])
    fits &= (h >= BUTTON_HEIGHTS[0]) & (h <= BUTTON_HEIGHTS[1])
    fits &= (filled >= BUTTON_FILL * w * h) & (w >= BUTTON_SHAPE * h)
    boxes = np.stack([x, y, x + w, y + h], axis=1)[fits].tolist()
    return sum(_holds_centred_text(panel[y0:y1, x0:x1]) for x0, y0, x1, y1 in boxes)


def _cut_sides(overview: Overview, cells: Cells) -> int:
    return sum(count >= CUTS for count in crossings(overview.grey, cells, RING))


def _bands(grey: Grey, least: int) -> list[Cells]:
    """The grounds of a screen that are wide enough, from top to bottom."""
    if grey.shape[0] < LEAST_PART or grey.shape[1] < least:
        return []
    even = np.ones(grey.shape, np.uint8)
    even[:, 1:] = cv2.absdiff(grey[:, 1:], grey[:, :-1]) < FLAT
    even[1:] &= cv2.absdiff(grey[1:], grey[:-1]) < FLAT
    _, _, stats, _ = cv2.connectedComponentsWithStats(even, connectivity=4, ltype=cv2.CV_32S)
    x, y, w, h, filled = stats[1:].T
    fits = (w >= least) & (h >= LEAST_PART) & (filled >= FILL * w * h)
    boxes = np.stack([x, y, x + w, y + h], axis=1)[fits].tolist()
    return sorted((tuple(box) for box in boxes), key=lambda box: box[1])


def _fits(cells: Cells, overview: Overview, least: int) -> bool:
    height = cells[3] - cells[1]
    if is_banner(cells, overview):
        return BANNER_HEIGHTS[0] <= height <= BANNER_HEIGHTS[1] * overview.height
    return height >= least


def _histogram(grey: Grey) -> npt.NDArray[np.float64]:
    return np.bincount(np.ravel(grey), minlength=256).astype(np.float64)


def _quantile(levels: npt.NDArray[np.float64], share: float) -> int:
    total = np.cumsum(levels)
    return int(np.searchsorted(total, share * total[-1]))


def _count(integral: npt.NDArray[np.int32], cells: Cells) -> int:
    x0, y0, x1, y1 = cells
    return int(integral[y1, x1] - integral[y0, x1] - integral[y1, x0] + integral[y0, x0])


def _steps(line: Grey) -> int:
    """Edges along a line; those less than three pixels apart are one (a letter, a blurred line)."""
    at = np.flatnonzero(np.abs(np.diff(line.astype(np.int16))) >= CUT_STEP)
    return 0 if at.size == 0 else 1 + int(np.count_nonzero(np.diff(at) > 3))


def _fades(lines: Grey) -> bool:
    """Whether lines at growing distances from a side get brighter bit by bit."""
    if len(lines) < SHADOW_FAR:  # the screen ends before the shadow does
        return False
    steps = np.diff(np.median(lines[SHADOW_NEAR - 1 :], axis=1))
    bit_by_bit = steps.min() >= -1 and steps.max() <= SHADOW_STEP and np.count_nonzero(steps > 0) >= SHADOW_STEPS
    return bool(bit_by_bit and steps.sum() >= SHADOW_LEVELS)


def _holds_centred_text(part: Grey) -> bool:
    ink = (np.abs(part.astype(np.int16) - int(np.median(part))) > INK).view(np.uint8)
    height, width = part.shape
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8, ltype=cv2.CV_32S)
    x, y, w, h, _ = stats[1:].T
    # the ground seen past a round corner, and a border, touch the box's sides; letters do not
    letters = (x > 0) & (y > 0) & (x + w < width) & (y + h < height) & (h >= 2)
    if not letters.any():
        return False
    left, right = int(x[letters].min()), int((x + w)[letters].max())
    top, bottom = int(y[letters].min()), int((y + h)[letters].max())
    if right - left < 6 or not 5 <= bottom - top <= 0.75 * height or right - left > 0.92 * width:
        return False
    off_x, off_y = abs(left + right - width) / 2, abs(top + bottom - height) / 2
    return bool(off_x <= max(3, 0.1 * width) and off_y <= 0.2 * height)
