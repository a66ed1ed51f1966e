"""What the value of each action type must be."""

import pytest

from otel_validation.validation.schema.builtin import SCHEMAS

READABLE = "text with a letter or a figure"
CELL, ROW = "text, number, true, false or null", "object or list of cells"
SAVED = "the saved record, or how many were saved (1 or more)"
DECISION = "one of 'UHCD', 'FORFAIT' or 'NA'"
ANSWER = "text with a letter or a figure, or an object or list that is not empty"
PAGE = "x" * 200_000


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("extract_text", "Compte rendu"),
        ("extract_text", "8,540"),
        ("extract_text", {"text": "Léa", "page": 3}),
        ("extract_text_scroll", PAGE),
        ("extract_table", [{"nom": "Léa", "age": None}]),
        ("extract_table", [["nom", 3, True, 1.5, ""]]),
        ("extract_table", {"rows": [[1]], "headers": ["n"]}),
        ("import_excel", {"data": [{"n": 0}]}),
        ("t2a_decision", {"decision": "UHCD"}),
        ("t2a_decision", {"decision": "NA", "justification": "moins de 16 h", "confidence": 1, "modele": "m"}),
        ("t2a_decision", {"decision": "FORFAIT", "justification": None, "confidence": None}),
        ("db_save_data", {"id": 3}),
        ("db_save_data", {"saved": True, "rows_affected": 2}),
        ("db_save_data", {"saved": "2026-07-03"}),
        ("db_save_data", [{"id": 3}]),
        ("db_save_data", 1),
        ("db_read_data", []),
        ("db_read_data", {"nom": "Léa", "lieu": {"ville": "Lyon"}}),
        ("db_read_data", {"rows": [{"tags": ["a"]}, [1, 2]]}),
        ("ai_*", "résumé"),
        ("ai_*", {"résumé": "x"}),
        ("ai_*", [0]),
    ],
)
def test_a_right_value_has_no_problem(kind, value):
    assert list(SCHEMAS[kind].problems(value)) == []


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("extract_text", "", [("value", READABLE)]),
        ("extract_text", " \u2026\n", [("value", READABLE)]),
        ("extract_text", 0, [("value", "text")]),
        ("extract_text", None, [("value", "text")]),
        ("extract_text", {"value": ["x"]}, [("value.value", "text")]),
        ("extract_text", {"autre": "x"}, [("value", "text")]),
        ("extract_table", [], [("value", "a length of at least 1")]),
        ("extract_table", [{}, []], [("value", "a cell that is not empty")]),
        ("extract_table", [[" ", None], {"a": ""}], [("value", "a cell that is not empty")]),
        ("extract_table", [{"Jeanne Martin": {}}, 3], [("value[0].*", CELL), ("value[1]", ROW)]),
        ("extract_table", {"rows": "x"}, [("value.rows", "list")]),
        ("t2a_decision", {"decision": "uhcd "}, [("value.decision", DECISION)]),
        ("t2a_decision", {"decision": True}, [("value.decision", DECISION)]),
        ("t2a_decision", {}, [("value.decision", "a value")]),
        ("t2a_decision", [], [("value", "object")]),
        (
            "t2a_decision",
            {"decision": "NA", "justification": "court", "confidence": "0.9"},
            [("value.justification", "a length of at least 10"), ("value.confidence", "number")],
        ),
        ("t2a_decision", {"decision": "NA", "confidence": 1.5}, [("value.confidence", "at most 1.0")]),
        ("db_save_data", {}, [("value", SAVED)]),
        ("db_save_data", [], [("value", SAVED)]),
        ("db_save_data", {"id": 3, "rows_affected": 0}, [("value", SAVED)]),
        ("db_save_data", {"id": 3, "saved": False}, [("value", SAVED)]),
        ("db_save_data", {"id": 3, "saved": None}, [("value", SAVED)]),
        ("db_save_data", 0, [("value", SAVED)]),
        ("db_save_data", True, [("value", SAVED)]),
        ("db_save_data", "ok", [("value", SAVED)]),
        ("db_read_data", "x", [("value", "record or list of records")]),
        ("db_read_data", [[1], 3], [("value[1]", ROW)]),
        ("ai_*", "", [("value", READABLE)]),
        ("ai_*", {}, [("value", ANSWER)]),
        ("ai_*", 3, [("value", ANSWER)]),
    ],
)
def test_a_problem_says_where_and_what_is_expected(kind, value, found):
    assert [(problem.path, problem.expected) for problem in SCHEMAS[kind].problems(value)] == found


def test_a_few_words_are_not_telling():
    text = SCHEMAS["extract_text"]
    assert not text.telling("trois mots seulement")
    assert not text.telling({"text": "trois mots seulement"})
    assert text.telling("x" * 50)
    assert SCHEMAS["t2a_decision"].telling({"decision": "NA"})
