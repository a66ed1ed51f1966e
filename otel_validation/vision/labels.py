"""From OCR lines to labels: lines cut where an engine merged neighbours, spans, two-line labels, what is under a
click. Geometry only; no rule here knows a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.vision.ocr.engine import Box, TextBox, distance
from otel_validation.vision.text import WORDS, starts_word

if TYPE_CHECKING:
    from otel_validation.vision.expected import ExpectedText
    from otel_validation.vision.ocr.engine import Pixels

Point = tuple[float, float]

SPLIT_GAP = 0.62
"""An ink gap wider than this part of a line's box height parts two labels. A word space is a quarter to a third of
the font size, and a box is about 1.3 font sizes high; UI labels stand at least two thirds of a size apart."""
WORD_GAP = 0.37
"""Wider than this part of a line's box height no word space is: in proportional fonts it measures 0.19 to 0.3."""
FIGURE_BEARING = 1.35
"""A figure is as wide as the widest one, so a 1 stands further from what is before it than a letter does."""
BOX_TO_INK = 1.75
"""A tight box is 1.3 font sizes high, and ink with a capital or an ascender in it at least 0.73."""
ASCENDING = frozenset("bdfhklt0123456789")
SENTENCE_WORDS = 6
"""A line of so many words is running text; labels of controls are shorter."""
LINK_COLOUR = 50
"""Levels of a channel by which a link's ink differs from that of its sentence."""
PARTING = re.compile(r"[.!?]\s|[:;|/\\<>\u203a\u00bb\u2022\u00b7=]|\s[-\u2013\u2014]\s")
"""Marks that part two texts of one line: "Patient: Durand", "Accueil > Dossier"."""
COUNT = re.compile(r"\W*(\(\d+\)|\[\d+\]|v)?\W*")
"""What may follow a label and still be its own: marks, a count in brackets, the arrow of a list (read as v)."""
INK = 40
"""Grey levels by which a pixel differs from its line's background to count as ink."""
TOUCH = 0.25
"""A click this part of a line's height outside its box still touches the label (boxes are cut tight)."""
REACH_X, REACH_Y = 1.2, 0.7
"""A click so many line heights beside a label, on the same ground, belongs to its padding."""
FILL_TOLERANCE = 6
"""Grey levels per channel within which neighbouring pixels are one ground (JPEG noise, soft gradients)."""
LINE_GAP = 0.9
"""Lines of one label are at most this part of a line height apart."""
MOST_LINES = 4


@dataclass(frozen=True, slots=True)
class Span:
    """Where an expected text stands inside a label: character indices, and x from the first to past the last."""

    start: int
    end: int
    x0: float
    x1: float


def split_line(line: TextBox, pixels: Pixels) -> list[TextBox]:
    """The labels of one line: it is cut at ink gaps too wide for a space (field case D01).

    `pixels` is the image that `line` was read from.
    """
    if len(line.char_x) != len(line.text) or len(line.text) < 2:
        return [line]
    gaps = _ink_gaps(line, pixels)
    cuts = [_cut_index(line, gap) for gap in gaps]
    parts: list[TextBox] = []
    start, left = 0, line.box[0]
    for cut, (gap_left, gap_right) in zip([*cuts, len(line.text)], [*gaps, (line.box[2], line.box[2])], strict=True):
        part = _part(line, start, cut, left, gap_left)
        if part is not None:
            parts.append(part)
        start, left = cut, gap_right
    return parts or [line]


def find_spans(label: TextBox, expected: ExpectedText, pixels: Pixels | None = None) -> Iterator[Span]:
    """Where `expected` stands in the label as whole words (`starts_word`).

    With `pixels` (the image that the label was read from) it must stand apart from its neighbours too: "Enregistrer"
    is another label than "Enregistrer sous", and only a gap that no word space fills makes two labels of one line.
    """
    if len(label.char_x) != len(label.text):
        return
    for start, end in expected.occurrences(label.text):
        if all(_begins(label, index, pixels) for index in (start, end)):
            yield Span(start, end, _edge(label, start), _edge(label, end))


def touches(label: TextBox, click: Point) -> bool:
    """Whether the click is on the label, or within a quarter of a line height of its box."""
    return distance(label.box, click) <= TOUCH * label.height


def under_click(labels: list[TextBox], click: Point) -> TextBox | None:
    """The label that the click touches; the nearest centre line where several overlap."""
    touched = [label for label in labels if touches(label, click)]
    return min(touched, key=lambda label: (distance(label.box, click), _off_centre(label, click)), default=None)


