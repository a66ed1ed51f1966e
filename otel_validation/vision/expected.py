"""The text that an action is aimed at, folded once for the many comparisons of one report."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from otel_validation.errors import UnusableExpectationError
from otel_validation.pattern import Pattern
from otel_validation.vision.text import (
    LOOK_ALIKE,
    Form,
    MatchKind,
    TextMatch,
    compare,
    fold,
    is_number,
    letters,
    starts_word,
    strip_marks,
)

MOST_TEXTS = 32
"""Alternatives of one expected text."""
MOST_WORDS = 24
"""Words of a line among which a pattern is searched; labels are shorter."""
AS_DIGITS, AS_LETTERS = str.maketrans("lI|!iOo", "1111100"), str.maketrans("10", "lo")
"""What OCR makes of the characters of numbers, and of words."""


class _Pattern:
    """An expected pattern, and the forms of a text in which it is looked for."""

    def __init__(self, source: str, *, accent_sensitive: bool, case_sensitive: bool) -> None:
        source = fold(source.replace("\u2026", r"\.\.\."), keep_accents=True, keep_case=True)
        bare = source if accent_sensitive else _without_accents(source)
        self._accent_sensitive = accent_sensitive
        self._exact = Pattern(source, whole=True, ignore_case=not case_sensitive)
        self._folded = Pattern(bare, whole=True, ignore_case=not case_sensitive)
        self._near = Pattern(bare.replace(" ", r"\s*"), whole=True, ignore_case=True)
        if self._exact.matches("") or self._folded.matches(""):
            msg = "a pattern that an empty label matches says nothing"
            raise UnusableExpectationError(msg)

    def meets(self, seen: str) -> bool:
        """Whether the whole text matches."""
        exact = fold(seen, keep_accents=True, keep_case=True)
        folded = exact if self._accent_sensitive else _without_accents(exact)
        return self._exact.matches(exact) or self._folded.matches(folded)

    def match(self, seen: str) -> MatchKind:
        """PATTERN where the whole text matches, UNSURE where it would but for what OCR confuses, else NONE."""
        if self.meets(seen):
            return MatchKind.PATTERN
        words = _without_accents(fold(seen, keep_accents=True, keep_case=True)).split()
        mended = [word.translate(AS_DIGITS if is_number(word) else AS_LETTERS) for word in words]
        near = (" ".join(words), " ".join(mended), "".join(mended))
        return MatchKind.UNSURE if any(map(self._near.matches, near)) else MatchKind.NONE

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """The runs of whole words that match, the first and longest first."""
        inside = [index for index, char in enumerate(text) if not char.isspace()]
        starts = [index for index in inside if starts_word(text, index)][:MOST_WORDS]
        ends = [index + 1 for index in inside if starts_word(text, index + 1)][:MOST_WORDS]
        for start in starts:
            for end in reversed(ends):
                if start < end and self.meets(text[start:end]):
                    yield start, end


@dataclass(frozen=True, slots=True)
class ExpectedText:
    """What a label must read: one of `texts`, or something that `pattern` describes.

    Texts are compared as `vision.text.match` does. A pattern (see `otel_validation.pattern`) must match the whole
    label, with one kind of space, quote and dash; accents are folded on both sides. `accent_sensitive` and
    `case_sensitive` (both off by default) make accents and case count.

    Raises UnusableExpectationError for no text at all, more than MOST_TEXTS of them, a pattern that cannot be
    compiled, and one that the empty text matches.
    """

    texts: tuple[str, ...] = field(default=(), repr=False)
    pattern: str | None = field(default=None, repr=False)
    accent_sensitive: bool = False
    case_sensitive: bool = False
    _forms: tuple[Form, ...] = field(init=False, repr=False, compare=False)
    _compiled: _Pattern | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.texts and self.pattern is None:
            raise UnusableExpectationError("no text is expected")
        if len(self.texts) > MOST_TEXTS:
            msg = f"{MOST_TEXTS} texts at most can be expected"
            raise UnusableExpectationError(msg)
        compiled = None
        if self.pattern is not None:
            compiled = _Pattern(
                self.pattern, accent_sensitive=self.accent_sensitive, case_sensitive=self.case_sensitive
            )
        object.__setattr__(self, "_forms", tuple(map(self._form, self.texts)))
        object.__setattr__(self, "_compiled", compiled)

    @property
    def one_character(self) -> bool:
        """Whether a single character is expected."""
        return any(len(text.strip()) == 1 for text in self.texts)

    def match(self, seen: str) -> TextMatch:
        """How well a whole text read on the screen stands for the expected one; the best of the alternatives."""
        bare = strip_marks(seen)
        got = self._form(bare)
        as_read = got if bare == seen else self._form(seen)
        found = [compare(want, as_read if want.foreign else got) for want in self._forms]
        if self._compiled is not None:
            found += [TextMatch(self._compiled.match(text)) for text in dict.fromkeys((bare, seen))]
        return max(found, key=lambda match: match.score)

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """Where an expected text stands in a longer one, as indices; its ends may be inside words."""
        chars = letters(text) if self._forms else []
        hay = "".join(char for char, _ in chars)
        for want in self._forms:
            exact = any(char.isdigit() for char in want.tight)
            for at in _positions(want.tight, hay, exact=exact):
                start, end = chars[at][1], chars[at + len(want.tight) - 1][1] + 1
                if compare(want, self._form(text[start:end])).accepted:
                    yield start, end
        if self._compiled is not None:
            yield from self._compiled.occurrences(text)

    def may_contain(self, text: str) -> bool:
        """Whether a text could be one line of a longer expected one; of a pattern only a text that meets it is not."""
        part = Form.of(text).tight
        if len(part) < 2:
            return False
        alike = part.translate(LOOK_ALIKE)
        longer = (want.tight for want in self._forms if len(want.tight) > len(part))
        if any(alike in want.translate(LOOK_ALIKE) for want in longer):
            return True
        return self._compiled is not None and not self._compiled.meets(text)

    def as_json(self) -> str | list[str]:
        """For evidence: the text, or the list of texts and `/pattern/`."""
        parts = [*self.texts, *([] if self.pattern is None else [f"/{self.pattern}/"])]
        return parts[0] if len(parts) == 1 else parts

    def _form(self, text: str) -> Form:
        return Form.of(text, accent_sensitive=self.accent_sensitive, case_sensitive=self.case_sensitive)


def _positions(needle: str, hay: str, *, exact: bool) -> Iterator[int]:
    if not exact:
        needle, hay = needle.translate(LOOK_ALIKE), hay.translate(LOOK_ALIKE)
    at = hay.find(needle) if needle else -1
    while at >= 0:
        yield at
        at = hay.find(needle, at + 1)


def _without_accents(text: str) -> str:
    bare = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare)
