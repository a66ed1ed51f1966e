from __future__ import annotations

import logging
import threading

import anyio
import pytest
from anyio.lowlevel import checkpoint
from delivery_kit import a_report, an_action

from otel_validation.clock import VirtualClock
from otel_validation.validation.matrix import BUDGETS_S, MATRIX
from otel_validation.validation.validator import ValidationObserver, Validator, fold
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict

pytestmark = pytest.mark.anyio


def finding(verdict=Verdict.COMPLETE, confidence=0.9, *, verified=True, category=None, checker="it"):
    return Finding(
        checker=checker,
        verdict=verdict,
        confidence=confidence,
        reasoning=f"{verdict.value} {confidence}",
        category=category,
        verified=verified,
    )


SEEN = finding()
STOP = finding(Verdict.TERMINATE, 0.8, category=FailureCategory.WRONG_TARGET)
SURER_STOP = finding(Verdict.TERMINATE, 0.95, category=FailureCategory.WRONG_APPLICATION)
UNSURE = finding(Verdict.CONTINUE, 0.4, verified=False, category=FailureCategory.UNKNOWN)
LOADING = finding(Verdict.CONTINUE, 0.6, category=FailureCategory.UI_LOADING)
GUESSED_STOP = finding(Verdict.TERMINATE, 0.9, verified=False, category=FailureCategory.WRONG_TARGET)
SURELY_GUESSED = finding(Verdict.COMPLETE, 0.99, verified=False)
GUESSED = finding(Verdict.COMPLETE, 0.5, verified=False)


class Subject:
    before = after = None

    def __init__(self, action, report):
        self.action, self.report = action, report


class It:
    """A checker that answers, raises or waits for what it is given."""

    def __init__(self, answer=SEEN, *, name="it", applies=True):
        self.answer, self.name, self.says, self.calls, self.warmed = answer, name, applies, 0, 0

    def applies(self, subject):
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def check(self, subject):
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer

    def warm_up(self):
        self.warmed = threading.get_ident()


class Seen(ValidationObserver):
    def __init__(self):
        self.checks, self.validations = [], []

    def checked(self, details):
        self.checks.append(details)

    def validated(self, details):
        self.validations.append(details)


def a_validator(*checkers, **options):
    names = tuple(checker.name for checker in checkers)
    return Validator(checkers, subject=Subject, **{"matrix": {"click": names}, **options})


@pytest.mark.parametrize(
    ("findings", "verdict", "category", "verified", "confidence"),
    [
        ([SEEN], Verdict.COMPLETE, None, True, 0.9),
        ([SEEN, finding(confidence=0.8)], Verdict.COMPLETE, None, True, 0.8),
        ([SEEN, STOP], Verdict.TERMINATE, FailureCategory.WRONG_TARGET, True, 0.8),
        ([STOP, SURER_STOP, LOADING], Verdict.TERMINATE, FailureCategory.WRONG_APPLICATION, True, 0.95),
        ([UNSURE, STOP], Verdict.TERMINATE, FailureCategory.WRONG_TARGET, True, 0.8),
        ([SEEN, LOADING], Verdict.CONTINUE, FailureCategory.UI_LOADING, True, 0.6),
        ([UNSURE, SEEN], Verdict.CONTINUE, FailureCategory.UNKNOWN, False, 0.4),
        ([UNSURE, LOADING], Verdict.CONTINUE, FailureCategory.UNKNOWN, False, 0.4),
        ([GUESSED_STOP, SEEN], Verdict.CONTINUE, FailureCategory.WRONG_TARGET, False, 0.9),
        ([GUESSED], Verdict.CONTINUE, None, False, 0.5),
        ([SEEN, GUESSED], Verdict.CONTINUE, None, False, 0.5),
        ([SEEN, SURELY_GUESSED], Verdict.CONTINUE, None, False, 0.99),
    ],
)
def test_the_fold(findings, verdict, category, verified, confidence):
    result = fold(findings, a_report(), elapsed_ms=1.5)
    assert (result.verdict, result.category) == (verdict, category)
    assert (result.verified, result.confidence) == (verified, confidence)
    assert (result.validated, result.findings, result.elapsed_ms) == (True, tuple(findings), 1.5)


def test_no_findings_are_never_complete():
    result = fold([], a_report(), elapsed_ms=0.0)
    assert (result.verdict, result.verified, result.validated) == (Verdict.CONTINUE, False, False)


@pytest.mark.parametrize(
    ("success", "error", "verdict"),
    [
        (True, "element not found", Verdict.CONTINUE),
        (True, None, Verdict.COMPLETE),
        (None, None, Verdict.COMPLETE),
        (False, "element not found", Verdict.COMPLETE),
    ],
)
async def test_g01_a_success_with_an_error_contradicts_itself(success, error, verdict):
    """G01: never COMPLETE; a missing success is decided by the evidence."""
    result = await a_validator(It()).validate(an_action(), a_report(success=success, error=error))
    assert result.verdict is verdict
    if verdict is Verdict.CONTINUE:
        assert (result.category, result.verified) == (FailureCategory.UNKNOWN, False)
        assert "error" in result.reasoning


async def test_g01_a_contradiction_with_nothing_to_judge_is_judged_by_itself():
    """G01: the agent's word does not stand where it contradicts itself."""
    result = await a_validator().validate(an_action(), a_report(success=True, error="element not found"))
    assert (result.verdict, result.validated, result.verified) == (Verdict.CONTINUE, True, False)


