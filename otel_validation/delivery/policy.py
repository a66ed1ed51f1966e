"""How long leases last and what happens to an orphan, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action

DEFAULT_TIMEOUTS_S: Mapping[str, float] = MappingProxyType({"wait": 60.0, "verify_screen": 60.0, "ai_summarize": 90.0})
"""Action types that legitimately last longer than the default 30 s (watchdog seed, section 11)."""


class RepushPosition(StrEnum):
    """Where a resend goes: before the host's queue (head, keeps the order of steps) or after it (tail)."""

    HEAD = "head"
    TAIL = "tail"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPolicy:
    """The rules of DESIGN section 4. Seconds everywhere.

    An action overrides `visibility_timeout_s` with a field of that name, and forbids its own resend with
    `"resend": "never"`.
    """

    enabled: bool = True
    """False: leases are recorded and never expire (the seeds' kill switch)."""
    serial: bool = True
    """One action in flight per session, in the order of its steps; False holds nothing back."""
    visibility_timeout_s: float = 30.0
    """Default lease: 30 s covers 7 s of extraction, 10 s of decision and 13 s of network (watchdog seed, 11)."""
    timeouts_s: Mapping[str, float] = field(default_factory=lambda: DEFAULT_TIMEOUTS_S)
    """Leases by action type."""
    max_resends: int = 2
    """Resends after the first delivery: 2, so 3 deliveries (watchdog seed, section 5)."""
    repush: RepushPosition = RepushPosition.HEAD
    never_resend: frozenset[str] = frozenset()
    """Action types that are given up at the first orphan."""
    total_lease_s: float = 600.0
    """The longest an attempt may live, however many heartbeats extend it."""
    judging_s: float = 120.0
    """The longest a report's validation holds its lease."""

    @property
    def holds_back(self) -> bool:
        """Whether an action in flight holds the next one back; leases that never expire must not."""
        return self.enabled and self.serial

    def timeout_for(self, action: Action) -> float:
        """The lease of `action`: its own, else its type's, else the default; never over `total_lease_s`."""
        own = action.visibility_timeout_s
        timeout = own if own is not None else self.timeouts_s.get(action.type, self.visibility_timeout_s)
        return min(timeout, self.total_lease_s)

    def may_resend(self, action: Action, attempts: int) -> bool:
        """Whether an orphan that was delivered `attempts` times is delivered once more."""
        forbidden = action.payload.get("resend") == "never" or action.type in self.never_resend
        return not forbidden and attempts <= self.max_resends

    def patience_for(self, action: Action, attempts: int) -> float:
        """How long a resend waits for a poll before its agent counts as dead, in seconds.

        As long as the deliveries that are left would have taken: an agent that dies with an action is given up when
        one that polls and never reports would be (after 90 s with the defaults; watchdog seed, R4). No attempt is
        burnt by waiting: an agent that comes back in time has all that are left.
        """
        return self.timeout_for(action) * max(1, self.max_resends - attempts + 1)
