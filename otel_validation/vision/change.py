"""What changed between two screenshots: real changes, and what moves on a screen where nothing happened.

A caret blinks, a clock goes on, the mouse pointer was moved, a capture is compressed: none of them is an effect of an
action, and none is told from one by a share of pixels. A checkbox is 0.009 % of a screen. So places decide, by their
shape and by where they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from otel_validation.vision.difference import CELL, Difference, Mark, Patch, PixelBox, difference, parts
from otel_validation.vision.marks import (
    appeared,
    bounds,
    clocks,
    has_ink,
    is_caret,
    is_pointer,
    is_ring,
    moved_pointers,
)

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame

SMALL = 100
"""Pixels at 100 % on a side up to which a place is looked at by its shape."""
MOST_SMALL = 24
"""More small places than these are not a caret, a clock and a pointer."""
BUSY = 0.05
"""Share of the screen that changed from which small places decide nothing, and are not looked at."""
NEAR = 120
"""A place is near a click within this distance (pixels at 100 %)."""
ROW_REACH, ROW_HEIGHT = 400, 24
"""It also is in the click's row, so far to its sides: a field shows what is typed at its left end."""
LOOK_WIDTH, LOOK_HEIGHT = 320, 160
"""Pixels at 100 % around a click that are looked at closely however noisy the pair is."""
GAP = 3
"""Pixels at 100 % within a shape: an arrow's outline, the arcs of a digit."""
FIELD_SPREAD = 12
"""Grey levels within which a field's ground is even between a click and the caret that it placed."""
CARET_REACH = 8
"""A caret stands this near to a click into the text of a field (half a letter, pixels at 100 %)."""
EDGE_BAND = 72
"""Taskbars and menu bars lie within this distance of the top or the bottom edge (pixels at 100 %)."""
MOST_CLOCKS = 2
RING_LEAST = 26
"""A ring that turns near a click is this wide at least (pixels at 100 %): radio buttons are 13 to 20."""
PANEL_LEAST, PANEL_MOST = (120, 36), 0.45
"""Width and height of a notification at least (pixels at 100 %), and at most, in parts of the screen's."""
PANEL_SIDE, PANEL_END = 48, 150
"""It stands within these distances of a side and of the top or bottom edge (margins, a taskbar, a browser's bars)."""
PANEL_SOLID = 0.6
"""Share of its area, or of each of its sides, that changed."""


class Kind(StrEnum):
    """What a place that changed is."""

    CHANGE = "change"
    CARET = "caret"
    POINTER = "pointer"
    CLOCK = "clock"
    PANEL = "panel"
    RING = "ring"


