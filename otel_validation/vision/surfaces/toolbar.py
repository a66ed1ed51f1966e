"""A browser's toolbar, measured from its navigation icons: how high it is, and from where to where it reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from otel_validation.vision.surfaces.nav import navigations
from otel_validation.vision.surfaces.strip import ABOVE, FLAT
from otel_validation.vision.surfaces.surface import Surface

if TYPE_CHECKING:
    from otel_validation.vision.surfaces.nav import Navigation
    from otel_validation.vision.surfaces.strip import Strip

HALF_LEAST, HALF_MOST = 13.0, 26.0
"""A toolbar reaches at least and at most this far above and under the middle of its icons, at the browser's scale."""
BOOKMARKS = 40.0
"""A bookmarks bar of the toolbar's colour makes it so much higher."""
SAME = FLAT + 1
"""Grey levels within which a bar is of one colour."""
GAP = 2600.0
"""A bar may be covered over this length: by its address field, or by what hangs over it."""
SHOWN = 0.1
"""Share of a row, over the width of the icons, that the bar's ground has at least: between letters there is more."""
RUN = 3.0
"""It goes on where so much of it is seen again."""
WIDEST_SLIT = 110.0
"""What covers a toolbar's edge over more than this is a pop-up, not a button."""
SMALLEST = 0.62
"""Smaller icons in a reduced picture are measured in the picture itself."""
LEFT_BARE = 24.0
"""So much of the edge is left bare by what covers it."""
CLOSE = 3
"""Grey levels by which a pop-up differs from the bar at least."""
LINE_STEP = 2
THROUGH = 0.8
"""What covers the edge is even across it, over this share of its length, or has sides over this share of the rows."""
SIDES = 10.0
PAGE_BAR = 150.0
"""A bar so far under a browser's toolbar, and no further, is taken for one of its page."""
MARGIN = 30.0
"""Left of its first icon a toolbar is at most this wide."""


@dataclass(frozen=True, slots=True)
class Toolbar:
    """Where a toolbar is, at 100 % scale in the screen; `unit` is a pixel's length at the browser's own scale."""

    x0: float
    x1: float
    top: float
    middle: float
    bottom: float
    """That of the bookmarks bar, where the two are of one colour."""
    icons: float
    """Where its navigation icons end."""
    unit: float

    def place_of(self, x: float, y: float) -> Surface | None:
        """The part of the browser that holds the point; None outside of it."""
        if not self.x0 <= x <= self.x1:
            return None
        if self.top <= y < self.bottom:
            return Surface.ADDRESS_BAR if y <= self.middle + HALF_MOST * self.unit else Surface.BOOKMARKS_BAR
        return Surface.TAB_STRIP if self.top - ABOVE * self.unit <= y < self.top else None


def coverings(toolbar: Toolbar, strip: Strip) -> list[tuple[float, float]]:
    """From and to where something covers the toolbar's lower edge: a list, a menu or a prompt that hangs from it.

    Nothing of a page can. The bar's last row is looked at, and the line under it where it has one: what hangs there
    goes on below, as even as it is across the edge, or has a side.
    """
    grey, unit = strip.pixels.astype(np.int16), toolbar.unit
    row, left, right = round(toolbar.bottom - strip.top), max(0, round(toolbar.x0)), round(toolbar.x1)
    icons = max(left + 2, round(toolbar.icons))
    if row < 4 or row + 6 >= len(grey) or right - icons < WIDEST_SLIT * unit:
        return []
    usual = np.median(grey[row - 2 : row + 4, left:icons], axis=1)
    bar = usual[0]
    over = (np.abs(grey[row - 2, icons:right] - bar) > CLOSE) & _even(grey[row - 2 : row + 4, icons:right])
    at = 1 + int(np.abs(usual[1:4] - bar).argmax())
    if abs(usual[at] - bar) > CLOSE and abs(usual[5] - usual[at]) > LINE_STEP:
        over |= np.abs(grey[row - 2 + at, icons:right] - usual[at]) > SAME
    if np.count_nonzero(~over) < LEFT_BARE * unit:
        return []
    even = _even(grey[row + at - 1 : row + at + 3, icons:right])
    below = grey[row + 2 : row + 2 + round(SIDES * unit)]
    found = []
    for x0, x1 in _gaps(~over, unit):
        sides = [_has_side(below, icons + x) for x in (x0, x1)]
        if all(sides) or (any(sides) and even[x0:x1].mean() >= THROUGH):
            found.append((float(icons + x0), float(icons + x1)))
    return found


def _even(rows: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_]:
    """Where the rows are alike: what hangs there goes on, where the noise of JPEG ends at the edge."""
    return np.asarray(rows.max(axis=0) - rows.min(axis=0) <= CLOSE)


