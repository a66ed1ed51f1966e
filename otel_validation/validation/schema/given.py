"""JSON Schemas that hosts give with their actions.

`jsonschema` validates: it knows every draft, and its subject is not this project's. What it would let a schema or a
value do beyond that is taken away here and in `dialect`: references lead nowhere outside the schema, patterns run in
linear time, and a keyword that nobody would check is refused instead of ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jsonschema import validators
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from otel_validation.errors import UnusableExpectationError
from otel_validation.validation.schema.dialect import FORMATS, bounded, expected, keywords, linear, reset
from otel_validation.validation.schema.jsonvalue import Problem, beyond_limits, path
from otel_validation.validation.schema.lax import LAX, kinds, loosened

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

DEEPEST_SCHEMA = 64
"""Levels of a schema's JSON: it takes several for one of the value."""

_REFUSED = frozenset({"patternProperties", "$dynamicRef", "$recursiveRef"})
"""jsonschema runs the first on names, in an engine that backtracks; what the others lead to is not known beforehand."""
_DATA = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold no schema, whatever they hold."""
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentRequired", "dependentSchemas", "properties"})
"""Keywords that hold schemas by name."""


class GivenSchema:
    """A JSON Schema as a Schema (see `builtin`): draft 2020-12, or the one that its `$schema` names.

    `format` is asserted (date, date-time, email, ipv4, ipv6, uuid). Types are strict, as JSON's are; `lax` says where
    a text may spell them. Raises UnusableExpectationError for what is no schema, or is one that cannot be applied to
    its end: unknown keywords and formats, `patternProperties`, references out of it, patterns with look-around, more
    than DEEPEST_SCHEMA levels, and the limits of `jsonvalue`.
    """

    def __init__(self, schema: object) -> None:
        if not isinstance(schema, Mapping):
            raise UnusableExpectationError("a schema is a JSON object")
        if beyond_limits(schema, deepest=DEEPEST_SCHEMA) is not None:
            raise UnusableExpectationError("a schema is too large or too deep")
        try:
            text = json.dumps(schema)
        except (TypeError, ValueError):
            raise UnusableExpectationError("a schema is a JSON object") from None
        self._compiled = _compile(text)
        types = kinds(self._compiled.schema)
        self._wants_text = not types or "string" in types

    @property
    def wants_text(self) -> bool:
        """See Schema; true of a schema that names no type."""
        return self._wants_text

    def telling(self, _value: object, /) -> bool:
        """See Schema; always: the host knows what it asks for."""
        return True

    def problems(self, value: object, *, root: str = "value") -> Iterator[Problem]:
        """See Schema. Raises UnusableExpectationError where the schema turns out to lead nowhere, or to have no end."""
        reset()
        compiled = self._compiled
        read: Any = loosened(compiled.schema, value) if compiled.lax else value
        try:
            for error in compiled.validator.iter_errors(read):
                yield Problem(path(root, error.absolute_path, compiled.names), expected(error))
        except Unresolvable:
            raise UnusableExpectationError("a reference of the schema leads nowhere") from None
        except RecursionError:
            raise UnusableExpectationError("the schema refers to itself without end") from None


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A schema that was checked; shared by threads. `names` are those it declares."""

    schema: dict[str, Any]
    validator: Validator
    names: frozenset[str]
    lax: bool


@lru_cache(maxsize=64)
def _compile(text: str) -> _Compiled:
    schema = json.loads(text)
    dialect: Any = bounded(validators.validator_for(schema, default=validators.Draft202012Validator))
    names = frozenset(_declared(schema, keywords(dialect)))
    try:
        dialect.check_schema(schema, format_checker=None)  # which would compile each pattern with `re`
    except (SchemaError, RecursionError):
        raise UnusableExpectationError("a schema does not say what JSON Schema lets it say") from None
    if not set(schema) & set(dialect.VALIDATORS):
        raise UnusableExpectationError("a schema says nothing")
    validator = dialect(schema, registry=Registry(), format_checker=FORMATS)
    return _Compiled(schema, validator, names, f'"{LAX}"' in text)


def _declared(schema: object, known: frozenset[str]) -> Iterator[str]:
    """The names of members that a schema declares, on every level; raises for what would not be checked."""
    if not isinstance(schema, Mapping):
        return
    for keyword, value in schema.items():
        _refuse(keyword, value, known)
        if keyword == "required" and isinstance(value, list):
            yield from (name for name in value if isinstance(name, str))
        if keyword == "properties" and isinstance(value, Mapping):
            yield from value
        for inner in _inner(keyword, value):
            yield from _declared(inner, known)


def _refuse(keyword: str, value: object, known: frozenset[str]) -> None:
    if keyword in _REFUSED or (keyword not in known and not keyword.startswith("x-")):
        raise UnusableExpectationError("a schema has a keyword that is not known here")
    if keyword == "format" and value not in FORMATS.checkers:
        raise UnusableExpectationError("a schema has a format that is not known here")
    if keyword == "$ref" and not (isinstance(value, str) and value.startswith("#")):
        raise UnusableExpectationError("a reference leads out of the schema")
    if keyword == "pattern" and isinstance(value, str):
        linear(value)


def _inner(keyword: str, value: object) -> Iterator[object]:
    if keyword in _DATA or keyword.startswith("x-"):
        return
    if isinstance(value, list):
        yield from value
    elif isinstance(value, Mapping) and keyword in _NAMED:
        yield from value.values()
    else:
        yield value
