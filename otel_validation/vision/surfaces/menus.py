"""The browser's own menus, and the desktop's: a column of commands, one a row, all beginning at one x.

It stands anywhere, often with no border that could be seen (white on white), so its rows are its structure. An
application draws such menus too, with the same "Copy" and "Print". Only commands that no page can offer tell the
browser's: its tools, and what it does with links and pictures.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from otel_validation.vision.region import RADIUS, labels_in
from otel_validation.vision.text import ONE_EDIT_MIN, TWO_EDITS_MIN, compact, fold

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box, OcrEngine, TextBox

OWN_PATTERNS = re.compile(
    r"openlinkin.*(window|tab)"
    r"|search(google|bing|yahoo|duckduckgo|ecosia|qwant|theweb)for.*"
    r"|ouvrirlelien.*(fenetre|onglet).*"
    r"|rechercher.*(sur|avec)(google|bing|yahoo|duckduckgo|ecosia|qwant|leweb)"
)
"""Commands that no page offers and in which a name stands, folded and without spaces."""
LEAST_ROWS, LEAST_OWN = 3, 1
"""So many rows that hold a command make a menu, with so many of the browser's own among them."""
SHARE = 0.5
"""Of all rows of the menu, at least so many are known commands."""
BAND_STEP, MOST_BANDS = 72.0, 6
"""Pixels at 100 % from one band of rows to the next, and how many are read above and under the click: a browser's
longest menu is 800 high.
"""
SAME_ROW = 12.0
BEFORE, BEHIND = 48.0, 350.0
"""How far left of its rows' beginning (their icons), and right of it, the column is read."""
WORD = 3
ALIGNED = 8.0
"""The rows begin within so many pixels, as OCR places them."""
PITCH = 84.0
"""From one row to the next but one: rows are 24 to 33 high, 50 with a line across (Chromium, Edge, Firefox, Windows
11), and one with an icon before its text does not begin where the others do.
"""
MARGIN_LEFT = 64.0
"""The menu reaches so far over its texts, for its icons."""


def _phrases(kind: str) -> list[str]:
    return [compact(fold(phrase)) for language in COMMANDS[kind].values() for phrase in language]


COMMANDS = tomllib.loads(files("otel_validation.vision.surfaces").joinpath("commands.toml").read_text("utf-8"))
OWN_PHRASES, SHARED_PHRASES = _phrases("own"), _phrases("shared")
"""Commands of `commands.toml` that no page offers, and those that an application's menu may have as well."""


@dataclass(frozen=True, slots=True)
class _Row:
    """The text of a row, folded and without spaces, and where it begins, at 100 % scale."""

    x: float
    y: float
    own: bool
    known: bool

    @classmethod
    def of(cls, label: TextBox, scale: float) -> _Row:
        text = compact(fold(label.text))
        own = _is_one_of(OWN_PHRASES, text) or OWN_PATTERNS.fullmatch(text) is not None
        x0, y0, _, y1 = label.box
        return cls(x0 / scale, (y0 + y1) / 2 / scale, own, own or _is_one_of(SHARED_PHRASES, text))


