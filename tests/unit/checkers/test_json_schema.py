"""What a report says: its value against a schema, its members against what the host declared."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_validation.asgi.messages import parse_object
from otel_validation.checkers.json_schema import MOST_PROBLEMS, SURE, UNSURE, JsonSchemaChecker
from otel_validation.delivery.action import Action
from otel_validation.validation.report import Report
from otel_validation.validation.routing import Route, RoutingPolicy, route
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import fold
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict, is_visual_only

CHECKER = JsonSchemaChecker()
LONG = "Examen clinique sans particularité, à revoir dans trois mois."
INVALID = (Verdict.TERMINATE, FailureCategory.SCHEMA_INVALID, True)
OPEN = (Verdict.CONTINUE, FailureCategory.UNKNOWN, False)
SEEN = Finding(checker="ocr_roi", verdict=Verdict.COMPLETE, confidence=0.98, reasoning="seen")


def subject(kind="extract_text", sent=None, **payload):
    body = {"session_id": "s", "action_id": "a", "success": True, **(sent or {})}
    return ReportSubject(Action("a", kind, "s", "m", payload), Report.from_json(body))


def judge(kind="extract_text", sent=None, **payload):
    made = subject(kind, sent, **payload)
    assert CHECKER.applies(made)
    finding = CHECKER.check(made)
    json.dumps(dict(finding.evidence), allow_nan=False)
    return finding


def outcome(finding):
    return finding.verdict, finding.category, finding.verified


def paths(finding):
    return [problem["path"] for problem in finding.evidence["problems"]]


class TestValue:
    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("extract_text", LONG),
            ("extract_table", [{"nom": "Léa"}]),
            ("t2a_decision", {"decision": "FORFAIT"}),
            ("t2a_decision", '{"decision": "NA"}'),
            ("db_save_data", {"id": 3}),
            ("db_read_data", []),
            ("import_excel", [[1]]),
            ("ai_summarize", LONG),
            ("ai_ocr", {"lines": [LONG]}),
        ],
    )
    def test_what_fits_is_complete(self, kind, value):
        finding = judge(kind, {"value": value})
        assert (finding.verdict, finding.verified, finding.confidence) == (Verdict.COMPLETE, True, SURE)
        assert finding.evidence["schema"] == "built_in"

    def test_a_few_words_are_complete_with_a_confidence_that_asks_for_a_judge(self):
        finding = judge(sent={"value": "ok"})
        assert (finding.verdict, finding.confidence) == (Verdict.COMPLETE, UNSURE)

    @pytest.mark.parametrize("member", ["value", "extracted", "result"])
    @pytest.mark.parametrize("value", [0, "", False, [], {}])
    def test_f11_0_and_an_empty_text_are_values(self, member, value):
        """F11: they are judged, not replaced by the whole report."""
        finding = judge(sent={member: value, "text": LONG})
        assert outcome(finding) == INVALID
        assert paths(finding) == ["value"]
        assert "a value" not in finding.reasoning.replace("the value", "")

    def test_f11_wrong_types_are_listed_without_what_was_sent(self):
        """F11."""
        rules = {"age": {"type": "integer"}, "valide": {"type": "boolean"}, "montant": {"type": "number"}}
        rules |= {"code": {"type": "string"}, "nom": {"minLength": 1}, "decision": {"enum": ["UHCD", "FORFAIT", "NA"]}}
        schema = {"type": "object", "properties": rules, "additionalProperties": False}
        sent = {"age": "12", "valide": "snap", "montant": "12,5", "code": True, "nom": "", "decision": "uhcd "}
        finding = judge("t2a_decision", {"value": {**sent, "extra": 1}}, expected_schema=schema)
        assert outcome(finding) == INVALID
        assert sorted(paths(finding)) == sorted(["value", *(f"value.{name}" for name in rules)])
        told = finding.reasoning + json.dumps(finding.evidence)
        assert not any(echo in told for echo in ("snap", "12,5", "uhcd", "extra"))
        assert paths(judge("t2a_decision", {"value": {**sent, "extra": 1}})) == ["value.decision"]

    @pytest.mark.parametrize("value", ['"UHCD"', "UHCD", "{", '{"decision": "UHCD", "decision": "NA"}', "[" * 5_000])
    def test_f11_a_text_that_is_no_object_is_no_decision(self, value):
        """F11: a bare JSON string, duplicate keys, nesting."""
        assert outcome(judge("t2a_decision", {"value": value})) == INVALID

    @pytest.mark.parametrize("kind", ["extract_text", "db_save_data", "ai_ocr"])
    @pytest.mark.parametrize("payload", [{}, {"expected_schema": {"type": ["object", "string"]}}])
    def test_f11_deep_nesting_is_refused_without_recursion(self, kind, payload):
        """F11."""
        value = {}
        for _ in range(1_000):
            value = {"a": value}
        finding = judge(kind, {"value": value}, **payload)
        assert outcome(finding) == INVALID
        assert finding.evidence["problems"] == [{"path": "value", "expected": "at most 32 levels"}]

    def test_f11_of_a_name_that_stands_twice_the_last_counts_as_for_the_host(self):
        """F11: the plugin judges what the host's own parser reads."""
        body = b'{"session_id":"s","action_id":"a","value":0,"value":{"decision":"perhaps","decision":"UHCD"}}'
        assert parse_object(body) == json.loads(body)
        made = ReportSubject(Action("a", "t2a_decision", "s", "m", {}), Report.from_json(parse_object(body)))
        assert CHECKER.check(made).verdict is Verdict.COMPLETE

    @pytest.mark.parametrize("levels", [100, 1_000, 100_000])
    def test_f11_nesting_in_a_body_is_refused_or_not_read_at_all(self, levels):
        """F11: from about 1,000 levels on, Python 3.11 reads no JSON; the report is then the host's alone."""
        nested = b'{"a":' * levels + b"1" + b"}" * levels
        parsed = parse_object(b'{"session_id":"s","action_id":"a","value":' + nested + b"}")
        assert parsed is not None or levels > 100
        if parsed is not None:
            made = ReportSubject(Action("a", "db_save_data", "s", "m", {}), Report.from_json(parsed))
            assert outcome(CHECKER.check(made)) == INVALID

    @pytest.mark.parametrize("sent", [{}, {"success": None}, {"detail": LONG}])
    def test_a_success_without_the_value_that_the_host_gave_a_schema_for_is_none(self, sent):
        finding = judge("t2a_decision", sent, expected_schema={"type": "object"})
        assert outcome(finding) == INVALID
        assert finding.evidence["problems"] == [{"path": "value", "expected": "a value"}]

    def test_without_a_schema_of_the_hosts_no_value_is_nothing_to_judge(self):
        """Many agents send none, and never heard that they should."""
        assert not CHECKER.applies(subject("t2a_decision"))
        assert CHECKER.applies(subject("t2a_decision", {"value": None}))

    def test_a_failure_owes_no_value_but_one_that_is_sent_is_judged(self):
        assert not CHECKER.applies(subject(sent={"success": False}))
        assert not CHECKER.check(subject(sent={"success": False})).verified
        assert outcome(judge(sent={"success": False, "value": ""})) == INVALID

    def test_null_fits_where_the_schema_says_so(self):
        assert judge(sent={"value": None}, expected_schema={"type": ["string", "null"]}).verdict is Verdict.COMPLETE
        assert outcome(judge(sent={"value": None})) == INVALID

    def test_the_schema_given_with_an_action_replaces_that_of_its_type(self):
        schema = {"properties": {"decision": {"enum": ["HDJ"]}}, "required": ["decision"], "type": "object"}
        finding = judge("t2a_decision", {"value": {"decision": "HDJ"}}, expected_schema=schema)
        assert (finding.verdict, finding.evidence["schema"]) == (Verdict.COMPLETE, "given")
        assert outcome(judge("t2a_decision", {"value": {"decision": "NA"}}, schema=schema)) == INVALID

    @pytest.mark.parametrize("schema", ["public", {}, {"age": "integer"}, {"$ref": "https://example.org/x"}])
    def test_a_schema_that_cannot_be_used_is_not_skipped(self, schema):
        assert outcome(judge("extract_text", {"value": LONG}, expected_schema=schema)) == OPEN

    def test_a_text_is_read_as_json_where_no_text_is_wanted(self):
        schema = {"type": "object", "required": ["a"]}
        assert judge("x", {"value": '{"a": 1}'}, schema=schema).verdict is Verdict.COMPLETE
        assert outcome(judge("x", {"value": '"a"'}, schema=schema)) == INVALID
        assert judge("x", {"value": '"a"'}, schema={"type": "string", "minLength": 3}).verdict is Verdict.COMPLETE

    def test_problems_are_counted_up_to_a_limit(self):
        finding = judge("extract_table", {"value": [{"a": []}] * 100})
        assert len(finding.evidence["problems"]) == MOST_PROBLEMS
        assert finding.evidence["more"] is True
        assert len(finding.reasoning) < 500

    @pytest.mark.parametrize(
        "value",
        [
            [{"Nom": "x", "DATE DE NAISSANCE": "y", "autre": 1}],
            [["nom", "date de naissance"], ["x", "y"]],
            {"headers": ["Nom", "Date de naissance"], "rows": [[1, 2]]},
            {"columns": ["Nom", "Date de naissance"], "data": [[1, 2]]},
        ],
    )
    def test_the_headers_that_the_action_names_are_looked_for(self, value):
        assert judge("extract_table", {"value": value}, expected_headers=["Nom", "Date de naissance"]).verified
        finding = judge("extract_table", {"value": value}, expected_headers=["Nom", "Service"])
        assert outcome(finding) == INVALID
        assert finding.evidence["problems"] == [{"path": "value.headers", "expected": "the header 'Service'"}]

    @pytest.mark.parametrize("value", [[1], [[3]], {"rows": [], "headers": "Nom"}])
    def test_a_table_without_headers_has_not_those_that_are_named(self, value):
        assert outcome(judge("extract_table", {"value": value}, expected_headers=["Nom"])) == INVALID


