"""A browser's navigation icons: an arrow to the left, one to the right, a turning arrow; alike, level, evenly spaced.

No page has them left of a field by chance, and every browser has them whatever its address field holds. They are told
by their shapes, not by a template: a back arrow is the same upside down and points left, a reload mark is a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from otel_validation.vision.surfaces.strip import Strip

Grey = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.float32]

STROKE = 9
"""Lines of an icon are thinner than this."""
CONTRAST = 20
"""Grey levels by which an icon stands out: one that is off stands out by 25 at the least."""
INKED, FULL = 0.4, 0.7
"""Parts of an icon's contrast from which on a pixel is of it, and is wholly so."""
SPECK = 0.3
"""Parts of an icon smaller than this part of its largest are not of it."""
DISC, DISC_PART = 18, 0.62
"""An icon of this size may be a disc, and so much of it holds an arrow."""
SPREAD = 3
"""Marks nearer than twice this are one: letters make words, which are too wide for icons."""
SIZES = (7, 40)
TILE = 16
LEVEL = 0.2
"""Centres of icons in one row differ by at most this part of an icon's size."""
SPACING = (1.7, 4.6)
"""Distance of neighbouring icons' centres, in icon sizes."""
EVEN = 0.22
"""How far, in parts of it, the second distance may be from the first."""
ALIKE = 1.7
"""How much larger one icon may be than its neighbour."""
BESIDE = 0.12
"""So much of their distance left of the second icon is the bar's ground."""
SPACING_AT_100, SIZE_AT_100 = 36.0, 13.0
"""Pixels between the centres of Chrome's, Edge's and Firefox's icons, and of an arrow's longer side."""


@dataclass(frozen=True, slots=True)
class Icon:
    """A mark that stands alone; its box in pixels of the strip, and its ink in a square tile."""

    x0: int
    y0: int
    x1: int
    y1: int

    @property
    def size(self) -> int:
        """The longer side."""
        return max(self.x1 - self.x0, self.y1 - self.y0)

    @property
    def x(self) -> float:
        """The middle."""
        return (self.x0 + self.x1) / 2

    @property
    def y(self) -> float:
        """The middle."""
        return (self.y0 + self.y1) / 2

    def within(self, part: float) -> Icon:
        """The middle of the icon, of so many parts of its size."""
        half = self.size * part / 2
        return Icon(round(self.x - half), round(self.y - half), round(self.x + half), round(self.y + half))


@dataclass(frozen=True, slots=True)
class Navigation:
    """Navigation icons, at 100 % scale in the screen. `unit` is the length of a pixel at the browser's own scale."""

    x0: float
    x1: float
    y: float
    gap: float
    """A column between the first two icons, nearer to the second: the first may stand in a disc."""
    unit: float


def navigations(strip: Strip, *, left: int = 0, right: int | None = None) -> list[Navigation]:
    """The navigation icons between two columns of the strip."""
    grey = strip.pixels[:, left:right]
    if min(grey.shape) < 2 * STROKE:
        return []
    icons = icons_in(grey)
    found = []
    for icon in icons:
        for back in _backs(icon):
            row = _row(back, icons)
            if row is not None and is_arrow(tile_of(grey, back), left=True) and _is_navigation(grey, row):
                found.append(_navigation(row, strip, left))
                break
    return found


def _backs(icon: Icon) -> list[Icon]:
    """Where a back arrow may be: the icon itself or, as in older Firefoxes, the middle of its disc."""
    return [icon] if icon.size < DISC else [icon, icon.within(DISC_PART)]


def icons_in(grey: Grey) -> list[Icon]:
    """The marks of `grey` that are of an icon's size and stand alone, from left to right.

    Dark marks and light ones are looked for apart: the gap between two dark ones is a light one.
    """
    kernel = np.ones((STROKE, STROKE), np.uint8)
    found = [
        icon
        for kind in (cv2.MORPH_BLACKHAT, cv2.MORPH_TOPHAT)
        for icon in _icons((cv2.morphologyEx(grey, kind, kernel) >= CONTRAST).view(np.uint8))
    ]
    return sorted(found, key=lambda icon: icon.x0)


