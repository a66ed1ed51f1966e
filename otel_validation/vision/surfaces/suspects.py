"""Surfaces that only their looks give away: a row of launchers, a menu bar without a clock, a title bar, the desktop.

Looks alone are weaker than an address or a clock. So these are asked for only where the expected label is not under the
click: they can explain a click that missed, and never overrule a label that is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.surfaces.bars import edge_rows
from otel_validation.vision.surfaces.nav import Icon, icons_in, is_box, is_cross, tile_of
from otel_validation.vision.surfaces.strip import Strip, strip_of
from otel_validation.vision.surfaces.surface import Surface

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box

BY_LOOKS = frozenset({Surface.DOCK, Surface.TASKBAR, Surface.MENU_BAR, Surface.TITLE_BAR, Surface.DESKTOP})
"""What `suspect` may find."""
DEEP = 110.0
"""Launchers stand within this distance of the screen's edge (a large dock is 90 pixels high)."""
COLOURFUL = 60
"""Levels between a pixel's strongest and weakest channel from which on it has a colour: most programs' icons have."""
APART = 40
"""Levels by which a launcher differs from the bar's ground in some channel."""
COARSE, GROUNDS = 4, 3
"""Colours are counted without so many of their lowest bits, and so many of the commonest are tried as the ground."""
LAUNCHER_SIZES = (13, 84)
LAUNCHERS = 4
LAUNCHER_EVEN, LAUNCHER_APART = 0.14, 3.2
"""Distances of launchers differ by this part at most, and are at most so many sizes."""
AROUND = 14.0
"""A click so far from the row of launchers is still in their bar."""
MENU_HEIGHTS = (18.0, 34.0)
STATUS_WIDTH, STATUS = 260.0, 3
"""A menu bar has at least so many marks within this distance of its right end."""
GROUND_BLOCK, GROUND_STEP, MOST_STEPS = 40, 6, 2
"""A menu bar has one ground, but for a menu that is open: it is looked at in blocks of so many columns."""
LIGHTS_APART = (15.0, 26.0)
LIGHT_SIZES = (8, 18)
CONTROLS_APART = (20.0, 62.0)
TITLE_HALF = 17.0
"""Half the height of a title bar."""
LIGHTS_LEFT = 110.0
DESKTOP_EDGE = 150.0
"""Desktop icons stand in columns that begin within this distance of the screen's sides."""
ICON_ABOVE = 56.0
LIT, SHADOWED = 0.02, 0.5
"""Share of a label's box that its light text covers at least, and how much of that its shadow covers, too."""


def suspect(
    frame: Frame, click: tuple[int, int], scale: float, label: Box | None, *, larger: bool = False
) -> Surface | None:
    """The surface that `click` (pixels) is on by its looks, on a screen drawn at `scale`; None for the application.

    `label` is the box of the text under the click, in pixels, where there is one. At a `larger` scale than the screen's
    size suggests no menu bar is looked for: a page's own header has its height there.
    """
    return (
        _launchers(frame, click, scale)
        or (None if larger else _menu_bar(frame, click, scale))
        or _title_bar(frame, click, scale)
        or _desktop_icon(frame, click, scale, label)
    )


def _launchers(frame: Frame, click: tuple[int, int], scale: float) -> Surface | None:
    """A row (along the bottom) or a column (along a side) of colourful squares, alike and evenly spaced."""
    deep = DEEP * scale
    bands = {
        "bottom": (0.0, frame.height - deep, frame.width, frame.height),
        "left": (0.0, 0.0, deep, frame.height),
        "right": (frame.width - deep, 0.0, frame.width, frame.height),
    }
    for side, box in bands.items():
        x0, y0, x1, y1 = box
        if not (x0 <= click[0] < x1 and y0 <= click[1] < y1):
            continue
        part = frame.crop(box)
        size = max(1, round(part.shape[1] / scale)), max(1, round(part.shape[0] / scale))
        small = cv2.resize(part, size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
        along, across = (click[0] - x0) / scale, (click[1] - y0) / scale
        if side != "bottom":
            small, along, across = np.ascontiguousarray(small.transpose(1, 0, 2)), across, along
        row = _launcher_row(small, across)
        if row is None:
            continue
        apart = (row[-1][0] - row[0][0]) / (len(row) - 1)
        grey = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY).astype(np.uint8, copy=False)
        if side == "bottom" and (edge_rows(grey) < min(square[1] for square in row)).any():
            return Surface.TASKBAR
        if row[0][0] - apart <= along <= row[-1][2] + apart:
            return Surface.DOCK
    return None


