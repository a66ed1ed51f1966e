"""The region of interest around a click, and its labels as far as they are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import cv2
import numpy as np

from otel_validation.vision.labels import split_line, under_click

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box, OcrEngine, Pixels, TextBox

RADIUS, WIDE = 48.0, 10 / 3
"""Pixels at 100 % that the region reaches above and under the click, and how much further to its sides: labels are
wide; 160 x 160 (the seed's) clips a third of them (measured)."""
MOST_PIXELS = 1_000_000
UPRIGHT_WIDE, UPRIGHT_HIGH = 24.0, 110.0
"""A label written upwards or downwards is looked for so far beside the click, and above and under it."""
UPRIGHT_FLAT, UPRIGHT_RATIO, UPRIGHT_LEAST = 40, 2.5, 40.0
"""Grey levels by which it stands out, how much higher than wide it is, and how high at least."""
LETTER_GAP = 7
"""Its letters stand nearer than this to each other."""


def box_around(
    at: tuple[int, int], scale: float, *, radius: float = RADIUS, stretch: float = 1.0
) -> tuple[float, float, float, float]:
    """What reaches `radius` pixels (at 100 %) above and under `at`, and `WIDE` times that, `stretch` times, to its
    sides, on a screen drawn at `scale`. In pixels of the frame; it may reach over the frame's edges.
    """
    half_w, half_h = stretch * WIDE * radius * scale, radius * scale
    return at[0] - half_w, at[1] - half_h, at[0] + half_w, at[1] + half_h


def labels_in(frame: Frame, box: Box, scale: float, engine: OcrEngine, *, least: float = 0.0) -> list[TextBox]:
    """The labels in a box of the frame, in the frame's pixels, on a screen drawn at `scale`; none outside the frame.

    A smaller scale than `least` is enlarged to it, since engines lose small letters. What is larger than `MOST_PIXELS`
    by that is read at as large a scale as fits, at 100 % at least: an engine's time goes with the pixels.
    """
    x0, y0, x1, y1 = frame.clip(box)
    if x1 <= x0 or y1 <= y0:
        return []
    pixels = frame.crop((x0, y0, x1, y1))
    fits = math.sqrt(MOST_PIXELS / (pixels.shape[0] * pixels.shape[1]))
    zoom = max(min(1.0, 1.0 / scale), min(fits, max(1.0, least / scale)))
    if zoom != 1.0:
        way = cv2.INTER_LINEAR if zoom > 1.0 else cv2.INTER_AREA
        pixels = cv2.resize(pixels, None, fx=zoom, fy=zoom, interpolation=way).astype(np.uint8, copy=False)
    return [label.shifted(x0, y0, zoom) for line in engine.read(pixels) for label in split_line(line, pixels)]


@dataclass(frozen=True, slots=True)
class Region:
    """The region of interest: its pixels, its origin in the frame, and the click inside it."""

    pixels: Pixels
    box: tuple[int, int, int, int]
    click: tuple[float, float]
    click_px: tuple[int, int]

    @classmethod
    def around(
        cls, frame: Frame, at: tuple[int, int], scale: float, *, radius: float = RADIUS, stretch: float = 1.0
    ) -> Region:
        """What `box_around` says, as far as it is on the frame."""
        return cls._of(frame, at, box_around(at, scale, radius=radius, stretch=stretch))

    @classmethod
    def _of(cls, frame: Frame, at: tuple[int, int], box: tuple[float, float, float, float]) -> Region:
        clipped = frame.clip(box)
        click = at[0] - clipped[0] + 0.5, at[1] - clipped[1] + 0.5
        return cls(pixels=frame.crop(clipped), box=clipped, click=click, click_px=at)

    @classmethod
    def turned(cls, frame: Frame, at: tuple[int, int], scale: float) -> Iterator[Region]:
        """The region around a label that is written upwards or downwards, turned to be read both ways; none where
        nothing narrow and upright is at the click. Their `box` is that on the screen, not turned.
        """
        x, y = at
        upright = cls._of(
            frame,
            at,
            (x - UPRIGHT_WIDE * scale, y - UPRIGHT_HIGH * scale, x + UPRIGHT_WIDE * scale, y + UPRIGHT_HIGH * scale),
        )
        if not _is_upright(upright, scale):
            return
        height, width = upright.pixels.shape[:2]
        dx, dy = upright.click
        for way, click in (
            (cv2.ROTATE_90_CLOCKWISE, (height - dy, dx)),
            (cv2.ROTATE_90_COUNTERCLOCKWISE, (dy, width - dx)),
        ):
            pixels = cv2.rotate(upright.pixels, way).astype(np.uint8, copy=False)
            yield replace(upright, pixels=pixels, click=click)

    def middle(self, height: float) -> Region:
        """The rows within half of `height` (pixels) from the click."""
        top = max(0, math.floor(self.click[1] - height / 2))
        bottom = min(len(self.pixels), math.ceil(self.click[1] + height / 2))
        x0, y0, x1, _ = self.box
        return replace(
            self,
            pixels=self.pixels[top:bottom],
            box=(x0, y0 + top, x1, y0 + bottom),
            click=(self.click[0], self.click[1] - top),
        )


class Page:
    """The labels of a region, read from the click outwards and only as far as they are asked for."""

    def __init__(self, engine: OcrEngine, region: Region, *, zoom: float | None = None) -> None:
        self.region = region
        self.seen: list[TextBox] = []
        self._lines = engine.lines(region.pixels, region.click, zoom=zoom)

    def labels(self, count: int | None = None) -> list[TextBox]:
        """What was read so far and the next `count` lines' labels (default: those of all other lines)."""
        for line in islice(self._lines, count):
            self.seen += split_line(line, self.region.pixels)
        return self.seen

    def under(self, count: int) -> TextBox | None:
        """The label that the click touches, where it is on one of the next `count` lines."""
        return under_click(self.labels(count), self.region.click)


def _is_upright(region: Region, scale: float) -> bool:
    """Whether the ink at the click is narrow and upright: letters one over the other, or the tab that they are on."""
    grey = cv2.cvtColor(region.pixels, cv2.COLOR_RGB2GRAY).astype(np.int16)
    if min(grey.shape) < LETTER_GAP:
        return False
    ink = (np.abs(grey - int(np.median(grey))) >= UPRIGHT_FLAT).view(np.uint8)
    gap = max(3, round(LETTER_GAP * scale))
    _, marks, stats, _ = cv2.connectedComponentsWithStats(
        cv2.dilate(ink, np.ones((gap, gap), np.uint8)), connectivity=8
    )
    kind = marks[min(int(region.click[1]), len(grey) - 1), min(int(region.click[0]), grey.shape[1] - 1)]
    _, _, wide, high, _ = stats[kind].tolist()
    return bool(kind and high >= max(UPRIGHT_LEAST * scale, UPRIGHT_RATIO * wide))