def _icons(ink: npt.NDArray[np.uint8]) -> list[Icon]:
    """Marks of an icon's size with nothing beside them."""
    # spread so far, every second column shows as much, and takes half the time to label
    blobs = np.ascontiguousarray(cv2.dilate(ink, np.ones((3, 2 * SPREAD + 1), np.uint8))[:, ::2])
    count, _, stats, _ = cv2.connectedComponentsWithStats(blobs, connectivity=8, ltype=cv2.CV_16U)
    x, y, w, h, _ = stats[1:count].T
    x, w = 2 * x, 2 * w
    w, h = w - 2 * SPREAD, h - 2
    low, high = SIZES
    fits = (
        (np.maximum(w, h) >= low)
        & (np.maximum(w, h) <= high)
        & (np.minimum(w, h) >= low - 3)
        & (h <= 2 * w)
        & (w <= 2 * h)
    )
    boxes = np.stack([x + SPREAD, y + 1, x + SPREAD + w, y + 1 + h], axis=1)[fits]
    return [Icon(*box) for box in boxes.tolist()]


def _row(back: Icon, icons: list[Icon]) -> list[Icon] | None:
    """`back` and the two icons right of it on its row; None where what is next is no icon's distance away."""
    row = [back]
    for icon in icons:
        last = row[-1]
        if icon.x0 <= last.x1 or abs(icon.y - back.y) > LEVEL * back.size + 1:
            continue
        low, high = sorted((icon.size, back.size))
        if not (SPACING[0] * icon.size <= icon.x - last.x <= SPACING[1] * icon.size) or high > ALIKE * low:
            break
        row.append(icon)
        if len(row) == 3:
            break
    return row if len(row) > 1 else None


def _is_navigation(grey: Grey, row: list[Icon]) -> bool:
    """Whether, after a back arrow, a reload mark follows, alone or after a forward arrow at the same distance."""
    second = tile_of(grey, row[1])
    if is_ring(second) or is_cross(second):
        return True
    if len(row) < 3 or not is_arrow(second, left=False):
        return False
    first, then = row[1].x - row[0].x, row[2].x - row[1].x
    third = tile_of(grey, row[2])
    return abs(then - first) <= EVEN * first and (is_ring(third) or is_cross(third))


def _navigation(row: list[Icon], strip: Strip, left: int) -> Navigation:
    spacing, size = row[1].x - row[0].x, row[1].size
    unit = (spacing / SPACING_AT_100 + size / SIZE_AT_100) / 2
    gap = row[1].x0 - BESIDE * spacing + left
    return Navigation(row[0].x0 + left, row[-1].x1 + left, row[0].y + strip.top, gap, unit)


