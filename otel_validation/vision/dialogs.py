"""Dialogs on a screen: what lies over the page and asks for an answer.

OS, browser and in-page dialogs, consent banners, chat widgets. Menus, tooltips and toasts ask nothing; cards, tables
and side panels lie over nothing. With the screen before, it is told too which are new: then a panel also lies over the
page where it hides what was there and all around it stayed, or only got darker.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.panels import (
    Cells,
    Overview,
    Signs,
    area,
    crossings,
    is_banner,
    lies_over,
    overlap,
    panels,
)
from otel_validation.vision.windows import dialog_around

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box

SAME_PANEL = 0.8
"""Panels of two screens that overlap so much are one."""
CHANGED = 12
"""Grey levels by which a pixel differs from the screen before."""
LEAST_CHANGE = 0.02
"""Share of a panel's pixels that must have changed for it to be new."""
QUIET = 0.02
"""Share of the pixels around a panel that may have changed, where the rest of the page stayed."""
SHADOW_REACH = 16
"""Pixels of the overview (32 at 100 %) around a panel that its shadow darkens."""
SAMPLE = 4
DARKER, ALIKE = 0.85, 0.95
"""A page that is dimmed has at most so much of its contrast left, and still shows the same: slope and correlation."""
HIDDEN = 3
"""Edges of the screen before that a panel's sides run across, where it hides something."""
MOST_AREA = 0.6
"""A panel over more of the screen than this is the application's."""
WINDOW_AREA = 0.35
"""A window with a close mark over more of the screen than this is an application's window, unless it is new."""
HANGS = 30
"""A panel that begins within so many pixels of the overview (60 at 100 %) of the click was opened by it."""
HANGING_WIDTH = 0.45
CORNER, CORNER_HEIGHT = 24, 60
"""A widget in a corner stands within so many pixels of the overview from two sides, and is higher than a toast."""
TASKBAR = 24
DRAWER_HEIGHT = 0.6
"""A side panel is at least so high, as a share of the screen."""
MENU_WIDTHS, MENU_HEIGHT, MENU_REACH = (40, 260), 24, 12
"""Sizes of a context menu, and how far from the click its corner is, in pixels of the overview."""
MOST_DIALOGS = 3


class Kind(StrEnum):
    """How a dialog stands."""

    MODAL = "modal"
    """Over a dimmed page: nothing else can be reached."""
    WINDOW = "window"
    """With a close mark: a window of its own, or drawn like one."""
    PANEL = "panel"
    BANNER = "banner"
    """From side to side: consent banners."""


@dataclass(frozen=True, slots=True)
class Dialog:
    """One dialog. `box` is in pixels of the screenshot. `new` is None without a screen before. `sure` is false where it
    may as well be a part of the page. `covers` tells whether the click lies in it.
    """

    box: Box
    kind: Kind
    signs: Signs
    new: bool | None
    sure: bool
    covers: bool

    @property
    def blocks(self) -> bool:
        """Whether it takes the click: it lies in it, or behind the layer that dims the page."""
        return self.covers or self.kind is Kind.MODAL


def find_dialogs(
    frame: Frame, click: tuple[float, float] | None, scale: float, *, before: Frame | None = None
) -> tuple[Dialog, ...]:
    """The dialogs of `frame` that matter to a click: those under it, those that dim the page, those that are new.

    `click` and boxes are in pixels of `frame`, drawn at `scale` (1.0 is 100 %). `before` is the screen before the
    action, of the same size. Those that block the click come first. A panel that a click opened beside itself (a
    list, a filter, a calendar) is none.
    """
    overview = Overview(frame, scale)
    change = None if before is None else Change(Overview(before, scale), overview)
    at = None if click is None else (click[0] / overview.unit, click[1] / overview.unit)
    found: list[tuple[Cells, Dialog]] = []
    for cells in _candidates(frame, overview, click, scale):
        if change is None and not _may_matter(overview, cells, at):
            continue
        dialog = _judge(frame, overview, cells, at, change)
        if dialog is not None:
            found.append((cells, dialog))
    kept = _outermost(found)
    return tuple(sorted(kept, key=lambda dialog: (not dialog.blocks, not dialog.sure)))[:MOST_DIALOGS]


