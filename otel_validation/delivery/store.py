"""What the engine asks of a store: a few primitives; all delivery rules are the session's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from otel_validation.delivery.lease import DeadLetter
    from otel_validation.delivery.session import Session


class Store(Protocol):
    """Keeps sessions. One contract suite runs over every store (`tests/contract`)."""

    def session(self, session_id: str) -> AbstractAsyncContextManager[Session]:
        """Exclusive access to one session, new where it does not exist.

        Its changes become durable together when the block ends, none of them where it raises or is cancelled while
        they are written. A store that hands the same Session out again tells it which: `Session.keep`, `restore`.
        """

    async def known(self, session_id: str) -> bool:
        """Whether anything is kept of this session."""

    async def due(self, now: float, limit: int) -> list[str]:
        """At most `limit` sessions where something is due (`Session.next_due`), earliest first.

        A session named here may have changed by the time it is opened: whoever opens it checks again.
        """

    async def next_due(self) -> float | None:
        """When something is next due in any session; None where nothing is."""

    async def defer(self, session_id: str, until: float) -> None:
        """Do not name this session in `due` before `until`: its entry could not be processed.

        Opening it meanwhile does not undo that; it is over once nothing in the session is due any more.
        """

    async def session_of(self, token: str) -> str | None:
        """The session whose action in flight has this token; None where there is none."""

    async def dead_letters(self) -> list[DeadLetter]:
        """Every dead letter, oldest first."""

    async def in_flight(self) -> int:
        """How many actions are in flight."""
