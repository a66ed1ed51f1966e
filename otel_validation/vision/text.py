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

LIGATURES = str.maketrans(
    {"œ": "oe", "Œ": "OE", "æ": "ae", "Æ": "AE", "ß": "ss", "ẞ": "SS", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D"}
    | {"ł": "l", "Ł": "L"}
)
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
CYRILLIC = "\u0430\u0432\u0435\u0456\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0458", "abelkmhopctyxj"
GREEK = "\u03b1\u03b2\u03b5\u03b9\u03ba\u03bf\u03c1\u03c4\u03c7", "abelkoptx"
"""Letters that look like Latin ones: an engine of many scripts takes one for the other."""
LOOK_ALIKE = str.maketrans("1|!i0" + CYRILLIC[0] + GREEK[0], "llllo" + CYRILLIC[1] + GREEK[1])
"""Glyphs that OCR confuses: I, l, 1 and O, 0 (field case D05); applied to folded text."""
RUN_TOGETHER_MIN = 6
"""In words of so many letters rn and m are one: "modern" and "modem" are two words."""
DIGITS = re.compile(r"\d")
ELLIPSIS = re.compile(r"\.{2,}$")
WORDS = re.compile(r"[^\W_]+")

SPACELESS_MIN = 6
"""Fewer characters than this must have their spaces too: "son or" is not "sonor" (field case D02)."""
ONE_EDIT_MIN, TWO_EDITS_MIN = 5, 10
"""Words of so many letters may differ by one, by two edits; shorter ones by none."""
SHOWN_MIN = 8
PREFIX_MIN = 4
"""A truncated label must show at least so many characters to count."""
COMMAND_WORDS = 2
"""A text of so few whole words before an ellipsis may be a whole label: "Save as..." is not "Save as a copy"."""


class MatchKind(StrEnum):
    """How two texts agree."""

    EXACT = "exact"
    PATTERN = "pattern"
    SPACELESS = "spaceless"
    CONFUSABLE = "confusable"
    FUZZY = "fuzzy"
    TRUNCATED = "truncated"
    UNSURE = "unsure"
    """Too close to call another label, too far to accept: a look-alike in a number, short words run together."""
    NONE = "none"


SCORES = {
    MatchKind.EXACT: 1.0,
    MatchKind.PATTERN: 0.95,
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


def fold(text: str, *, keep_accents: bool = False, keep_case: bool = False) -> str:
    """One kind of space, quote and dash, no ligature and (by default) no accent and no capital."""
    folded = unicodedata.normalize("NFKC", text.translate(PUNCTUATION)).translate(PUNCTUATION)
    folded = (folded if keep_case else folded.casefold()).translate(LIGATURES)
    if not keep_accents:
        folded = "".join(c for c in unicodedata.normalize("NFD", folded) if not unicodedata.combining(c))
    return " ".join(unicodedata.normalize("NFC", folded).split())


def compact(text: str) -> str:
    """A folded text without its spaces and without punctuation at its ends and between words.

    Punctuation between two digits stays: "8,540" is not "8540".
    """
    return "".join(char for index, char in enumerate(text) if char.isalnum() or _in_number(text, index))


def letters(text: str) -> list[tuple[str, int]]:
    """The characters of a text's compact folded form, each with the index in `text` that it comes from."""
    chars = [(char, index) for index, original in enumerate(text) for char in fold(original) or " "]
    folded = "".join(char for char, _ in chars)
    return [(char, index) for at, (char, index) in enumerate(chars) if char.isalnum() or _in_number(folded, at)]


def starts_word(text: str, index: int) -> bool:
    """Whether a word may begin (or end) before the character at `index`.

    Where spaces are lost, a capital after a small letter and a figure after a letter begin one; no word begins or
    ends inside a number: not before "540" in "8,540".
    """
    if index <= 0 or index >= len(text):
        return True
    left, right = text[index - 1], text[index]
    if not left.isalnum() or not right.isalnum():
        return not (_in_number(text, index - 1) or _in_number(text, index))
    return (left.islower() and right.isupper()) or (left.isalpha() and right.isdigit())


def _in_number(text: str, index: int) -> bool:
    """Whether the character at `index` is a mark between two digits."""
    between = 0 < index < len(text) - 1 and text[index - 1].isdigit() and text[index + 1].isdigit()
    return between and not text[index].isalnum() and not text[index].isspace()


@dataclass(frozen=True, slots=True)
class Form:
    """A text in the forms that comparing needs, made once.

    `strict` is `tight` with its accents or its case; None where neither counts.
    """

    folded: str
    tight: str
    strict: str | None
    foreign: bool

    @classmethod
    def of(cls, text: str, *, accent_sensitive: bool = False, case_sensitive: bool = False) -> Form:
        """Fold a text."""
        folded, strict = fold(text), None
        if accent_sensitive or case_sensitive:
            strict = compact(fold(text, keep_accents=accent_sensitive, keep_case=case_sensitive))
        return cls(folded, compact(folded), strict, any(map(_foreign, text)))


def match(expected: str, seen: str, *, accent_sensitive: bool = False, case_sensitive: bool = False) -> TextMatch:
    """Compare a whole label with a whole text read on the screen (DESIGN section 9, field cases D02, D04, D05).

    `accent_sensitive` (off by default) tells "côte" from "coté", `case_sensitive` "us" from "US": texts that differ
    in nothing else are UNSURE, since OCR errs there.
    """
    want, got = (
        Form.of(text, accent_sensitive=accent_sensitive, case_sensitive=case_sensitive)
        for text in (expected, without_marks(expected, seen))
    )
    return compare(want, got)


def compare(want: Form, got: Form) -> TextMatch:
    """`match`, of two texts that are folded already; `got` has no marks at its ends (`strip_marks`)."""
    if not want.tight or not got.tight:
        same = bool(want.folded) and want.folded == got.folded
        return TextMatch(MatchKind.EXACT if same else MatchKind.NONE)
    kind = _compare_letters(want, got)
    if TextMatch(kind).accepted and not _agree_strictly(want, got):
        kind = MatchKind.UNSURE
    return TextMatch(kind)


def _compare_letters(want: Form, got: Form) -> MatchKind:
    if want.folded == got.folded:
        return MatchKind.EXACT
    if want.tight == got.tight:
        return _same_letters(want, got)
    for full, shown in ((want, got), (got, want)):
        if _truncated(full, shown):
            return MatchKind.UNSURE if _may_be_whole(full, shown) else MatchKind.TRUNCATED
    kind = _approximate(want, got)
    if kind is MatchKind.NONE and (_one_misread(want.tight, got.tight) or _truncated(want, got, misread=1)):
        return MatchKind.UNSURE
    return kind


def _agree_strictly(want: Form, got: Form) -> bool:
    """Whether the letters that two texts have in common also agree in accents and case, where these count."""
    if want.strict is None or got.strict is None or want.strict == got.strict:
        return True
    return all(
        want.strict[op.src_start : op.src_end] == got.strict[op.dest_start : op.dest_end]
        for op in Levenshtein.opcodes(want.tight, got.tight)
        if op.tag == "equal"
    )


def without_marks(expected: str, seen: str) -> str:
    """`seen` without the icons that OCR read as letters at its ends: characters of a script `expected` has not.

    A floppy disk comes out as a Chinese character before "Save".
    """
    return seen if any(map(_foreign, expected)) else strip_marks(seen)


def strip_marks(seen: str) -> str:
    """A text without the foreign characters at its ends."""
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


def _same_letters(want: Form, got: Form) -> MatchKind:
    """The same characters but for spaces and punctuation."""
    if WORDS.findall(want.folded) == WORDS.findall(got.folded):
        return MatchKind.EXACT
    if len(want.tight) >= SPACELESS_MIN or DIGITS.search(want.tight):
        return MatchKind.SPACELESS
    return MatchKind.UNSURE


def _truncated(full: Form, shown: Form, *, misread: int = 0) -> bool:
    """Whether `shown` is `full` cut by an ellipsis; its last `misread` letters may be what OCR made of the dots."""
    cut = ELLIPSIS.search(shown.folded)
    if cut is None:
        return False
    start = compact(shown.folded[: cut.start()])
    start = start[: len(start) - misread]
    return len(start) >= PREFIX_MIN and full.tight.startswith(start)


def _may_be_whole(full: Form, shown: Form) -> bool:
    """Whether the dots may be a command's own ("Print..." asks for more), not those of a cut "Print the record"."""
    words = WORDS.findall(shown.folded)
    return len(words) <= COMMAND_WORDS and words == WORDS.findall(full.folded)[: len(words)]


def _approximate(want: Form, got: Form) -> MatchKind:
    alike = want.tight.translate(LOOK_ALIKE) == got.tight.translate(LOOK_ALIKE)
    if DIGITS.search(want.folded):
        return MatchKind.UNSURE if alike else _with_digits(want.folded, got.folded)
    words = WORDS.findall(got.folded)
    if alike:
        return MatchKind.UNSURE if any(map(is_number, words)) else MatchKind.CONFUSABLE
    kind = _words_alike(WORDS.findall(want.folded), words)
    # two edits may be a number: "Lit 12" is not "Lit"
    return MatchKind.UNSURE if kind is MatchKind.FUZZY and any(map(is_number, words)) else kind


def is_number(word: str) -> bool:
    """Whether half of the characters are digits: the 1 of "Lit 1" is no misread letter, that of "Va1ider" is."""
    return 2 * sum(char.isdigit() for char in word) >= len(word)


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
    want, got = (word.translate(LOOK_ALIKE) for word in (want, got))
    if min(len(want), len(got)) >= RUN_TOGETHER_MIN:
        want, got = (word.replace("rn", "m") for word in (want, got))
    if want == got:
        return True
    if want[0] != got[0]:  # "connecter" and "deconnecter", "import" and "export": a prefix changes the meaning
        return False
    length = min(len(want), len(got))
    allowed = 2 if length >= TWO_EDITS_MIN else 1 if length >= ONE_EDIT_MIN else 0
    return allowed > 0 and Levenshtein.distance(want, got, score_cutoff=allowed) <= allowed


def shows_typed(seen: str, typed: str) -> bool:
    """Whether a line on the screen shows what was typed: all of its last line, or so much as a field has room for
    (`SHOWN_MIN` characters at least, from its beginning or its end). Case, accents and spaces are folded.
    """
    lines = [line for line in typed.splitlines() if line.strip()]
    wanted, shown = (compact(fold(text)) for text in (lines[-1] if lines else "", seen))
    if not wanted or not shown:
        return False
    cut = len(shown) >= SHOWN_MIN and (wanted.startswith(shown) or wanted.endswith(shown))
    return cut or wanted in shown
