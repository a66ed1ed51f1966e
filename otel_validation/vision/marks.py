"""What a small change is, told by its shape: a caret, a mouse pointer, the digits of a clock, a ring that turns.

Lengths are in pixels at 100 % scale. Text carets are one or two pixels wide; pointers are 12 x 19 to 32 x 32 at
100 % on the three large desktops, and are drawn as an arrow whose tip is the top left corner, or as an I over text.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import cv2
import numpy as np

from otel_validation.vision.difference import strongest

if TYPE_CHECKING:
    from otel_validation.vision.difference import Mark, Mask
    from otel_validation.vision.ocr.engine import Pixels

CARET_WIDTH, CARET_HEIGHTS = 2, (11, 48)
CARET_FILL, ONE_COLOUR = 0.85, 24
"""A caret fills its box with one colour (standard deviation in levels; JPEG's edges included), where before or after
there is one colour too. A letter as thin has soft edges of another one, and is lower."""
POINTER_HEIGHTS, POINTER_WIDTHS = (12, 40), (5, 36)
ARROW_SHAPE = (1.15, 2.3)
"""Height of an arrow in parts of its width."""
ARROW_PEAK = (0.5, 0.85)
"""The arrow is widest in these parts of its height: a triangle that points right is so in its middle."""
ARROW_SLACK = 0.25
STEM = 3
SAME_SHAPE, SAME_COLOUR, SAME_SHARE = 0.75, 32, 0.85
ONE_SIDED = 0.85
"""How much of a shape its mirror image may cover: a radio button's dot that moves is symmetrical, a pointer is not."""
GLYPH_WIDTH, GLYPH_HEIGHT = 16, 26
CLOCK_WIDTH, CLOCK_GAP = 100, 30
CLOCK_INK = 30
"""Range of grey levels that ink has at least; a digit is replaced by another, so it is there before and after."""
RING_RADII = (7, 56)
RING_SPREAD, RING_ROUND = 0.16, 0.07
"""Standard deviations, in parts of the radius, of the pixels' distance from the centre (how thick the ring is) and of
its mean by sector (how round: a square has 0.1)."""
RING_COVER, RING_SECTORS = 0.4, 24
"""Share of its sectors that a ring (an arc, a circle of dots) touches at least."""
BAR_WIDTHS, BAR_HEIGHT, BAR_SHAPE, BAR_FILL = (80, 900), 28, 6, 0.85


def is_caret(mark: Mark, scale: float) -> bool:
    """A thin, low, solid bar of one colour that appears on, or leaves, one colour."""
    low, high = CARET_HEIGHTS
    if not (mark.width <= max(3, CARET_WIDTH * scale) and low <= mark.height <= high * scale):
        return False
    if mark.height < 5 * mark.width or mark.mask.mean() < CARET_FILL:
        return False
    return _spread(mark.before, mark.mask) <= ONE_COLOUR and _spread(mark.after, mark.mask) <= ONE_COLOUR


def appeared(mark: Mark, ground: Pixels) -> bool:
    """Whether the mark stands out from `ground` (pixels beside it) more after than before."""
    beside = np.median(ground.reshape(-1, 3), axis=0)
    before, after = (np.abs(patch[mark.mask] - beside).mean() for patch in (mark.before, mark.after))
    return bool(after > before)


def is_pointer(mark: Mark, scale: float) -> bool:
    """The shape of a mouse pointer: an arrow from the top left, or an I."""
    return _has_pointer_size(mark, scale) and (_is_arrow(mark) or _is_beam(mark, scale))


def moved_pointers(marks: list[Mark], scale: float) -> list[Mark]:
    """The pairs among `marks` that are one picture, here before and there after: a pointer of any shape that moved."""
    sized = [mark for mark in marks if _has_pointer_size(mark, scale)]
    for one, two in combinations(sized, 2):
        if _is_same(one, two, one.before, two.after) or _is_same(one, two, one.after, two.before):
            return [one, two]
    return []


def clocks(marks: list[Mark], scale: float) -> list[list[Mark]]:
    """Rows of at most a few glyphs that were replaced by others, each row as wide as a clock at most."""
    small = [mark for mark in marks if mark.width <= GLYPH_WIDTH * scale and mark.height <= GLYPH_HEIGHT * scale]
    rows: list[list[Mark]] = []
    for mark in sorted(small, key=lambda mark: mark.box[0]):
        row = next((row for row in rows if _continues(row, mark, scale)), None)
        if row is None:
            rows.append([mark])
        else:
            row.append(mark)
    return rows


def bounds(marks: list[Mark]) -> tuple[int, int, int, int]:
    """The box around all of them."""
    x0, y0, x1, y1 = zip(*(mark.box for mark in marks), strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def has_ink(pixels: Pixels) -> bool:
    """Whether there is anything on the ground."""
    low, high = np.percentile(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), (2, 98))
    return bool(high - low >= CLOCK_INK)


def is_ring(mask: Mask, scale: float) -> bool:
    """Whether the pixels lie on a circle with nothing inside: a ring, an arc of it, dots around it.

    The circle is fitted by least squares (Kasa, 1976, https://doi.org/10.1109/TIM.1976.6312298).
    """
    low, high = RING_RADII
    if not 2 * low <= max(mask.shape) <= 2.4 * high * scale or min(mask.shape) < low:
        return False
    y, x = np.nonzero(mask)
    if x.size < 12:
        return False
    system = np.column_stack([x, y, np.ones_like(x)]).astype(np.float64)
    solution, _, rank, _ = np.linalg.lstsq(system, x.astype(np.float64) ** 2 + y.astype(np.float64) ** 2, rcond=None)
    if rank < 3:
        return False
    cx, cy = solution[0] / 2, solution[1] / 2
    away = np.hypot(x - cx, y - cy)
    radius = float(away.mean())
    if not low <= radius <= high * scale or away.std() > RING_SPREAD * radius or away.min() < radius / 2:
        return False
    sectors = ((np.arctan2(y - cy, x - cx) + np.pi) / (2 * np.pi) * RING_SECTORS).astype(int) % RING_SECTORS
    touched, counts = np.unique(sectors, return_counts=True)
    means = np.bincount(sectors, weights=away, minlength=RING_SECTORS)[touched] / counts
    return bool(means.std() <= RING_ROUND * radius and touched.size >= RING_COVER * RING_SECTORS)


def is_bar(mask: Mask, scale: float) -> bool:
    """Whether the pixels are a progress bar: long, low, and full, or drawn as a frame."""
    height, width = mask.shape
    low, high = BAR_WIDTHS
    if not (low * scale <= width <= high * scale and height <= BAR_HEIGHT * scale and width >= BAR_SHAPE * height):
        return False
    return bool(_filled(mask).mean() >= BAR_FILL)


def _spread(pixels: Pixels, mask: Mask) -> float:
    return float(pixels[mask].astype(np.float32).std(axis=0).max())


def _has_pointer_size(mark: Mark, scale: float) -> bool:
    heights, widths = POINTER_HEIGHTS, POINTER_WIDTHS
    return heights[0] <= mark.height <= heights[1] * scale and widths[0] <= mark.width <= widths[1] * scale


def _filled(mask: Mask) -> Mask:
    """The shape with its holes: a white arrow on white differs by its outline only."""
    padded = np.zeros((mask.shape[0] + 2, mask.shape[1] + 2), np.uint8)
    padded[1:-1, 1:-1] = mask
    outlines, _ = cv2.findContours(padded, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(padded, outlines, -1, 1, cv2.FILLED)
    return padded[1:-1, 1:-1].astype(np.bool_)


def _is_arrow(mark: Mark) -> bool:
    """The left edge is upright; from the tip the rows grow evenly to the widest one, under the middle."""
    shape = _filled(mark.mask)
    height, width = shape.shape
    if not ARROW_SHAPE[0] <= height / width <= ARROW_SHAPE[1] or not shape.any(axis=1).all():
        return False
    left = shape.argmax(axis=1)
    reach = width - shape[:, ::-1].argmax(axis=1)
    peak = int(reach.argmax())
    if not ARROW_PEAK[0] * height <= peak <= ARROW_PEAK[1] * height:
        return False
    head = np.arange(peak)
    grows = np.abs(reach[:peak] - width * (head + 1) / (peak + 1)) <= max(1.5, ARROW_SLACK * width)
    return bool((left[: peak // 2] <= max(1, 0.12 * width)).all() and grows.all())


def _is_beam(mark: Mark, scale: float) -> bool:
    """A stem with a bar across at both ends."""
    rows = _filled(mark.mask).sum(axis=1)
    height = rows.size
    middle = rows[int(0.25 * height) : int(np.ceil(0.75 * height))]
    ends = rows[: max(1, height // 6)].max(), rows[-max(1, height // 6) :].max()
    return bool(middle.min() > 0 and middle.max() <= max(STEM, STEM * scale) and min(ends) >= max(5, 2 * middle.max()))


def _is_same(one: Mark, two: Mark, first: Pixels, second: Pixels) -> bool:
    """One picture in two places, on grounds that may differ; not one that is its own mirror image."""
    if abs(one.width - two.width) > 3 or abs(one.height - two.height) > 3:
        return False
    height, width = min(one.height, two.height), min(one.width, two.width)
    shapes = [_filled(mark.mask)[:height, :width] for mark in (one, two)]
    both = shapes[0] & shapes[1]
    if both.sum() < SAME_SHAPE * (shapes[0] | shapes[1]).sum():
        return False
    mirrored = shapes[0][:, ::-1]
    if (shapes[0] & mirrored).sum() >= ONE_SIDED * (shapes[0] | mirrored).sum():
        return False
    apart = strongest(np.asarray(cv2.absdiff(first[:height, :width], second[:height, :width])))
    return bool((apart[both] <= SAME_COLOUR).mean() >= SAME_SHARE)


def _continues(row: list[Mark], mark: Mark, scale: float) -> bool:
    """Whether the glyph stands in the row, right behind its last one."""
    x0, y0, x1, y1 = bounds([*row, mark])
    near = mark.box[0] - max(other.box[2] for other in row) <= CLOCK_GAP * scale
    return near and x1 - x0 <= CLOCK_WIDTH * scale and y1 - y0 <= GLYPH_HEIGHT * scale
