"""How far the content of an area moved between two screens."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

if TYPE_CHECKING:
    from otel_validation.vision.difference import PixelBox
    from otel_validation.vision.image import Frame, Grey

STRIPS, STRIP = 11, 32
"""Strips of the area that are looked for in it after, and how high they are (pixels at 100 %)."""
INNER = (0.08, 0.92)
"""Share of a strip's length that is compared: a scroll bar runs along its end."""
FITS, STANDS_OUT = 0.9, 0.03
"""Correlation at which a strip is found again, and how much better that is than at any other place: rows of a table
look alike."""
TEXTURE = 6.0
VOTES = 2
REDUCTION = 2.0
"""The area is compared at this fraction of 100 % scale."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How far content moved, in pixels: to the right and down where positive. `votes` strips of it agree."""

    dx: int
    dy: int
    votes: int


def content_shift(before: Frame, after: Frame, box: PixelBox, *, scale: float) -> Shift | None:
    """How far the content of `box` (pixels) moved, up or down, else left or right; None where it did not move as one.

    Content that moved by more than the area is high has no part in common with what was there: None as well.
    """
    reduction = REDUCTION * scale
    one, two = (frame.grey(box, reduction) for frame in (before, after))
    down = _moved(one, two)
    if down is not None:
        return Shift(0, round(down[0] * reduction), down[1])
    across = _moved(np.ascontiguousarray(one.T), np.ascontiguousarray(two.T))
    return None if across is None else Shift(round(across[0] * reduction), 0, across[1])


def _moved(one: Grey, two: Grey) -> tuple[int, int] | None:
    """Rows by which most strips moved, and how many did."""
    height = max(4, round(STRIP / REDUCTION))
    if one.shape[0] < 2 * height or one.shape[1] < height:
        return None
    left, right = (round(part * one.shape[1]) for part in INNER)
    found: Counter[int] = Counter()
    for top in np.linspace(0, one.shape[0] - height, STRIPS).astype(int):
        strip = one[top : top + height, left:right]
        row = _found(strip, two[:, left:right])
        if row is not None and row != top:
            found[row - int(top)] += 1
    if not found:
        return None
    rows, _ = found.most_common(1)[0]
    votes = sum(count for other, count in found.items() if abs(other - rows) <= 1)
    return (rows, votes) if votes >= VOTES and abs(rows) > 1 else None


def _found(strip: Grey, picture: Grey) -> int | None:
    """The row of `picture` at which the strip is, where that is beyond doubt."""
    if float(strip.std()) < TEXTURE:
        return None
    scores = np.asarray(cv2.matchTemplate(picture, strip, cv2.TM_CCOEFF_NORMED))[:, 0]
    scores = np.where(np.isfinite(scores), scores, 0)
    row = int(scores.argmax())
    best = float(scores[row])
    scores[max(0, row - 2) : row + 3] = -1
    return row if best >= FITS and best - float(scores.max()) >= STANDS_OUT else None
