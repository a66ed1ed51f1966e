"""Where two screenshots of one size differ by more than compression does: a map of cells, then marks of pixels.

Compression moves single pixels by a hundred levels and more (JPEG at quality 60: up to 182 on 40 real screens), so
neither a pixel nor a share of pixels tells it from a change. Over a cell of its blocks' size it stays small, though:
what is looked at are the mean and the root mean square of its brightness, and colours that move together over several
cells. The bounds below are what 47 real screens, encoded again at qualities 60 to 95 with and without chroma
subsampling, stay under (`benchmarks/pixels.py` measures them).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Pixels

Mask = npt.NDArray[np.bool_]
PixelBox = tuple[int, int, int, int]
"""x0, y0, x1, y1 in whole pixels, x1 and y1 exclusive."""

CELL = 8
"""Pixels on a side of a cell: that of a JPEG block."""
LOUD = 4
"""Mean difference of a cell's pixels, in levels, under which it is not looked at: one black pixel on white has it."""
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""ITU-R BT.601, as JPEG weighs colours."""
BRIGHTER = 12.0
"""Levels by which the mean brightness of a cell moves where something changed (compression: at most 11)."""
ROUGHER, ROUGHER_IN_NOISE = 20.0, 28.0
"""Root mean square of a cell's brightness differences: in a pair that is the same but for a few places, and in one
that differs all over (compression: at most 19 from quality 60 on, 24 where both screens are compressed; one letter
replaced by another in black on white: 28 and more, in grey 17)."""
TOGETHER = 0.85
"""Share of a cell's difference that has one sign where its pixels move together."""
TINTED, SHADED = 12.0, 4.0
"""Levels by which one colour, or all three, move together over three by three cells (compression: at most 9 and 1; 14
and 2 at quality 50): the highlight of a tab that is hardly brighter than before."""
NOISE_LEAST, NOISE_SHARE = 40, 0.25
"""Cells that differ by less than LOUD: so many, and so many of those that differ by more, make a noisy pair (encoded
again: 0.9 to 7.6 of them; changes on clean captures: under 0.03, and one or two cells around a small one)."""
FINE_AREA = 512 * 512
"""Pixels of a doubtful area that is looked at pixel by pixel as a whole; a larger one only near the point of interest
(which is what keeps a noisy pair cheap)."""
PAD = CELL
FAINT, OF_PEAK = 6, 0.4
"""A mark's pixels differ by so many levels, and by this share of its strongest difference."""
SPECK = 3


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A small place that changed, to the pixel. `mask` and both patches are cut to `box`."""

    box: PixelBox
    mask: Mask
    before: Pixels
    after: Pixels

    @property
    def width(self) -> int:
        """Width in pixels."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.box[3] - self.box[1]


@dataclass(frozen=True, slots=True)
class Patch:
    """Neighbouring cells that changed. `box` is in pixels, `cells` marks the changed ones inside it."""

    box: PixelBox
    cells: Mask


