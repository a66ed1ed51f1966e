from __future__ import annotations

import logging
import threading

import anyio
import pytest
from anyio.lowlevel import checkpoint
from delivery_kit import a_finding, a_report, an_action

from otel_validation.clock import VirtualClock
from otel_validation.validation.matrix import Row
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import ValidationObserver, Validator
from otel_validation.validation.verdict import FailureCategory, Verdict

pytestmark = pytest.mark.anyio


SEEN = a_finding()
STOP = a_finding(Verdict.TERMINATE, 0.8, category=FailureCategory.WRONG_TARGET)
OPEN = a_finding(Verdict.CONTINUE, 0.4, category=FailureCategory.OCR_TEXT_MISSING)


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


def a_validator(*checkers, then=(), budget_s=10.0, **options):
    row = Row(
        checks=tuple(checker.name for checker in checkers),
        then=tuple(checker.name for checker in then),
        budget_s=budget_s,
        then_budget_s=budget_s,
    )
    return Validator((*checkers, *then), subject=Subject, **{"matrix": {"click": row}, **options})


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
        a_validator(It(), matrix={"type": Row(checks=("it",))}),
        a_validator(It(), matrix={"click": Row(checks=("not installed",))}),
    ],
    ids=["no checkers", "none applies", "not this type", "not installed"],
)
async def test_nothing_to_judge_is_neither_validated_nor_verified(validator):
    seen = Seen()
    validator.observe(seen)
    result = await validator.validate(an_action(), a_report())
    assert (result.verdict, result.validated, result.verified) == (Verdict.CONTINUE, False, False)
    assert validator.glance(an_action(), a_report()) == result
    assert seen.validations == []


@pytest.mark.parametrize(
    "validator",
    [
        a_validator(It()),
        a_validator(then=(It(),)),
        a_validator(It(applies=ValueError())),
        a_validator(force=Verdict.COMPLETE),
    ],
    ids=["a checker", "a further checker", "one that cannot tell", "forced"],
)
def test_a_glance_leaves_open_what_somebody_has_a_say_in(validator):
    assert validator.glance(an_action(), a_report()) is None


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
        validator = a_validator(slow, budget_s=0.01, observer=seen)
        result = await validator.validate(an_action(), a_report())
    finally:
        release.set()
    assert (result.verdict, result.verified) == (Verdict.CONTINUE, False)
    assert [details.failure for details in seen.checks] == ["timed_out"]


async def test_stuck_checkers_do_not_pile_up_threads_and_recover():
    seen, release = Seen(), threading.Event()
    slow = It(lambda: release.wait(10) and SEEN)
    validator = a_validator(slow, budget_s=0.01, observer=seen, workers=2)
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
    validator._matrix = {"click": Row(checks=("it",), budget_s=10.0)}
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

    validator = a_validator(It(busy), workers=2)
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


async def test_the_budget_is_the_types_whatever_the_number_of_checkers():
    """A checker that spends it leaves nothing for the next: that one is not started, and confirms nothing."""
    seen, release = Seen(), threading.Event()
    slow, late = It(lambda: release.wait(10) and SEEN, name="slow"), It(name="late")
    try:
        result = await a_validator(slow, late, budget_s=0.01, observer=seen).validate(an_action(), a_report())
    finally:
        release.set()
    assert [details.failure for details in seen.checks] == ["timed_out", "timed_out"]
    assert (late.calls, result.verified) == (0, False)


class TestFurtherCheckers:
    """Those of a row's `then`."""

    async def judged(self, first, *then, **options):
        result = await a_validator(It(first), then=then, **options).validate(an_action(), a_report())
        return result, [checker.calls for checker in then]

    @pytest.mark.parametrize("decided", [SEEN, STOP])
    async def test_they_are_not_asked_where_the_first_decide(self, decided):
        result, calls = await self.judged(decided, It(name="judge"))
        assert (result.verdict, calls) == (decided.verdict, [0])

    @pytest.mark.parametrize("left_open", [OPEN, a_finding(confidence=0.5), RuntimeError("boom")])
    @pytest.mark.parametrize("said", [SEEN, STOP])
    async def test_the_first_that_decides_outweighs_what_was_open(self, left_open, said):
        result, calls = await self.judged(left_open, It(OPEN, name="a"), It(said, name="b"), It(STOP, name="c"))
        assert (result.verdict, result.category, result.confidence) == (said.verdict, said.category, said.confidence)
        assert calls == [1, 1, 0]
        assert len(result.findings) == 3

    async def test_where_none_decides_it_stays_as_the_first_left_it(self):
        guess = a_finding(confidence=0.99, verified=False)
        result, calls = await self.judged(OPEN, It(guess, name="a"), It(RuntimeError("boom"), name="b"))
        assert (result.verdict, result.category, result.verified) == (OPEN.verdict, OPEN.category, True)
        assert calls == [1, 1]

    async def test_a_weak_answer_does_not_end_the_asking(self):
        weak = a_finding(confidence=0.3)
        result, calls = await self.judged(OPEN, It(weak, name="a"), It(STOP, name="b"))
        assert (result.verdict, calls) == (Verdict.TERMINATE, [1, 1])

    async def test_how_weak_is_an_option(self):
        _, calls = await self.judged(a_finding(confidence=0.5), It(name="a"), escalate_below=0.4)
        assert calls == [0]

    async def test_they_alone_may_have_a_say(self):
        result, calls = await self.judged(SEEN, It(STOP, name="a"))
        assert calls == [0]
        validator = a_validator(It(applies=False), then=(It(STOP, name="a"),))
        result = await validator.validate(an_action(), a_report())
        assert (result.verdict, result.validated) == (Verdict.TERMINATE, True)

    async def test_a_crash_of_the_only_one_is_no_success(self):
        validator = a_validator(It(applies=False), then=(It(RuntimeError("boom"), name="a"),))
        result = await validator.validate(an_action(), a_report())
        assert (result.verdict, result.verified, result.validated) == (Verdict.CONTINUE, False, True)


@pytest.mark.parametrize("verdict", list(Verdict))
async def test_a_forced_verdict_looks_at_nothing_and_is_said_at_start(verdict, caplog):
    checker = It(STOP)
    validator = a_validator(checker, force=verdict)
    assert verdict.value in caplog.text
    result = await validator.validate(an_action(), a_report())
    assert (result.verdict, result.verified, checker.calls) == (verdict, True, 0)
    assert "RPA_VALIDATOR_FORCE_VERDICT" in result.reasoning


async def test_observers_get_the_report_that_checkers_saw():
    """Of a secret's report both see nothing that it carries."""
    seen = Seen()
    validator = Validator(
        [It()], subject=ReportSubject, matrix={"type_secret": Row(checks=("it",), budget_s=10.0)}, observer=seen
    )
    await validator.validate(an_action(type="type_secret"), a_report(value="hunter2", value_given=True))
    assert [details.report.value for details in (*seen.checks, *seen.validations)] == [None, None]