def test_no_schema_is_no_opinion():
    """Fail open in the validator seed: COMPLETE 0.5 for a type without a schema (DESIGN section 9)."""
    for kind in ("click", "ai", "visual_condition", "unknown"):
        made = subject(kind, {"value": LONG})
        assert not CHECKER.applies(made)
        assert outcome(CHECKER.check(made)) == OPEN


def test_schemas_may_be_others():
    own = JsonSchemaChecker({"labo_*": JsonSchemaChecker()._schemas["t2a_decision"]})
    sent = {"value": {"decision": "NA"}}
    assert own.applies(subject("labo_biologie", sent))
    assert not own.applies(subject("t2a_decision", sent))


SAVED = {"http_status": [200, 299], "fields": {"record_count": 1}}


class TestPostcondition:
    @pytest.mark.parametrize(
        "sent",
        [
            {"http_status": 200, "value": {"record_count": 1}},
            {"http_status": 204, "result": '{"record_count": 1}'},
            {"value": {"http_status": 299, "record_count": 1}},
        ],
    )
    def test_what_holds_is_complete(self, sent):
        finding = judge("click", sent, postcondition=SAVED)
        assert (finding.verdict, finding.confidence, finding.evidence["conditions"]) == (Verdict.COMPLETE, SURE, 2)

    @pytest.mark.parametrize(
        ("sent", "found"),
        [
            ({"http_status": 500, "value": {"record_count": 1}}, ["http_status"]),
            ({"http_status": 200, "value": {"record_count": 0}}, ["value.record_count"]),
            ({"http_status": "200", "value": {"record_count": True}}, ["http_status", "value.record_count"]),
            ({"http_status": 500}, ["http_status"]),
            ({"http_status": {"a": [float("nan")]}}, ["http_status"]),
        ],
    )
    def test_g12_what_does_not_hold_stops_and_is_named(self, sent, found):
        """G12."""
        finding = judge("click", sent, postcondition=SAVED)
        assert outcome(finding) == INVALID
        assert paths(finding) == found

    @pytest.mark.parametrize(
        "sent", [{}, {"http_status": 200}, {"record_count": 1, "http_status": 200}, {"value": "x"}]
    )
    def test_what_the_report_does_not_say_is_unknown(self, sent):
        assert outcome(judge("click", sent, postcondition=SAVED)) == OPEN

    @pytest.mark.parametrize("declared", ["saved", {"n": [1]}, {"http_status": {"least": 200}}, {"n": {}}])
    def test_a_post_condition_that_cannot_be_used_is_not_skipped(self, declared):
        assert outcome(judge("click", {"http_status": 200, "n": 1}, expected_post=declared)) == OPEN

    def test_a_member_of_the_report_comes_before_one_of_its_value(self):
        sent = {"http_status": 500, "value": {"http_status": 200}}
        assert outcome(judge("click", sent, postcondition={"http_status": 200})) == INVALID
        assert judge("click", sent, postcondition={"fields": {"http_status": 200}, "http_status": 500}).verified

    def test_g12_a_status_that_says_refused_needs_no_declaration(self):
        """G12: "Dossier enregistré !" on the screen, http_status=500 in the report."""
        finding = judge("click", {"http_status": 500})
        assert outcome(finding) == INVALID
        assert finding.evidence["problems"] == [{"path": "http_status", "expected": "less than 400"}]
        for status in (200, 399, "500", None, True):
            assert not CHECKER.applies(subject("click", {"http_status": status}))

    def test_problems_of_a_member_are_counted_up_to_a_limit(self):
        finding = judge("click", {"n": [0] * 1_000}, postcondition={"n": {"items": {"type": "string"}}})
        assert (len(finding.evidence["problems"]), finding.evidence["more"]) == (MOST_PROBLEMS, True)

    def test_the_value_is_judged_too(self):
        assert outcome(judge("t2a_decision", {"n": 1, "value": {}}, postcondition={"n": 1})) == INVALID
        assert judge("t2a_decision", {"n": 1, "value": {"decision": "NA"}}, postcondition={"n": 1}).verified

    def test_g12_it_wins_over_the_screen(self):
        """G12: the page says that the record is saved, the report that it is not."""
        report = subject("click").report
        refused = judge("click", {"http_status": 500}, postcondition=SAVED)
        result = fold([SEEN, refused], report)
        assert (result.verdict, result.category) == (Verdict.TERMINATE, FailureCategory.SCHEMA_INVALID)
        assert route(result, RoutingPolicy()) is Route.PAUSE
        unknown = judge("click", {}, postcondition=SAVED)
        assert fold([SEEN, unknown], report).verdict is Verdict.CONTINUE

    def test_g12_whether_anything_but_the_screen_bears_a_success_out_is_told(self):
        """G12."""
        holds = judge("click", {"n": 1}, postcondition={"n": 1})
        assert is_visual_only([SEEN])
        assert is_visual_only([SEEN, judge("click", {}, postcondition={"n": 1})])
        assert not is_visual_only([SEEN, holds])


