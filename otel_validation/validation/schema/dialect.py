"""The dialects of JSON Schema, with what `jsonschema` leaves unbounded taken away."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin

from jsonschema import FormatChecker, validators
from jsonschema.exceptions import ValidationError
from jsonschema_specifications import REGISTRY

from otel_validation.errors import UnusableExpectationError
from otel_validation.pattern import LONGEST_TEXT, Pattern

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    Keyword = Callable[..., Iterator[ValidationError]]

MOST_REFERENCES = 20_000
"""References followed for one value: a schema that refers to itself twice may double its work on every level."""
LONGEST_CHOICE, MOST_CHOICES = 64, 10
"""Characters and number of the choices of an `enum` that are shown."""

FORMATS = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "uuid"))
"""The formats that are asserted; `date-time` is one too."""
_followed = threading.local()


def reset() -> None:
    """Begin to count the references of this thread anew."""
    _followed.references = 0


@lru_cache(maxsize=8)
def bounded(dialect: type[Validator]) -> type[Validator]:
    """A dialect of `jsonschema` whose keywords take no more than linear time, and whose errors name a missing member.

    Raises UnusableExpectationError for draft 3, which says `required` in another way.
    """
    if dialect is validators.Draft3Validator:
        raise UnusableExpectationError("a schema is of draft 4 or later")
    ours = {"$ref": _counted(dialect.VALIDATORS["$ref"]), "pattern": _pattern, "required": _required}
    made: type[Validator] = validators.extend(dialect, {**ours, "uniqueItems": _unique})  # type: ignore[no-untyped-call]
    return made


def keywords(dialect: type[Validator]) -> frozenset[str]:
    """Every keyword that a dialect defines, annotations included: what its metaschema and its vocabularies describe."""
    meta: Any = dialect.META_SCHEMA
    parts = [meta, *(REGISTRY.contents(urljoin(meta["$id"], part["$ref"])) for part in meta.get("allOf", ()))]
    return frozenset(keyword for part in parts for keyword in part["properties"]).union(dialect.VALIDATORS)


@lru_cache(maxsize=256)
def linear(source: str) -> Pattern:
    """The pattern, compiled once. Raises UnusableExpectationError where it cannot be."""
    return Pattern(source)


def expected(error: ValidationError) -> str:
    """What an error says was expected, from the schema alone: jsonschema's messages quote what was sent."""
    keyword, wanted = str(error.validator), cast("Any", error.validator_value)
    if keyword == "type":
        return " or ".join([wanted] if isinstance(wanted, str) else wanted)
    if keyword in {"enum", "const"}:
        choices = [json.dumps(choice, ensure_ascii=False) for choice in (wanted if keyword == "enum" else [wanted])]
        return f"one of {', '.join(choice[:LONGEST_CHOICE] for choice in choices[:MOST_CHOICES])}"
    if keyword in {"anyOf", "oneOf"} and all(isinstance(part, dict) and "type" in part for part in wanted):
        return " or ".join(dict.fromkeys(str(part["type"]) for part in wanted))
    return _WORDS.get(keyword, f"what `{keyword}` says").format(wanted)


_WORDS = {
    "additionalProperties": "no member that is not declared",
    "exclusiveMaximum": "less than {}",
    "exclusiveMinimum": "more than {}",
    "format": "text in the format {}",
    "maxItems": "at most {} elements",
    "maxLength": "at most {} characters",
    "maxProperties": "at most {} members",
    "maximum": "at most {}",
    "minItems": "{} elements or more",
    "minLength": "{} characters or more",
    "minProperties": "{} members or more",
    "minimum": "at least {}",
    "multipleOf": "a multiple of {}",
    "pattern": "text that matches the pattern",
    "required": "a value",
    "uniqueItems": "no element twice",
}


@FORMATS.checks("date-time", raises=ValueError)
def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or (datetime.fromisoformat(value).tzinfo is not None and "T" in value.upper())


def _counted(follow: Keyword) -> Keyword:
    def ref(validator: object, target: str, instance: object, schema: object) -> Iterator[ValidationError]:
        _followed.references += 1
        if _followed.references > MOST_REFERENCES:
            raise RecursionError
        yield from follow(validator, target, instance, schema)

    return ref


def _pattern(_validator: object, source: str, instance: object, _schema: object) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    if len(instance) > LONGEST_TEXT:
        raise UnusableExpectationError("a text is too long for the schema's pattern")
    if not linear(source).matches(instance):
        yield ValidationError("")


def _required(_validator: object, names: list[str], instance: object, _schema: object) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        yield from (ValidationError("", path=(name,)) for name in names if name not in instance)


def _unique(_validator: object, unique: bool, instance: object, _schema: object) -> Iterator[ValidationError]:
    if unique and isinstance(instance, list) and len(set(map(json.dumps, instance))) < len(instance):
        yield ValidationError("")