@dataclass(frozen=True, slots=True)
class Difference:
    """The cells of a pair of screens that changed."""

    before: Frame
    after: Frame
    cells: Mask

    @property
    def share(self) -> float:
        """Share of the screen's cells that changed."""
        return float(self.cells.mean())

    def share_in(self, box: tuple[float, float, float, float]) -> float:
        """Share of the cells of `box` (pixels) that changed."""
        x0, y0, x1, y1 = self.before.clip(box)
        part = self.cells[y0 // CELL : -(-y1 // CELL), x0 // CELL : -(-x1 // CELL)]
        return float(part.mean()) if part.size else 0.0

    def patches(self) -> list[Patch]:
        """The changed cells in groups: what is less than a cell apart belongs together."""
        joined = cv2.dilate(self.cells.astype(np.uint8), np.ones((3, 3), np.uint8))
        count, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
        found = []
        for index in range(1, count):
            x, y, w, h, _ = stats[index]
            own = self.cells[y : y + h, x : x + w] & (labels[y : y + h, x : x + w] == index)
            rows, columns = np.flatnonzero(own.any(axis=1)), np.flatnonzero(own.any(axis=0))
            top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
            box = self.before.clip(((x + left) * CELL, (y + top) * CELL, (x + right) * CELL, (y + bottom) * CELL))
            found.append(Patch(box, own[top:bottom, left:right]))
        return found

    def mark(self, box: PixelBox) -> Mark | None:
        """The pixels that changed in and right beside `box`; None where they are too faint to be told."""
        wide = self.before.clip((box[0] - PAD, box[1] - PAD, box[2] + PAD, box[3] + PAD))
        before, after = self.before.crop(wide), self.after.crop(wide)
        apart = strongest(np.asarray(cv2.absdiff(before, after)))
        mask = apart >= max(FAINT, OF_PEAK * float(apart.max()))
        if not mask.any():
            return None
        return cut(Mark(wide, mask, before, after))


def difference(before: Frame, after: Frame, near: tuple[float, float, float, float] | None = None) -> Difference | None:
    """The cells that changed from `before` to `after`; None where every pixel is the same.

    `near` (pixels) is looked at closely however noisy the pair is. Raises ValueError for screens of two sizes.
    """
    if before.size != after.size:
        raise ValueError("two screens of one size are compared")
    first, second = before.rgb, after.rgb
    apart = ImageChops.difference(first, second)
    box = apart.getbbox()
    if box is None:
        return None
    box = _on_grid(box, before.size)
    heat = np.asarray(apart.reduce(CELL, box)).astype(np.float32)
    loud = strongest(heat) >= LOUD
    cells = np.zeros((-(-before.height // CELL), -(-before.width // CELL)), np.bool_)
    for zone in _bands(loud, box):
        part = _within(cells, zone)
        own = _within(heat, (zone[0] - box[0], zone[1] - box[1], zone[2] - box[0], zone[3] - box[1]))
        shift = _means(first, zone) - _means(second, zone)
        part |= (np.abs(shift @ LUMA) >= BRIGHTER) | _tinted(shift, own)
    levels = ROUGHER_IN_NOISE if _is_noisy(heat, loud) else ROUGHER
    doubtful = _bands(loud & ~_within(cells, box), box)
    much = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in doubtful) > FINE_AREA
    for zone in _surroundings(before, near) if much else doubtful:
        _look_closer(first, second, zone, cells, levels)
    return Difference(before, after, cells)


def strongest(colours: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The largest of each pixel's three values (numpy takes ten times longer over a last axis of three)."""
    return np.asarray(np.maximum(np.maximum(colours[..., 0], colours[..., 1]), colours[..., 2]))


def cut(mark: Mark) -> Mark:
    """The same mark in the smallest box that holds its pixels."""
    rows, columns = np.flatnonzero(mark.mask.any(axis=1)), np.flatnonzero(mark.mask.any(axis=0))
    part = slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
    x, y = mark.box[:2]
    box = x + part[1].start, y + part[0].start, x + part[1].stop, y + part[0].stop
    return Mark(box, mark.mask[part], mark.before[part], mark.after[part])


def parts(mark: Mark, gap: int) -> list[Mark]:
    """The mark in pieces that are more than `gap` pixels apart; specks of a pixel or two are none."""
    kernel = np.ones((gap + 1, gap + 1), np.uint8)
    joined = cv2.morphologyEx(mark.mask.astype(np.uint8), cv2.MORPH_CLOSE, kernel)
    count, labels, _, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    if count <= 2:
        return [mark]
    masks = [mark.mask & (labels == index) for index in range(1, count)]
    least = min(SPECK, max(int(mask.sum()) for mask in masks))
    return [cut(Mark(mark.box, mask, mark.before, mark.after)) for mask in masks if mask.sum() >= least]


def _on_grid(box: tuple[float, float, float, float], size: tuple[int, int]) -> PixelBox:
    """`box` grown to whole cells, cut at the screen's edges."""
    x0, y0 = (int(v) // CELL * CELL for v in box[:2])
    x1, y1 = (min(side, -(-int(v) // CELL) * CELL) for v, side in zip(box[2:], size, strict=True))
    return max(0, x0), max(0, y0), x1, y1


def _means(image: Image.Image, box: PixelBox) -> npt.NDArray[np.float32]:
    return np.asarray(image.reduce(CELL, box)).astype(np.float32)


def _tinted(shift: npt.NDArray[np.float32], heat: npt.NDArray[np.float32]) -> Mask:
    """Cells inside a square of three by three whose pixels moved together, in one direction."""
    together = np.where(np.abs(shift) >= TOGETHER * heat, shift, 0).astype(np.float32)
    kernel = np.ones((3, 3), np.uint8)
    found = np.zeros(shift.shape[:2], np.bool_)
    for sign in (1, -1):
        moved = np.maximum(sign * together, 0)
        least = np.asarray(cv2.erode(moved, kernel, borderType=cv2.BORDER_CONSTANT, borderValue=0))
        middle = (strongest(least) >= TINTED) | (-strongest(-least) >= SHADED)
        found |= np.asarray(cv2.dilate(middle.astype(np.uint8), kernel)).astype(np.bool_)
    return found


def _within(cells: npt.NDArray[Any], box: PixelBox) -> npt.NDArray[Any]:
    """The view of a map of cells that lies in `box` (pixels, on the grid)."""
    return cells[box[1] // CELL : -(-box[3] // CELL), box[0] // CELL : -(-box[2] // CELL)]


def _bands(marked: Mask, box: PixelBox) -> list[PixelBox]:
    """The rows of `box` that hold marked cells, each run of them as wide as it has to be."""
    rows = np.flatnonzero(marked.any(axis=1))
    if rows.size == 0:
        return []
    breaks = np.flatnonzero(np.diff(rows) > 1)
    found = []
    for top, bottom in zip(rows[np.r_[0, breaks + 1]], rows[np.r_[breaks, rows.size - 1]] + 1, strict=True):
        columns = np.flatnonzero(marked[top:bottom].any(axis=0))
        left, right = int(columns[0]), int(columns[-1]) + 1
        x0, y0 = box[0] + CELL * left, box[1] + CELL * int(top)
        found.append((x0, y0, min(box[2], box[0] + CELL * right), min(box[3], box[1] + CELL * int(bottom))))
    return found


def _is_noisy(heat: npt.NDArray[np.float32], loud: Mask) -> bool:
    """Whether the pair was compressed differently: around what differs much lies more that differs a little."""
    quiet = int(np.count_nonzero(strongest(heat))) - int(np.count_nonzero(loud))
    return quiet >= max(NOISE_LEAST, NOISE_SHARE * np.count_nonzero(loud))


def _surroundings(frame: Frame, near: tuple[float, float, float, float] | None) -> list[PixelBox]:
    """The box around the point of interest, on the grid; none where there is no such point on the screen."""
    zone = (0, 0, 0, 0) if near is None else _on_grid(frame.clip(near), frame.size)
    return [zone] if zone[0] < zone[2] and zone[1] < zone[3] else []


def _look_closer(first: Image.Image, second: Image.Image, zone: PixelBox, cells: Mask, levels: float) -> None:
    """Mark the cells of `zone` in which the root mean square of the differences is so many levels."""
    one, two = (np.asarray(image.crop(zone).convert("L")).astype(np.float32) for image in (first, second))
    height, width = (-(-side // CELL) for side in one.shape)
    apart = np.zeros((height * CELL, width * CELL), np.float32)
    apart[: one.shape[0], : one.shape[1]] = (one - two) ** 2
    part = _within(cells, zone)
    part |= np.sqrt(apart.reshape(height, CELL, width, CELL).mean(axis=(1, 3))) >= levels
