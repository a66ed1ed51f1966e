"""Wide, low, evenly filled boxes: what may be an address field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.surfaces.strip import FLAT_PASSES, Strip, even_mask

if TYPE_CHECKING:
    from otel_validation.vision.image import Grey

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
SURE_SHARE = 0.28
"""At a guessed scale an address field is at least so much of the screen's width wide."""


@dataclass(frozen=True, slots=True)
class Field:
    """A candidate for the address field; coordinates at 100 % scale, in the screen."""

    x0: float
    y0: float
    x1: float
    y1: float


def fields_in(strip: Strip) -> list[Field]:
    """Wide, low, evenly filled boxes that stand clear of the screen's left edge, widest first."""
    height, width = strip.pixels.shape[:2]
    if height <= FIELD_HEIGHTS[0]:
        return []
    least = max(FIELD_MIN_WIDTH, (SURE_SHARE if strip.guessed else FIELD_MIN_SHARE) * width)
    passes = FLAT_PASSES[:1] if strip.guessed else FLAT_PASSES
    found: list[Field] = []
    for rows, columns in _bands(strip.pixels, least):
        for flat in passes:
            for left, top, wide, high in _low_boxes(strip.pixels[rows, columns], flat, least):
                x, y = left + columns.start, top + rows.start + strip.top
                if x > FIELD_CLEAR:
                    found.append(Field(x, y, x + wide, y + high))
    return sorted(found, key=lambda field: field.x0 - field.x1)


def toolbars(fields: list[Field]) -> list[list[Field]]:
    """The fields by the bar that they stand in, from left to right; the bar with the widest field first."""
    bars: list[list[Field]] = []
    for field in fields:
        middle = (field.y0 + field.y1) / 2
        bar = next((bar for bar in bars if bar[0].y0 <= middle <= bar[0].y1), None)
        if bar is None:
            bars.append([field])
        else:
            bar.append(field)
    return [sorted(bar, key=lambda field: field.x0) for bar in bars]


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


def _low_boxes(grey: Grey, flat: int, least: float) -> list[list[int]]:
    """x, y, width and height of the even areas that are as high as a field and wide enough, wholly inside `grey`."""
    even = _columns(even_mask(grey, flat))
    _, _, stats, _ = cv2.connectedComponentsWithStats(even, connectivity=4, ltype=cv2.CV_16U)
    stats[:, [0, 2, 4]] *= FIELD_GRAIN
    x, y, w, h, area = stats[1:].T
    fits = (w >= least) & (h >= FIELD_HEIGHTS[0]) & (h <= FIELD_HEIGHTS[1]) & (area >= FIELD_FILL * w * h)
    fits &= (x > 0) & (y > 0) & (y + h < len(grey))
    boxes: list[list[int]] = stats[1:][fits][:, :4].tolist()
    return boxes


def _columns(even: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Each `FIELD_GRAIN` columns as one, even where all of them are: a field is far wider than that."""
    width = even.shape[1] // FIELD_GRAIN * FIELD_GRAIN
    grains = even[:, :width:FIELD_GRAIN].copy()
    for column in range(1, FIELD_GRAIN):
        grains &= even[:, column:width:FIELD_GRAIN]
    return grains
