"""What a report says in words and numbers: the value that an action read, and the post-conditions of the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from otel_validation.delivery.action import finite
from otel_validation.errors import UnusableExpectationError
from otel_validation.validation.expectation import (
    Condition,
    declared_schema,
    declares_postcondition,
    expected_headers,
    is_secret,
    postcondition,
)
from otel_validation.validation.schema.builtin import SCHEMAS, Schema
from otel_validation.validation.schema.jsonvalue import Problem, beyond_limits, read_json
from otel_validation.validation.verdict import BASIS, ON_REPORT, FailureCategory, Finding, Verdict
from otel_validation.vision.text import fold

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.checker import Subject
    from otel_validation.validation.report import Report

SURE = 0.95
"""Confidence of a verdict on a value: its form is certain, its truth is not."""
UNSURE = 0.5
"""Confidence where a value has the right form and may be anything all the same (`Schema.telling`): a judge is asked
where there is one."""
MOST_PROBLEMS, MOST_NAMED = 20, 5
"""Problems kept as evidence, and named in the reasoning."""
REFUSED_FROM = 400
"""An `http_status` from here on says that the action was refused (RFC 9110, section 15)."""


class JsonSchemaChecker:
    """COMPLETE where the report's value is what the action was to read, and what the host declared holds.

    The schema is the one given with the action (`expectation.declared_schema`), else that of its type (`schemas`,
    by default `builtin.SCHEMAS`; a name that ends in * is a beginning). What does not fit is TERMINATE with
    `schema_invalid`: a missing value, a broken post-condition (`expectation.postcondition`), an `http_status` of 400
    or more that nothing declares. A post-condition on a member that the report has not, and an expectation that
    cannot be used, give CONTINUE, not verified. A report that says itself that the action failed owes no value.

    Nothing of a secret is read (`expectation.is_secret`). No value is in the reasoning or in the evidence: `schema`
    ("given", "built_in" or None), `problems` (list of {path, expected}), `more` (whether there are further problems),
    `conditions` (how many post-conditions were checked), `basis` ("report").
    """

    name = "json_schema"

    def __init__(self, schemas: Mapping[str, Schema] = SCHEMAS) -> None:
        self._schemas = {kind: schema for kind, schema in schemas.items() if not kind.endswith("*")}
        self._families = {kind[:-1]: schema for kind, schema in schemas.items() if kind.endswith("*")}

    def warm_up(self) -> None:
        """Load the library for schemas that come with actions."""
        _given({"type": "object"})

    def applies(self, subject: Subject) -> bool:
        """Whether something is expected of what the report says, or it says that the action was refused."""
        action, report = subject.action, subject.report
        if declares_postcondition(action) or _refused(report):
            return True
        return self._owes_value(action, report) and (
            declared_schema(action) is not None or self._of_type(action.type) is not None
        )

    def check(self, subject: Subject) -> Finding:
        """Judge what the report carries; see the class for the rules."""
        try:
            return self._declared(subject) or self._value(subject)
        except UnusableExpectationError as error:
            return self._unverified(error.reason)

    def _declared(self, subject: Subject) -> Finding | None:
        """What follows from the post-conditions alone; None where all of them hold."""
        found, absent = _conditions(subject)
        broken = list(islice((p for condition, member in found for p in _broken(condition, member)), MOST_PROBLEMS + 1))
        if broken:
            return self._invalid("what must hold in the report does not", broken, conditions=len(found))
        return self._unverified("the report does not say whether what must hold does") if absent else None

    def _value(self, subject: Subject) -> Finding:
        action, report = subject.action, subject.report
        given, conditions = declared_schema(action), len(postcondition(action))
        schema = self._of_type(action.type) if given is None else _given(given)
        if schema is None or not self._owes_value(action, report):
            return self._valid(None, SURE, conditions) if conditions else self._unverified("nothing is expected of it")
        kind = "built_in" if given is None else "given"
        problems = list(islice(_problems(schema, action, report), MOST_PROBLEMS + 1))
        if problems:
            return self._invalid("the value is not what was expected", problems, schema=kind, conditions=conditions)
        return self._valid(kind, SURE if schema.telling(report.value) else UNSURE, conditions)

    def _owes_value(self, action: Action, report: Report) -> bool:
        """A value that is there is judged. An absent one is missed where the host gave a schema for it: a type's own
        schema says what a value must be, not that every host's agents send one (DESIGN section 6).
        """
        missed = declared_schema(action) is not None and report.success is not False
        return not is_secret(action) and (report.value_given or missed)

    def _of_type(self, kind: str) -> Schema | None:
        families = (schema for start, schema in self._families.items() if kind.startswith(start))
        return self._schemas.get(kind) or next(families, None)

    def _valid(self, schema: str | None, confidence: float, conditions: int) -> Finding:
        reasoning = "what was declared of the report holds" if schema is None else "the value is what was expected"
        return Finding(
            checker=self.name,
            verdict=Verdict.COMPLETE,
            confidence=confidence,
            reasoning=reasoning,
            evidence=_evidence([], schema=schema, conditions=conditions),
        )

    def _invalid(self, what: str, problems: list[Problem], *, schema: str | None = None, conditions: int) -> Finding:
        named = ", ".join(f"{problem.path} ({problem.expected})" for problem in problems[:MOST_NAMED])
        return Finding(
            checker=self.name,
            verdict=Verdict.TERMINATE,
            confidence=SURE,
            reasoning=f"{what}: {named}{', ...' if len(problems) > MOST_NAMED else ''}",
            category=FailureCategory.SCHEMA_INVALID,
            evidence=_evidence(problems, schema=schema, conditions=conditions),
        )

    def _unverified(self, reason: str) -> Finding:
        return Finding(
            checker=self.name,
            verdict=Verdict.CONTINUE,
            confidence=0.0,
            reasoning=reason,
            category=FailureCategory.UNKNOWN,
            verified=False,
            evidence=_evidence([], schema=None, conditions=0),
        )


def _given(schema: object) -> Schema:
    # Loads in 0.1 s or more, and only where an action gives a schema.
    from otel_validation.validation.schema.given import GivenSchema

    return GivenSchema(schema)


def _refused(report: Report) -> bool:
    status = finite(report.members.get("http_status"))
    return status is not None and status >= REFUSED_FROM


def _conditions(subject: Subject) -> tuple[list[tuple[Condition, object]], bool]:
    """The post-conditions whose member the report has, with the member, and whether there are others."""
    report, conditions = subject.report, postcondition(subject.action)
    if _refused(report) and not any(condition.name == "http_status" for condition in conditions):
        conditions.append(Condition("http_status", of_value=False, schema={"exclusiveMaximum": REFUSED_FROM}))
    content = _content(report.value)
    found = []
    for condition in conditions:
        source = report.members if condition.name in report.members and not condition.of_value else content
        if condition.name in source:
            found.append((condition, source[condition.name]))
    return found, len(found) < len(conditions)


def _content(value: object) -> Mapping[str, object]:
    """The members of a report's value, which may be JSON in a text."""
    if isinstance(value, str):
        try:
            value = read_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _broken(condition: Condition, member: object) -> Iterator[Problem]:
    root = f"value.{condition.name}" if condition.of_value else condition.name
    limit = beyond_limits(member)
    if limit is not None:
        yield Problem(root, limit)
    else:
        yield from _given(condition.schema).problems(member, root=root)