def around_click(labels: list[TextBox], click: Point, pixels: Pixels) -> TextBox | None:
    """The label whose padding the click is in: same ground, near enough, or alone on a bounded ground (a button).

    None where the click is on open ground or the nearest label is another control's.
    """
    ground = _ground(pixels, click)
    on_ground = [label for label in labels if _inside(label, ground)]
    if not on_ground:
        return None
    nearest = min(on_ground, key=lambda label: distance(label.box, click))
    dx = max(nearest.box[0] - click[0], click[0] - nearest.box[2], 0.0)
    dy = max(nearest.box[1] - click[1], click[1] - nearest.box[3], 0.0)
    if dx <= REACH_X * nearest.height and dy <= REACH_Y * nearest.height:
        return nearest
    bounded = ground[1] > 1 and ground[3] < pixels.shape[0] - 1 and ground[3] - ground[1] < 4 * nearest.height
    return nearest if bounded and len(on_ground) == 1 and ground[0] > 1 and ground[2] < pixels.shape[1] - 1 else None


def stacked(label: TextBox, labels: list[TextBox], expected: ExpectedText) -> TextBox | None:
    """The label of several lines that `label` belongs to and that reads `expected`; None where there is none.

    One that reads so without `label` is another label beside it.
    """
    column = sorted((other for other in labels if _aligned(label, other)), key=lambda other: other.box[1])
    at = column.index(label)
    for count in range(2, MOST_LINES + 1):
        for first in range(max(0, at - count + 1), at + 1):
            lines = column[first : first + count]
            if len(lines) == count and _close(lines):
                joined, rest = _join(lines), _join([line for line in lines if line is not label])
                if expected.match(joined.text).accepted and not expected.match(rest.text).accepted:
                    return joined
    return None


def shows(label: TextBox, labels: list[TextBox], expected: ExpectedText) -> bool:
    """Whether the label is the expected one: alone, with those above and under it, or as most of its line."""
    if expected.match(label.text).accepted or stacked(label, labels, expected) is not None:
        return True
    return any(span.end - span.start > len(label.text) / 2 for span in find_spans(label, expected))


def _ink_gaps(
    line: TextBox, pixels: Pixels, least: float = SPLIT_GAP, *, tall: float | None = None
) -> list[tuple[float, float]]:
    """From and to (x, pixels) of the gaps between inked columns that are wider than `least` line heights.

    With `tall`, a line is no higher than so many times its ink: a box may be far higher than its letters.
    """
    x0, y0, x1, y1 = (round(value) for value in line.box)
    high = y1 - y0
    inset = max(0, round(high * 0.12))
    grey = pixels[y0 + inset : y1 - inset, x0:x1].mean(axis=2, dtype=np.float32)
    if grey.size == 0:
        return []
    ground = np.median(grey, axis=0)
    typical = float(np.median(ground))
    ink = ((np.abs(grey - typical) > INK).any(axis=0)) | (np.abs(ground - typical) > INK)
    columns = np.flatnonzero(ink)
    if columns.size < 2:
        return []
    if tall is not None and any(char.isupper() or char in ASCENDING for char in line.text):
        rows = np.flatnonzero((np.abs(grey - typical) > INK).any(axis=1))
        high = min(high, (rows[-1] - rows[0] + 1) * tall) if rows.size else high
    steps = np.diff(columns)
    wide = np.flatnonzero(steps > least * high)
    return [(float(x0 + columns[i] + 1), float(x0 + columns[i + 1])) for i in wide]


def _begins(label: TextBox, index: int, pixels: Pixels | None) -> bool:
    """Whether a word, and where there are pixels to tell a label, may begin (or end) before the character."""
    return starts_word(label.text, index) and (pixels is None or _apart(label, index, pixels))


def _apart(label: TextBox, index: int, pixels: Pixels) -> bool:
    """Whether another label may begin before the character at `index`: an end, a bare mark, or a wide gap.

    One letter before it is taken for an icon: a magnifier comes out as Q, a cross as x.
    """
    text = label.text
    if sum(char.isalnum() for char in text[:index]) < 2 or COUNT.fullmatch(text[index:]):
        return True
    left = max(i for i in range(index) if text[i].isalnum())
    right = next(i for i in range(index, len(text)) if text[i].isalnum())
    if PARTING.search(text[left + 1 : right]):
        return True
    low, high = label.char_x[left], label.char_x[right]
    if text[index:].strip().isdigit() and _on_badge(label, right, pixels):
        return True
    least = WORD_GAP * (FIGURE_BEARING if text[right].isdigit() else 1)
    return any(low < (x0 + x1) / 2 < high for x0, x1 in _ink_gaps(label, pixels, least, tall=BOX_TO_INK))


