"""What is remembered of settled actions, in a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from otel_validation.delivery.outcome import Settled

REMEMBERED = 256
"""Settled actions remembered in a session for duplicates: as many as an agent remembers (watchdog seed, R3)."""


class Settlements(Mapping[str, "Settled"]):
    """Settled actions by `action_id`, the oldest first; at most `REMEMBERED` once they are kept.

    Changes are seen at once and held apart until `keep`, so that a store can write them alone, or `undo` them, at the
    cost of what changed: a session settles one action at a time and remembers hundreds.
    """

    __slots__ = ("_changed", "_kept")

    def __init__(self, kept: Mapping[str, Settled] | None = None) -> None:
        self._kept: dict[str, Settled] = dict(kept or {})
        self._changed: dict[str, Settled | None] = {}

    @override
    def __getitem__(self, action_id: str) -> Settled:
        settled = self._changed[action_id] if action_id in self._changed else self._kept[action_id]
        if settled is None:
            raise KeyError(action_id)
        return settled

    @override
    def __iter__(self) -> Iterator[str]:
        yield from (action_id for action_id in self._kept if action_id not in self._changed)
        yield from (action_id for action_id, settled in self._changed.items() if settled is not None)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Whether anything is remembered."""
        return next(iter(self), None) is not None

    def remember(self, settled: Settled) -> None:
        """Remember it as the latest."""
        self._changed.pop(settled.action_id, None)
        self._changed[settled.action_id] = settled

    def forget(self, action_id: str) -> None:
        """Remember nothing of it."""
        self._changed.pop(action_id, None)
        if action_id in self._kept:
            self._changed[action_id] = None

    def keep(self) -> None:
        """Take the changes over, and forget the oldest beyond `REMEMBERED`."""
        for action_id, settled in self._changed.items():
            self._kept.pop(action_id, None)
            if settled is not None:
                self._kept[action_id] = settled
        self._changed.clear()
        while len(self._kept) > REMEMBERED:
            del self._kept[next(iter(self._kept))]

    def undo(self) -> None:
        """Forget the changes."""
        self._changed.clear()
