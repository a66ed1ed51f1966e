"""What a host says, in the action itself, of the outcome that it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_validation.delivery.action import finite
from otel_validation.errors import UnusableExpectationError
from otel_validation.vision.expected import ExpectedText

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action


@dataclass(frozen=True, slots=True)
class _Declared:
    """The members that say which text is expected, as they were sent."""

    texts: tuple[str, ...]
    pattern: str | None
    source: Mapping[str, object]


def is_secret(action: Action) -> bool:
    """Whether what the action types or reads is a secret: its type is `type_secret`, or it is flagged `secret`."""
    spec = action.payload.get("target_spec")
    flagged = action.payload.get("secret") or (isinstance(spec, Mapping) and spec.get("secret"))
    return action.type == "type_secret" or bool(flagged)


def expects_text(action: Action) -> bool:
    """Whether the action says which label it is aimed at (cheap; whether it can be used, `expected_text` says)."""
    return _declared_text(action) is not None


def typed_text(action: Action) -> str | None:
    """What the action types: its `text`; None where that is blank, no text, or a secret."""
    text = action.payload.get("text")
    return text if isinstance(text, str) and text.strip() and not is_secret(action) else None


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


@dataclass(frozen=True, slots=True)
class ExpectedWindow:
    """The window that should be in front: its title (`*` stands for any text), its application, or both.

    An application is a program file ("chrome.exe", "Word") or a name that the title ends or begins with ("Easily").
    """

    title: str | None = None
    application: str | None = None


def acting_window(action: Action) -> ExpectedWindow | None:
    """The window that the action acts in: `window_title` and `application`, in `target_spec` or beside it; None where
    the action names neither.
    """
    return _window(action, "window_title", "application")


def resulting_window(action: Action) -> ExpectedWindow | None:
    """The window that should be in front after the action: `expected_window_title` and `expected_application`, in
    `target_spec` or beside it; None where the action names neither.
    """
    return _window(action, "expected_window_title", "expected_application")


@dataclass(frozen=True, slots=True)
class Condition:
    """One post-condition: a member of the report (or, `of_value`, of the report's value) and its JSON Schema."""

    name: str
    of_value: bool
    schema: object


def declares_postcondition(action: Action) -> bool:
    """Whether the action says what must hold in its report (cheap; whether it can be used, `postcondition` says)."""
    return _declared_postcondition(action) not in (None, {})


def postcondition(action: Action) -> list[Condition]:
    """What must hold in the report: `postcondition`, else `expected_post`.

    An object by member of the report; those under `fields` are members of the report's value. Each is a JSON Schema
    (an object), a range of two numbers, both included (`[200, 299]`), or the very value. Raises
    UnusableExpectationError for anything else.
    """
    declared = _declared_postcondition(action)
    if declared is None:
        return []
    if not isinstance(declared, Mapping) or not isinstance(declared.get("fields", {}), Mapping):
        raise UnusableExpectationError("a post-condition is an object")
    members = {name: rule for name, rule in declared.items() if name != "fields"}
    return [
        Condition(name, of_value, _as_schema(rule))
        for of_value, rules in ((False, members), (True, declared.get("fields", {})))
        for name, rule in rules.items()
    ]


def declared_schema(action: Action) -> object | None:
    """The JSON Schema that the action gives for its report's value: `expected_schema`, else `schema` where that is an
    object (a database has a `schema` too, which is a name); None where it gives none.
    """
    given, other = action.payload.get("expected_schema"), action.payload.get("schema")
    return given if given is not None else other if isinstance(other, Mapping) else None


def expected_headers(action: Action) -> list[str]:
    """The headers that an extracted table must have: `expected_headers`; none where the action names none."""
    return _texts(action.payload.get("expected_headers"))


def _declared_postcondition(action: Action) -> object:
    given = action.payload.get("postcondition")
    return action.payload.get("expected_post") if given is None else given


def _as_schema(rule: object) -> object:
    if isinstance(rule, Mapping):
        return rule
    if isinstance(rule, list):
        if len(rule) != 2 or None in map(finite, rule):
            raise UnusableExpectationError("a post-condition is a range of two numbers, a value or a schema")
        return {"type": "number", "minimum": rule[0], "maximum": rule[1]}
    return {"const": rule}


def _declared_text(action: Action) -> _Declared | None:
    for source in (action.payload.get("target_spec"), action.payload):
        if not isinstance(source, Mapping):
            continue
        texts = dict.fromkeys([*_texts(source.get("by_text")), *_texts(source.get("by_text_any"))])
        pattern = next(iter(_texts(source.get("by_text_pattern"))), None)
        if texts or pattern is not None:
            return _Declared(tuple(texts), pattern, source)
    return None


def _window(action: Action, title: str, application: str) -> ExpectedWindow | None:
    spec = action.payload.get("target_spec")
    sources = [source for source in (spec, action.payload) if isinstance(source, Mapping)]
    named = [next((t for s in sources for t in _texts(s.get(name))), None) for name in (title, application)]
    return ExpectedWindow(*named) if any(named) else None


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
