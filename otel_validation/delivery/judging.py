"""Judging: from an agent's report to the outcome that settles its action."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from otel_validation.delivery.outcome import Outcome, Pause, PauseReason
from otel_validation.validation.routing import Mode, Route, decide
from otel_validation.validation.verdict import ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.report import Report
    from otel_validation.validation.routing import RoutingPolicy

logger = logging.getLogger(__name__)

Judge = Callable[["Action", "Report"], Awaitable[ValidationResult]]
"""What the engine asks for a verdict: `Validator.validate`, or anything of its shape."""


class Judging:
    """Asks `judge` for a verdict and `routing` for what follows; never raises for what either does.

    `judge` None judges nothing, so the agent's word stands.
    """

    def __init__(self, judge: Judge | None, routing: RoutingPolicy) -> None:
        self.routing = routing
        self._judge = judge

    async def outcome(self, action: Action, report: Report) -> Outcome:
        """The outcome of `action` by this report."""
        result = await self._verdict(action, report)
        decision = decide(success=report.success, error=report.error, result=result, policy=self.routing)
        return Outcome(
            success=decision.success,
            error=decision.error,
            route=decision.route,
            result=result,
            overridden=decision.overridden,
        )

    async def _verdict(self, action: Action, report: Report) -> ValidationResult:
        if self._judge is None or self.routing.mode is Mode.OFF:
            return ValidationResult(
                verdict=Verdict.CONTINUE, confidence=0.0, reasoning="not judged", verified=False, validated=False
            )
        try:
            return await self._judge(action, report)
        except Exception:
            logger.exception("the validator failed; the report counts as not confirmed")
            return ValidationResult(
                verdict=Verdict.CONTINUE, confidence=0.0, reasoning="the validator failed", verified=False
            )


def pause_for(outcome: Outcome, now: float) -> Pause | None:
    """The pause that an outcome calls for, from `now` (seconds on the engine's clock); None where it calls for none."""
    if outcome.route not in (Route.PAUSE, Route.HANDOFF_DIALOG):
        return None
    category = outcome.result.category.value if outcome.result.category else "not confirmed"
    return Pause(PauseReason.VERDICT, f"the last action was stopped by its verdict: {category}", now)
