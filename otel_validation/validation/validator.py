"""The Validator: runs a type's checkers off the event loop and folds their findings into one verdict."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from otel_validation.clock import Clock, SystemClock, stopwatch
from otel_validation.validation.fold import fold, nothing_to_judge
from otel_validation.validation.matrix import MATRIX, row_of
from otel_validation.validation.verdict import FailureCategory, Finding, ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.checker import Checker, Subject
    from otel_validation.validation.matrix import Row
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

    `checkers` by name; `matrix` says which of them judge an action type, and within which time, waiting for a thread
    included. At most `workers` checks run at once, in threads; more of them wait. Where `workers` threads are stuck in
    checks past their budget, no more are started until one ends.

    A verdict that is CONTINUE, or whose confidence is under `escalate_below` (0.55, validator seed section 9), is left
    open: the row's further checkers are asked. `force` answers every report that way, and checks nothing: a switch for
    trying out a host, logged at start.
    """

    def __init__(
        self,
        checkers: Iterable[Checker],
        *,
        subject: Callable[[Action, Report], Subject],
        matrix: Mapping[str, Row] = MATRIX,
        escalate_below: float = 0.55,
        force: Verdict | None = None,
        clock: Clock | None = None,
        observer: ValidationObserver | None = None,
        workers: int = 4,
    ) -> None:
        self._checkers = {checker.name: checker for checker in checkers}
        self._subject = subject
        self._matrix = matrix
        self._escalate_below = escalate_below
        self._force = force
        self._clock = clock or SystemClock()
        self._observers = [] if observer is None else [observer]
        self._workers = workers
        self._limiter: anyio.CapacityLimiter | None = None
        self._stuck: list[_Run] = []
        self.warm = False
        if force is not None:
            logger.warning("every report is answered %r without being looked at: a verdict is forced", force.value)

    @property
    def names(self) -> tuple[str, ...]:
        """The checkers that it has."""
        return tuple(self._checkers)

    def observe(self, observer: ValidationObserver) -> None:
        """Tell `observer` too, from now on."""
        self._observers.append(observer)

    async def warm_up(self) -> None:
        """Load what the checkers need, off the event loop; `warm` is true afterwards."""
        for checker in self._checkers.values():
            await to_thread.run_sync(checker.warm_up)
        self.warm = True

    def glance(self, action: Action, report: Report) -> ValidationResult | None:
        """The verdict where there is nothing to judge, None where `validate` has to be asked; reads no image."""
        if self._force is not None:
            return None
        subject, row = self._subject(action, report), row_of(action, self._matrix)
        judged = any(_applies(checker, subject) for checker in self._named(row.checkers))
        return None if judged else nothing_to_judge(report)

    async def validate(self, action: Action, report: Report) -> ValidationResult:
        """The verdict on one report.

        Nothing to judge (no checker for the type, no evidence it could use) gives `validated=False`. A claimed
        success that carries an error contradicts itself and is never COMPLETE (field case G01).
        """
        return await self.judge(self._subject(action, report))

    async def judge(self, subject: Subject) -> ValidationResult:
        """The verdict on a subject, see `validate`."""
        action, report = subject.action, subject.report
        row = row_of(action, self._matrix)
        if self._force is not None or not row.checkers:
            return nothing_to_judge(report) if self._force is None else _forced(self._force)
        first, then = ([c for c in self._named(names) if _applies(c, subject)] for names in (row.checks, row.then))
        if not (first or then):
            return nothing_to_judge(report)
        began, started_ns = stopwatch(), self._clock.wall_ns()
        findings = await self._check_all(first, subject, row.budget_s)
        result = fold(findings, report)
        if then and self._is_open(result):
            result = await self._ask_on(then, subject, row.then_budget_s, result)
        result = replace(result, elapsed_ms=(stopwatch() - began) * 1e3)
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

    def _named(self, names: Iterable[str]) -> list[Checker]:
        return [self._checkers[name] for name in names if name in self._checkers]

    async def _check_all(self, checkers: list[Checker], subject: Subject, budget_s: float) -> list[Finding]:
        ends = stopwatch() + budget_s
        return [await self._check(checker, subject, ends - stopwatch(), budget_s) for checker in checkers]

    async def _ask_on(
        self, checkers: list[Checker], subject: Subject, budget_s: float, result: ValidationResult
    ) -> ValidationResult:
        """Ask further checkers while it is open; the first that decides outweighs those that could not."""
        ends = stopwatch() + budget_s
        for checker in checkers:
            finding = await self._check(checker, subject, ends - stopwatch(), budget_s)
            findings = (*result.findings, finding)
            decides = finding.verified and finding.verdict is not Verdict.CONTINUE
            if decides or not result.findings:
                result = fold([finding], subject.report)
            result = replace(result, findings=findings)
            if not self._is_open(result):
                break
        return result

    def _is_open(self, result: ValidationResult) -> bool:
        return result.verdict is Verdict.CONTINUE or result.confidence < self._escalate_below

    async def _check(self, checker: Checker, subject: Subject, left_s: float, budget_s: float) -> Finding:
        started_ns = self._clock.wall_ns()
        finding, failure = _unsure(checker.name, f"not done within the {budget_s:g} s of its type"), TIMED_OUT
        try:
            if left_s > 0 and not self._all_stuck():
                with anyio.move_on_after(left_s):
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


def _forced(verdict: Verdict) -> ValidationResult:
    return ValidationResult(
        verdict=verdict,
        confidence=1.0,
        reasoning="the verdict is forced (RPA_VALIDATOR_FORCE_VERDICT): nothing was looked at",
        category=None if verdict is Verdict.COMPLETE else FailureCategory.UNKNOWN,
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
