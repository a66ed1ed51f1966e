"""What became of a report, and of an action."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_validation.validation.routing import Route
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an action was settled.

    `success` is what the host's handler is told (None where the agent said nothing usable and nothing was proved);
    `overridden` where that differs from the agent's word.
    """

    success: bool | None
    error: str | None
    route: Route
    result: ValidationResult
    overridden: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether this outcome may settle an action whose newer attempt is in flight."""
        return self.success is True


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A settled action as it is remembered, for duplicates: no payload, every token."""

    action_id: str
    retry: int
    attempts: int
    tokens: tuple[str, ...]
    outcome: Outcome | None
    """None where an operator cancelled the action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutcome:
    """The answer to a report. `outcome` is the settled one, also for a duplicate; None where there is none."""

    status: ReportStatus
    outcome: Outcome | None = None
    attempt: int = 0
    retry: int = 0