def _launcher_row(pixels: npt.NDArray[np.uint8], across: float) -> list[tuple[int, int, int, int]] | None:
    """The row of launchers that row `across` of the band is in: colourful ones, or what stands out on a ground of one
    colour, since a desktop's own picture is colourful, too.
    """
    colours = pixels.astype(np.int16)
    colourful = colours.max(axis=2) - colours.min(axis=2) >= COLOURFUL
    for mask in (colourful, *(np.abs(colours - ground).max(axis=2) >= APART for ground in _grounds(pixels))):
        row = _even_row(_squares(mask))
        if row is not None:
            top, bottom = min(square[1] for square in row), max(square[3] for square in row)
            if top - AROUND <= across <= bottom + AROUND:
                return row
    return None


def _grounds(pixels: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.int16]]:
    """The commonest colours of the band."""
    coarse = (pixels >> COARSE).reshape(-1, 3)[::3].astype(np.int32)
    kinds, counts = np.unique((coarse[:, 0] << 16) | (coarse[:, 1] << 8) | coarse[:, 2], return_counts=True)
    commonest = kinds[np.argsort(counts)[::-1][:GROUNDS]]
    middle = 1 << (COARSE - 1)
    return [
        np.array([kind >> 16, kind >> 8 & 255, kind & 255], np.int16) * (1 << COARSE) + middle for kind in commonest
    ]


