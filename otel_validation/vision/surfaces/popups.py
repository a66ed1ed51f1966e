"""Bounded, evenly filled panels around a click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

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
