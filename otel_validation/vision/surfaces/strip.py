"""Rows of the screen in grey levels, as wide as it is, and their even areas and edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey

FLAT_PASSES = (4, 7)
"""Grey levels between neighbours within which an area is even. The faintest fields differ by 8 from their bar, over
two pixels; JPEG noise around letters is stronger than that. So each is tried."""
FLAT = 4
EDGE_SHARE = 0.6
"""Share of the columns over which a bar's border must be seen."""
ABOVE = 90
"""Tab strip and title bar lie within this distance above the field."""
BELOW = 48
"""Toolbar padding and a bookmarks bar lie within this distance under the field."""
STRIP_ABOVE, STRIP_BELOW = BELOW + 92, ABOVE + 46
"""Rows looked at above and under a click: as far as a field of which it could be the bar, and that field's height."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Grey rows of the screen at 100 % scale, over its whole width. `top` is the first row's y at that scale. Where the
    scale is `guessed`, more is asked of what is found: a page drawn at 100 % looks smaller than it should.
    """

    pixels: Grey
    top: float
    scale: float
    guessed: bool = False

    def part(self, y: float, factor: float) -> Strip:
        """The rows in which a browser's bars around row `y` can stand if all is drawn `factor` times larger."""
        first = max(0, int(y - STRIP_ABOVE * factor - self.top))
        last = max(first + 1, math.ceil(y + STRIP_BELOW * factor - self.top))
        rows, top = self.pixels[first:last], self.top + first
        if factor == 1.0:
            return replace(self, pixels=rows, top=top)
        size = max(1, round(rows.shape[1] / factor)), max(1, round(rows.shape[0] / factor))
        small = cv2.resize(rows, size, interpolation=cv2.INTER_LINEAR).astype(np.uint8, copy=False)
        return Strip(pixels=small, top=top / factor, scale=self.scale * factor, guessed=True)


def strip_of(frame: Frame, y0: float, y1: float, scale: float, *, guessed: bool = False) -> Strip:
    """The rows from `y0` to `y1` (pixels) of a screen drawn at `scale`, at 100 %."""
    box = frame.clip((0, y0, frame.width, y1))
    return Strip(pixels=frame.grey(box, scale), top=box[1] / scale, scale=scale, guessed=guessed)


def even_mask(grey: Grey, flat: int) -> npt.NDArray[np.uint8]:
    """1 where a pixel is like its left and upper neighbours."""
    even = np.ones(grey.shape, np.uint8)
    if min(grey.shape) < 2:
        return even
    even[:, 1:] = cv2.absdiff(grey[:, 1:], grey[:, :-1]) < flat
    even[1:] &= cv2.absdiff(grey[1:], grey[:-1]) < flat
    return even
