"""The title bar of the window along the upper edge of a screen, read where no window facts were sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from otel_validation.vision.surfaces.nav import STROKE, icons_in, is_cross, tile_of
from otel_validation.vision.titles import Agreement, best, in_front
from otel_validation.vision.windows import closable

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import OcrEngine

HEIGHT = 40
"""Pixels at 100 %: title bars and tab strips are 28 to 40 high (Windows 11: 32, GNOME: 37, Chrome's tabs: 40)."""
LETTERS = 3
"""A title has so many letters at least; less is a mark of the window, a clock, a count."""
SURE = 0.8
"""Confidence from which a line counts as read."""
INNER = slice(4, 28)
"""Rows in which titles stand; borders and the edges of tabs lie outside."""
INK = 40
"""Grey levels by which a column with ink differs from its ground."""
GAP, NARROW, MARGIN, MOST_PARTS = 20, 16, 8, 16
"""Pixels at 100 %: wider gaps part titles, narrower stretches are icons; and how many are read."""


@dataclass(frozen=True, slots=True)
class TitleBar:
    """What stands along the upper edge. `whole` tells a window's own title bar, with its close mark and one title, from
    a tab strip, a menu bar or a page, and the only window's from one that another may lie over: only there is it known
    that no other title belongs to the window in front.
    """

    lines: tuple[str, ...]
    whole: bool

    def agreement(self, *, title: str | None, application: str | None) -> Agreement:
        """How it stands to an expected window (see `titles.in_front`): as the best of its lines does. Of a tab strip
        that shows other titles nothing follows: one that is cut, or scrolled away, may be the expected one. Nor does it
        where a smaller window may lie over the one whose title is read.
        """
        found = best(
            in_front(title=title, application=application, shown=line, process=None, exact=False, cut=not self.whole)
            for line in self.lines
        )
        return Agreement.UNSURE if found is Agreement.OTHER and not self.whole else found


def read_title_bar(frame: Frame, scale: float, engine: OcrEngine) -> TitleBar:
    """Read the upper edge of a screen drawn at `scale` (1.0 is 100 %)."""
    box = frame.clip((0, 0, frame.width, HEIGHT * scale))
    grey = frame.grey(box, scale)
    parts = _parts(grey)[:MOST_PARTS]
    boxes = [(x0 * scale, 0, x1 * scale, box[3]) for x0, x1 in parts]
    read = [line for part in boxes for line in engine.read(frame.crop(part))]
    lines = [line for line in read if sum(map(str.isalpha, line.text)) >= LETTERS]
    whole = len(lines) == 1 and lines[0].confidence >= SURE and closable(grey) and not _has_window(frame, scale)
    return TitleBar(tuple(line.text for line in lines), whole)


def _has_window(frame: Frame, scale: float) -> bool:
    """Whether a close mark stands anywhere under the bar: a window that has one there may be in front."""
    grey = frame.grey((0, HEIGHT * scale, frame.width, frame.height), scale)
    return min(grey.shape) > STROKE and any(is_cross(tile_of(grey, icon)) for icon in icons_in(grey))


def _parts(grey: Grey) -> list[tuple[int, int]]:
    """The stretches of a bar in which something stands, from left to right: engines read a long strip badly."""
    rows = grey[INNER]
    inked = np.flatnonzero(np.ptp(rows, axis=0) >= INK) if rows.size else np.array([], np.intp)
    if not inked.size:
        return []
    cuts = np.flatnonzero(np.diff(inked) > GAP)
    starts, ends = inked[[0, *(cuts + 1)]], inked[[*cuts, -1]]
    stretches = zip(starts.tolist(), ends.tolist(), strict=True)
    return [(max(0, x0 - MARGIN), min(grey.shape[1], x1 + MARGIN)) for x0, x1 in stretches if x1 - x0 >= NARROW]
