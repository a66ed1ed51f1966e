"""Evidence: what an agent sent with a report that is not confirmed yet, kept in this process for the next look."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cachetools import LRUCache

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.report import Report

KEPT_BYTES = 128 * 2**20
"""Characters of screenshots (base64, so bytes too) and what else reports carry: about fifty screens of 2560x1600."""
KEPT_REPORTS = 1024
"""Reports that are kept, however small."""


class Evidence:
    """Reports of actions that are rechecked, without their screenshot afterwards; the least recently used go first.

    Never in a store: a screen is a medical record, and a session stays small.
    """

    def __init__(self, *, most_bytes: int = KEPT_BYTES, most_reports: int = KEPT_REPORTS) -> None:
        self._most_bytes = most_bytes
        self._least = max(1, most_bytes // most_reports)
        self._kept: LRUCache[tuple[str, str], Report] = LRUCache(maxsize=most_bytes, getsizeof=self._size)

    def keep(self, report: Report) -> None:
        """Keep it, where it holds anything that the next look does not show anew and the session does not keep."""
        kept = replace(report, screenshot_after=None)
        if report.has_more_evidence and self._size(kept) <= self._most_bytes:
            self._kept[report.session_id, report.action_id] = kept

    def of(self, action: Action) -> Report | None:
        """What was kept; None where that is nothing any more."""
        return self._kept.get((action.session_id, action.action_id))

    def drop(self, action: Action) -> None:
        """The action is over."""
        self._kept.pop((action.session_id, action.action_id), None)

    def _size(self, report: Report) -> int:
        carried = sum(len(str(part)) for part in (report.window, report.value, report.members))
        return max(self._least, len(report.screenshot_before or "") + carried)
