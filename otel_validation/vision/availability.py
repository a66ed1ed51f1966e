"""Captures that show no application: black, one colour, black bars around nothing, a locked session's clock.

A closed, minimised, disconnected or locked remote session gives them. What they look like beside another frame says
nothing: a hundred per cent of the pixels change when a session locks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import cv2
import numpy as np
from PIL import Image

from otel_validation.vision.image import Frame, is_blank

if TYPE_CHECKING:
    from otel_validation.vision.image import Grey

SAMPLES = 96
"""Rows and columns looked at first: a screen with something on it costs next to nothing."""
BAR_LEVEL, BAR_SPREAD = 64, 4
"""The bars of a letterboxed session are this dark at most, and even within so many grey levels."""
LEAST_BAR = 0.02
"""Share of the side under which a dark margin is a border, not a bar."""
PLAIN_SHARE = 0.93
"""A locked session's ground covers at least this share of the screen; a photograph there is not recognised."""
PLAIN_SPREAD = 24
"""Grey levels that the ground of a locked screen may vary by (a soft gradient)."""
CLOCK_ROWS = 300
"""Rows looked at for the clock: its digits are large, and its colon's dots still two rows high."""
DIGIT_HEIGHTS = (0.045, 0.3)
"""Height of a lock screen's digits in parts of the screen's: several times that of any text of an application."""
DIGIT_WIDTHS = (0.08, 0.3)
"""Width of each digit in parts of its height at least, and of the widest: the sides of a box are no digits."""
DIGIT_SLACK = 0.15
DIGITS = (3, 4)
CLOCK_INK = 50
MOST_PARTS = 400


class Unavailable(StrEnum):
    """Why a capture cannot be judged."""

    BLANK = "the screen is blank"
    EMPTY_SESSION = "the screen holds bars around a blank session"
    LOCKED = "the session is locked"


def unavailable(frame: Frame) -> Unavailable | None:
    """Why the capture shows nothing to judge; None where it does show something.

    Blank: one colour all over, or black with at most a mouse pointer. Bars around a blank session: two opposite
    margins, dark and even, around one colour; around anything else they are an ordinary remote desktop, and what lies
    between decides. Locked: a plain ground, and on it the time in digits larger than any application's text.
    """
    if is_blank(frame):
        return Unavailable.BLANK
    sample = _sample(frame, min(frame.width, SAMPLES), min(frame.height, SAMPLES))
    inner = _between_bars(sample, frame)
    if inner is not None and is_blank(Frame(frame.image.crop(inner))):
        return Unavailable.EMPTY_SESSION
    ground = int(np.median(sample))
    if _is_plain(sample, ground) and _shows_large_clock(frame, ground):
        return Unavailable.LOCKED
    return None


def _sample(frame: Frame, width: int, height: int) -> Grey:
    """The screen in so many columns and rows, each one of its pixels: nothing is averaged, so it costs little."""
    return Frame(frame.image.resize((width, height), Image.Resampling.NEAREST)).grey((0, 0, width, height))


def _between_bars(sample: Grey, frame: Frame) -> tuple[int, int, int, int] | None:
    """The box between bars at two opposite edges, in pixels of the frame; None where there are none."""
    top, bottom = _bars(sample)
    left, right = _bars(sample.T)
    height, width = sample.shape
    # Bars that meet leave nothing between them: then they are the two halves of a screen.
    if min(top, bottom) < LEAST_BAR * height or top + bottom >= height - 2:
        top = bottom = 0
    if min(left, right) < LEAST_BAR * width or left + right >= width - 2:
        left = right = 0
    if top + bottom + left + right == 0:
        return None
    # One more sample at each side: a bar's exact end lies between two of them.
    return (
        round((left + (left > 0)) * frame.width / width),
        round((top + (top > 0)) * frame.height / height),
        round((width - right - (right > 0)) * frame.width / width),
        round((height - bottom - (bottom > 0)) * frame.height / height),
    )


def _bars(sample: Grey) -> tuple[int, int]:
    """How many rows from the first and from the last edge are one dark, even bar; all of them where none is another."""
    low, high = sample.min(axis=1).astype(np.int16), sample.max(axis=1).astype(np.int16)
    ends = []
    for order in (slice(None), slice(None, None, -1)):
        dark = (high[order] <= BAR_LEVEL) & (high[order] - low[order] <= 2 * BAR_SPREAD)
        same = dark & (np.abs(low[order] - low[order][0]) <= 2 * BAR_SPREAD)
        ends.append(len(same) if same.all() else int(same.argmin()))
    return ends[0], ends[1]


def _is_plain(sample: Grey, ground: int) -> bool:
    away = np.abs(sample.astype(np.int16) - ground) > PLAIN_SPREAD
    return float(away.mean()) <= 1 - PLAIN_SHARE


@dataclass(frozen=True, slots=True)
class _Part:
    """A connected part of the ink, in pixels of the reduced screen."""

    x: int
    y: int
    width: int
    height: int


def _shows_large_clock(frame: Frame, ground: int) -> bool:
    """Whether a time stands there in huge digits: a row of them, and two dots one above the other among them."""
    height = min(frame.height, CLOCK_ROWS)
    grey = _sample(frame, max(1, round(frame.width * height / frame.height)), height)
    ink = (np.abs(grey.astype(np.int16) - ground) > CLOCK_INK).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    if count > MOST_PARTS:
        return False
    parts = [_Part(int(x), int(y), int(w), int(h)) for x, y, w, h, _ in stats[1:count]]
    low, high = (share * grey.shape[0] for share in DIGIT_HEIGHTS)
    least, _ = DIGIT_WIDTHS
    digits = [part for part in parts if low <= part.height <= high and least * part.height <= part.width <= part.height]
    return any(_is_time(first, digits, parts) for first in digits)


def _is_time(first: _Part, digits: list[_Part], parts: list[_Part]) -> bool:
    slack = DIGIT_SLACK * first.height
    row = [
        part
        for part in digits
        if abs(part.y - first.y) <= slack
        and abs(part.height - first.height) <= slack
        and abs(part.x - first.x) <= 5 * first.height
    ]
    if len(row) not in DIGITS or all(part.width < DIGIT_WIDTHS[1] * part.height for part in row):
        return False
    left, right = min(part.x for part in row), max(part.x + part.width for part in row)
    dots = [
        part
        for part in parts
        if max(part.width, part.height) <= first.height / 3
        and left < part.x < right
        and first.y - slack <= part.y <= first.y + first.height + slack
    ]
    return any(_stacked(above, under, first.height) for above in dots for under in dots)


def _stacked(above: _Part, under: _Part, height: int) -> bool:
    """Two dots of one size, one above the other: a colon."""
    apart = under.y - above.y
    return (
        0.2 * height <= apart <= 0.8 * height
        and abs(above.x - under.x) <= max(1, 0.05 * height)
        and abs(above.height - under.height) <= max(1, 0.05 * height)
        and abs(above.width - under.width) <= max(1, 0.05 * height)
    )