def _problems(schema: Schema, action: Action, report: Report) -> Iterator[Problem]:
    """Where the report's value does not fit: there, bounded, JSON where it must be, then what the schema says."""
    value = report.value
    if not report.value_given:
        yield Problem("value", "a value")
        return
    limit = beyond_limits(value)
    if limit is None and isinstance(value, str) and not schema.wants_text:
        try:
            value = read_json(value)
        except ValueError:
            limit = "JSON, with each name once in an object"
        else:
            limit = beyond_limits(value)
    if limit is not None:
        yield Problem("value", limit)
        return
    yield from schema.problems(value)
    yield from _missing_headers(value, expected_headers(action))


def _missing_headers(value: object, headers: list[str]) -> Iterator[Problem]:
    """The headers that are neither among a table's, nor names or cells of its first row."""
    table: dict[str, Any] = value if isinstance(value, dict) else {"rows": value}
    lists = [table[name] for name in ("headers", "columns") if isinstance(table.get(name), list)]
    lists += [table[name][0] for name in ("rows", "table", "data") if isinstance(table.get(name), list) and table[name]]
    shown = {fold(name) for first in lists if isinstance(first, dict | list) for name in first if isinstance(name, str)}
    yield from (Problem("value.headers", f"the header {name!r}") for name in headers if fold(name) not in shown)


def _evidence(problems: list[Problem], *, schema: str | None, conditions: int) -> dict[str, Any]:
    return {
        "schema": schema,
        "problems": [asdict(problem) for problem in problems[:MOST_PROBLEMS]],
        "more": len(problems) > MOST_PROBLEMS,
        "conditions": conditions,
        BASIS: ON_REPORT,
    }
