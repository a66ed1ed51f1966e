"""Bounded, evenly filled panels around a click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.surfaces.fields import FIELD_HEIGHTS, Field
from otel_validation.vision.surfaces.strip import FLAT, FLAT_PASSES, even_mask

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey

PANEL_REACH = 420
"""A browser's pop-up reaches at most this far above, left or right of a click in it."""
SIDE_SHARE = 0.8
"""Share of its rows over which a pop-up's side must be seen."""
PANEL_SLACK = 6
"""A pop-up begins at most this far under the field: still inside the toolbar, where no page can draw."""
PANEL_LEAST, PANEL_FILL = 60, 0.4
"""Smallest side of a pop-up, and the share of it that its ground covers."""
SIDE_STEP = 3
"""Grey levels between neighbours that make a side: a pop-up may have but a shadow."""
SIDE_GAP = 30
"""A side may be interrupted over so many rows (a rounded corner, a line across)."""
HANGS = 900.0
"""No pop-up hangs further down than this: a browser's longest menu is 800 pixels high."""
SIDE_SEEN, SIDE_CLEAR, SIDE_UNSEEN = 0.6, 0.9, 0.3
"""Shares of its rows from which on a side is there, and so clear that its end shows, and under which none is seen."""
SIDE_END = 20
"""A side that is not there over so many rows above a click has ended."""
MOST_SIDES = 8
SHOULDER = 60.0
"""A pop-up may be so much wider than what of it is over the toolbar's edge."""
SEED_ROWS, SECTIONS_APART = 12, 12
"""Its ground begins so many rows under the toolbar's edge at most; its parts are so far apart at most."""
SECTION_WIDTH, SECTION_FILL = 0.5, 0.3
"""A part of its ground is at least so much of its width, and of its own box."""
EVEN_TOPS = 26.0
"""The sides of one pop-up begin at most this far from each other: a bubble's corner, a field beside a list."""


@dataclass(frozen=True, slots=True)
class Hanging:
    """Two upright edges and the row where both have begun, at 100 % scale."""

    x0: float
    x1: float
    top: float


def panels_around(frame: Frame, at: tuple[float, float], scale: float) -> list[Field]:
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
    return [Field(x0 + left, y0 + top, x1 + left, y1 + top)]


def _ground(grey: Grey, x: int, y: int) -> tuple[int, int, int, int] | None:
    """The bounded ground that holds (x, y). The point may be on a button of it, so its surroundings are tried too."""
    even = even_mask(grey, FLAT_PASSES[1])
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


