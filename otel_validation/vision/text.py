"""Comparing a label with what OCR read: tolerant of OCR, never of another word.

Folding forgives what an OCR engine or a font changes (accents, ligatures, apostrophes, spaces, case). Everything
with a digit in it is compared exactly. "Half of the words suffices" (a rule of the validator seed) has no place
here: every word of the expected label must be there.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz.distance import Levenshtein

LIGATURES = str.maketrans({"œ": "oe", "Œ": "oe", "æ": "ae", "Æ": "ae", "ø": "o", "Ø": "o", "đ": "d", "ł": "l"})
"""Letters that Unicode does not decompose (field case D04); NFKC takes care of the fi and fl ligatures."""
PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u02bc\u00b4\u0060\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u200b": "",
        "\u00ad": "",
        "\u2026": "...",
    }
)
LOOK_ALIKE = str.maketrans({"1": "l", "|": "l", "!": "l", "i": "l", "0": "o"})
"""Glyphs that OCR confuses: I, l, 1 and O, 0 (field case D05); applied to folded text."""
DIGITS = re.compile(r"\d")
ELLIPSIS = re.compile(r"\.{2,}$")
WORDS = re.compile(r"[^\W_]+")

SPACELESS_MIN = 6
"""Fewer characters than this must have their spaces too: "son or" is not "sonor" (field case D02)."""
ONE_EDIT_MIN, TWO_EDITS_MIN = 5, 10
"""Words of so many letters may differ by one, by two edits; shorter ones by none."""
PREFIX_MIN = 4
"""A truncated label must show at least so many characters to count."""


class MatchKind(StrEnum):
    """How two texts agree."""

    EXACT = "exact"
    SPACELESS = "spaceless"
    CONFUSABLE = "confusable"
    FUZZY = "fuzzy"
    TRUNCATED = "truncated"
    UNSURE = "unsure"
    """Too close to call another label, too far to accept: a look-alike in a number, short words run together."""
    NONE = "none"


SCORES = {
    MatchKind.EXACT: 1.0,
    MatchKind.SPACELESS: 0.95,
    MatchKind.TRUNCATED: 0.85,
    MatchKind.CONFUSABLE: 0.8,
    MatchKind.FUZZY: 0.75,
    MatchKind.UNSURE: 0.4,
    MatchKind.NONE: 0.0,
}


@dataclass(frozen=True, slots=True)
class TextMatch:
    """How well a text read on the screen stands for the expected one; `score` is in 0..1."""

    kind: MatchKind

    @property
    def score(self) -> float:
        """1.0 for the same text, less for each thing forgiven, 0.4 where nothing can be concluded, else 0."""
        return SCORES[self.kind]

    @property
    def accepted(self) -> bool:
        """Whether the text is taken for the expected label."""
        return self.kind not in {MatchKind.UNSURE, MatchKind.NONE}

    @property
    def other(self) -> bool:
        """Whether the text is certainly another label."""
        return self.kind is MatchKind.NONE


def fold(text: str, *, keep_accents: bool = False) -> str:
    """Lower case, one kind of space, quote and dash, no ligature and (by default) no accent."""
    folded = unicodedata.normalize("NFKC", text.translate(PUNCTUATION)).translate(PUNCTUATION)
    folded = folded.casefold().translate(LIGATURES)
    if not keep_accents:
        folded = "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c))
    return " ".join(unicodedata.normalize("NFC", folded).split())


def compact(text: str) -> str:
    """A folded text without its spaces and without punctuation at its ends and between words.

    Punctuation between two digits stays: "8,540" is not "8540".
    """
    kept = []
    for index, char in enumerate(text):
        between = 0 < index < len(text) - 1 and text[index - 1].isdigit() and text[index + 1].isdigit()
        if char.isalnum() or (between and not char.isspace()):
            kept.append(char)
    return "".join(kept)


def match(expected: str, seen: str, *, accent_sensitive: bool = False) -> TextMatch:
    """Compare a whole label with a whole text read on the screen (DESIGN section 9, field cases D02, D04, D05).

    `accent_sensitive` (off by default) tells "côte" from "coté".
    """
    want, got = (fold(text, keep_accents=accent_sensitive) for text in (expected, without_marks(expected, seen)))
    if not want or not got:
        return TextMatch(MatchKind.NONE)
    if want == got:
        return TextMatch(MatchKind.EXACT)
    want_tight, got_tight = compact(want), compact(got)
    if not want_tight or not got_tight:
        return TextMatch(MatchKind.NONE)
    if want_tight == got_tight:
        return TextMatch(_same_letters(want, got, want_tight))
    if _truncated(want, got) or _truncated(got, want):
        return TextMatch(MatchKind.TRUNCATED)
    kind = _approximate(want, got)
    if kind is MatchKind.NONE and (_one_misread(want_tight, got_tight) or _truncated(want, got, misread=1)):
        kind = MatchKind.UNSURE
    return TextMatch(kind)


def without_marks(expected: str, seen: str) -> str:
    """`seen` without the icons that OCR read as letters at its ends: characters of a script `expected` has not.

    A floppy disk comes out as a Chinese character before "Save".
    """
    if any(_foreign(char) for char in expected):
        return seen
    start, end = 0, len(seen)
    while start < end and (_foreign(seen[start]) or not seen[start].isalnum()):
        start += 1
    while end > start and _foreign(seen[end - 1]):
        end -= 1
    return seen[start:end]


def _foreign(char: str) -> bool:
    """Whether the character is neither Latin, nor a digit, nor plain punctuation."""
    return ord(char) > 0x24F and unicodedata.category(char) in {"Lo", "So", "Sm", "No", "Lm"}


def _one_misread(want: str, got: str) -> bool:
    """Whether two texts differ by one substituted letter, as a mouse pointer over a label makes them."""
    long_enough = len(want) == len(got) >= SPACELESS_MIN
    digits = DIGITS.search(want) or DIGITS.search(got)
    return long_enough and not digits and Levenshtein.distance(want, got, score_cutoff=1) == 1


def _same_letters(want: str, got: str, tight: str) -> MatchKind:
    """The same characters but for spaces and punctuation."""
    if WORDS.findall(want) == WORDS.findall(got):
        return MatchKind.EXACT
    if len(tight) >= SPACELESS_MIN or DIGITS.search(tight):
        return MatchKind.SPACELESS
    return MatchKind.UNSURE


def _truncated(full: str, shown: str, *, misread: int = 0) -> bool:
    """Whether `shown` is `full` cut by an ellipsis; its last `misread` letters may be what OCR made of the dots."""
    cut = ELLIPSIS.search(shown)
    if cut is None:
        return False
    start = compact(shown[: cut.start()])
    start = start[: len(start) - misread]
    return len(start) >= PREFIX_MIN and compact(full).startswith(start)


def _approximate(want: str, got: str) -> MatchKind:
    want_tight, got_tight = compact(want), compact(got)
    alike = want_tight.translate(LOOK_ALIKE) == got_tight.translate(LOOK_ALIKE)
    if DIGITS.search(want):
        return MatchKind.UNSURE if alike else _with_digits(want, got)
    if alike:
        return MatchKind.CONFUSABLE
    return _words_alike(WORDS.findall(want), WORDS.findall(got))


def _with_digits(want: str, got: str) -> MatchKind:
    """A label that holds a number: the numbers must be the same, the words may be misread."""
    want_words, got_words = WORDS.findall(want), WORDS.findall(got)
    if len(want_words) != len(got_words):
        return MatchKind.NONE
    for a, b in zip(want_words, got_words, strict=True):
        if a != b and (DIGITS.search(a) or DIGITS.search(b)):
            return MatchKind.UNSURE if a.translate(LOOK_ALIKE) == b.translate(LOOK_ALIKE) else MatchKind.NONE
    return _words_alike(want_words, got_words)


def _words_alike(want: list[str], got: list[str]) -> MatchKind:
    """Every word has its counterpart, in order; OCR may have dropped the spaces between them."""
    if not want or not got:
        return MatchKind.NONE
    if len(want) == len(got):
        return MatchKind.FUZZY if all(map(_word_alike, want, got)) else MatchKind.NONE
    joined_want, joined_got = "".join(want), "".join(got)
    if len(joined_want) < TWO_EDITS_MIN or not _word_alike(joined_want, joined_got):
        return MatchKind.NONE
    return MatchKind.FUZZY


def _word_alike(want: str, got: str) -> bool:
    want, got = want.translate(LOOK_ALIKE), got.translate(LOOK_ALIKE)
    if want == got:
        return True
    if want[0] != got[0]:  # "connecter" and "deconnecter", "import" and "export": a prefix changes the meaning
        return False
    length = min(len(want), len(got))
    allowed = 2 if length >= TWO_EDITS_MIN else 1 if length >= ONE_EDIT_MIN else 0
    return allowed > 0 and Levenshtein.distance(want, got, score_cutoff=allowed) <= allowed
