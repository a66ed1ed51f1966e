"""Windows and dialogs as shapes: four straight edges around a point, and a close mark in the top right corner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import Box

Mask = npt.NDArray[np.bool_]

STEP = 5
"""Grey levels between neighbours that make an edge."""
LEAST_WIDTH, LEAST_HEIGHT = 180, 80
"""Smallest dialog, in pixels at 100 % scale."""
REACH = 840
"""The sides of a dialog are looked for within this distance of the click."""
MOST_AREA = 0.5
"""A window over more of the screen than this is the application's, not a dialog over it."""
PROBE = 24
"""A side's edge must be seen over this distance above and under the click's row."""
GAP = 14
"""An edge may be interrupted over so many pixels (rounded corners, a pointer, JPEG)."""
EVEN = 30
"""The two sides of a window begin, and end, within this distance: those of a page's columns do not."""
CORNER = 12
SOLID = 0.8
MOST_SIDES = 8
CLOSE_FROM, CLOSE_TO = 52, 6
"""The close mark lies between these distances from the right side, and within the first from the top."""
CLOSE_SIZES = (6, 18)
CLEAR = 6
"""A dialog keeps this distance from the screen's edges."""
RED, RED_FILL = 50, 0.5
"""Levels by which red leads, and the share of its box that a red button covers (its cross takes the rest)."""
RED_SIZES, RED_TOP, RED_WITHIN = ((20, 12), (52, 32)), 8, 36
"""Smallest and largest width and height of it, and how far from the box's top it begins, and ends."""


def dialog_around(frame: Frame, click: tuple[float, float], scale: float) -> Box | None:
    """The smallest closable window around `click` (pixels), in pixels; None where there is none.

    Closable: a cross, or a red button, in its top right corner. Windows, dialogs and in-page modals have one; cards,
    tables and form groups have not. It stands clear of the screen's edges (a page's columns reach them), and is over
    less than most of the screen. `scale` is the display's (1.0 is 100 %).
    """
    left, top, right, bottom = frame.clip(
        (click[0] - REACH * scale, click[1] - REACH * scale, click[0] + REACH * scale, click[1] + REACH * scale)
    )
    grey = frame.grey((left, top, right, bottom), scale)
    at = int((click[0] - left) / scale), int((click[1] - top) / scale)
    most = MOST_AREA * frame.width * frame.height / scale**2
    origin = left / scale, top / scale
    screen = frame.width / scale, frame.height / scale
    boxes = (box for box in rectangles(grey, *at) if _area(box) <= most and _is_clear(box, origin, screen))
    for box in sorted(boxes, key=_area):
        x0, y0, x1, y1 = (value * scale for value in box)
        found = x0 + left, y0 + top, x1 + left, y1 + top
        if _closable(grey, box) or _has_red_button(frame, found, scale):
            return found
    return None


def _is_clear(box: tuple[int, int, int, int], origin: tuple[float, float], screen: tuple[float, float]) -> bool:
    """Whether the box touches no edge of the screen."""
    (x0, y0, x1, y1), (left, top), (width, height) = box, origin, screen
    near = min(x0 + left, y0 + top), min(width - x1 - left, height - y1 - top)
    return min(near) >= CLEAR


def _has_red_button(frame: Frame, box: Box, scale: float) -> bool:
    """Whether a wide red button stands in the top right corner of the box (pixels), as Windows draws it."""
    _, top, right, _ = box
    corner = frame.crop(frame.clip((right - CLOSE_FROM * scale, top, right, top + RED_WITHIN * scale))).astype(np.int16)
    if corner.size == 0:
        return False
    red = (corner[:, :, 0] - corner[:, :, 1:].max(axis=2) >= RED).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(red, connectivity=8)
    (least_wide, least_high), (most_wide, most_high) = RED_SIZES
    return any(
        y <= RED_TOP * scale
        and least_wide <= w / scale <= most_wide
        and least_high <= h / scale <= most_high
        and area >= RED_FILL * w * h
        for _, y, w, h, area in stats[1:count].tolist()
    )


def closable(panel: Grey) -> bool:
    """Whether a cross stands in the top right corner of a window's own pixels (grey, at 100 % scale)."""
    height, width = panel.shape
    return _closable(panel, (0, 0, width - 1, height - 1))


