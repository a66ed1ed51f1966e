"""Who may call the reference server."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from otel_validation.asgi.messages import App, Receive, Scope, Send, answer_json, header

if TYPE_CHECKING:
    from pydantic import SecretStr

    from otel_validation.server.replays import ReplayBook

NOTHING: dict[str, Any] = {"action": None, "replay_paused": False}


class Bearer:
    """The bearer token; without one every request is allowed, which is why the server then listens on loopback only.

    As a FastAPI dependency it answers 401; `allows` is for whatever answers before FastAPI does.
    """

    def __init__(self, token: SecretStr | None) -> None:
        self._expected = token.get_secret_value().encode() if token is not None else None

    async def allows(self, scope: Scope) -> bool:
        """Whether the request bears the token."""
        if self._expected is None:
            return True
        scheme, _, given = (header(scope["headers"], b"authorization") or b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(given, self._expected)

    async def __call__(self, request: Request) -> None:
        """Raise the 401."""
        if not await self.allows(request.scope):
            raise HTTPException(
                401, "send `Authorization: Bearer` with the token of RPA_API_TOKEN", {"WWW-Authenticate": "Bearer"}
            )


class OwnMachine:
    """Nothing of a replay, a resend included, goes to a machine that it was not made for; that is no sign of life."""

    def __init__(
        self, app: App, *, book: ReplayBook, poll_path: str, allows: Callable[[Scope], Awaitable[bool]]
    ) -> None:
        self._app = app
        self._book = book
        self._poll_path = poll_path
        self._allows = allows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer another machine's poll."""
        if await self._is_elsewhere(scope):
            await answer_json(send, 200, NOTHING)
        else:
            await self._app(scope, receive, send)

    async def _is_elsewhere(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != self._poll_path:
            return False
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        elsewhere = self._book.belongs_elsewhere(query.get("session_id", ""), query.get("machine_id", ""))
        return elsewhere and await self._allows(scope)