def hangings(frame: Frame, at: tuple[float, float], scale: float) -> list[Hanging]:
    """What may hang over the click from a toolbar above it: pairs of upright edges left and right of `at`, with the row
    where both begin; the narrowest first. Coordinates at 100 % scale.
    """
    x, y = at
    half = FIELD_HEIGHTS[1] // 2
    box = frame.clip((0, (y - half) * scale, frame.width, (y + half) * scale))
    rows = frame.grey(box, scale)
    if min(rows.shape) < 2:
        return []
    edges = (cv2.absdiff(rows[:, 1:], rows[:, :-1]) >= SIDE_STEP).view(np.uint8)
    share = cv2.reduce(edges, 0, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[0]
    upper = cv2.reduce(edges[: max(1, round(y - box[1] / scale))], 0, cv2.REDUCE_SUM, dtype=cv2.CV_32S)[0]
    columns = (
        np.flatnonzero((share >= SIDE_SHARE * len(edges)) | (upper >= 0.95 * max(1, round(y - box[1] / scale)))) + 1
    )
    lefts = _apart(columns[columns < x][::-1])
    rights = _apart(columns[columns > x])
    tops = {column: _begins(frame, column, y, scale) for column in (*lefts, *rights)}
    found = [
        Hanging(left, right, max(tops[left], tops[right]))
        for left in lefts
        for right in rights
        if right - left >= PANEL_LEAST and abs(tops[left] - tops[right]) <= EVEN_TOPS
    ]
    return sorted(found, key=lambda hanging: hanging.x1 - hanging.x0)


def _apart(columns: npt.NDArray[np.intp]) -> list[int]:
    """The first MOST_SIDES columns that are not neighbours."""
    kept: list[int] = []
    for column in columns.tolist():
        if not kept or abs(column - kept[-1]) > 3:
            kept.append(column)
        if len(kept) == MOST_SIDES:
            break
    return kept


def _begins(frame: Frame, column: int, y: float, scale: float) -> float:
    """The row from which on an upright edge at `column` goes down to `y`."""
    top = max(0.0, y - HANGS)
    box = frame.clip(((column - 3) * scale, top * scale, (column + 3) * scale, y * scale))
    if box[2] - box[0] < 2 or box[3] - box[1] < 2:
        return y
    part = frame.grey(box, scale)
    if min(part.shape) < 2:
        return y
    edge = (cv2.absdiff(part[:, 1:], part[:, :-1]) >= SIDE_STEP).any(axis=1)
    marked = np.flatnonzero(edge)
    if not marked.size:
        return y
    breaks = np.flatnonzero(np.diff(marked) > SIDE_GAP)
    return float(top + marked[breaks[-1] + 1 if breaks.size else 0])


def goes_down(frame: Frame, sides: tuple[float, float], rows: tuple[float, float], scale: float) -> bool:
    """Whether what begins at the first of `rows` between two sides (at 100 %) goes down to the second.

    A side that cannot be told from the page from the start on (dark on dark) does not tell where it ends.
    """
    top, y = rows
    if not top < y <= top + HANGS:
        return False
    shares = [_side(frame, side, top + 8, y, scale) for side in sides]
    if max(shares) >= SIDE_SEEN:
        best = sides[shares.index(max(shares))]
        clear = _side(frame, best, top + 8, y - SIDE_END, scale) >= SIDE_CLEAR
        return not clear or _side(frame, best, y - SIDE_END, y, scale) >= SIDE_UNSEEN
    begun = [_side(frame, side, top + 8, min(y, top + 60), scale) for side in sides]
    return max(begun) < SIDE_UNSEEN


def ground_under(frame: Frame, sides: tuple[float, float], top: float, scale: float) -> Field | None:
    """The evenly filled panel that hangs at row `top` between about two sides (all at 100 %); None where the ground
    there goes on beyond them, as it does where the panel's border is too faint.
    """
    box = frame.clip(((sides[0] - SHOULDER) * scale, top * scale, (sides[1] + SHOULDER) * scale, (top + HANGS) * scale))
    part = frame.grey(box, scale)
    if min(part.shape) < PANEL_LEAST / 2:
        return None
    left, upper = box[0] / scale, box[1] / scale
    _, _, stats, _ = cv2.connectedComponentsWithStats(even_mask(part, FLAT), connectivity=4)
    x, y, w, h, area = stats[1:].T
    clear = (x > 1) | (left <= 1)
    clear &= (x + w < part.shape[1] - 1) | (box[2] >= frame.width - 1)
    wide = (w >= SECTION_WIDTH * (sides[1] - sides[0])) & (area >= SECTION_FILL * w * h)
    bottom = SEED_ROWS
    # lines across a menu part its ground, and what is marked in it is another ground
    for section in sorted(stats[1:][wide].tolist(), key=lambda section: section[1]):
        if section[1] > bottom + SECTIONS_APART:
            break
        bottom = max(bottom, section[1] + section[3])
    sections = wide & (y + h <= bottom)
    if bottom >= len(part) - 1 or not sections.any() or not clear[sections].all():
        return None
    return Field(left + x[sections].min(), upper, left + (x + w)[sections].max(), upper + bottom)


def _side(frame: Frame, x: float, y0: float, y1: float, scale: float) -> float:
    """Share of the rows in which an upright edge stands near `x`."""
    box = frame.clip(((x - 5) * scale, y0 * scale, (x + 5) * scale, y1 * scale))
    if box[2] - box[0] < 3 or box[3] - box[1] < 3:
        return 0.0
    part = frame.grey(box, scale)
    if min(part.shape) < 2:
        return 0.0
    return float((cv2.absdiff(part[:, 1:], part[:, :-1]) >= SIDE_STEP).any(axis=1).mean())