def tile_of(grey: Grey, icon: Icon) -> Mask:
    """The icon's ink, cut tight, in a square of TILE pixels, at its middle; 1 where all is ink.

    Ink differs from the icon's surroundings by at least INKED of the most that any of its pixels does: the noise of
    JPEG around it does not.
    """
    part = grey[max(0, icon.y0 - 1) : icon.y1 + 1, max(0, icon.x0 - 1) : icon.x1 + 1].astype(np.int16)
    far = np.abs(part - np.median(np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])))
    every = far >= max(CONTRAST, INKED * far.max())
    inked = _without_specks(every)
    far[every & ~inked] = 0
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
    if not rows.size:
        return np.zeros((TILE, TILE), np.float32)
    cut = np.minimum(1.0, far[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] * (1 / far.max() / FULL))
    high, wide = cut.shape
    longer = max(high, wide)
    size = max(1, round(wide / longer * TILE)), max(1, round(high / longer * TILE))
    drawn = cv2.resize(cut.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    tile = np.zeros((TILE, TILE), np.float32)
    y, x = (TILE - size[1]) // 2, (TILE - size[0]) // 2
    tile[y : y + size[1], x : x + size[0]] = drawn
    return tile


def _without_specks(inked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The ink without its small parts: noise, and the edge of a disc around an arrow."""
    count, parts, stats, _ = cv2.connectedComponentsWithStats(inked.view(np.uint8), connectivity=8)
    if count <= 2:
        return inked
    areas = stats[1:, 4]
    kept = 1 + np.flatnonzero(areas >= SPECK * areas.max())
    return np.isin(parts, kept)


MIRRORED = 0.66
"""How alike (1 is the same) an arrow and its mirror image are."""
NOT_MIRRORED = 0.85
BARE = 0.2
"""Ink, in parts of an area, that leaves it empty."""
SECTORS, ROUND = 12, 0.18
"""Of a ring's sectors three quarters have the same radius, but for this part of it; the head of its arrow has not."""
OUTER = np.r_[0 : TILE // 4, TILE - TILE // 4 : TILE]
MIDDLE = slice(TILE * 3 // 8, TILE * 5 // 8)


def is_arrow(tile: Mask, *, left: bool) -> bool:
    """Whether the tile shows an arrow (with or without a shaft) that points left, or right."""
    shape = tile if left else tile[:, ::-1]
    # an icon of an even height has its axis between two rows
    upturned = max(
        (np.roll(shape[::-1], by, axis=0) for by in (0, -1, 1, -2, 2)), key=lambda turned: _alike(shape, turned)
    )
    if _alike(shape, upturned) < MIRRORED or _alike(shape, shape[:, ::-1]) > NOT_MIRRORED:
        return False
    wings = shape.copy()
    wings[MIDDLE] = 0
    columns, core = wings.sum(axis=0), np.flatnonzero(shape[MIDDLE].sum(axis=0) > 0.5)
    if columns.sum() < TILE / 4 or not core.size or shape[OUTER, :2].mean() > BARE:
        return False
    at = float((columns * (np.arange(TILE) + 0.5)).sum() / columns.sum()) / TILE
    has_shaft = core[-1] - core[0] >= TILE * 0.6
    return bool(core[0] <= 2 and (at < 0.5 if has_shaft else at > 0.4))


def is_ring(tile: Mask) -> bool:
    """Whether the tile shows a ring, open or closed, with nothing in it."""
    rows, columns = np.indices(tile.shape) - (TILE - 1) / 2
    away = np.hypot(rows, columns)
    if float(tile[away < TILE * 0.17].mean()) > BARE:
        return False
    if _span(tile[-1] > 0.4) > TILE * 0.68:  # it stands on a floor, as a house does
        return False
    sectors = ((np.arctan2(rows, columns) + np.pi) / (2 * np.pi) * SECTORS).astype(int) % SECTORS
    outer = np.array([away[(sectors == sector) & (tile > 0.4)].max(initial=0) for sector in range(SECTORS)])
    usual = float(np.median(outer))
    return usual > TILE / 4 and int(np.count_nonzero(np.abs(outer - usual) <= ROUND * usual)) >= SECTORS * 3 // 4


def _span(marked: npt.NDArray[np.bool_]) -> int:
    at = np.flatnonzero(marked)
    return int(at[-1] - at[0] + 1) if at.size else 0


def is_box(tile: Mask) -> bool:
    """Whether the tile shows an empty square: ink along its four sides, none in its middle."""
    sides = (tile[:3].max(axis=0), tile[-3:].max(axis=0), tile[:, :3].max(axis=1), tile[:, -3:].max(axis=1))
    middle = slice(TILE // 4 + 1, TILE - TILE // 4 - 1)
    return min(float(side.mean()) for side in sides) > 0.7 and float(tile[middle, middle].mean()) < BARE


def is_cross(tile: Mask) -> bool:
    """Whether the tile shows a cross: both diagonals, and nothing at the middles of its sides."""
    at = np.arange(2, TILE - 2)
    drawn = min(float(np.minimum(1, tile[at, at]).mean()), float(np.minimum(1, tile[at, TILE - 1 - at]).mean()))
    edge, middle = slice(0, 3), slice(TILE // 2 - 2, TILE // 2 + 2)
    sides = (tile[edge, middle], tile[::-1][edge, middle], tile[middle, edge], tile[middle, ::-1][:, edge])
    return drawn > 0.6 and max(float(side.mean()) for side in sides) < 0.2


def _alike(one: Mask, other: Mask) -> float:
    """Overlap of two tiles: 1 where they are the same."""
    union = float(np.maximum(one, other).sum())
    return float(np.minimum(one, other).sum()) / union if union else 0.0