class TestSecret:
    @pytest.mark.parametrize(("kind", "payload"), [("type_secret", {}), ("extract_text", {"secret": True})])
    def test_g10_nothing_of_a_secret_is_read(self, kind, payload):
        """G10."""
        sent = {"value": "S3cret!Pw", "detail": "S3cret!Pw", "http_status": 500}
        schema = {"type": "integer"}
        assert not CHECKER.applies(subject(kind, sent, expected_schema=schema, **payload))
        made = subject(kind, sent, expected_schema=schema, postcondition={"detail": 1}, **payload)
        finding = CHECKER.check(made)
        assert outcome(finding) == OPEN
        assert "S3cret" not in repr(made.report) + finding.reasoning + json.dumps(finding.evidence)


MARK = "\u2620"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text().map(lambda text: MARK + text),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text().map(lambda k: MARK + k), inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["extract_text", "extract_table", "t2a_decision", "db_save_data", "db_read_data", "import_excel", "ai_x", "click"]
)
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "x-lax": True}, "b": {"items": {"enum": ["x"]}}},
    "additionalProperties": {"type": "string", "pattern": "^x"},
}


@given(
    kind=KINDS, value=JSON, declared=st.sampled_from([{}, {"schema": SCHEMA}, {"postcondition": {"fields": SCHEMA}}])
)
def test_any_value_gives_a_finding_that_quotes_nothing(kind, value, declared):
    finding = CHECKER.check(subject(kind, {"value": value, "n": value}, **declared))
    assert MARK not in finding.reasoning + json.dumps(finding.evidence, ensure_ascii=False, allow_nan=False)
    assert finding.verdict is not Verdict.COMPLETE or finding.verified


def test_any_wrong_value_of_a_known_member_is_not_quoted_either():
    finding = judge("t2a_decision", {"value": {"decision": MARK, "justification": MARK, "confidence": MARK}})
    assert outcome(finding) == INVALID
    assert MARK not in finding.reasoning + json.dumps(finding.evidence, ensure_ascii=False)
