"""Where on a screenshot an action went, and at which scale that screen is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_validation.delivery.action import Point
from otel_validation.errors import UnplacedError
from otel_validation.validation.window import SCALES, WindowFacts

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action, Position
    from otel_validation.validation.report import Report

REFERENCE = (1920, 1080)
"""The screen taken for 100 %; a larger capture is read at a proportionally larger scale."""
LARGEST_SCALE = SCALES[1]
SAME_SHAPE = 0.02
"""Share by which a screenshot's two sides may be scaled differently and still be of the screen that the facts name."""
NOTHING = WindowFacts()


@dataclass(frozen=True, slots=True)
class Place:
    """A pixel of a screenshot, and the scale at which the screen is drawn (1.0 is 100 %).

    `known` tells a scale that the agent declared from one guessed from the screenshot's size.
    """

    x: int
    y: int
    scale: float
    known: bool


@dataclass(frozen=True, slots=True)
class _Screen:
    """The part of a screenshot that positions belong to: its corner and size in the screenshot's pixels, and how
    many of these make one pixel of a position (None where the facts contradict the screenshot).
    """

    x: float
    y: float
    width: float
    height: float
    ratio: tuple[float, float] | None


def place_of(action: Action, report: Report, size: tuple[int, int]) -> Place:
    """Where the action went on a screenshot of `size` (width, height): the reported position, else the action's aim.

    Fractions are of the screenshot. Pixels are of the virtual desktop: `window.monitor_origin` is taken off, and
    they are scaled where the facts say that the screenshot is (`screen_size`, or `logical` with `dpi_scale`). With
    `window.remote_rect` both are of the remote desktop that the screenshot shows there.

    Raises UnplacedError where there is no position, where it cannot be used (NaN, text), or where it lies outside:
    it is never moved inside.
    """
    at = _position(action, report)
    facts = report.window or NOTHING
    screen = _screen(facts, size)
    x, y = _inside(at, facts, screen)
    scale = _declared_scale(facts, screen)
    guessed = guess_scale((round(screen.width), round(screen.height)))
    return Place(math.floor(screen.x + x), math.floor(screen.y + y), scale or guessed, scale is not None)


def place_before(action: Action, report: Report, before: tuple[int, int], after: tuple[int, int]) -> Place | None:
    """Where the action went on the screen before it, of size `before`; None where that screen cannot be placed.

    Fractions hold on any screenshot. Pixels and window facts are those of the screen after the action (of size
    `after`): on a screen of another size they say nothing, and the screen after the action is the one to judge.
    Raises UnplacedError as `place_of`.
    """
    if before == after:
        return place_of(action, report, before)
    remote = report.window is not None and report.window.remote_rect is not None
    if remote or not isinstance(_position(action, report), Point):
        return None
    return place_of(action, report, before)


def scale_of(report: Report, size: tuple[int, int]) -> float:
    """The scale at which a screenshot of `size` is drawn (1.0 is 100 %): declared, else guessed from its size."""
    facts = report.window or NOTHING
    try:
        declared = _declared_scale(facts, _screen(facts, size))
    except UnplacedError:
        declared = facts.dpi_scale
    return declared or guess_scale(size)


def guess_scale(size: tuple[int, int]) -> float:
    """The display scale that a capture's size suggests: 1.0 up to 1920 x 1080, then in proportion."""
    return min(LARGEST_SCALE, max(1.0, min(size[0] / REFERENCE[0], size[1] / REFERENCE[1])))


def on_screenshot(
    facts: WindowFacts, rect: tuple[float, float, float, float], size: tuple[int, int]
) -> tuple[float, float, float, float]:
    """A rectangle of the virtual desktop (`facts.rect`, `client_rect`) in pixels of a screenshot of `size`; it may
    reach past the screenshot. Raises UnplacedError where the facts do not fit the screenshot.
    """
    screen = _screen(facts, size)
    (x0, y0), (x1, y1) = (_scaled(corner, facts, screen) for corner in (rect[:2], rect[2:]))
    return screen.x + x0, screen.y + y0, screen.x + x1, screen.y + y1


def _position(action: Action, report: Report) -> Position:
    if report.position_given and report.position is None:
        raise UnplacedError("the reported position cannot be used")
    at = report.position if report.position is not None else action.aim
    if at is None:
        raise UnplacedError("no position was reported and the action has none")
    return at


def _inside(at: Position, facts: WindowFacts, screen: _Screen) -> tuple[float, float]:
    """The position in pixels of the screenshot, from the screen's corner."""
    if isinstance(at, Point):
        if not (0.0 <= at.x_pct <= 1.0 and 0.0 <= at.y_pct <= 1.0):
            raise UnplacedError("the position lies outside the screenshot")
        # 1.0 is the screen's last pixel, not the one after it
        return min(screen.width - 1, at.x_pct * screen.width), min(screen.height - 1, at.y_pct * screen.height)
    x, y = _scaled((at.x_px, at.y_px), facts, screen)
    if not (0 <= x < screen.width and 0 <= y < screen.height):
        raise UnplacedError("the position lies outside the screenshot: does its monitor_origin say where that begins?")
    return x, y


def _scaled(at: tuple[float, float], facts: WindowFacts, screen: _Screen) -> tuple[float, float]:
    """A pixel of the virtual desktop in pixels of the screenshot, from the screen's corner."""
    if screen.ratio is None:
        raise UnplacedError("the screen_size that was sent does not have the screenshot's shape")
    left, top = facts.monitor_origin or (0.0, 0.0)
    return (at[0] - left) * screen.ratio[0], (at[1] - top) * screen.ratio[1]


def _screen(facts: WindowFacts, size: tuple[int, int]) -> _Screen:
    x0, y0, x1, y1 = facts.remote_rect or (0.0, 0.0, *map(float, size))
    if not (x0 >= 0 and y0 >= 0 and x1 <= size[0] and y1 <= size[1] and min(x1 - x0, y1 - y0) >= 1):
        raise UnplacedError("the remote desktop's rectangle lies outside the screenshot")
    width, height = x1 - x0, y1 - y0
    if facts.screen_size is None:
        ratio = (facts.dpi_scale or 1.0) if facts.logical else 1.0
        return _Screen(x0, y0, width, height, (ratio, ratio))
    fx, fy = width / facts.screen_size[0], height / facts.screen_size[1]
    fits = abs(fx - fy) <= SAME_SHAPE * max(fx, fy)
    return _Screen(x0, y0, width, height, (fx, fy) if fits else None)


def _declared_scale(facts: WindowFacts, screen: _Screen) -> float | None:
    """The scale at which the screenshot is drawn: the declared one, times how much the screenshot was scaled."""
    if facts.dpi_scale is None:
        return None
    ratio = 1.0 if screen.ratio is None else screen.ratio[0]
    scale = ratio if facts.logical and screen.ratio else facts.dpi_scale * ratio
    return min(LARGEST_SCALE, max(SCALES[0], scale))
