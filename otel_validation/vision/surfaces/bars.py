"""The OS's bars along an edge of the screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.surfaces.strip import EDGE_SHARE, FLAT_PASSES, Strip, strip_of
from otel_validation.vision.surfaces.surface import Surface

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import OcrEngine, TextBox

BAR_HEIGHT = 64
"""No taskbar or menu bar is higher than this."""
CLOCK_WIDTH = 260
"""The clock lies within this distance of the bar's end (one clock, tray icons, a show-desktop edge)."""
BORDER_SLACK = 9
"""A bar's border lies within this distance of where its clock says."""
BLANK_ROWS, BORDER_OFF = 4, 3
"""So many blank rows stand above a bar that has no border, which is known to within the second."""
SIDE_WIDTH, SIDE_CLOCK = 100, 90
"""No bar along a side is wider than this; its clock lies so near to its lower end."""
CLOCK = re.compile(r"(?<!\d)[0-2]?\d[:.h][0-5]\d(?!\d)")


class Bars:
    """Recognises the OS bar that a click is in. It holds the engine and nothing else."""

    def __init__(self, engine: OcrEngine) -> None:
        self._engine = engine

    def find(self, frame: Frame, click: tuple[int, int], scale: float) -> Surface | None:
        """The bar that holds `click` (pixels) on a screen drawn at `scale`; None where there is none."""
        if click[1] >= frame.height - BAR_HEIGHT * scale:
            return Surface.TASKBAR if self._is_bar(frame, click[1], scale, bottom=True) else None
        if click[1] < BAR_HEIGHT * scale / 2:
            return Surface.MENU_BAR if self._is_bar(frame, click[1], scale, bottom=False) else None
        if min(click[0], frame.width - 1 - click[0]) < SIDE_WIDTH * scale:
            return Surface.TASKBAR if self._is_side_bar(frame, click[0], scale) else None
        return None

    def suspect(self, frame: Frame, click: tuple[int, int], scale: float) -> Surface | None:
        """The bar along the lower edge that only its looks give away (see `suspects`): it has no border and no ground
        of its own, or its clock is in another bar along the upper edge.
        """
        side, deep = float(frame.height), BAR_HEIGHT * scale
        if click[1] < side - deep:
            return None
        strip = strip_of(frame, side - deep, side, scale)
        row = click[1] / scale - strip.top
        bordered = (edge_rows(strip.pixels) <= row).any() and self._is_bar(frame, 0, scale, bottom=False)
        return Surface.TASKBAR if bordered or self._is_parted(frame, strip, row) else None

    def _is_parted(self, frame: Frame, strip: Strip, click_row: float) -> bool:
        """Whether a clock stands at the end of the strip, which goes down to the lower edge, and blank rows part the
        clock's bar, which holds the row, from what lies above. A page may end in a line with a time, too.
        """
        blank = np.ptp(strip.pixels, axis=1) < FLAT_PASSES[0]
        if not blank[: max(1, int(click_row))].any():
            return False
        x0, y0 = frame.width - CLOCK_WIDTH * strip.scale, strip.top * strip.scale
        centre = clock_centre(self._engine.read(frame.crop((x0, y0, frame.width, frame.height))))
        if centre is None:
            return False
        border = 2 * centre / strip.scale - len(strip.pixels)
        row = round(border) - BORDER_OFF
        parted = blank[max(0, row - BLANK_ROWS) : max(0, row)]
        return border <= click_row and bool(parted.size and parted.all())

    def _is_bar(self, frame: Frame, y: int, scale: float, *, bottom: bool) -> bool:
        """Whether a bar with a clock lies along the edge of the screen and holds row `y`: a clock at its right end, or
        in the middle of an upper bar, where GNOME has it.

        A bar's clock stands at half its height, so the clock tells where the bar's border must be.
        """
        deep, wide = BAR_HEIGHT * scale, CLOCK_WIDTH * scale
        y0 = frame.height - deep if bottom else 0.0
        strip = strip_of(frame, y0 - BORDER_SLACK * scale, y0 + deep + BORDER_SLACK * scale, scale)
        edges = (edge_rows(strip.pixels) + strip.top) * scale
        if not (edges <= y if bottom else edges >= y).any():
            return False
        ends = (frame.width - wide,) if bottom else (frame.width - wide, (frame.width - wide) / 2)
        for x0 in ends:
            lines = self._engine.read(frame.crop((x0, y0, x0 + wide, y0 + deep)))
            edge = bar_border(edges - y0, lines, frame.height - y0 if bottom else 0.0, BORDER_SLACK * scale)
            if edge is not None:
                return edge + y0 <= y if bottom else edge + y0 >= y
        return False

    def _is_side_bar(self, frame: Frame, x: int, scale: float) -> bool:
        """Whether a bar with a clock at its lower end lies along the left or the right side and holds column `x`."""
        left, wide, high = x < frame.width / 2, SIDE_WIDTH * scale, SIDE_CLOCK * scale
        x0 = 0.0 if left else frame.width - wide
        part = frame.grey(frame.clip((x0, 0, x0 + wide, frame.height)), scale)
        edges = edge_rows(part.T) * scale + x0
        borders = edges[edges >= x] if left else edges[edges <= x]
        for border in borders:
            ends = (0.0, border) if left else (border, frame.width)
            lines = self._engine.read(frame.crop((ends[0], frame.height - high, ends[1], frame.height)))
            if clock_centre(lines) is not None:
                return True
        return False


def edge_rows(grey: Grey) -> npt.NDArray[np.intp]:
    """The rows along which an edge runs over most of the width."""
    if len(grey) < 3:
        return np.array([], np.intp)
    return np.flatnonzero((cv2.absdiff(grey[2:], grey[:-2]) >= FLAT_PASSES[0]).mean(axis=1) >= EDGE_SHARE) + 1


def bar_border(edges: npt.NDArray[np.floating[Any]], lines: list[TextBox], side: float, slack: float) -> float | None:
    """The edge between which and the screen's `side` (a row) a clock stands in the middle, to within `slack`; None
    where there is none. All are rows of one picture, in its pixels.
    """
    best: tuple[float, float] | None = None
    for edge in edges.tolist():
        top, bottom = sorted((edge, side))
        inside = [line for line in lines if line.box[1] >= top - 2 and line.box[3] <= bottom + 2]
        centre = clock_centre(inside)
        if centre is None:
            continue
        off = abs(2 * centre - side - edge)
        if off <= slack and (best is None or off < best[0]):
            best = off, edge
    return None if best is None else best[1]


def clock_centre(lines: list[TextBox]) -> float | None:
    """The y of the middle of the clock (with its date, where that stands above or under it)."""
    clock = next((line for line in lines if CLOCK.search(line.text.replace(" ", ""))), None)
    if clock is None:
        return None
    block = [
        line
        for line in lines
        if min(line.box[2], clock.box[2]) > max(line.box[0], clock.box[0])
        and max(line.box[1] - clock.box[3], clock.box[1] - line.box[3]) < clock.height / 2
    ]
    return (min(line.box[1] for line in block) + max(line.box[3] for line in block)) / 2
