"""The Ledger: what was executed already, so that nothing is executed twice."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from otel_validation.agent.report import StoredReport

if TYPE_CHECKING:
    from otel_validation.agent.assignment import Assignment, Key

SCREENSHOT_BUDGET = 64 * 2**20
"""Bytes of reports kept with their screenshots; older ones are kept without, so that memory stays bounded."""


@dataclass(slots=True, eq=False)
class Entry:
    """One execution. `token` is that of its latest delivery; `report` says `interrupted` until `done` is set."""

    token: str | None
    report: StoredReport
    done: anyio.Event = field(default_factory=anyio.Event)


class Ledger:
    """The last `size` executions, least recently delivered out first; one that still runs is never forgotten.

    It lives in memory: a restarted agent remembers nothing.
    """

    def __init__(self, size: int = 256, *, screenshot_budget: int = SCREENSHOT_BUDGET) -> None:
        self._size = size
        self._budget = screenshot_budget
        self._entries: OrderedDict[Key, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def claim(self, assignment: Assignment) -> tuple[Entry, bool]:
        """The execution that `assignment` belongs to, and whether the caller is the one to run it."""
        entry = self._entries.get(assignment.key)
        if entry is not None:
            self._entries.move_to_end(assignment.key)
            entry.token = assignment.token
            return entry, False
        entry = self._entries[assignment.key] = Entry(assignment.token, StoredReport.interrupted(assignment))
        return entry, True

    @staticmethod
    def unremembered(assignment: Assignment) -> Entry:
        """An execution to be run as often as it is delivered: a look changes nothing, and has to be fresh."""
        return Entry(assignment.token, StoredReport.interrupted(assignment))

    def finish(self, entry: Entry, report: StoredReport) -> None:
        """Keep the report, wake whoever waits for it, forget what is too much."""
        entry.report = report
        entry.done.set()
        self._forget()
        self._lighten()

    def _forget(self) -> None:
        finished = [key for key, entry in self._entries.items() if entry.done.is_set()]
        for key in finished[: max(0, len(self._entries) - self._size)]:
            del self._entries[key]

    def _lighten(self) -> None:
        kept = 0
        for entry in reversed(self._entries.values()):
            kept += entry.report.size
            if kept > self._budget:
                kept -= entry.report.size
                entry.report = entry.report.without_screenshots()
                kept += entry.report.size
