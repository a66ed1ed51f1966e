"""What a session answers: where a report or a poll stands with it, and what a transition came to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_validation.delivery.lease import DeadLetter, Delivery, GiveUpCause
    from otel_validation.delivery.outcome import Outcome, ReportStatus


class Standing(Enum):
    """What a report's token makes of it."""

    CURRENT = auto()
    """The attempt in flight."""
    LATE_WAITING = auto()
    """An expired attempt whose resend has not been handed out yet."""
    LATE_SUPERSEDED = auto()
    """An expired attempt; a newer one is in flight."""
    LATE_DEAD = auto()
    """An attempt of an action that was given up."""
    RECHECKED = auto()
    """An attempt of an action that is looked at again: what the look shows goes before whatever else an agent says."""
    SETTLED = auto()
    UNKNOWN = auto()


JUDGED = frozenset((Standing.CURRENT, Standing.LATE_WAITING, Standing.LATE_SUPERSEDED))
"""The reports that are judged; any other changes nothing."""


class Gate(Enum):
    """What a poll of this session may get."""

    OPEN = auto()
    """The host's next action."""
    HOST_FIRST = auto()
    """The host's next action, or the waiting one where the host has none (tail repush)."""
    WAITING = auto()
    """The waiting action, before anything of the host's."""
    HELD = auto()
    """Nothing: an action is in flight, or about to be looked at again."""
    PAUSED = auto()
    """Nothing: the session is paused."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """One orphan and what became of it; it waits to be resent where the rest is None.

    `orphan` is the delivery as it was: in flight where a lease expired, waiting where nobody polled for it. `dead` is
    its dead letter. A look that is given up leaves none: `settled` is the action that it was after, with its `outcome`,
    and `cause` says why nobody looked.
    """

    orphan: Delivery
    dead: DeadLetter | None = None
    settled: Delivery | None = None
    outcome: Outcome | None = None
    cause: GiveUpCause | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a report did.

    `settled` is the delivery that it brought to its end, `rechecking` the one that it left to be looked at again,
    `look` the look that is over with it; None where there is none.
    """

    status: ReportStatus
    settled: Delivery | None = None
    rechecking: Delivery | None = None
    look: Delivery | None = None