def _area(box: tuple[int, int, int, int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def rectangles(grey: Grey, x: int, y: int) -> list[tuple[int, int, int, int]]:
    """Boxes around (x, y) with four straight edges, at 100 % scale: x0, y0, x1, y1 in pixels of `grey`."""
    sides = np.flatnonzero(_upright(grey[max(0, y - PROBE) : y + PROBE]).mean(axis=0) >= SOLID)
    lefts, rights = _apart(sides[sides < x][::-1]), _apart(sides[sides > x])
    if not (lefts and rights):
        return []
    upright, level = _upright(grey), _upright(grey.T).T
    found = []
    spans = {c: _extent(np.any(upright[:, max(0, c - 1) : c + 2], axis=1), y) for c in (*lefts, *rights)}
    for left in lefts:
        for right in rights:
            (top, end), (other_top, other_end) = spans[left], spans[right]
            if max(abs(top - other_top), abs(end - other_end)) > EVEN:
                continue
            box = _closed(level, left, right, max(top, other_top), min(end, other_end))
            if box is not None and _fits(box):
                found.append(box)
    return found


def _upright(grey: Grey) -> Mask:
    """Where a pixel differs from its left neighbour by an edge."""
    edge = np.zeros(grey.shape, np.bool_)
    if grey.shape[1] > 1:
        edge[:, 1:] = cv2.absdiff(grey[:, 1:], grey[:, :-1]) >= STEP
    return edge


def _apart(columns: npt.NDArray[np.intp]) -> list[int]:
    """The inner and the outer column of each of the first sides: a soft edge, or one with a shadow, has several."""
    kept: list[int] = []
    for side in np.split(columns, np.flatnonzero(np.abs(np.diff(columns)) > 2) + 1)[:MOST_SIDES]:
        kept += sorted({int(side[0]), int(side[-1])}) if side.size else []
    return kept


def _extent(edge: npt.ArrayLike, at: int) -> tuple[int, int]:
    """First and last index of the edge through `at`, over gaps of at most GAP."""
    marked = np.flatnonzero(np.asarray(edge))
    if marked.size == 0:
        return at, at
    breaks = np.flatnonzero(np.diff(marked) > GAP)
    starts, ends = marked[np.r_[0, breaks + 1]], marked[np.r_[breaks, marked.size - 1]]
    for start, end in zip(starts, ends, strict=True):
        if start - GAP <= at <= end + GAP:
            return int(start), int(end)
    return at, at


def _closed(level: Mask, left: int, right: int, top: int, bottom: int) -> tuple[int, int, int, int] | None:
    """The box where a level edge joins the two sides near `top` and near `bottom`."""
    inner = slice(left + CORNER, max(left + CORNER + 1, right - CORNER))
    rows = []
    for row in (top, bottom):
        first = max(0, row - CORNER)
        share = level[first : row + CORNER + 1, inner].mean(axis=1)
        if share.size == 0 or share.max() < SOLID:
            return None
        rows.append(first + int(share.argmax()))
    return left, rows[0], right, rows[1]


def _fits(box: tuple[int, int, int, int]) -> bool:
    return box[2] - box[0] >= LEAST_WIDTH and box[3] - box[1] >= LEAST_HEIGHT


def _closable(grey: Grey, box: tuple[int, int, int, int]) -> bool:
    """Whether a cross stands in the top right corner."""
    _, top, right, _ = box
    corner = grey[top + 3 : top + CLOSE_FROM, max(0, right - CLOSE_FROM) : right - CLOSE_TO + 3].astype(np.int16)
    if corner.size == 0:
        return False
    ink = (np.abs(corner - int(np.median(corner))) > 40).astype(np.uint8)
    count, areas, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    return any(_is_cross(areas[y : y + h, x : x + w] == i) for i, (x, y, w, h, _) in enumerate(stats[1:count], 1))


def _is_cross(mark: Mask) -> bool:
    """Ink on both diagonals, none in the middle of the four sides."""
    h, w = mark.shape
    low, high = CLOSE_SIZES
    if not (low <= h <= high and low <= w <= high and 0.75 <= w / h <= 1.34):
        return False
    tile = cv2.resize(mark.astype(np.uint8) * 255, (9, 9), interpolation=cv2.INTER_AREA) > 60
    diagonals = [tile[i, i] for i in range(1, 8)] + [tile[i, 8 - i] for i in range(1, 8)]
    sides = [tile[0, 4], tile[8, 4], tile[4, 0], tile[4, 8], tile[1, 4], tile[4, 1], tile[7, 4], tile[4, 7]]
    return int(np.sum(diagonals)) >= 12 and int(np.sum(sides)) <= 1