def find_menu(frame: Frame, click: tuple[float, float], scale: float, *, before: Frame | None = None) -> Box | None:
    """The menu that a right click opened, in pixels: a bounded panel with a corner or a side at the click.

    With the screen `before` it must be new; without, it must lie over the page. None where there is none.
    """
    overview = Overview(frame, scale)
    change = None if before is None else Change(Overview(before, scale), overview)
    x, y = click[0] / overview.unit, click[1] / overview.unit
    for cells in reversed(panels(overview, least=(MENU_WIDTHS[0], MENU_HEIGHT))):
        width = cells[2] - cells[0]
        near = max(cells[0] - x, x - cells[2], 0) <= MENU_REACH and max(cells[1] - y, y - cells[3], 0) <= MENU_REACH
        corner = min(abs(cells[0] - x), abs(cells[2] - x)) <= MENU_REACH
        if not (near and corner and MENU_WIDTHS[0] <= width <= MENU_WIDTHS[1]):
            continue
        over = change.is_new(cells) if change is not None else lies_over(overview, cells)
        if over:
            return overview.box(cells)
    return None


class Change:
    """What changed between two screens of the same size."""

    def __init__(self, before: Overview, after: Overview) -> None:
        self._before, self._after = before, after
        self._mask = (cv2.absdiff(before.grey, after.grey) > CHANGED).view(np.uint8)

    @cached_property
    def _counts(self) -> npt.NDArray[np.int32]:
        return cv2.integral(self._mask).astype(np.int32, copy=False)

    @cached_property
    def panels(self) -> list[Cells]:
        """The panels of the screen before."""
        return panels(self._before)

    def is_new(self, cells: Cells) -> bool:
        """Whether the panel was not there before."""
        if self._share(cells) < LEAST_CHANGE:
            return False
        return all(overlap(cells, other) < SAME_PANEL for other in self.panels)

    def is_quiet(self, cells: Cells) -> bool:
        """Whether all that is not the panel, nor its shadow, stayed."""
        grown = self._grown(cells)
        rest = self._mask.size - area(grown)
        return rest > 0 and (self._changed((0, 0, *self._mask.shape[::-1])) - self._changed(grown)) <= QUIET * rest

    def hides(self, cells: Cells) -> bool:
        """Whether the panel's sides run across what the screen before showed."""
        return sum(crossings(self._before.grey, cells, 0)) >= HIDDEN

    def darkens(self, cells: Cells) -> bool:
        """Whether all that is beside the panel on the page still shows the same, only darker."""
        keep = np.ones(self._mask.shape, np.bool_)
        x0, y0, x1, y1 = self._grown(cells)
        keep[y0:y1, x0:x1] = False
        rows = self._after.page
        beside = keep[rows][::SAMPLE, ::SAMPLE]
        old, new = (
            view.grey[rows][::SAMPLE, ::SAMPLE][beside].astype(np.float64) for view in (self._before, self._after)
        )
        if old.size < 2 or old.std() < 1 or new.std() < 0.1:
            return False
        covariance = float(np.mean((old - old.mean()) * (new - new.mean())))
        slope, alike = covariance / old.var(), covariance / (old.std() * new.std())
        return bool(slope <= DARKER and alike >= ALIKE and new.mean() < old.mean())

    def _grown(self, cells: Cells) -> Cells:
        height, width = self._mask.shape
        x0, y0, x1, y1 = cells
        return (
            max(0, x0 - SHADOW_REACH),
            max(0, y0 - SHADOW_REACH),
            min(width, x1 + SHADOW_REACH),
            min(height, y1 + SHADOW_REACH),
        )

    def _changed(self, cells: Cells) -> int:
        x0, y0, x1, y1 = cells
        counts = self._counts
        return int(counts[y1, x1] - counts[y0, x1] - counts[y1, x0] + counts[y0, x0])

    def _share(self, cells: Cells) -> float:
        return self._changed(cells) / max(1, area(cells))


def _candidates(frame: Frame, overview: Overview, click: tuple[float, float] | None, scale: float) -> list[Cells]:
    found = [cells for cells in panels(overview) if area(cells) <= MOST_AREA * overview.grey.size]
    window = None if click is None else dialog_around(frame, click, scale)
    if window is not None:
        cells = overview.cells(window)
        if all(overlap(cells, other) < SAME_PANEL for other in found):
            found.append(cells)
    return found


def _may_matter(overview: Overview, cells: Cells, at: tuple[float, float] | None) -> bool:
    """Whether a panel can be one that is looked for, told by what costs little."""
    return _covers(cells, at) or (not is_banner(cells, overview) and _is_central(cells, overview))


