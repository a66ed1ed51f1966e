"""First reports: what an agent said of an action that is looked at again, until the host can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cachetools import TTLCache

from otel_validation.asgi.messages import dump, parse_object
from otel_validation.clock import stopwatch

if TYPE_CHECKING:
    from otel_validation.delivery.outcome import ReportOutcome
    from otel_validation.validation.report import Report

Key = tuple[str, str, int]
"""Session, action, business retry."""

SCREENSHOTS = frozenset(("screenshot_before", "screenshot_after"))
LARGEST = 64 * 1024
"""Bytes of a first report's JSON that are kept, screenshots left out; of a larger one only the known fields are."""
KEPT_BYTES = 16 * 2**20
"""Bytes that are kept of all of them; the least recently used go first."""
KEPT_S = 3_600.0
"""Seconds after which one goes in any case: its look was lost, or its session was cancelled or is paused for long."""


class FirstReports:
    """The JSON of first reports, without their screenshots: the host's own fields must reach it with the verdict."""

    def __init__(self, *, largest: int = LARGEST, most_bytes: int = KEPT_BYTES) -> None:
        self._largest = min(largest, most_bytes)
        self._kept: TTLCache[Key, bytes] = TTLCache(most_bytes, KEPT_S, timer=stopwatch, getsizeof=len)

    def keep(self, key: Key, parsed: Mapping[str, Any]) -> None:
        """Keep a report that was answered with a recheck."""
        body = dump({name: value for name, value in parsed.items() if name not in SCREENSHOTS})
        if len(body) <= self._largest:
            self._kept[key] = body

    def drop(self, key: Key) -> None:
        """The host was told."""
        self._kept.pop(key, None)

    def told(self, key: Key, answer: ReportOutcome, look: Mapping[str, Any]) -> bytes:
        """The report that the host is given once the look has settled its action.

        The first report's members, the fresh screenshot (and window facts) in place of its own, and `success` and
        `error` as the verdict says. Where nothing was kept (too large, a restart), the fields that the plugin knows.
        """
        kept = self._kept.get(key)
        members = parse_object(kept) if kept is not None else None
        if members is None:
            members = _known(key, answer.judged)
            self._kept[key] = dump(members)
        fresh = {name: look[name] for name in ("screenshot_after", "window") if look.get(name)}
        outcome = answer.outcome
        if outcome is not None and outcome.overridden:
            fresh |= {"success": outcome.success, "error": outcome.error}
        return dump({**members, **fresh})


def _known(key: Key, report: Report | None) -> dict[str, Any]:
    members: dict[str, Any] = {"session_id": key[0], "action_id": key[1], "success": None, "error": None}
    if report is None:
        return members
    members["success"] = report.success
    if report.token is not None:
        members["delivery_token"] = report.token
    if report.position is not None:
        members["actual_position"] = asdict(report.position)
    return members
