"""The seeds' matrix."""

import pytest
from delivery_kit import an_action

from otel_validation.validation.matrix import ALIASES, BUTTONS, MATRIX, UNKNOWN_TYPE, Row, kind_of, row_of

SEED_TYPES = [kind for kind in MATRIX if not kind.endswith("*")]


def test_the_seeds_types_are_all_there():
    clicks = {"click", "double_click", "right_click"}
    keys = {"type", "type_secret", "key_combo", "paste_and_execute"}
    screens = {"scroll", "wait", "verify_screen", "screenshot_evidence", "visual_condition", "pause_for_human"}
    values = {"extract_text", "extract_text_scroll", "extract_table", "t2a_decision"}
    stored = {"db_save_data", "db_read_data", "import_excel"}
    assert set(SEED_TYPES) == clicks | keys | screens | values | stored


@pytest.mark.parametrize("kind", SEED_TYPES)
def test_every_type_of_the_seeds_has_a_row(kind):
    row = row_of(an_action(kind=kind))
    assert row is MATRIX[kind]
    assert row.budget_s > 0
    assert len(set(row.checkers)) == len(row.checkers)


@pytest.mark.parametrize(("alias", "kind"), [*ALIASES.items()])
def test_the_editors_names_are_judged_as_the_agents(alias, kind):
    assert row_of(an_action(kind=alias)) is MATRIX[kind]


@pytest.mark.parametrize("kind", ["click", "click_anchor"])
@pytest.mark.parametrize(
    ("button", "judged_as"), [*BUTTONS.items(), ("left", "click"), (None, "click"), (["x"], "click")]
)
def test_a_clicks_button_decides(kind, button, judged_as):
    assert row_of(an_action(kind=kind, button=button)) is MATRIX[judged_as]


def test_a_star_stands_for_every_type_that_begins_so():
    assert row_of(an_action(kind="ai_ocr")) is MATRIX["ai_*"]
    mine = {"ai_*": Row(checks=("a",)), "ai_s*": Row(checks=("b",)), "ai_sum": Row(checks=("c",))}
    assert [row_of(an_action(kind=kind), mine).checks for kind in ("ai_x", "ai_s1", "ai_sum")] == [
        ("a",),
        ("b",),
        ("c",),
    ]


def test_a_type_that_nobody_knows_is_judged_by_its_report_alone():
    assert row_of(an_action(kind="dance")) is UNKNOWN_TYPE
    assert row_of(an_action(kind="*")) is UNKNOWN_TYPE


def test_a_row_of_its_own_goes_before_an_alias():
    mine = {"click_anchor": Row(checks=("a",)), "click": Row(checks=("b",))}
    assert row_of(an_action(kind="click_anchor"), mine).checks == ("a",)


@pytest.mark.parametrize(
    ("kind", "payload", "judged_as"),
    [
        ("click", {}, "click"),
        ("click_anchor", {"button": "right"}, "right_click"),
        ("click", {"button": "double"}, "double_click"),
        ("click", {"button": ["right"]}, "click"),
        ("type_text", {"button": "right"}, "type"),
        ("something_else", {}, "something_else"),
    ],
)
def test_what_an_action_is_judged_as(kind, payload, judged_as):
    assert kind_of(an_action(type=kind, **payload)) == judged_as