def _judge(
    frame: Frame, overview: Overview, cells: Cells, at: tuple[float, float] | None, change: Change | None
) -> Dialog | None:
    new = None if change is None else change.is_new(cells)
    covers = _covers(cells, at)
    if new is False and not covers and not _is_central(cells, overview):
        return None
    signs = Signs(overview, cells, frame)
    darkened = bool(new and change is not None and change.darkens(cells))
    kind = _kind(overview, cells, signs, darkened=darkened)
    hanging = _is_opened_here(overview, cells, at, kind) or (kind is Kind.PANEL and _is_drawer(cells, overview))
    if hanging or not (covers or new or kind is Kind.MODAL):
        return None
    changed = change if new else None
    anchored = new is not False and _is_anchored(cells, overview, new=bool(new))
    lies = kind in (Kind.MODAL, Kind.WINDOW) or signs.over or anchored or _hides_alone(cells, changed)
    # Buttons last: to count them takes longer than all the rest.
    if not lies or not (signs.asks or (kind is Kind.MODAL and (covers or new))):
        return None
    sure = _is_sure(overview, cells, signs, kind, changed, darkened=darkened)
    if not (sure or signs.over or anchored):
        return None
    return Dialog(overview.box(cells), kind, signs, new, sure, covers)


def _kind(overview: Overview, cells: Cells, signs: Signs, *, darkened: bool) -> Kind:
    if darkened or (signs.dimmed and _is_central(cells, overview)):
        return Kind.MODAL
    if is_banner(cells, overview):
        return Kind.BANNER
    return Kind.WINDOW if signs.close else Kind.PANEL


def _is_sure(
    overview: Overview, cells: Cells, signs: Signs, kind: Kind, change: Change | None, *, darkened: bool
) -> bool:
    """`change` is given where the panel is new."""
    if kind is Kind.MODAL:
        return darkened or signs.asks
    if kind is Kind.WINDOW and (change is not None or area(cells) <= WINDOW_AREA * overview.grey.size):
        return signs.over or signs.buttons > 0 or change is not None
    if change is not None and change.is_quiet(cells):
        return signs.over or change.hides(cells) or _is_anchored(cells, overview, new=True)
    return signs.buttons > 0 and signs.over and (signs.shadow or signs.dimmed)


def _hides_alone(cells: Cells, change: Change | None) -> bool:
    """Whether nothing changed but that the panel, which is new, hides what was there."""
    return change is not None and change.hides(cells) and change.is_quiet(cells)


def _is_opened_here(overview: Overview, cells: Cells, at: tuple[float, float] | None, kind: Kind) -> bool:
    """Whether the panel hangs from the click: beside it, not on it."""
    if at is None or kind is not Kind.PANEL or _covers(cells, at):
        return False
    if cells[2] - cells[0] > HANGING_WIDTH * overview.width:
        return False
    dx = max(cells[0] - at[0], at[0] - cells[2], 0)
    dy = max(cells[1] - at[1], at[1] - cells[3], 0)
    return max(dx, dy) <= HANGS


def _covers(cells: Cells, at: tuple[float, float] | None) -> bool:
    return at is not None and cells[0] <= at[0] < cells[2] and cells[1] <= at[1] < cells[3]


def _is_drawer(cells: Cells, overview: Overview) -> bool:
    """Whether the panel is a part of the page's frame: along most of one of its sides."""
    beside = min(cells[0], overview.width - cells[2])
    return beside <= 1 and cells[3] - cells[1] >= DRAWER_HEIGHT * overview.height


def _is_anchored(cells: Cells, overview: Overview, *, new: bool) -> bool:
    """Whether the panel stands where pages put what they lay over themselves: along their end, or low in a corner.

    One along the top is a page's own header, unless it is new.
    """
    low = overview.height - cells[3]
    if is_banner(cells, overview):
        return new or low <= TASKBAR
    beside = min(cells[0], overview.width - cells[2])
    return 0 < beside <= CORNER and 0 < low <= CORNER + TASKBAR and cells[3] - cells[1] >= CORNER_HEIGHT


def _is_central(cells: Cells, overview: Overview) -> bool:
    """Whether the panel's middle is that of the screen, within a seventh: modals are centred on page or window."""
    return abs((cells[0] + cells[2]) / 2 - overview.width / 2) <= overview.width / 7


def _outermost(found: list[tuple[Cells, Dialog]]) -> list[Dialog]:
    """The dialogs without those that lie in another one: its own bands and groups."""
    kept: list[tuple[Cells, Dialog]] = []
    for cells, dialog in sorted(found, key=lambda each: (not each[1].sure, -area(each[0]))):
        inside = any(_holds(other, cells) for other, _ in kept)
        if not inside:
            kept.append((cells, dialog))
    return [dialog for _, dialog in kept]


def _holds(outer: Cells, inner: Cells) -> bool:
    width = min(outer[2], inner[2]) - max(outer[0], inner[0])
    height = min(outer[3], inner[3]) - max(outer[1], inner[1])
    return width > 0 and height > 0 and width * height >= 0.9 * area(inner)