def _squares(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """The roughly square areas of a mask: x0, y0, x1, y1, from left to right."""
    colour = mask.astype(np.uint8)
    closed = cv2.morphologyEx(colour, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    low, high = LAUNCHER_SIZES
    found = [
        (int(x), int(y), int(x + w), int(y + h))
        for x, y, w, h, _ in stats[1:count]
        if low <= min(w, h) and max(w, h) <= high and max(w, h) <= 1.7 * min(w, h)
    ]
    return sorted(found)


def _even_row(squares: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]] | None:
    """The longest row of squares alike and evenly spaced (one may be missing between two); None for a short one."""
    best: list[tuple[int, int, int, int]] = []
    for index, first in enumerate(squares):
        size = max(first[2] - first[0], first[3] - first[1])
        alike = [
            square
            for square in squares[index:]
            if abs((square[1] + square[3]) - (first[1] + first[3])) <= 0.4 * size
            and 0.6 * size <= max(square[2] - square[0], square[3] - square[1]) <= 1.6 * size
        ]
        if len(alike) < LAUNCHERS:
            continue
        middles = np.array([(square[0] + square[2]) / 2 for square in alike])
        steps = np.diff(middles)
        step = float(np.median(steps))
        if not size < step <= LAUNCHER_APART * size:
            continue
        times = np.maximum(1, np.round(steps / step))
        even = (np.abs(steps - times * step) <= LAUNCHER_EVEN * step) & (times <= 2)
        ends = np.flatnonzero(~even)
        run = alike[: int(ends[0]) + 1] if ends.size else alike
        best = max(best, run, key=len)
    return best if len(best) >= LAUNCHERS else None


def _menu_bar(frame: Frame, click: tuple[int, int], scale: float) -> Surface | None:
    """A band along the top of the screen, parted from the rest, with status marks at its right end."""
    low, high = MENU_HEIGHTS
    if click[1] >= high * scale:
        return None
    strip = strip_of(frame, 0, (high + 4) * scale, scale)
    rows = [row for row in edge_rows(strip.pixels) if low <= row <= high and row * scale > click[1]]
    if not rows:
        return None
    bar = strip.pixels[: int(rows[0])]
    if _steps(bar) > MOST_STEPS:
        return None
    end = bar[:, -round(STATUS_WIDTH) :]
    marks = [icon for icon in icons_in(np.ascontiguousarray(end)) if icon.size <= low]
    return Surface.MENU_BAR if len(marks) >= STATUS else None


def _steps(bar: npt.NDArray[np.uint8]) -> int:
    """How often the bar's ground changes from one block of columns to the next: a field or a button in it does that."""
    blocks = bar.shape[1] // GROUND_BLOCK
    if blocks < 2:
        return 0
    ground = np.median(bar[:, : blocks * GROUND_BLOCK].reshape(len(bar), blocks, GROUND_BLOCK), axis=(0, 2))
    return int(np.count_nonzero(np.abs(np.diff(ground)) >= GROUND_STEP))


def _title_bar(frame: Frame, click: tuple[int, int], scale: float) -> Surface | None:
    """A row with a window's controls: a box and a cross at its right, or three discs at its left."""
    strip = strip_of(frame, click[1] - TITLE_HALF * scale, click[1] + TITLE_HALF * scale, scale)
    x, y = click[0] / scale, click[1] / scale - strip.top
    grey = strip.pixels
    if min(grey.shape) < TITLE_HALF:
        return None
    icons = [icon for icon in icons_in(grey) if abs(icon.y - y) <= TITLE_HALF - 4]
    for cross in icons:
        if cross.x < x - LIGHTS_LEFT or not is_cross(tile_of(grey, cross)):
            continue
        if any(_beside(box, cross, CONTROLS_APART) and is_box(tile_of(grey, box)) for box in icons):
            return Surface.TITLE_BAR
    return Surface.TITLE_BAR if _lights(frame, strip, (x, y)) else None


def _beside(one: Icon, other: Icon, apart: tuple[float, float]) -> bool:
    return apart[0] <= other.x - one.x <= apart[1] and abs(one.y - other.y) <= 4


def _lights(frame: Frame, strip: Strip, at: tuple[float, float]) -> bool:
    """Whether three coloured discs stand at the left of the row: red, yellow, green."""
    scale = strip.scale
    rows = frame.crop((0, strip.top * scale, at[0] * scale + LIGHTS_LEFT * scale, (strip.top + 2 * TITLE_HALF) * scale))
    size = max(1, round(rows.shape[1] / scale)), max(1, round(rows.shape[0] / scale))
    small = cv2.resize(rows, size, interpolation=cv2.INTER_AREA).astype(np.int16)
    red, green, blue = small[:, :, 0], small[:, :, 1], small[:, :, 2]
    masks = (
        (red > 200) & (green < 130) & (blue < 130),
        (red > 200) & (green > 150) & (blue < 110),
        (green > 150) & (red < 110) & (blue < 120),
    )
    discs = [_discs(mask) for mask in masks]
    low, high = LIGHTS_APART
    return any(
        low <= b[0] - a[0] <= high and low <= c[0] - b[0] <= high and max(abs(a[1] - b[1]), abs(c[1] - b[1])) <= 2
        for a in discs[0]
        for b in discs[1]
        for c in discs[2]
    )


def _discs(mask: npt.NDArray[np.bool_]) -> list[tuple[float, float]]:
    count, _, stats, middles = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    low, high = LIGHT_SIZES
    return [
        (float(middles[i][0]), float(middles[i][1]))
        for i in range(1, count)
        if low <= min(stats[i][2], stats[i][3]) and max(stats[i][2], stats[i][3]) <= high
    ]


def _desktop_icon(frame: Frame, click: tuple[int, int], scale: float, label: Box | None) -> Surface | None:
    """A light text with a shadow, under a picture, near a side of the screen."""
    near = min(click[0], frame.width - click[0]) <= DESKTOP_EDGE * scale
    if label is None or not near:
        return None
    x0, y0, x1, y1 = label
    pad = 0.15 * (y1 - y0)
    text = frame.grey(frame.clip((x0 - pad, y0 - pad, x1 + pad, y1 + pad))).astype(np.int16)
    if text.size == 0:
        return None
    ground = int(np.median(text))
    light, dark = float((text > ground + 60).mean()), float((text < ground - 20).mean())
    if light < LIT or dark < max(LIT, SHADOWED * light):
        return None
    middle, half = (x0 + x1) / 2, ICON_ABOVE * scale / 2
    box = frame.clip((middle - half, y0 - ICON_ABOVE * scale, middle + half, y0 - 2))
    if box[2] - box[0] < half or box[3] - box[1] < half / 2:
        return None
    picture = frame.grey(box, scale).astype(np.int16)
    return Surface.DESKTOP if float(np.abs(picture - np.median(picture[:, :3])).mean()) > COLOURFUL / 6 else None