@dataclass(frozen=True, slots=True)
class Region:
    """A place that changed: its box in pixels, what it is, whether it is near the click."""

    box: PixelBox
    kind: Kind
    near: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What changed between two screens.

    `identical`: every pixel is the same. `regions` is empty where only compression differs. `share` and `local_share`
    are parts of the screen and of the surroundings of the click (0 without one) that changed. `difference` is the map
    of cells that all this was told from; None where the screens are identical.
    """

    identical: bool = False
    regions: tuple[Region, ...] = ()
    share: float = 0.0
    local_share: float = 0.0
    difference: Difference | None = field(default=None, repr=False, compare=False)

    def of(self, *kinds: Kind) -> tuple[Region, ...]:
        """The regions of these kinds."""
        return tuple(region for region in self.regions if region.kind in kinds)


@dataclass(frozen=True, slots=True)
class _Scene:
    """A pair of screens, where the click was on them (None: unknown), at which scale they are drawn."""

    before: Frame
    after: Frame
    click: tuple[int, int] | None
    scale: float

    def look(self) -> tuple[float, float, float, float] | None:
        """The surroundings of the click."""
        if self.click is None:
            return None
        (x, y), dx, dy = self.click, self.scale * LOOK_WIDTH / 2, self.scale * LOOK_HEIGHT / 2
        return x - dx, y - dy, x + dx, y + dy

    def is_near(self, box: PixelBox) -> bool:
        """Whether the box is near the click, or in its row."""
        if self.click is None:
            return False
        dx = max(box[0] - self.click[0], 0, self.click[0] - box[2])
        dy = max(box[1] - self.click[1], 0, self.click[1] - box[3])
        in_row = dx <= ROW_REACH * self.scale and dy <= ROW_HEIGHT * self.scale
        return in_row or float(np.hypot(dx, dy)) <= NEAR * self.scale

    def in_edge_band(self, box: PixelBox) -> bool:
        """Whether the box is in a bar along the top or the bottom edge."""
        band = EDGE_BAND * self.scale
        return box[3] <= band or box[1] >= self.after.height - band

    def region(self, box: PixelBox, kind: Kind) -> Region:
        """The region of that box."""
        return Region(box, kind, self.is_near(box))


def compare(before: Frame, after: Frame, *, click: tuple[int, int] | None = None, scale: float = 1.0) -> Change:
    """What changed from `before` to `after`, screens of one size (else ValueError).

    `click` (pixels) is where the action went, None where that is unknown; `scale` is the display's (1.0 is 100 %).
    A caret that a click placed (it appears at the click, or in the click's row with nothing but ground between them)
    is a change; any other caret is not. Digits that are replaced are a clock where they are far from the click, or,
    with no click, in a bar along the screen's edge.
    """
    scene = _Scene(before, after, click, scale)
    look = scene.look()
    found = difference(before, after, look)
    if found is None:
        return Change(identical=True)
    return Change(
        regions=tuple(_regions(found, scene)),
        share=found.share,
        local_share=0.0 if look is None else found.share_in(look),
        difference=found,
    )


def _regions(found: Difference, scene: _Scene) -> Iterable[Region]:
    patches = found.patches()
    small = [patch for patch in patches if _is_small(patch.box, scene.scale)]
    if len(small) > MOST_SMALL or found.share > BUSY:
        return [scene.region(patch.box, _kind_of_patch(patch, scene)) for patch in patches]
    regions = [scene.region(p.box, _kind_of_patch(p, scene)) for p in patches if not _is_small(p.box, scene.scale)]
    marks = [mark for patch in small if (mark := found.mark(patch.box)) is not None]
    return [*regions, *_small_regions(marks, scene)]


def _is_small(box: PixelBox, scale: float) -> bool:
    return max(box[2] - box[0], box[3] - box[1]) <= SMALL * scale + 2 * CELL


def _small_regions(marks: list[Mark], scene: _Scene) -> list[Region]:
    """The kinds of small marks: pointers first, of which a part might look like something else."""
    kinds: list[tuple[Mark, Kind]] = []
    rest: list[Mark] = []
    for mark in marks:
        whole = is_pointer(mark, scene.scale) or is_ring(mark.mask, scene.scale)
        for part in [mark] if whole else parts(mark, round(GAP * scene.scale)):
            kind = _kind_of_mark(part, scene)
            if kind is None:
                rest.append(part)
            else:
                kinds.append((part, kind))
    pair = moved_pointers(rest, scene.scale)
    kinds += [(mark, Kind.POINTER) for mark in pair]
    rest = [mark for mark in rest if mark not in pair]
    ticking = _ticking(rest, scene)
    kinds += [(mark, Kind.CLOCK if mark in ticking else Kind.CHANGE) for mark in rest]
    return [scene.region(mark.box, kind) for mark, kind in kinds]


def _kind_of_mark(mark: Mark, scene: _Scene) -> Kind | None:
    """What a single mark is by its own shape; None where that does not tell."""
    if is_caret(mark, scene.scale):
        return Kind.CHANGE if _was_placed(mark, scene) else Kind.CARET
    if is_pointer(mark, scene.scale):
        return Kind.POINTER
    return Kind.RING if is_ring(mark.mask, scene.scale) and _may_turn(mark, scene) else None


def _may_turn(ring: Mark, scene: _Scene) -> bool:
    """Whether a ring may be one that turns: not around the click, where a button got the focus, and not a small one
    near it, where the other radio button of a group lost its dot.
    """
    if not scene.is_near(ring.box):
        return True
    (x, y), (x0, y0, x1, y1) = scene.click or (-1, -1), ring.box
    return not (x0 <= x <= x1 and y0 <= y <= y1) and max(ring.width, ring.height) >= RING_LEAST * scene.scale


def _was_placed(caret: Mark, scene: _Scene) -> bool:
    """Whether the click placed this caret: it appears in the click's row, at the click or in the same empty field."""
    if scene.click is None or not caret.box[1] <= scene.click[1] < caret.box[3]:
        return False
    x0, _, x1, _ = caret.box
    reach = CARET_REACH * scene.scale
    beside = scene.after.crop((x0 - reach, caret.box[1], x1 + reach, caret.box[3]))
    if not appeared(caret, beside):
        return False
    if x0 - reach <= scene.click[0] <= x1 + reach:
        return True
    left, right = min(x0, scene.click[0]), max(x1, scene.click[0] + 1)
    if right - left > ROW_REACH * scene.scale:
        return False
    # The screen before: there the caret is not in its own way, nor the pointer.
    row = scene.before.grey((left, scene.click[1], right, scene.click[1] + 1))
    return int(row.max()) - int(row.min()) <= FIELD_SPREAD


def _ticking(marks: list[Mark], scene: _Scene) -> list[Mark]:
    """The marks that are digits of clocks; none where there are more rows of glyphs than a screen has clocks."""
    rows = [row for row in clocks(marks, scene.scale) if _is_clock(row, scene)]
    return [mark for row in rows for mark in row] if len(rows) <= MOST_CLOCKS else []


def _is_clock(row: list[Mark], scene: _Scene) -> bool:
    """Glyphs far from the click that were replaced by others."""
    box = bounds(row)
    if scene.is_near(box) or (scene.click is None and not scene.in_edge_band(box)):
        return False
    wide = box[0] - CELL, box[1] - CELL, box[2] + CELL, box[3] + CELL
    return all(has_ink(frame.crop(wide)) for frame in (scene.before, scene.after))


def _kind_of_patch(patch: Patch, scene: _Scene) -> Kind:
    return Kind.PANEL if _is_panel(patch, scene) else Kind.CHANGE


def _is_panel(patch: Patch, scene: _Scene) -> bool:
    """A box in a corner of the screen, away from the click, whose area or whose border changed."""
    (x0, y0, x1, y1), scale = patch.box, scene.scale
    width, height = scene.after.size
    fits = PANEL_LEAST[0] * scale <= x1 - x0 <= PANEL_MOST * width
    fits = fits and PANEL_LEAST[1] * scale <= y1 - y0 <= PANEL_MOST * height
    at_side = min(x0, width - x1) <= PANEL_SIDE * scale
    at_end = min(y0, height - y1) <= PANEL_END * scale
    if not (fits and at_side and at_end) or scene.is_near(patch.box):
        return False
    cells = patch.cells
    sides = (cells[:2].any(axis=0), cells[-2:].any(axis=0), cells[:, :2].any(axis=1), cells[:, -2:].any(axis=1))
    return bool(cells.mean() >= PANEL_SOLID or min(side.mean() for side in sides) >= PANEL_SOLID)
