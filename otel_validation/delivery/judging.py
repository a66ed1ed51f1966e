"""Judging: from an agent's report to the outcome that settles its action."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from otel_validation.delivery.outcome import NextLook, Outcome, Pause, PauseReason
from otel_validation.validation.expectation import is_secret
from otel_validation.validation.routing import Mode, Route, decide, looks_left
from otel_validation.validation.verdict import ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.report import Report
    from otel_validation.validation.routing import Decision, RoutingPolicy

logger = logging.getLogger(__name__)

Judge = Callable[["Action", "Report"], Awaitable[ValidationResult]]
"""What the engine asks for a verdict: `Validator.validate`, or anything of its shape."""

Glance = Callable[["Action", "Report"], ValidationResult | None]
"""The verdict on a report that holds nothing to judge, None where the judge has to be asked: `Validator.glance`, or
anything of its shape. It is asked while the session is held, so it must be quick."""

Handoff = Callable[["Action", ValidationResult], Awaitable[bool]]
"""Deals with a dialog that is in the way of an action; True where it is gone."""


NOT_JUDGED = ValidationResult(
    verdict=Verdict.CONTINUE, confidence=0.0, reasoning="not judged", verified=False, validated=False
)


class Judging:
    """Asks `judge` for a verdict, `routing` for what follows, `handoff` where that is a dialog; never raises.

    `judge` None judges nothing, so the agent's word stands. Without `glance` every report is the judge's; without
    `handoff` a dialog waits for a person.
    """

    def __init__(
        self,
        judge: Judge | None,
        routing: RoutingPolicy,
        *,
        glance: Glance | None = None,
        handoff: Handoff | None = None,
    ) -> None:
        self.routing = routing
        self._judge = judge
        self._glance = glance
        self._handoff = handoff

    def glance(self, action: Action, report: Report) -> Outcome | None:
        """The outcome of a report that holds nothing to judge; None where `outcome` has to be asked."""
        result = self._at_once(action, report)
        if result is None or result.validated:
            return None
        decision = decide(success=report.success, error=report.error, result=result, policy=self.routing)
        return _outcome(decision, result)

    async def outcome(self, action: Action, report: Report, *, rechecked: int = 0, late: bool = False) -> Outcome:
        """The outcome of `action` by this report.

        `rechecked` is how often it was looked at again: never where the agent sent no screenshot, so that another one
        tells nothing. A `late` report is of an attempt that a newer one superseded: it may confirm the action, and
        leads to nothing else.
        """
        result = await self._verdict(action, report)
        left = self.routing.rechecks - rechecked if report.has_screenshot and not late else 0
        left = looks_left(success=report.success, error=report.error, rechecks_left=left)
        decision = decide(
            success=report.success, error=report.error, result=result, policy=self.routing, rechecks_left=left
        )
        chosen = decision.route
        if chosen is Route.HANDOFF_DIALOG and not late and await self._dealt_with(action, result):
            chosen = Route.RECHECK if left > 0 else Route.PAUSE
        next_look = self._next_look(action, left - 1) if chosen is Route.RECHECK else None
        return _outcome(replace(decision, route=chosen), result, next_look)

    def _next_look(self, action: Action, left: int) -> NextLook:
        return NextLook(self.routing.recheck_delay_s, left, secret=is_secret(action))

    async def _dealt_with(self, action: Action, result: ValidationResult) -> bool:
        if self._handoff is None:
            return False
        timeout_s = self.routing.handoff_timeout_s
        try:
            with anyio.move_on_after(timeout_s):
                return await self._handoff(action, result) is True
        except Exception as error:  # noqa: BLE001 - a hook never breaks its host; its message may hold what a dialog says
            logger.error("the dialog hand-off failed (%s); a person has to look", type(error).__name__)  # noqa: TRY400
            return False
        logger.error("the dialog hand-off took longer than %g s; a person has to look", timeout_s)
        return False

    def _at_once(self, action: Action, report: Report) -> ValidationResult | None:
        if self._judge is None or self.routing.mode is Mode.OFF:
            return NOT_JUDGED
        try:
            return None if self._glance is None else self._glance(action, report)
        except Exception:
            logger.exception("the validator could not tell whether there is anything to judge; it is asked to judge")
            return None

    async def _verdict(self, action: Action, report: Report) -> ValidationResult:
        if self._judge is None or self.routing.mode is Mode.OFF:
            return NOT_JUDGED
        try:
            return await self._judge(action, report)
        except Exception:
            logger.exception("the validator failed; the report counts as not confirmed")
            return ValidationResult(
                verdict=Verdict.CONTINUE, confidence=0.0, reasoning="the validator failed", verified=False
            )


def _outcome(decision: Decision, result: ValidationResult, next_look: NextLook | None = None) -> Outcome:
    return Outcome(
        success=decision.success,
        error=decision.error,
        route=decision.route,
        result=result,
        overridden=decision.overridden,
        advised=decision.advised,
        next_look=next_look,
    )


def pause_for(outcome: Outcome, now: float) -> Pause | None:
    """The pause that an outcome calls for, from `now` (seconds on the engine's clock); None where it calls for none."""
    if outcome.route not in (Route.PAUSE, Route.HANDOFF_DIALOG):
        return None
    category = outcome.result.category.value if outcome.result.category else "not confirmed"
    return Pause(PauseReason.VERDICT, f"the last action was stopped by its verdict: {category}", now)
