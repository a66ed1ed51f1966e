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


def expected_route(verdict, category, again):
    if verdict is Verdict.COMPLETE:
        return Route.CONTINUE
    if verdict is Verdict.CONTINUE:
        return Route.RECHECK if again else Route.PAUSE
    return TERMINATE_ROUTES[category]


def expected(verdict, category, mode, word, error, left):
    """Written apart from the code: success, error, route, overridden, advised."""
    way = expected_route(verdict, category, again=left > 0 and word is not False and error is None)
    if mode is not Mode.ENFORCE:
        return Decision(word, error, Route.CONTINUE, overridden=False, advised=way if mode is Mode.OBSERVE else None)
    if word is False:
        return Decision(False, error, way, overridden=False)
    if verdict is Verdict.COMPLETE:
        return Decision(True, error, way, overridden=word is None)
    name = "unknown" if category is None else category.value
    return Decision(False, f"validator_{verdict.value}: {name}", way, overridden=True)


@pytest.mark.parametrize(("verdict", "category", "mode", "word"), list(product(Verdict, CATEGORIES, Mode, WORDS)))
def test_every_decision(verdict, category, mode, word):
    policy, judged = RoutingPolicy(mode=mode), result(verdict, category)
    for error, left in product(("said", None), (0, 1, 2)):
        decision = decide(success=word, error=error, result=judged, policy=policy, rechecks_left=left)
        assert decision == expected(verdict, category, mode, word, error, left), (error, left)


def test_the_numbers_of_the_document_are_the_defaults():
    assert (RoutingPolicy().rechecks, RoutingPolicy().recheck_delay_s) == (2, 1.5)


def test_every_category_has_its_route():
    assert set(TERMINATE_ROUTES) == set(CATEGORIES)


@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize(("confidence", "stops"), [(0.69, False), (0.70, True), (0.0, False)])
@pytest.mark.parametrize(("left", "looked_at"), [(0, Route.PAUSE), (1, Route.RECHECK)])
def test_a_stop_that_is_not_sure_is_looked_at_again(category, confidence, stops, left, looked_at):
    way = route(result(Verdict.TERMINATE, category, confidence=confidence), RoutingPolicy(), rechecks_left=left)
    assert way is (TERMINATE_ROUTES[category] if stops else looked_at)


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
    policy = RoutingPolicy(on_unverified=on_unverified)
    decision = decide(success=word, error=None, result=nothing, policy=policy, rechecks_left=2)
    assert decision == Decision(word, None, way, overridden=False)
