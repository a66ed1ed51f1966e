"""The Validator: runs a type's checkers off the event loop and folds their findings into one verdict."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from otel_validation.clock import Clock, SystemClock, stopwatch
from otel_validation.validation.matrix import BUDGETS_S, DEFAULT_BUDGET_S, MATRIX
from otel_validation.validation.verdict import FailureCategory, Finding, ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.checker import Checker, Subject
    from otel_validation.validation.report import Report

logger = logging.getLogger(__name__)

CRASHED = "crashed"
TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDetails:
    """One checker's run, for observers. `failure` is `crashed`, `timed_out` or None. Times are wall nanoseconds."""

    action: Action
    report: Report
    finding: Finding
    started_ns: int
    ended_ns: int
    failure: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationDetails:
    """One validation, for observers, when it is over."""

    action: Action
    report: Report
    result: ValidationResult
    started_ns: int
    ended_ns: int


class ValidationObserver:
    """Hooks of the Validator, each a no-op. They run in the validating task and must not block."""

    def checked(self, details: CheckDetails) -> None:
        """A checker ended."""

    def validated(self, details: ValidationDetails) -> None:
        """A verdict was reached; not called where there was nothing to judge."""


class _Run:
    """One checker's run in a worker thread, which may outlive the wait for it."""

    def __init__(self, checker: Checker, subject: Subject) -> None:
        self._checker, self._subject = checker, subject
        self.began = self.ended = False

    def __call__(self) -> Finding:
        self.began = True
        try:
            return self._checker.check(self._subject)
        finally:
            self.ended = True


class Validator:
    """Judges reports.

    `checkers` by name; `matrix` names those of each action type in order; `budgets_s` bounds each checker's time by
    action type, waiting for a thread included. At most `workers` checks run at once, in threads; more of them wait.
    Where `workers` threads are stuck in checks past their budget, no more are started until one ends.
    """

    def __init__(
        self,
        checkers: Iterable[Checker],
        *,
        subject: Callable[[Action, Report], Subject],
        matrix: Mapping[str, tuple[str, ...]] = MATRIX,
        budgets_s: Mapping[str, float] = BUDGETS_S,
        clock: Clock | None = None,
        observer: ValidationObserver | None = None,
        workers: int = 4,
    ) -> None:
        self._checkers = {checker.name: checker for checker in checkers}
        self._subject = subject
        self._matrix = matrix
        self._budgets_s = budgets_s
        self._clock = clock or SystemClock()
        self._observers = [] if observer is None else [observer]
        self._workers = workers
        self._limiter: anyio.CapacityLimiter | None = None
        self._stuck: list[_Run] = []
        self.warm = False

    def observe(self, observer: ValidationObserver) -> None:
        """Tell `observer` too, from now on."""
        self._observers.append(observer)

    async def warm_up(self) -> None:
        """Load what the checkers need, off the event loop; `warm` is true afterwards."""
        for checker in self._checkers.values():
            await to_thread.run_sync(checker.warm_up)
        self.warm = True

    async def validate(self, action: Action, report: Report) -> ValidationResult:
        """The verdict on one report.

        Nothing to judge (no checker for the type, no evidence it could use) gives `validated=False`. A claimed
        success that carries an error contradicts itself and is never COMPLETE (field case G01).
        """
        subject = self._subject(action, report)
        checkers = [self._checkers[name] for name in self._matrix.get(action.type, ()) if name in self._checkers]
        checkers = [checker for checker in checkers if _applies(checker, subject)]
        if not checkers:
            return _nothing_to_judge(report)
        began, started_ns = stopwatch(), self._clock.wall_ns()
        findings = [await self._check(checker, subject) for checker in checkers]
        result = fold(findings, report, elapsed_ms=(stopwatch() - began) * 1e3)
        self._tell(
            "validated",
            ValidationDetails(
                action=action,
                report=report,
                result=result,
                started_ns=started_ns,
                ended_ns=self._clock.wall_ns(),
            ),
        )
        return result

    async def _check(self, checker: Checker, subject: Subject) -> Finding:
        started_ns = self._clock.wall_ns()
        budget_s = self._budgets_s.get(subject.action.type, DEFAULT_BUDGET_S)
        finding, failure = _unsure(checker.name, f"took longer than {budget_s:g} s"), TIMED_OUT
        try:
            if not self._all_stuck():
                with anyio.move_on_after(budget_s):
                    finding, failure = await self._in_thread(checker, subject), ""
        except Exception:
            logger.exception("checker %s crashed; the report counts as not confirmed", checker.name)
            finding, failure = _unsure(checker.name, "the checker crashed"), CRASHED
        self._tell(
            "checked",
            CheckDetails(
                action=subject.action,
                report=subject.report,
                finding=finding,
                started_ns=started_ns,
                ended_ns=self._clock.wall_ns(),
                failure=failure or None,
            ),
        )
        return finding

    def _tell(self, hook: str, details: CheckDetails | ValidationDetails) -> None:
        for observer in self._observers:
            try:
                getattr(observer, hook)(details)
            except Exception:
                logger.exception("a validation observer failed")

    async def _in_thread(self, checker: Checker, subject: Subject) -> Finding:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._workers)
        run = _Run(checker, subject)
        try:
            return await to_thread.run_sync(run, limiter=self._limiter, abandon_on_cancel=True)
        finally:
            if run.began and not run.ended:
                self._stuck.append(run)

    def _all_stuck(self) -> bool:
        """Whether as many checks as there are workers ran past their budget and still hold their threads."""
        self._stuck = [run for run in self._stuck if not run.ended]
        return len(self._stuck) >= self._workers


