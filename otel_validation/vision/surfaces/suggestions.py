"""What hangs from the address field while one types: the same text, and with which engine it would be searched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz import fuzz

from otel_validation.vision.text import compact, fold

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import OcrEngine, TextBox

ENGINES = "google|duckduckgo|bing|yahoo|ecosia|qwant|startpage|brave"
HINT = re.compile(rf"search|recherch|{ENGINES}")
"""What a label near the click must hold, folded, for more to be read: a part of the rest of a suggestion."""
SEARCHED = re.compile(rf"rechercher?(avec|sur)?({ENGINES})|search(with|on)?({ENGINES})|({ENGINES})search")
"""The rest of a suggestion, folded and without spaces: "Google Search" or "Recherche Google" in Chromium, "Search with
Google" or "Rechercher avec Google" in Firefox."""
TYPED_LEAST = 4
"""So many letters of what was typed stand in both rows."""
ALIKE = 90
"""Per cent of the letters of the shorter."""
ABOVE = (16.0, 60.0)
"""Pixels at 100 % from the field's text down to the first suggestion's."""
ROW = 24.0
"""A click so far from a suggestion's text, up or down, is on it."""
SAME_ROW = 6.0
REACH = 800.0
"""How far left and right of the click it is read: address fields are wide."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a row, folded and without spaces, and the row's middle in pixels."""

    text: str
    y: float


class Suggestions:
    """Tells whether a click is on a suggestion of the browser's address field."""

    def __init__(self, engine: OcrEngine) -> None:
        self._engine = engine

    def holds(self, frame: Frame, click: tuple[int, int], scale: float, near: Sequence[TextBox]) -> bool:
        """Whether `click` (pixels of a screen drawn at `scale`) is on a row that repeats the text above it and names a
        search engine. `near` are the labels read around it; more is read where one of them hints at such a row.
        """
        if not any(HINT.search(fold(label.text)) for label in near):
            return False
        x, y = click
        box = frame.clip((x - REACH * scale, y - (ROW + ABOVE[1]) * scale, x + REACH * scale, y + 2 * ROW * scale))
        pieces = [
            _Piece(compact(fold(line.text)), box[1] + (line.box[1] + line.box[3]) / 2)
            for line in self._engine.read(frame.crop(box))
        ]
        return any(
            abs(piece.y - y) <= ROW * scale and _repeats(piece, pieces, scale)
            for piece in pieces
            if SEARCHED.search(piece.text)
        )


def _repeats(search: _Piece, pieces: list[_Piece], scale: float) -> bool:
    """Whether the row of the piece that names a search engine shows, before that, what a row above it shows."""
    low, high = ABOVE
    typed = [SEARCHED.sub("", piece.text) for piece in pieces if abs(piece.y - search.y) <= SAME_ROW * scale]
    above = [piece.text for piece in pieces if low <= (search.y - piece.y) / scale <= high]
    return any(_is_in(one, other) for one in typed for other in above)


def _is_in(one: str, other: str) -> bool:
    """Whether the shorter text, which may be cut, stands in the longer, but for what an icon or a caret is read as."""
    return min(len(one), len(other)) >= TYPED_LEAST and fuzz.partial_ratio(one, other) >= ALIKE
