"""The OS's bars along an edge of the screen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from otel_validation.vision.surfaces.strip import EDGE_SHARE, FLAT_PASSES, Strip, strip_of
from otel_validation.vision.surfaces.surface import Surface

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import OcrEngine, TextBox

BAR_HEIGHT = 64
"""No taskbar or menu bar is higher than this."""
CLOCK_WIDTH = 260
"""The clock lies within this distance of the bar's end (one clock, tray icons, a show-desktop edge)."""
BORDER_SLACK = 9
"""A bar's border lies within this distance of where its clock says."""
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
        return None

    def _is_bar(self, frame: Frame, y: int, scale: float, *, bottom: bool) -> bool:
        """Whether a bar with a clock lies along the edge of the screen and holds row `y`: a clock at its right end, or
        in the middle of an upper bar, where GNOME has it.

        A bar's clock stands at half its height, so the clock tells where the bar's border must be.
        """
        deep, wide = BAR_HEIGHT * scale, CLOCK_WIDTH * scale
        y0 = frame.height - deep if bottom else 0.0
        ends = (frame.width - wide,) if bottom else (frame.width - wide, (frame.width - wide) / 2)
        reads = (self._engine.read(frame.crop((x0, y0, x0 + wide, y0 + deep))) for x0 in ends)
        centre = next((y for y in map(clock_centre, reads) if y is not None), None)
        if centre is None:
            return False
        border = 2 * (y0 + centre) - frame.height if bottom else 2 * centre
        strip = strip_of(frame, border - BORDER_SLACK * scale, border + BORDER_SLACK * scale, scale)
        row = crossing(strip, border / scale)
        if row is None:
            return False
        return y >= row * scale if bottom else y <= row * scale


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


def crossing(strip: Strip, near: float) -> float | None:
    """The row nearest to `near` along which an edge runs over most of the screen's width; None without one."""
    rows = strip.pixels.astype(np.int16)
    if len(rows) < 3:
        return None
    steps = np.abs(rows[2:] - rows[:-2]) >= FLAT_PASSES[0]
    edges = np.flatnonzero(steps.mean(axis=1) >= EDGE_SHARE) + 1 + strip.top
    return float(min(edges, key=lambda row: abs(row - near))) if edges.size else None
