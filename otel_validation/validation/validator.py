"""The Validator: runs a type's checkers off the event loop and folds their findings into one verdict."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
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


class Validator:
    """Judges reports.

    `checkers` by name; `matrix` names those of each action type in order; `budgets_s` bounds each checker's time by
    action type. At most `workers` checks run at once, in threads; more of them wait.
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
        self._observer = observer or ValidationObserver()
        self._workers = workers
        self._limiter: anyio.CapacityLimiter | None = None
        self.warm = False

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
        checkers = [checker for checker in checkers if checker.applies(subject)]
        if not checkers:
            return _nothing_to_judge(report)
        began, started_ns = stopwatch(), self._clock.wall_ns()
        findings = [await self._check(checker, subject) for checker in checkers]
        result = fold(findings, report, elapsed_ms=(stopwatch() - began) * 1e3)
        with _harmless():
            self._observer.validated(
                ValidationDetails(
                    action=action,
                    report=report,
                    result=result,
                    started_ns=started_ns,
                    ended_ns=self._clock.wall_ns(),
                )
            )
        return result

    async def _check(self, checker: Checker, subject: Subject) -> Finding:
        started_ns = self._clock.wall_ns()
        budget_s = self._budgets_s.get(subject.action.type, DEFAULT_BUDGET_S)
        finding, failure = _unsure(checker.name, f"took longer than {budget_s:g} s"), TIMED_OUT
        try:
            with anyio.move_on_after(budget_s):
                finding, failure = await self._in_thread(checker, subject), ""
        except Exception:
            logger.exception("checker %s crashed; the report counts as not confirmed", checker.name)
            finding, failure = _unsure(checker.name, "the checker crashed"), CRASHED
        with _harmless():
            self._observer.checked(
                CheckDetails(
                    action=subject.action,
                    report=subject.report,
                    finding=finding,
                    started_ns=started_ns,
                    ended_ns=self._clock.wall_ns(),
                    failure=failure or None,
                )
            )
        return finding

    async def _in_thread(self, checker: Checker, subject: Subject) -> Finding:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._workers)
        return await to_thread.run_sync(checker.check, subject, limiter=self._limiter, abandon_on_cancel=True)


def fold(findings: list[Finding], report: Report, *, elapsed_ms: float) -> ValidationResult:
    """One verdict of several findings.

    The rule: a verified TERMINATE wins over everything, the surest first; then anything that is not COMPLETE makes
    CONTINUE; COMPLETE needs every finding to be COMPLETE. Confidence is that of the finding that decided.
    """
    stops = [f for f in findings if f.verdict is Verdict.TERMINATE and f.verified]
    unsure = [f for f in findings if f.verdict is not Verdict.COMPLETE]
    decisive = max(stops, key=lambda f: f.confidence, default=None) or next(iter(unsure), None)
    if decisive is None:
        decisive = min(findings, key=lambda f: f.confidence)
    verdict, category, reasoning = decisive.verdict, decisive.category, decisive.reasoning
    verified = decisive.verified
    if verdict is Verdict.TERMINATE and not verified:
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


@contextmanager
def _harmless() -> Iterator[None]:
    try:
        yield
    except Exception:
        logger.exception("a validation observer failed")
