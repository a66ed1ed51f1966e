"""Regular expressions that cannot hang the server: linear time, bounded size.

They come from the host's actions, the texts from agents. pydantic-core's engine (Rust's `regex`) has no backtracking,
so no text makes a pattern slow, and it refuses one whose compiled form is too large: no dependency is added for it.
"""

from __future__ import annotations

from pydantic_core import SchemaError, SchemaValidator, core_schema

from otel_validation.errors import UnusableExpectationError

LONGEST_PATTERN = 1_000
"""Characters of a pattern; a longer one is refused."""
LONGEST_TEXT = 10_000
"""Characters of a text that is searched: time grows with it, to 50 ms at worst here (measured)."""


class Pattern:
    """A compiled pattern. `whole` asks for the whole text, else the pattern may stand anywhere in it.

    The syntax is that of Rust's `regex` crate: Perl's without look-around and back-references. Raises
    UnusableExpectationError where it cannot be compiled.
    """

    def __init__(self, source: str, *, whole: bool = False, ignore_case: bool = False) -> None:
        if len(source) > LONGEST_PATTERN:
            msg = f"a pattern has {LONGEST_PATTERN:,} characters at most"
            raise UnusableExpectationError(msg)
        _compile(source)  # by itself: in the group below, "a)|(b" would be a pattern
        start, end = (r"\A(?:", r")\z") if whole else ("(?:", ")")
        self._engine = _compile(f"{'(?i)' if ignore_case else ''}{start}{source}{end}")

    def matches(self, text: str) -> bool:
        """Whether the text matches; one longer than LONGEST_TEXT does not."""
        return len(text) <= LONGEST_TEXT and self._engine.isinstance_python(text)


def _compile(source: str) -> SchemaValidator:
    try:
        source.encode()  # a lone surrogate would compile, and match nothing
        return SchemaValidator(core_schema.str_schema(pattern=source, regex_engine="rust-regex"))
    except (SchemaError, UnicodeEncodeError):
        msg = "a pattern cannot be compiled: no look-around, no back-references, no large repetitions"
        raise UnusableExpectationError(msg) from None
