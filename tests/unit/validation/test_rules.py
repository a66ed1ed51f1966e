"""Matrix and routes from a TOML file."""

import pytest

from otel_validation.errors import ConfigurationError
from otel_validation.plugin import default_validator, routing_policy
from otel_validation.settings import Settings
from otel_validation.validation.matrix import MATRIX
from otel_validation.validation.routing import Route, route
from otel_validation.validation.rules import Rules, load_rules
from otel_validation.validation.verdict import FailureCategory, ValidationResult, Verdict

MINE = """
[matrix.click]
checks = ["ocr_roi"]
budget_s = 1.5

[matrix."labo_*"]
checks = ["json_schema"]
then = ["llm_judge"]

[routes]
wrong_target = "pause"
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "rules.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_what_a_file_leaves_out_stays_as_it_is(written):
    rules, built_in = load_rules(written(MINE), checkers=("ocr_roi", "json_schema")), Rules()
    click = rules.matrix["click"]
    assert (click.checks, click.then, click.budget_s) == (("ocr_roi",), MATRIX["click"].then, 1.5)
    assert rules.matrix["labo_*"].checkers == ("json_schema", "llm_judge")
    assert rules.matrix["scroll"] is MATRIX["scroll"]
    assert rules.routes[FailureCategory.WRONG_TARGET] is Route.PAUSE
    assert rules.routes[FailureCategory.UNEXPECTED_DIALOG] is Route.HANDOFF_DIALOG
    assert FailureCategory.WRONG_TARGET not in built_in.routes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[matrix.click]\nchecks = ["ocr_rio"]',
            "click names ocr_rio; known are json_schema, llm_judge, ocr_roi",
        ),
        ("[matrix.click]\nbudget = 1", "matrix.click.budget"),
        ("[matrix.click]\nbudget_s = 0", "matrix.click.budget_s"),
        ("[matrix.click]\nbudget_s = nan", "matrix.click.budget_s"),
        ('[routes]\nwrong_tab = "pause"', "routes.wrong_tab"),
        ('[routes]\nwrong_target = "shrug"', "routes.wrong_target"),
        ("[matrix", "cannot be read"),
    ],
)
def test_a_mistake_is_an_error_that_says_where(written, text, said):
    path = written(text)
    with pytest.raises(ConfigurationError) as caught:
        load_rules(path, checkers=("ocr_roi", "json_schema"))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_an_error_at_start(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        default_validator(Settings(validator_rules=tmp_path / "none.toml"))


def test_the_settings_file_reaches_the_validator_and_the_routing(written):
    settings = Settings(validator_rules=written(MINE))
    assert default_validator(settings)._matrix["click"].checks == ("ocr_roi",)
    stop = ValidationResult(
        verdict=Verdict.TERMINATE, confidence=0.9, reasoning="neighbour", category=FailureCategory.WRONG_TARGET
    )
    assert route(stop, routing_policy(settings)) is Route.PAUSE
    assert route(stop, routing_policy(Settings())) is Route.RETRY_WITH_RERESOLVE


@pytest.mark.parametrize("name", ["RPA_VALIDATOR_ESCALATE_BELOW", "RPA_VALIDATOR_ESCALATION_THRESHOLD"])
def test_both_names_of_the_threshold_work(monkeypatch, name):
    monkeypatch.setenv(name, "0.4")
    assert default_validator(Settings())._escalate_below == 0.4


@pytest.mark.parametrize(("given", "forced"), [("", None), (" ", None), ("TERMINATE", Verdict.TERMINATE)])
def test_a_forced_verdict_is_asked_for_by_name(monkeypatch, given, forced):
    monkeypatch.setenv("RPA_VALIDATOR_FORCE_VERDICT", given)
    assert default_validator(Settings())._force is forced
