"""From a verdict to what the server does: pure rules (validator seed, section 5; DESIGN section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from otel_validation.validation.verdict import FailureCategory, Verdict

if TYPE_CHECKING:
    from otel_validation.validation.verdict import ValidationResult


class Route(StrEnum):
    """What the server does with a verdict."""

    CONTINUE = "continue"
    RECHECK = "recheck"
    """Nothing is settled yet: a fresh screenshot is asked for, and the action judged again."""
    RETRY_WITH_RERESOLVE = "retry_with_reresolve"
    PAUSE = "pause"
    HANDOFF_DIALOG = "handoff_dialog"


class Mode(StrEnum):
    """`enforce` overrides and pauses; `observe` computes and records, and changes nothing; `off` does not judge."""

    ENFORCE = "enforce"
    OBSERVE = "observe"
    OFF = "off"


class OnUnverified(StrEnum):
    """What a report with nothing to judge does."""

    CONTINUE = "continue"
    PAUSE = "pause"


ROUTES: dict[FailureCategory, Route] = {
    FailureCategory.WRONG_APPLICATION: Route.PAUSE,
    FailureCategory.SCHEMA_INVALID: Route.PAUSE,
    FailureCategory.SCREEN_UNAVAILABLE: Route.PAUSE,
    FailureCategory.UNEXPECTED_DIALOG: Route.HANDOFF_DIALOG,
}
"""The route of a TERMINATE by category; every other category re-resolves the target and tries once more."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the host is told and what the server does."""

    success: bool | None
    error: str | None
    route: Route
    overridden: bool
    advised: Route | None = None
    """In `observe`: the route that `enforce` would have taken. None in the other modes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingPolicy:
    """The knobs of the rules below.

    `accept_confidence`: a TERMINATE under it (0.70 by default, validator seed section 6.1) is not sure enough to
    stop an agent that claims a success; it counts as CONTINUE.
    `rechecks`: how often an action that counts as CONTINUE is judged again, on a fresh screenshot, before it is paused
    (2); `recheck_delay_s`: seconds before each (1.5; both from validator seed section 5). 0 rechecks: it is paused.
    `routes`: that of a TERMINATE, by category.
    `handoff_timeout_s`: seconds that the dialog hand-off may take (20), while the agent waits for its answer.
    """

    mode: Mode = Mode.ENFORCE
    accept_confidence: float = 0.70
    on_unverified: OnUnverified = OnUnverified.CONTINUE
    rechecks: int = 2
    recheck_delay_s: float = 1.5
    routes: Mapping[FailureCategory, Route] = field(default_factory=lambda: ROUTES)
    handoff_timeout_s: float = 20.0


def route(result: ValidationResult, policy: RoutingPolicy, *, rechecks_left: int = 0) -> Route:
    """The route of a verdict, whatever the mode; one that is not verified neither goes on nor retries."""
    if not result.validated:
        return Route.PAUSE if policy.on_unverified is OnUnverified.PAUSE else Route.CONTINUE
    if result.verdict is Verdict.COMPLETE and result.verified:
        return Route.CONTINUE
    sure = result.verified and result.confidence >= policy.accept_confidence
    if result.verdict is not Verdict.TERMINATE or not sure:
        return Route.RECHECK if rechecks_left > 0 else Route.PAUSE
    return policy.routes.get(result.category or FailureCategory.UNKNOWN, Route.RETRY_WITH_RERESOLVE)


def looks_left(*, success: bool | None, error: str | None, rechecks_left: int) -> int:
    """How often an action may be looked at again, by what its agent says.

    One that reports a failure or an error, beside a success too, is not asked for another look: a person is.
    """
    return 0 if success is False or error else rechecks_left


def decide(
    *,
    success: bool | None,
    error: str | None,
    result: ValidationResult,
    policy: RoutingPolicy,
    rechecks_left: int = 0,
) -> Decision:
    """What becomes of the agent's word.

    A claimed (or missing) success becomes a failure where the verdict does not bear it out; a missing one becomes a
    success on proof; a failure that the agent itself reports stays one. With nothing to judge the agent's word
    stands. In `observe` and `off` nothing is changed.

    `rechecks_left` is how often the action may still be judged again (`looks_left`).
    """
    left = looks_left(success=success, error=error, rechecks_left=rechecks_left)
    if policy.mode is not Mode.ENFORCE:
        advised = route(result, policy, rechecks_left=left) if policy.mode is Mode.OBSERVE else None
        return Decision(success, error, Route.CONTINUE, overridden=False, advised=advised)
    chosen = route(result, policy, rechecks_left=left)
    if success is False or not result.validated:
        return Decision(success, error, chosen, overridden=False)
    if result.verdict is Verdict.COMPLETE and result.verified:
        return Decision(success=True, error=error, route=chosen, overridden=success is None)
    verdict = Verdict.TERMINATE if result.verdict is Verdict.TERMINATE else Verdict.CONTINUE
    category = result.category or FailureCategory.UNKNOWN
    return Decision(False, f"validator_{verdict.value}: {category.value}", chosen, overridden=True)