class Menus:
    """Tells whether a click is in a menu of the browser, or in that of the desktop."""

    def __init__(self, engine: OcrEngine) -> None:
        self._engine = engine

    def holds(self, frame: Frame, click: tuple[int, int], scale: float, near: Sequence[TextBox]) -> bool:
        """Whether `click` (pixels) is in such a menu, on a screen drawn at `scale`.

        `near` are the labels that were read around it, in pixels. Where none of them is under it, its row may begin
        further to the left. More of a column is read only where they look like such commands, and as far as they go on.
        """
        x, y = click[0] / scale, click[1] / scale
        rows = _rows(near, scale)
        if not _columns(rows) and not _is_on_word(click, near):
            rows = self._read(frame, (x - BEHIND, y - 2 * RADIUS, x, y + 2 * RADIUS), scale)
        return any(
            self._is_menu(frame, (column, y), scale, [row for row in rows if abs(row.x - column) <= ALIGNED])
            for column in _columns(rows)
            if -MARGIN_LEFT <= x - column <= BEHIND
        )

    def _is_menu(self, frame: Frame, at: tuple[float, float], scale: float, rows: list[_Row]) -> bool:
        """Whether the rows around `at` (where they begin, and the click's row) and those that follow make a menu."""
        x, y = at
        for step in (-BAND_STEP, BAND_STEP):
            for band in range(MOST_BANDS + 1):
                if band:
                    rows = _merged(rows, self._band(frame, (x, y + band * step), scale))
                run = _around(rows, y)
                if _is_known(run):
                    return True
                if not run or abs((run[0] if step < 0 else run[-1]).y - y - band * step) > PITCH:
                    break
        return False

    def _band(self, frame: Frame, at: tuple[float, float], scale: float) -> list[_Row]:
        """The rows that begin at a column, around a row (both at 100 %)."""
        x, y = at
        rows = self._read(frame, (x - BEFORE, y - RADIUS, x + BEHIND, y + RADIUS), scale)
        return [row for row in rows if abs(row.x - x) <= ALIGNED]

    def _read(self, frame: Frame, box: Box, scale: float) -> list[_Row]:
        """The rows in a box (at 100 %)."""
        left, top, right, bottom = box
        pixels = left * scale, top * scale, right * scale, bottom * scale
        return _rows(labels_in(frame, pixels, scale, self._engine), scale)


def _is_on_word(click: tuple[int, int], near: Sequence[TextBox]) -> bool:
    """Whether a label of some letters is under the click: a key, a count or a mark is none."""
    return any(
        label.box[0] <= click[0] <= label.box[2]
        and label.box[1] <= click[1] <= label.box[3]
        and sum(map(str.isalpha, label.text)) >= WORD
        for label in near
    )


def _rows(labels: Iterable[TextBox], scale: float) -> list[_Row]:
    return sorted((_Row.of(label, scale) for label in labels), key=lambda row: row.y)


def _columns(rows: list[_Row]) -> list[float]:
    """Where a command of the browser's own begins, or two that others have, too."""
    found: list[float] = []
    for row in rows:
        if row.known and all(abs(row.x - x) > ALIGNED for x in found):
            column = [other for other in rows if abs(other.x - row.x) <= ALIGNED]
            if any(other.own for other in column) or sum(other.known for other in column) > 1:
                found.append(row.x)
    return found


def _is_one_of(phrases: list[str], text: str) -> bool:
    """Whether the text is one of them, as OCR reads it."""
    allowed = 2 if len(text) >= TWO_EDITS_MIN else 1 if len(text) >= ONE_EDIT_MIN else 0
    return process.extractOne(text, phrases, scorer=Levenshtein.distance, score_cutoff=allowed) is not None


def _merged(rows: list[_Row], more: list[_Row]) -> list[_Row]:
    """Both, each row once: what is cut by the edge of one band is whole in the next."""
    known = [row for row in (*rows, *more) if row.known]
    others = [row for row in (*rows, *more) if not row.known]
    kept: list[_Row] = []
    for row in (*known, *others):
        if all(abs(row.y - other.y) >= SAME_ROW for other in kept):
            kept.append(row)
    return sorted(kept, key=lambda row: row.y)


def _around(rows: list[_Row], y: float) -> list[_Row]:
    """The rows that follow each other around row `y`, from top to bottom."""
    above = _run([row for row in reversed(rows) if row.y <= y], y)
    return [*reversed(above), *_run([row for row in rows if row.y > y], y)]


def _is_known(rows: list[_Row]) -> bool:
    """Whether rows that follow each other are enough of the browser's or the desktop's menu."""
    known, own = sum(row.known for row in rows), sum(row.own for row in rows)
    return known >= LEAST_ROWS and own >= LEAST_OWN and known >= SHARE * len(rows)


def _run(rows: list[_Row], y: float) -> list[_Row]:
    """The rows from `y` on, as far as each is the next one's neighbour."""
    run: list[_Row] = []
    for row in rows:
        if abs(row.y - y) > PITCH:
            break
        run.append(row)
        y = row.y
    return run
