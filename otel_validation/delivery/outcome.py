"""What became of a report, and of an action."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from otel_validation.validation.routing import Route

if TYPE_CHECKING:
    from otel_validation.validation.report import Report
    from otel_validation.validation.verdict import ValidationResult


class ReportStatus(StrEnum):
    """The five answers to a report; never silence (DESIGN section 4, token)."""

    ACCEPTED = "accepted"
    STALE_ADOPTED = "stale_adopted"
    """A late report, confirmed: it settled the action, a queued copy was withdrawn."""
    STALE_REJECTED = "stale_rejected"
    """A late report that changes nothing: a newer attempt is in flight, or the action was given up."""
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"
    """No such action in this session, or a token that was never given out: do not retry."""


class PauseReason(StrEnum):
    """Why a session hands out nothing."""

    GIVE_UP = "give_up"
    VERDICT = "verdict"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause: lease clocks are frozen from `since` (seconds on the engine's clock)."""

    reason: PauseReason
    message: str
    since: float


@dataclass(frozen=True, slots=True)
class NextLook:
    """A fresh screenshot is asked of the agent in `after_s` seconds, and `left` times more after that.

    `secret`: the action types or reads a secret; nothing that its report carries may be kept until then.
    """

    after_s: float
    left: int
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an action was settled; or, where `next_look` is set, what is known so far of one that is not settled yet.

    `success` is what the host's handler is told (None where the agent said nothing usable and nothing was proved);
    `overridden` where that differs from the agent's word. `advised` is set in mode `observe` alone: the route that
    `enforce` would have taken.
    """

    success: bool | None
    error: str | None
    route: Route
    result: ValidationResult
    overridden: bool = False
    advised: Route | None = None
    next_look: NextLook | None = None

    @property
    def confirmed(self) -> bool:
        """Whether this outcome may settle an action whose newer attempt is in flight."""
        return self.success is True

    def final(self) -> Outcome:
        """The same where nobody looks again: a person has to."""
        return self if self.next_look is None else replace(self, route=Route.PAUSE, next_look=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A settled action as it is remembered, for duplicates: no payload, every token."""

    action_id: str
    retry: int
    attempts: int
    tokens: tuple[str, ...]
    outcome: Outcome | None
    """None where an operator cancelled the action."""
    look_of: str | None = None
    """The action that this look was after; None for an action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutcome:
    """The answer to a report. `outcome` is the settled one, also for a duplicate; None where there is none.

    Where `outcome.next_look` is set nothing is settled yet: the action is looked at again. The report of a look is
    answered with the outcome of the action `look_of`; `judged` is that action's own report, with the look's evidence,
    as it was judged (None for a duplicate).
    """

    status: ReportStatus
    outcome: Outcome | None = None
    attempt: int = 0
    retry: int = 0
    look_of: str | None = None
    judged: Report | None = None
