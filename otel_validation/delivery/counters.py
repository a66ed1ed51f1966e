"""The seeds' counters and greppable log lines (watchdog seed, sections 3 and 10)."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from otel_validation.delivery.lease import DeliveryState
from otel_validation.delivery.observer import Answered, LookLost, Observer, Orphaned, Rechecking, Scanned

if TYPE_CHECKING:
    from otel_validation.delivery.lease import Delivery
    from otel_validation.delivery.outcome import Outcome

logger = logging.getLogger("otel_validation.watchdog")

WATCHDOG_KEYS = (
    "orphans_detected_total",
    "orphans_resent_total",
    "orphans_giveup_total",
    "scans_total",
    "scans_failed_total",
)


class Counters(Observer):
    """Counts since the process began, as the seeds' JSON endpoint shows them; works without telemetry."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._last_scan_ts = 0.0
        self._last_scan_duration_ms = 0.0
        self._in_flight = 0
        self._orphans = 0

    def orphaned(self, event: Orphaned) -> None:
        """Count an orphan, once, and what became of it."""
        self._counts["orphans_detected_total"] += event.orphan.state is DeliveryState.IN_FLIGHT
        self._counts["orphans_resent_total" if event.dead is None else "orphans_giveup_total"] += 1

    def answered(self, event: Answered) -> None:
        """Count a report by its answer, and its verdict once: where it settled."""
        self._counts[f"reports_{event.status.value}_total"] += 1
        if event.outcome is not None and event.delivery is not None:
            self._settled(event.outcome)

    def rechecking(self, _event: Rechecking) -> None:
        """Count a recheck, by the look that will be asked for."""
        self._counts["rechecks_total"] += 1

    def look_lost(self, event: LookLost) -> None:
        """Count the orphan, and the verdict that settles its action after all."""
        self._counts["looks_lost_total"] += 1
        self._counts["orphans_detected_total"] += event.look.state is DeliveryState.IN_FLIGHT
        self._settled(event.outcome)

    def scanned(self, event: Scanned) -> None:
        """Take note of a scan."""
        self._counts["scans_total"] += 1
        self._counts["scans_failed_total"] += bool(event.failed)
        self._last_scan_ts = event.wall_ns / 1e9
        self._last_scan_duration_ms = event.elapsed_s * 1e3
        self._in_flight, self._orphans = event.in_flight, event.orphans

    def _settled(self, outcome: Outcome) -> None:
        result = outcome.result
        self._counts[f"verdicts_{result.verdict.value}_total" if result.validated else "reports_not_judged_total"] += 1
        self._counts["verdicts_overriding_total"] += outcome.overridden

    def snapshot(self) -> dict[str, float]:
        """The counters by the seeds' names; reports and verdicts beside them. Timestamps in Unix seconds."""
        return {
            **dict.fromkeys(WATCHDOG_KEYS, 0),
            **self._counts,
            "last_scan_ts": self._last_scan_ts,
            "last_scan_duration_ms": round(self._last_scan_duration_ms, 3),
            "current_in_flight_count": self._in_flight,
            "current_orphan_count": self._orphans,
        }


class Journal(Observer):
    """One log line for each orphan and each lost look, in the seeds' words.

    Identifiers only: nothing from a screen is logged.
    """

    def __init__(self, *, max_resends: int) -> None:
        self._max_resends = max_resends

    def orphaned(self, event: Orphaned) -> None:
        """`lea:dispatch_orphan_resent` or `lea:dispatch_orphan_giveup`."""
        orphan = event.orphan
        if event.dead is None:
            logger.warning(
                "[BUS] lea:dispatch_orphan_resent action_id=%s resent=%d/%d age=%.1fs session=%s machine=%s replay=%s",
                printable(orphan.action.action_id),
                orphan.attempts,
                self._max_resends,
                event.age_s,
                *_where(orphan),
            )
        else:
            logger.error(
                "[BUS] lea:dispatch_orphan_giveup action_id=%s resent=%d age_total=%.1fs session=%s machine=%s "
                "replay=%s cause=%s",
                printable(orphan.action.action_id),
                orphan.attempts - 1,
                event.age_s,
                *_where(orphan),
                event.dead.cause.value,
            )

    def look_lost(self, event: LookLost) -> None:
        """`lea:look_lost`: nobody sent the screenshot that was asked for; its replay is paused."""
        logger.error(
            "[BUS] lea:look_lost action_id=%s look=%s sent=%d session=%s machine=%s replay=%s cause=%s",
            printable(event.delivery.action.action_id),
            printable(event.look.action.action_id),
            event.look.attempts,
            *_where(event.delivery),
            event.cause.value,
        )

    def scanned(self, event: Scanned) -> None:
        """`[METRIC] watchdog`, for a scan that found something."""
        if not event.orphans and not event.failed:
            return
        logger.info(
            "[METRIC] watchdog orphans=%d resent=%d gaveup=%d failed=%d in_flight=%d elapsed_ms=%.1f",
            event.orphans,
            event.resent,
            event.given_up,
            event.failed,
            event.in_flight,
            event.elapsed_s * 1e3,
        )


def printable(identifier: object) -> str:
    """An identifier as one word of a log line: no line breaks, no control characters, at most 64 characters."""
    text = str(identifier)[:64]
    return text if text.isprintable() and text.strip() else ascii(text)


def _where(delivery: Delivery) -> tuple[str, str, str]:
    action = delivery.action
    return printable(action.session_id), printable(action.machine_id), printable(action.payload.get("replay_id", ""))
