"""The in-memory store: the default of the library and of tests. What it holds is lost with the process."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from otel_validation.delivery.lease import DeliveryState
from otel_validation.delivery.session import Session

if TYPE_CHECKING:
    from otel_validation.delivery.lease import DeadLetter

IDLE_SESSIONS = 10_000
"""Sessions with nothing but settled actions that are remembered, for duplicates; the least recently used go first."""


class _Opened:
    """A session in use; what a block that raises has done to it is undone."""

    __slots__ = ("_before", "_keep", "_session")

    def __init__(self, session: Session, keep: Callable[[Session], None]) -> None:
        self._session = session
        self._keep = keep
        self._before = session.draft()

    async def __aenter__(self) -> Session:
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._session.restore(self._before)
        self._keep(self._session)


class MemoryStore:
    """Sessions in a dict, deadlines in a heap whose outdated entries are dropped when they surface.

    One event loop at a time. A session's block must not await between reading and changing it: nothing does, since
    every transition is synchronous. Sessions that are paused or have dead letters are never forgotten: they wait for
    an operator.
    """

    def __init__(self, *, idle_sessions: int = IDLE_SESSIONS) -> None:
        self._sessions: dict[str, Session] = {}
        self._idle: dict[str, None] = {}
        self._idle_limit = idle_sessions
        self._heap: list[tuple[float, str]] = []
        self._scheduled: dict[str, float] = {}
        self._deferred: dict[str, float] = {}
        self._tokens: dict[str, str] = {}
        self._running: dict[str, tuple[str, ...]] = {}

    def session(self, session_id: str) -> _Opened:
        """The session itself; see `Store.session`."""
        return _Opened(self._sessions.get(session_id) or Session(session_id), self._keep)

    async def known(self, session_id: str) -> bool:
        """See `Store.known`."""
        return session_id in self._sessions

    async def due(self, now: float, limit: int) -> list[str]:
        """See `Store.due`."""
        due: list[str] = []
        while self._heap and len(due) < limit and self._heap[0][0] <= now:
            deadline, session_id = heapq.heappop(self._heap)
            if self._scheduled.get(session_id) == deadline:
                del self._scheduled[session_id]
                self._deferred.pop(session_id, None)
                due.append(session_id)
        return due

    async def next_due(self) -> float | None:
        """See `Store.next_due`."""
        while self._heap and self._scheduled.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    async def defer(self, session_id: str, until: float) -> None:
        """See `Store.defer`."""
        self._deferred[session_id] = until
        self._schedule(session_id, until)

    async def session_of(self, token: str) -> str | None:
        """See `Store.session_of`."""
        return self._tokens.get(token)

    async def dead_letters(self) -> list[DeadLetter]:
        """See `Store.dead_letters`."""
        letters = [letter for s in self._sessions.values() if s.dead for letter in s.dead.values()]
        return sorted(letters, key=lambda letter: letter.wall_ns)

    async def in_flight(self) -> int:
        """See `Store.in_flight`."""
        return len(self._tokens)

    def _keep(self, session: Session) -> None:
        session_id = session.session_id
        session.keep()
        self._index_tokens(session)
        self._schedule(session_id, session.next_due())
        self._idle.pop(session_id, None)
        if session.blank:
            self._sessions.pop(session_id, None)
            return
        self._sessions[session_id] = session
        if not (session.live or session.dead or session.pause):
            self._idle[session_id] = None
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        if len(self._idle) <= self._idle_limit:
            return
        oldest = next(iter(self._idle))
        del self._idle[oldest]
        del self._sessions[oldest]

    def _index_tokens(self, session: Session) -> None:
        before = self._running.get(session.session_id, ())
        if not (session.live or before):
            return
        running = tuple(
            [d.lease.token for d in session.live.values() if d.state is DeliveryState.IN_FLIGHT and d.lease is not None]
        )
        if running == before:
            return
        for token in before:
            self._tokens.pop(token, None)
        for token in running:
            self._tokens[token] = session.session_id
        if running:
            self._running[session.session_id] = running
        else:
            self._running.pop(session.session_id, None)

    def _schedule(self, session_id: str, deadline: float | None) -> None:
        if deadline is None:
            self._scheduled.pop(session_id, None)
            self._deferred.pop(session_id, None)
            return
        deadline = max(deadline, self._deferred.get(session_id, deadline))
        if self._scheduled.get(session_id) == deadline:
            return
        self._scheduled[session_id] = deadline
        heapq.heappush(self._heap, (deadline, session_id))
        if len(self._heap) > 64 + 4 * len(self._scheduled):
            self._heap = [(at, name) for name, at in self._scheduled.items()]
            heapq.heapify(self._heap)
