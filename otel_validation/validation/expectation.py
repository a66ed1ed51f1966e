"""What a host says, in the action itself, of the outcome that it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_validation.vision.expected import ExpectedText

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action


@dataclass(frozen=True, slots=True)
class _Declared:
    """The members that say which text is expected, as they were sent."""

    texts: tuple[str, ...]
    pattern: str | None
    source: Mapping[str, object]


def expects_text(action: Action) -> bool:
    """Whether the action says which label it is aimed at (cheap; whether it can be used, `expected_text` says)."""
    return _declared_text(action) is not None


def expected_text(action: Action) -> ExpectedText:
    """The label that the action is aimed at.

    Read from `target_spec`, or where that says nothing from the action itself: `by_text` (a text, or a list of which
    one suffices), `by_text_any` (a list), `by_text_pattern` (a pattern); any of them may be met. Blank texts and
    what is no text count as not there. Beside them, `accent_sensitive` and `case_sensitive` are true or false.

    Raises UnusableExpectationError where there is none or it cannot be used (see ExpectedText).
    """
    declared = _declared_text(action) or _Declared((), None, {})
    return ExpectedText(
        declared.texts,
        declared.pattern,
        accent_sensitive=declared.source.get("accent_sensitive") is True,
        case_sensitive=declared.source.get("case_sensitive") is True,
    )


def _declared_text(action: Action) -> _Declared | None:
    for source in (action.payload.get("target_spec"), action.payload):
        if not isinstance(source, Mapping):
            continue
        texts = dict.fromkeys([*_texts(source.get("by_text")), *_texts(source.get("by_text_any"))])
        pattern = next(iter(_texts(source.get("by_text_pattern"))), None)
        if texts or pattern is not None:
            return _Declared(tuple(texts), pattern, source)
    return None


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