def _has_side(rows: npt.NDArray[np.int16], x: int) -> bool:
    """Whether an upright edge stands near the column `x`; the screen's edge counts."""
    part = rows[:, max(0, x - 6) : x + 6]
    if x + 3 >= rows.shape[1]:
        return True
    return bool((np.abs(np.diff(part, axis=1)) >= CLOSE).any(axis=1).mean() >= THROUGH)


def _gaps(same: npt.NDArray[np.bool_], unit: float) -> list[tuple[int, int]]:
    """Where the row is other than it was before, over a pop-up's width."""
    edges = np.concatenate([[-1], np.flatnonzero(same), [len(same)]])
    wide = np.flatnonzero(np.diff(edges) > WIDEST_SLIT * unit)
    return [(int(edges[i]) + 1, int(edges[i + 1])) for i in wide]


def toolbars_by_icons(strip: Strip) -> list[Toolbar]:
    """The toolbars of the strip that have navigation icons, from top to bottom."""
    made = (toolbar_of(nav, strip) for nav in navigations(strip) if is_measured(nav, strip))
    return sorted((toolbar for toolbar in made if toolbar is not None), key=lambda toolbar: toolbar.middle)


def is_measured(nav: Navigation, strip: Strip) -> bool:
    """Whether the icons are large enough in this strip; if not, they are in one that is not reduced."""
    return not strip.guessed or nav.unit >= SMALLEST


def outermost(toolbars: list[Toolbar]) -> list[Toolbar]:
    """The toolbars without those that stand in the page of another one."""
    return [
        toolbar
        for index, toolbar in enumerate(toolbars)
        if not any(
            upper.x0 - MARGIN <= toolbar.x0
            and toolbar.x0 < upper.x1
            and upper.middle + HALF_LEAST < toolbar.middle
            and toolbar.middle - upper.middle < PAGE_BAR * upper.unit
            for upper in toolbars[:index]
        )
    ]


def toolbar_of(nav: Navigation, strip: Strip) -> Toolbar | None:
    """The toolbar that the icons stand in; None where the strip has too little of it."""
    grey = strip.pixels
    middle = round(nav.y - strip.top)
    column = round(nav.gap)
    if not (0 <= middle < grey.shape[0] and 2 <= column < grey.shape[1] - 2):
        return None
    unit = nav.unit
    half = round(HALF_LEAST * unit / 2)
    bar = int(np.median(grey[max(0, middle - half) : middle + half, column - 2 : column + 3]))
    most_above, most_under = round(HALF_MOST * unit), round((HALF_MOST + BOOKMARKS) * unit)
    icons = slice(max(0, math.floor(nav.x0)), math.ceil(nav.x1) + 1)
    above = _reach(grey[max(0, middle - most_above) : middle + 1, icons][::-1], bar)
    under = _reach(grey[middle : middle + most_under, icons], bar)
    if min(above, under) < HALF_LEAST * unit * 0.7:
        return None
    if under >= most_under - 1:
        under = round(HALF_LEAST * unit * 1.4)
    # what hangs over the toolbar covers its lower edge, a tab its upper one
    last = grey.shape[0] - 1
    edges = (
        max(0, middle - above + 2),
        min(last, middle + round(HALF_LEAST * unit) - 1),
        min(last, middle + under - 2),
    )
    rows = [np.abs(grey[row].astype(np.int16) - bar) <= SAME for row in edges]
    x0 = max(column - max(_run(row[: column + 1][::-1], unit, MARGIN + 60) for row in rows), nav.x0 - MARGIN * unit)
    x1 = column + max(_run(row[column:], unit, GAP) for row in rows)
    return Toolbar(x0, x1, nav.y - above, nav.y, nav.y + under, nav.x1, unit)


def _reach(rows: npt.NDArray[np.uint8], bar: int) -> int:
    """How many rows from the first on show the bar's colour between icons or letters; its border leaves none of it."""
    share = (np.abs(rows.astype(np.int16) - bar) <= SAME).mean(axis=1)
    ends = np.flatnonzero(share < SHOWN)
    return int(ends[0]) if ends.size else len(rows)


def _run(same: npt.NDArray[np.bool_], unit: float, gap: float) -> int:
    """How far the bar goes on, over gaps of at most `gap`."""
    width = max(2, round(RUN * unit))
    seen = np.flatnonzero(np.convolve(same, np.ones(width, np.int32), "valid") == width)
    if not seen.size:
        return len(same)
    breaks = np.flatnonzero(np.diff(seen) > gap * unit)
    last = seen[breaks[0]] if breaks.size else seen[-1]
    return int(last) + width
