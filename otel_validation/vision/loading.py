"""Whether a page is still on its way: a ring or a bar on an emptied page, a page behind a veil, a page gone blank.

Told from what changed between two screens, by shape. What one pair of pictures cannot tell is left alone: an animated
icon inside a button, a progress bar among other content, a skeleton of grey boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from otel_validation.vision.change import Change, Kind
from otel_validation.vision.difference import CELL, LUMA
from otel_validation.vision.marks import is_bar, is_ring

if TYPE_CHECKING:
    from otel_validation.vision.difference import Difference, Mask, PixelBox
    from otel_validation.vision.image import Frame, Grey

LITTLE = 0.02
"""Share of the screen that may change beside a ring that was drawn over a page: a pressed button, a line of text."""
VEIL_INK, VEIL_FIT = 0.5, 0.97
"""A veil changes so much of what the page holds, and explains so much of the area; a dialog over it is more than the
rest."""
VEIL_SLACK = 8.0
VEIL_KEEPS = (0.15, 0.92)
"""Share of the page's contrast that a veil leaves."""
FIT_ROUNDS = 3
VANISHED, EMPTIED = 0.003, 0.12
"""Shares of the screen: cells whose content went, and the area they lay in."""
STILL_THERE = 0.03
"""Share of an emptied area that may hold something."""
BLANKED = 0.4
"""Share of what the screen held that went, where nothing at all came."""
MIDDLE = (0.25, 0.75)
"""A ring or a bar stands in these parts of the emptied area's width."""
CONTENT, INK = 48, 16
"""Grey levels between the pixels of a cell that are content (text, not the border of a panel), and anything at all."""
STEP = 2
FEW = 12
BAND_GAP = 10
"""Rows without ink (pixels at 100 %) between a ring and the text under it."""


class Loading(StrEnum):
    """What says that the page is still on its way."""

    SPINNER = "a ring that turns stands on the page"
    PROGRESS = "a progress bar stands on an empty page"
    VEILED = "the page is behind a veil"
    BLANK = "the page went blank"


def loading(change: Change, *, scale: float) -> Loading | None:
    """Whether the page of the screen after is still on its way; None where nothing says so.

    `scale` is the display's (1.0 is 100 %). A page that was replaced by "no results" has text left, and is not
    loading; a page behind a dialog and its veil is not either.
    """
    found = change.difference
    if found is None:
        return None
    if change.of(Kind.RING) and found.share <= LITTLE:
        return Loading.SPINNER
    if found.share < VANISHED:
        return None
    before, after = _ink(found.before, CONTENT), _ink(found.after, INK)
    if (found.cells & before).sum() >= VEIL_INK * before.sum() and _is_veiled(found):
        return Loading.VEILED
    return _emptied(found, before, after, scale)


def _is_veiled(found: Difference) -> bool:
    """Whether the area that changed shows what it showed, darkened or lightened as a whole."""
    area = _area(found.cells)
    before, after = (_brightness(frame)[area].ravel() for frame in (found.before, found.after))
    kept = np.ones(before.shape, np.bool_)
    keeps = 0.0
    for _ in range(FIT_ROUNDS):
        middle, mean = before[kept].mean(), after[kept].mean()
        variance = float(((before[kept] - middle) ** 2).mean())
        if variance < 1:
            return False
        keeps = float(((before[kept] - middle) * (after[kept] - mean)).mean()) / variance
        kept = np.abs(after - mean - keeps * (before - middle)) <= VEIL_SLACK
        if not kept.any():
            return False
    return bool(VEIL_KEEPS[0] <= keeps <= VEIL_KEEPS[1] and kept.mean() >= VEIL_FIT)


def _area(cells: Mask) -> tuple[slice, slice]:
    """The smallest box, in cells, that holds all that are marked."""
    rows, columns = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _brightness(frame: Frame) -> npt.NDArray[np.float32]:
    """The mean brightness of each cell."""
    return np.asarray(frame.rgb.reduce(CELL)).astype(np.float32) @ LUMA


def _emptied(found: Difference, before: Mask, after: Mask, scale: float) -> Loading | None:
    """What is left of a page whose content went."""
    vanished = found.cells & before & ~after
    if vanished.mean() < VANISHED:
        return None
    area = _area(vanished)
    left = after[area]
    if left.size < EMPTIED * after.size or left.mean() > STILL_THERE:
        return None
    if not left.any():
        gone = vanished.sum() >= BLANKED * before.sum() and not (found.cells & after).any()
        return Loading.BLANK if gone else None
    return _waiting(found.after, left, (area[1].start, area[0].start), scale)


def _ink(frame: Frame, levels: int) -> Mask:
    """The cells that hold something: their pixels differ by more than so many grey levels.

    Every other row and column is looked at: letters are there as well, and it costs a quarter.
    """
    rows, columns, side = -(-frame.height // CELL), -(-frame.width // CELL), CELL // STEP
    sample = frame.rgb.resize((columns * side, rows * side), Image.Resampling.NEAREST)
    grey = np.asarray(sample.convert("L"))
    low, high = (_of_cells(grey, side, pick) for pick in (np.minimum, np.maximum))
    return np.asarray(high.astype(np.int16) - low > levels)


def _of_cells(grey: Grey, side: int, pick: Callable[[Grey, Grey], Grey]) -> Grey:
    """The least or the greatest of every cell, in whole arrays: numpy is many times slower over short axes."""
    rows = reduce(pick, (grey[i::side] for i in range(side)))
    return reduce(pick, (rows[:, i::side] for i in range(side)))


def _waiting(after: Frame, left: Mask, corner: tuple[int, int], scale: float) -> Loading | None:
    """What the few things left on an emptied page say, where one of them is a ring or a bar in its middle."""
    joined = cv2.dilate(left.astype(np.uint8), np.ones((3, 3), np.uint8))
    count, _, stats, centres = cv2.connectedComponentsWithStats(joined, connectivity=8)
    if count > FEW:
        return None
    for (x, y, w, h, _), (centre, _) in zip(stats[1:], centres[1:], strict=True):
        if not MIDDLE[0] <= centre / left.shape[1] <= MIDDLE[1]:
            continue
        x0, y0 = (corner[0] + int(x)) * CELL, (corner[1] + int(y)) * CELL
        for mask in _bands(after, (x0, y0, x0 + int(w) * CELL, y0 + int(h) * CELL), scale):
            if is_ring(mask, scale):
                return Loading.SPINNER
            if is_bar(mask, scale):
                return Loading.PROGRESS
    return None


def _bands(frame: Frame, box: PixelBox, scale: float) -> list[Mask]:
    """What stands on the ground in `box`, from top to bottom: a ring, and then the text under it."""
    grey = frame.grey(box).astype(np.int16)
    apart = np.abs(grey - int(np.median(grey)))
    rows = np.flatnonzero((apart > INK).any(axis=1))
    if rows.size == 0:
        return []
    breaks = np.flatnonzero(np.diff(rows) > BAND_GAP * scale)
    found = []
    for top, bottom in zip(rows[np.r_[0, breaks + 1]], rows[np.r_[breaks, rows.size - 1]] + 1, strict=True):
        band = apart[top:bottom]
        mask = band > max(INK, 0.4 * float(band.max()))
        found.append(mask[_area(mask)])
    return found
