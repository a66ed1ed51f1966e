"""A bound on request bodies."""

from __future__ import annotations

from collections.abc import Collection

from otel_validation.asgi.messages import (
    App,
    DisconnectedError,
    Receive,
    Replayed,
    Scope,
    Send,
    TooLargeError,
    answer_json,
    header,
    read_body,
)


class BodyLimit:
    """Refuses bodies over `limit` bytes (413) and compressed ones (415); paths in `own_limit` bound their own."""

    def __init__(self, app: App, *, limit: int, own_limit: Collection[str] = ()) -> None:
        self._app = app
        self._limit = limit
        self._own_limit = own_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within the limit, then hand it on."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS", "DELETE"):
            await self._app(scope, receive, send)
        elif (header(scope["headers"], b"content-encoding") or b"identity").lower() != b"identity":
            await answer_json(send, 415, {"detail": "send the body uncompressed: Content-Encoding is not supported"})
        elif scope["path"] in self._own_limit:
            await self._app(scope, receive, send)
        else:
            await self._within_limit(scope, receive, send)

    async def _within_limit(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(scope, receive, self._limit)
        except TooLargeError:
            detail = f"the body is larger than {self._limit} bytes"
            await answer_json(send, 413, {"detail": detail}, headers=[(b"connection", b"close")])
        except DisconnectedError:
            return
        else:
            await self._app(scope, Replayed.body(body, receive), send)
