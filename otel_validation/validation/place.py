"""Where on a screenshot an action went, and at which scale that screen is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from otel_validation.delivery.action import finite
from otel_validation.errors import UnplacedError

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.report import Report

REFERENCE = (1920, 1080)
"""The screen taken for 100 %; a larger capture is read at a proportionally larger scale."""
LARGEST_SCALE = 4.0


@dataclass(frozen=True, slots=True)
class Place:
    """A pixel of a screenshot, and the scale at which the screen is drawn (1.0 is 100 %).

    `known` tells a scale that the agent declared from one guessed from the screenshot's size.
    """

    x: int
    y: int
    scale: float
    known: bool


def place_of(action: Action, report: Report, size: tuple[int, int]) -> Place:
    """Where the action went on a screenshot of `size` (width, height): the reported position, else the action's aim.

    Raises UnplacedError where there is neither, where the position cannot be used (NaN, text) or lies outside the
    screen: it is never moved inside.
    """
    if report.position_given and report.position is None:
        raise UnplacedError("the reported position cannot be used")
    at = report.position if report.position is not None else action.aim
    if at is None:
        raise UnplacedError("no position was reported and the action has none")
    if not (0.0 <= at.x_pct <= 1.0 and 0.0 <= at.y_pct <= 1.0):
        raise UnplacedError("the position lies outside the screen")
    x, y = (min(side - 1, math.floor(part * side)) for part, side in zip((at.x_pct, at.y_pct), size, strict=True))
    declared = declared_scale(report.window)
    return Place(x, y, declared or guess_scale(size), declared is not None)


def guess_scale(size: tuple[int, int]) -> float:
    """The display scale that a capture's size suggests: 1.0 up to 1920 x 1080, then in proportion."""
    return min(LARGEST_SCALE, max(1.0, min(size[0] / REFERENCE[0], size[1] / REFERENCE[1])))


def declared_scale(window: Mapping[str, Any] | None) -> float | None:
    """The scale that the agent declares (`window.dpi_scale`, 1.0 is 100 %); None where it is absent or absurd."""
    scale = finite((window or {}).get("dpi_scale"))
    return scale if scale is not None and 0.5 <= scale <= LARGEST_SCALE else None