def fold(findings: list[Finding], report: Report, *, elapsed_ms: float) -> ValidationResult:
    """One verdict of several findings.

    The rule: a verified TERMINATE wins over everything, the surest first; then anything that is not a verified
    COMPLETE makes CONTINUE; COMPLETE needs every finding to be COMPLETE and verified, and at least one. Confidence is
    that of the finding that decided.
    """
    if not findings:
        return _nothing_to_judge(report)
    stops = [f for f in findings if f.verdict is Verdict.TERMINATE and f.verified]
    unsure = [f for f in findings if f.verdict is not Verdict.COMPLETE or not f.verified]
    decisive = max(stops, key=lambda f: f.confidence, default=None) or next(iter(unsure), None)
    if decisive is None:
        decisive = min(findings, key=lambda f: f.confidence)
    verdict, category, reasoning = decisive.verdict, decisive.category, decisive.reasoning
    verified = decisive.verified
    if not verified:
        verdict = Verdict.CONTINUE
    if verdict is Verdict.COMPLETE and report.success is True and report.error:
        verdict, category, verified = Verdict.CONTINUE, FailureCategory.UNKNOWN, False
        reasoning = "the agent claims a success and reports an error"
    return ValidationResult(
        verdict=verdict,
        confidence=decisive.confidence,
        reasoning=reasoning,
        category=category,
        verified=verified,
        findings=tuple(findings),
        elapsed_ms=elapsed_ms,
    )


def _applies(checker: Checker, subject: Subject) -> bool:
    """Whether the checker has a say; one that cannot tell is asked, so that its crash is seen and counted."""
    try:
        return checker.applies(subject)
    except Exception:
        logger.exception("checker %s could not tell whether it applies", checker.name)
        return True


def _unsure(checker: str, reasoning: str) -> Finding:
    return Finding(
        checker=checker,
        verdict=Verdict.CONTINUE,
        confidence=0.0,
        reasoning=reasoning,
        category=FailureCategory.UNKNOWN,
        verified=False,
    )


def _nothing_to_judge(report: Report) -> ValidationResult:
    contradiction = report.success is True and report.error
    return ValidationResult(
        verdict=Verdict.CONTINUE,
        confidence=0.0,
        reasoning="the agent claims a success and reports an error" if contradiction else "nothing to judge",
        category=FailureCategory.UNKNOWN if contradiction else None,
        verified=False,
        validated=bool(contradiction),
    )
