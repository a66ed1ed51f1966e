"""Hooks: what the engine tells the rest of the process, after it is durable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_validation.delivery.lease import DeadLetter, Delivery, GiveUpCause
    from otel_validation.delivery.outcome import Outcome, Pause, ReportStatus
    from otel_validation.validation.report import Report

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every hook gets: the session, and when (nanoseconds since the Unix epoch)."""

    session_id: str
    wall_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched(Event):
    """An attempt left. `delivery.attempts` above 1 is a resend."""

    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported(Event):
    """A report arrived for a delivery that is still open; its judgement starts now."""

    delivery: Delivery
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Event):
    """A report got its answer. `delivery` is the settled one, None where the report settled nothing.

    `look` is the look that it was a report of, over now; `delivery` is then that of the action.
    """

    report: Report
    status: ReportStatus
    outcome: Outcome | None
    delivery: Delivery | None
    look: Delivery | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecking(Event):
    """A report, just answered, did not confirm its action: `delivery.recheck` says when it is looked at again."""

    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphaned(Event):
    """A lease expired. The action waits to be resent (`dead` is None) or was given up.

    Where `orphan.state` is WAITING its lease had expired before (told then), and now its resend was given up since
    nobody polled for it.
    """

    orphan: Delivery
    dead: DeadLetter | None
    age_s: float
    """Seconds since the first dispatch."""
    lateness_s: float
    """Seconds between the deadline and its detection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookLost(Event):
    """Nobody answers a look any more: its action, `delivery`, is settled by what was known before (`outcome`).

    `look` is as it was: in flight where its last lease expired, waiting where nobody polled for it.
    """

    look: Delivery
    delivery: Delivery
    outcome: Outcome
    cause: GiveUpCause
    lateness_s: float
    """Seconds between the deadline and its detection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseChanged(Event):
    """A session was paused, or resumed where `pause` is None."""

    pause: Pause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn(Event):
    """An operator cancelled the session: its open deliveries."""

    deliveries: tuple[Delivery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven(Event):
    """An operator put a dead letter back."""

    delivery: Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned(Event):
    """The watchdog looked for expired leases."""

    orphans: int
    resent: int
    given_up: int
    failed: int
    in_flight: int
    elapsed_s: float


class Observer:
    """Every hook, each a no-op: override those you need.

    Hooks run in the engine's task, after the change is durable; they must not block. One that raises is logged and
    changes nothing: business never hangs off telemetry (DESIGN section 3).
    """

    def dispatched(self, event: Dispatched) -> None:
        """An attempt left."""

    def reported(self, event: Reported) -> None:
        """A report arrived and is about to be judged."""

    def answered(self, event: Answered) -> None:
        """A report got its answer."""

    def rechecking(self, event: Rechecking) -> None:
        """An action is looked at again before it is settled."""

    def orphaned(self, event: Orphaned) -> None:
        """A lease expired."""

    def look_lost(self, event: LookLost) -> None:
        """A look was given up, and its action settled without it."""

    def pause_changed(self, event: PauseChanged) -> None:
        """A session was paused or resumed."""

    def withdrawn(self, event: Withdrawn) -> None:
        """An operator cancelled a session."""

    def redriven(self, event: Redriven) -> None:
        """An operator put a dead letter back."""

    def scanned(self, event: Scanned) -> None:
        """The watchdog looked."""


HOOKS = tuple(name for name in vars(Observer) if not name.startswith("_"))


class Observers(Observer):
    """Several observers as one; each is told, whatever the others do. A hook that one leaves a no-op costs nothing."""

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        self._told: dict[str, list[Callable[[Event], None]]] = {hook: [] for hook in HOOKS}
        for observer in observers:
            self.add(observer)

    def add(self, observer: Observer) -> None:
        """Tell `observer` from now on, after the others."""
        for hook in HOOKS:
            tell = getattr(observer, hook)
            if getattr(tell, "__func__", None) is not getattr(Observer, hook):
                self._told[hook].append(tell)

    def listen(self, hook: str) -> bool:
        """Whether anybody overrides `hook`: an event that nobody hears need not be made."""
        return bool(self._told[hook])

    def _tell(self, hook: str, event: Event) -> None:
        for tell in self._told[hook]:
            try:
                tell(event)
            except Exception:
                logger.exception("observer %s failed in %s", type(getattr(tell, "__self__", tell)).__name__, hook)

    def dispatched(self, event: Dispatched) -> None:
        """Tell each."""
        self._tell("dispatched", event)

    def reported(self, event: Reported) -> None:
        """Tell each."""
        self._tell("reported", event)

    def answered(self, event: Answered) -> None:
        """Tell each."""
        self._tell("answered", event)

    def rechecking(self, event: Rechecking) -> None:
        """Tell each."""
        self._tell("rechecking", event)

    def orphaned(self, event: Orphaned) -> None:
        """Tell each."""
        self._tell("orphaned", event)

    def look_lost(self, event: LookLost) -> None:
        """Tell each."""
        self._tell("look_lost", event)

    def pause_changed(self, event: PauseChanged) -> None:
        """Tell each."""
        self._tell("pause_changed", event)

    def withdrawn(self, event: Withdrawn) -> None:
        """Tell each."""
        self._tell("withdrawn", event)

    def redriven(self, event: Redriven) -> None:
        """Tell each."""
        self._tell("redriven", event)

    def scanned(self, event: Scanned) -> None:
        """Tell each."""
        self._tell("scanned", event)