@pytest.mark.parametrize(
    "validator",
    [
        a_validator(),
        a_validator(It(applies=False)),
        a_validator(It(), matrix={"type": ("it",)}),
        a_validator(It(), matrix={"click": ("not installed",)}),
    ],
    ids=["no checkers", "none applies", "not this type", "not installed"],
)
async def test_nothing_to_judge_is_neither_validated_nor_verified(validator):
    seen = Seen()
    validator._observer = seen
    result = await validator.validate(an_action(), a_report())
    assert (result.verdict, result.validated, result.verified) == (Verdict.CONTINUE, False, False)
    assert seen.validations == []


async def test_a_crashed_checker_confirms_nothing_and_is_told(caplog):
    seen = Seen()
    with caplog.at_level(logging.ERROR):
        result = await a_validator(It(RuntimeError("boom")), observer=seen).validate(an_action(), a_report())
    assert (result.verdict, result.verified, result.category) == (Verdict.CONTINUE, False, FailureCategory.UNKNOWN)
    assert [details.failure for details in seen.checks] == ["crashed"]
    assert "boom" not in result.reasoning


async def test_a_checker_that_cannot_tell_whether_it_applies_is_not_skipped(caplog):
    broken = It(ValueError("corrupt"), name="broken", applies=ValueError("corrupt"))
    with caplog.at_level(logging.ERROR):
        result = await a_validator(It(), broken).validate(an_action(), a_report())
    assert (result.verdict, result.verified) == (Verdict.CONTINUE, False)


async def test_a_checker_past_its_budget_confirms_nothing():
    seen, release = Seen(), threading.Event()
    slow = It(lambda: release.wait(10) and SEEN)
    try:
        validator = a_validator(slow, budgets_s={"click": 0.01}, observer=seen)
        result = await validator.validate(an_action(), a_report())
    finally:
        release.set()
    assert (result.verdict, result.verified) == (Verdict.CONTINUE, False)
    assert [details.failure for details in seen.checks] == ["timed_out"]


async def test_stuck_checkers_do_not_pile_up_threads_and_recover():
    seen, release = Seen(), threading.Event()
    slow = It(lambda: release.wait(10) and SEEN)
    validator = a_validator(slow, budgets_s={"click": 0.01}, observer=seen, workers=2)
    try:
        for _ in range(6):
            assert (await validator.validate(an_action(), a_report())).verdict is Verdict.CONTINUE
    finally:
        release.set()
    assert slow.calls == 2
    assert [details.failure for details in seen.checks] == ["timed_out"] * 6
    with anyio.fail_after(10):
        while validator._all_stuck():
            await checkpoint()
    validator._budgets_s = {"click": 10.0}
    assert (await validator.validate(an_action(), a_report())).verdict is Verdict.COMPLETE


async def test_no_more_checks_run_at_once_than_there_are_workers():
    lock, counts, both = threading.Lock(), [0, 0], threading.Barrier(2)

    def busy():
        with lock:
            counts[0] += 1
            counts[1] = max(counts)
        both.wait(10)
        with lock:
            counts[0] -= 1
        return SEEN

    validator = a_validator(It(busy), workers=2, budgets_s={"click": 10.0})
    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(validator.validate, an_action(), a_report())
    assert counts == [0, 2]


async def test_checkers_run_off_the_event_loop():
    threads = []
    await a_validator(It(lambda: threads.append(threading.get_ident()) or SEEN)).validate(an_action(), a_report())
    assert threads
    assert threads[0] != threading.get_ident()


async def test_observers_get_each_check_and_the_verdict_with_wall_times():
    seen, clock = Seen(), VirtualClock()

    def check():
        clock.advance(0.5)
        return STOP

    first, second = It(check, name="first"), It(SEEN, name="second")
    result = await a_validator(first, second, observer=seen, clock=clock).validate(an_action(), a_report())
    assert [(d.finding, d.failure) for d in seen.checks] == [(STOP, None), (SEEN, None)]
    (told,) = seen.validations
    assert (told.result, told.ended_ns - told.started_ns) == (result, 500_000_000)
    assert seen.checks[0].ended_ns - seen.checks[0].started_ns == 500_000_000


async def test_an_observer_that_raises_harms_nothing(caplog):
    class Broken(ValidationObserver):
        def checked(self, details):
            raise RuntimeError

        def validated(self, details):
            raise RuntimeError

    with caplog.at_level(logging.ERROR):
        result = await a_validator(It(), observer=Broken()).validate(an_action(), a_report())
    assert result.verdict is Verdict.COMPLETE
    assert caplog.text.count("a validation observer failed") == 2


async def test_hooks_are_no_ops_until_overridden():
    assert (await a_validator(It(), observer=ValidationObserver()).validate(an_action(), a_report())).verified


async def test_warming_up_happens_once_per_checker_in_a_thread():
    checkers = [It(name="a"), It(name="b")]
    validator = a_validator(*checkers)
    assert validator.warm is False
    await validator.warm_up()
    assert validator.warm is True
    assert all(checker.warmed not in (0, threading.get_ident()) for checker in checkers)


def test_every_type_in_the_matrix_has_a_budget():
    assert set(MATRIX) <= set(BUDGETS_S)
