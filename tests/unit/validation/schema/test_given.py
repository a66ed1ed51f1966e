"""JSON Schemas that come with actions: what they say, strictly or not, and what bounds them."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from otel_validation.clock import stopwatch
from otel_validation.errors import UnusableExpectationError
from otel_validation.validation.schema.given import GivenSchema

PATIENT = {
    "type": "object",
    "required": ["age", "nom"],
    "properties": {
        "age": {"type": "integer", "minimum": 0},
        "valide": {"type": "boolean"},
        "montant": {"type": "number"},
        "code": {"type": "string"},
        "nom": {"type": "string", "minLength": 1},
        "decision": {"enum": ["UHCD", "FORFAIT", "NA"]},
    },
}
F11 = {"age": "12", "valide": "snap", "montant": "12,5", "code": True, "nom": "", "decision": "uhcd ", "extra": 1}


def problems(schema, value):
    return [(problem.path, problem.expected) for problem in GivenSchema(schema).problems(value)]


def lax(schema):
    return {**schema, "properties": {name: {**rule, "x-lax": True} for name, rule in schema["properties"].items()}}


def test_f11_wrong_types_are_listed_by_path_and_none_is_converted():
    assert problems(PATIENT, F11) == [
        ("value.age", "integer"),
        ("value.valide", "boolean"),
        ("value.montant", "number"),
        ("value.code", "string"),
        ("value.nom", "1 characters or more"),
        ("value.decision", 'one of "UHCD", "FORFAIT", "NA"'),
    ]


def test_f11_a_lax_field_takes_a_text_that_spells_it_and_is_checked_all_the_same():
    assert problems(lax(PATIENT), F11) == [
        ("value.valide", "boolean"),
        ("value.code", "string"),
        ("value.nom", "1 characters or more"),
    ]
    assert problems(lax(PATIENT), {"age": "-3", "nom": "x"}) == [("value.age", "at least 0")]


@pytest.mark.parametrize(
    ("rule", "text", "fits"),
    [
        ({"type": "integer"}, " 12 ", True),
        ({"type": "integer"}, "12,5", False),
        ({"type": "integer"}, "1" * 19, False),
        ({"type": "integer"}, "\u0663", False),
        ({"type": "number"}, "12.5", True),
        ({"type": "number"}, "1e400", False),
        ({"type": ["number", "null"]}, "+3,25", True),
        ({"type": "boolean"}, "Oui", True),
        ({"type": "boolean"}, "FALSE", True),
        ({"type": "boolean"}, "1", False),
        ({"enum": ["UHCD", "uhcd", 3]}, "Uhcd", False),
        ({"enum": ["UHCD", 3]}, "3", False),
    ],
)
def test_what_a_lax_text_may_spell(rule, text, fits):
    assert (problems({"type": "array", "items": {**rule, "x-lax": True}}, [text]) == []) is fits


@pytest.mark.parametrize("schema", [PATIENT, lax(PATIENT)])
def test_an_extra_member_is_let_through_unless_the_schema_says_otherwise(schema):
    right = {"age": 12, "valide": True, "montant": 12.5, "code": "c", "nom": "n", "decision": "NA"}
    assert problems(schema, {**right, "extra": 1}) == []
    closed = {**schema, "additionalProperties": False}
    assert problems(closed, {**right, "extra": 1}) == [("value", "no member that is not declared")]


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"required": ["a", "b"]}, {"a": 1}, [("value.b", "a value")]),
        ({"items": {"required": ["a"]}}, [{"a": 1}, {}], [("value[1].a", "a value")]),
        ({"type": ["string", "null"]}, 3, [("value", "string or null")]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", [("value", "integer or null")]),
        ({"oneOf": [{"minimum": 3}, {"maximum": 5}]}, 4, [("value", "what `oneOf` says")]),
        ({"const": True}, 1, [("value", "one of true")]),
        ({"exclusiveMaximum": 400}, 500, [("value", "less than 400")]),
        (
            {"maxItems": 1, "uniqueItems": True},
            [1, 1],
            [("value", "at most 1 elements"), ("value", "no element twice")],
        ),
        ({"uniqueItems": True}, [1, True, 1.0, "1"], []),
        ({"pattern": r"^\d{2}/\d{2}$"}, "3 mai", [("value", "text that matches the pattern")]),
        ({"pattern": r"\d"}, "Lit 12", []),
        ({"pattern": r"\d"}, 3, []),
        ({"format": "date"}, "2026-02-30", [("value", "text in the format date")]),
        ({"format": "date"}, "2026-02-28", []),
        ({"format": "date-time"}, "2026-02-28T12:00:00Z", []),
        ({"format": "date-time"}, "2026-02-28 12:00", [("value", "text in the format date-time")]),
        ({"format": "date-time"}, 3, []),
        ({"additionalProperties": {"type": "integer"}}, {"Jeanne Martin": "x"}, [("value.*", "integer")]),
        ({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}, [1, "x"], [("value[1]", "integer")]),
        ({"propertyNames": {"maxLength": 3}}, {"Jeanne Martin": 1}, [("value", "at most 3 characters")]),
    ],
)
def test_a_problem_says_where_and_what_is_expected(schema, value, found):
    assert problems(schema, value) == found


@pytest.mark.parametrize("draft", ["04", "06", "07"])
def test_an_older_draft_may_be_named(draft):
    schema = {"$schema": f"http://json-schema.org/draft-{draft}/schema#", "type": "object", "definitions": {}}
    assert problems(schema, 3) == [("value", "object")]


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
def test_a_draft_with_vocabularies_may_be_named(draft):
    schema = {
        "$schema": f"https://json-schema.org/draft/{draft}/schema",
        "title": "t",
        "minContains": 1,
        "type": "null",
    }
    assert problems(schema, 3) == [("value", "null")]


@pytest.mark.parametrize(
    "schema",
    [
        3,
        True,
        [],
        {},
        {"title": "nothing is asserted"},
        {"type": "int"},
        {"age": "integer"},
        {"properties": {"age": {"typ": "integer"}}},
        {"properties": {"age": "integer"}},
        {"anyOf": [{"items": {"nope": 1}}]},
        {"format": "uri"},
        {"patternProperties": {"^(a+)+$": {}}},
        {"dependencies": {"a": {"patternProperties": {}}}},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$dynamicRef": "#a"},
        {"pattern": "(?=a)"},
        {"properties": {"a": {"pattern": "("}}},
        {"$schema": "http://json-schema.org/draft-03/schema#", "type": "object"},
        {"enum": ["x" * 1_000_001]},
        {"const": float("nan")},
        {"const": object()},
    ],
)
def test_a_schema_that_would_not_be_applied_to_its_end_is_refused(schema):
    with pytest.raises(UnusableExpectationError):
        GivenSchema(schema)


def deep(levels):
    schema = {"type": "object"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def test_a_schema_may_be_deep_within_limits():
    assert problems(deep(20), {"a": 1}) == []
    with pytest.raises(UnusableExpectationError):
        GivenSchema(deep(1_000))


TWICE = {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/nowhere"},
        {"$defs": {"t": {"properties": {"a": TWICE}, "required": ["b"]}}, "$ref": "#/$defs/t"},
    ],
)
def test_references_without_end_are_given_up(schema):
    value = {}
    for _ in range(25):
        value = {"a": value}
    with pytest.raises(UnusableExpectationError):
        list(GivenSchema(schema).problems(value))


def test_each_value_has_its_own_budget_of_references(monkeypatch):
    monkeypatch.setattr("otel_validation.validation.schema.dialect.MOST_REFERENCES", 3)
    schema = GivenSchema({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}})
    for _ in range(3):
        assert list(schema.problems([1, 2, 3])) == []
    with pytest.raises(UnusableExpectationError):
        list(schema.problems([1, 2, 3, 4]))


def test_neither_a_pattern_nor_unique_elements_take_long():
    began = stopwatch()
    assert problems({"items": {"pattern": "^(a+)+$"}}, ["a" * 9_999 + "!"] * 20) != []
    rows = [{"a": i} for i in range(20_000)]
    assert problems({"uniqueItems": True}, rows) == []
    assert stopwatch() - began < 10, "jsonschema's own comparison of 20,000 objects takes minutes"


def test_a_text_too_long_for_a_pattern_decides_nothing():
    """Not even behind `not`: the length is the sender's."""
    with pytest.raises(UnusableExpectationError):
        list(GivenSchema({"not": {"pattern": "ERREUR"}}).problems("ERREUR" + " " * 10_000))


def test_a_schema_is_compiled_once_for_many_reports(monkeypatch):
    first = GivenSchema(json.loads(json.dumps(PATIENT)))
    assert GivenSchema(PATIENT)._compiled is first._compiled


def test_threads_share_a_schema():
    schema = {"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}
    values = [[i] * i + ["x"] for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda value: problems(schema, value), values))
    assert found == [[(f"value[{i}]", "integer")] for i in range(40)]


@pytest.mark.parametrize(
    ("schema", "wants"), [({"type": "object"}, False), ({"type": ["null", "string"]}, True), ({"minLength": 1}, True)]
)
def test_a_text_is_wanted_where_the_schema_does_not_exclude_it(schema, wants):
    assert GivenSchema(schema).wants_text is wants
