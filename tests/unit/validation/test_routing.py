"""The whole table: verdict x category x mode x the agent's word."""

from __future__ import annotations

from itertools import product

import pytest

from otel_validation.validation.routing import Decision, Mode, OnUnverified, Route, RoutingPolicy, decide, route
from otel_validation.validation.verdict import FailureCategory, ValidationResult, Verdict

CATEGORIES = (None, *FailureCategory)
WORDS = (True, False, None)
TERMINATE_ROUTES = {
    None: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.WRONG_TARGET: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.WRONG_APPLICATION: Route.PAUSE,
    FailureCategory.NO_VISUAL_CHANGE: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.UNEXPECTED_DIALOG: Route.HANDOFF_DIALOG,
    FailureCategory.OCR_TEXT_MISSING: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.SCHEMA_INVALID: Route.PAUSE,
    FailureCategory.UI_LOADING: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.SCREEN_UNAVAILABLE: Route.PAUSE,
    FailureCategory.IMAGE_INVALID: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.JUDGE_UNAVAILABLE: Route.RETRY_WITH_RERESOLVE,
    FailureCategory.UNKNOWN: Route.RETRY_WITH_RERESOLVE,
}


def result(verdict, category=None, **fields):
    return ValidationResult(
        verdict=verdict, category=category, reasoning="", **{"confidence": 0.9, "verified": True, **fields}
    )


def expected_route(verdict, category):
    if verdict is Verdict.COMPLETE:
        return Route.CONTINUE
    return Route.PAUSE if verdict is Verdict.CONTINUE else TERMINATE_ROUTES[category]


def expected(verdict, category, mode, word):
    """Written apart from the code: success, error, route, overridden."""
    if mode is not Mode.ENFORCE:
        return Decision(word, "said", Route.CONTINUE, overridden=False)
    way = expected_route(verdict, category)
    if word is False:
        return Decision(False, "said", way, overridden=False)
    if verdict is Verdict.COMPLETE:
        return Decision(True, "said", way, overridden=word is None)
    name = "unknown" if category is None else category.value
    return Decision(False, f"validator_{verdict.value}: {name}", way, overridden=True)


@pytest.mark.parametrize(("verdict", "category", "mode", "word"), list(product(Verdict, CATEGORIES, Mode, WORDS)))
def test_every_decision(verdict, category, mode, word):
    decision = decide(success=word, error="said", result=result(verdict, category), policy=RoutingPolicy(mode=mode))
    assert decision == expected(verdict, category, mode, word)


def test_every_category_has_its_route():
    assert set(TERMINATE_ROUTES) == set(CATEGORIES)


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize(("confidence", "stops"), [(0.69, False), (0.70, True), (0.0, False)])
def test_a_stop_that_is_not_sure_is_looked_at_by_a_person(category, confidence, stops):
    way = route(result(Verdict.TERMINATE, category, confidence=confidence), RoutingPolicy())
    assert way is (TERMINATE_ROUTES[category] if stops else Route.PAUSE)


@pytest.mark.parametrize("verdict", Verdict)
def test_nothing_unverified_goes_on_or_retries(verdict):
    unverified = result(verdict, FailureCategory.WRONG_TARGET, verified=False)
    assert route(unverified, RoutingPolicy()) is Route.PAUSE
    decision = decide(success=True, error=None, result=unverified, policy=RoutingPolicy())
    assert (decision.success, decision.overridden) == (False, True)
    assert decision.error in ("validator_continue: wrong_target", "validator_terminate: wrong_target")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    ("on_unverified", "way"), [(OnUnverified.CONTINUE, Route.CONTINUE), (OnUnverified.PAUSE, Route.PAUSE)]
)
def test_with_nothing_to_judge_the_agents_word_stands(word, on_unverified, way):
    nothing = result(Verdict.CONTINUE, verified=False, validated=False, confidence=0.0)
    decision = decide(success=word, error="said", result=nothing, policy=RoutingPolicy(on_unverified=on_unverified))
    assert decision == Decision(word, "said", way, overridden=False)