def _on_badge(label: TextBox, index: int, pixels: Pixels) -> bool:
    """Whether the characters from `index` on stand on another ground, or in another ink, than those before them."""
    x0, y0, x1, y1 = (round(value) for value in label.box)
    cut = round((label.char_x[index - 1] + label.char_x[index]) / 2)
    parts = [pixels[y0:y1, x0:cut], pixels[y0:y1, cut:x1]]
    if any(part.size == 0 for part in parts):
        return False
    grounds = [np.median(part, axis=(0, 1)) for part in parts]
    inks = [_ink_colour(part, ground) for part, ground in zip(parts, grounds, strict=True)]
    ground, ink = (float(np.abs(a - b).max()) for a, b in (grounds, inks))
    return ground > FILL_TOLERANCE or ink >= LINK_COLOUR


def _ink_colour(part: Pixels, ground: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    far = np.abs(part - ground).max(axis=2)
    colour: npt.NDArray[np.float64] = np.median(part[far >= far.max() / 2], axis=0)
    return colour


def is_sentence(label: TextBox) -> bool:
    """Whether the label is running text, in which a link is a part."""
    return len(WORDS.findall(label.text)) >= SENTENCE_WORDS


def is_link(label: TextBox, span: Span, pixels: Pixels) -> bool:
    """Whether the span's ink has another colour than the rest of its line, as a link in a sentence has."""
    x0, y0, x1, y1 = (round(value) for value in label.box)
    line = pixels[y0:y1, x0:x1].astype(np.int16)
    if line.size == 0:
        return False
    far = np.abs(line - np.median(line, axis=(0, 1))).max(axis=2)
    inked = far >= max(INK, int(far.max()) // 2)
    inside = np.zeros(inked.shape, np.bool_)
    inside[:, max(0, round(span.x0) - x0) : max(0, round(span.x1) - x0)] = True
    if not (inked & inside).any() or not (inked & ~inside).any():
        return False
    own, others = (np.median(line[inked & part], axis=0) for part in (inside, ~inside))
    return bool(np.abs(own - others).max() >= LINK_COLOUR)


def _cut_index(line: TextBox, gap: tuple[float, float]) -> int:
    middle = (gap[0] + gap[1]) / 2
    return sum(1 for x in line.char_x if x < middle)


def _part(line: TextBox, start: int, end: int, x0: float, x1: float) -> TextBox | None:
    text = line.text[start:end]
    left = len(text) - len(text.lstrip())
    right = len(text.rstrip())
    if right <= left:
        return None
    chars = line.char_x[start + left : start + right]
    return replace(line, text=text.strip(), box=(x0, line.box[1], x1, line.box[3]), char_x=chars)


def _edge(label: TextBox, index: int) -> float:
    if index <= 0:
        return label.box[0]
    if index >= len(label.char_x):
        return label.box[2]
    return (label.char_x[index - 1] + label.char_x[index]) / 2


def _off_centre(label: TextBox, click: Point) -> float:
    return abs((label.box[1] + label.box[3]) / 2 - click[1])


def _ground(pixels: Pixels, click: Point) -> Box:
    """The box of the evenly coloured area around the click."""
    height, width = pixels.shape[:2]
    seed = (min(width - 1, max(0, int(click[0]))), min(height - 1, max(0, int(click[1]))))
    mask = np.zeros((height + 2, width + 2), np.uint8)
    spread = (FILL_TOLERANCE,) * 3
    flags = 4 | cv2.FLOODFILL_MASK_ONLY | (255 << 8)
    _, _, _, (x, y, w, h) = cv2.floodFill(pixels.copy(), mask, seed, (0, 0, 0), spread, spread, flags)
    return float(x), float(y), float(x + w), float(y + h)


def _inside(label: TextBox, ground: Box) -> bool:
    x, y = (label.box[0] + label.box[2]) / 2, (label.box[1] + label.box[3]) / 2
    slack = label.height / 2
    near_x = ground[0] - slack <= label.box[2] and label.box[0] <= ground[2] + slack
    return ground[1] <= y <= ground[3] and near_x and (ground[0] <= x <= ground[2] or near_x)


def _aligned(label: TextBox, other: TextBox) -> bool:
    overlap = min(label.box[2], other.box[2]) - max(label.box[0], other.box[0])
    narrower = min(label.box[2] - label.box[0], other.box[2] - other.box[0])
    alike = 0.6 < other.height / max(1.0, label.height) < 1.67
    return other is label or (alike and overlap > 0.5 * narrower)


def _close(lines: list[TextBox]) -> bool:
    return all(-0.5 * low.height < low.box[1] - high.box[3] < LINE_GAP * low.height for high, low in pairwise(lines))


def _join(lines: list[TextBox]) -> TextBox:
    x0, y0, x1, y1 = zip(*(line.box for line in lines), strict=True)
    text = re.sub(r"-\s$", "-", " ".join(line.text.strip() for line in lines))
    confidence = min(line.confidence for line in lines)
    return TextBox(text=text, box=(min(x0), min(y0), max(x1), max(y1)), confidence=confidence)
