"""ASGI messages: reading a body within a limit, holding a JSON answer, answering JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
RawHeaders = list[tuple[bytes, bytes]]

_COMPACT = json.JSONEncoder(separators=(",", ":"))

TURNS = 24
"""Turns of the loop within which a disconnect shows through four middlewares that wrap `receive`."""


class TooLargeError(Exception):
    """Raised when a request body exceeds its limit."""


class DisconnectedError(Exception):
    """Raised when the client went away before its request was whole."""


def header(headers: RawHeaders, name: bytes) -> bytes | None:
    """The first header of this lower-case name."""
    for key, value in headers:
        if key == name or key.lower() == name:
            return value
    return None


def replace_header(headers: RawHeaders, name: bytes, value: bytes) -> RawHeaders:
    """The headers with exactly one `name`."""
    return [(key, old) for key, old in headers if key.lower() != name] + [(name, value)]


def is_plain_json(headers: RawHeaders) -> bool:
    """Whether a body says that it is JSON and is not compressed: the only kind that is read."""
    kind, is_plain = _kind(headers)
    return is_plain and kind is not None and _is_json(kind)


def may_be_json(headers: RawHeaders) -> bool:
    """Whether a request body may be JSON: it says so, or says nothing at all (agents that set no content type)."""
    kind, is_plain = _kind(headers)
    return is_plain and (kind is None or _is_json(kind))


def _kind(headers: RawHeaders) -> tuple[bytes | None, bool]:
    """The content type, and whether the body is not compressed."""
    kind, coding = None, b"identity"
    for key, value in headers:
        name = key.lower()
        if name == b"content-type":
            kind = value if kind is None else kind
        elif name == b"content-encoding":
            coding = value
    return kind, coding.strip().lower() == b"identity"


def _is_json(kind: bytes) -> bool:
    kind = kind.partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole request body; raises TooLargeError before more than `limit` bytes are held."""
    if announced_length(scope) > limit:
        raise TooLargeError
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLargeError
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def discard_body(scope: Scope, receive: Receive, most: int) -> None:
    """Read and drop what is left of a refused body, at most `most` bytes.

    A client that is still sending when the connection closes sees a reset instead of the answer.
    """
    left = most if announced_length(scope) <= most else 0
    while left > 0:
        message = await receive()
        left = left - len(message.get("body", b"")) if message.get("more_body", False) else 0


def announced_length(scope: Scope) -> int:
    """The request's content-length; 0 where it has none."""
    announced = header(scope["headers"], b"content-length")
    return int(announced[:20]) if announced is not None and announced.isdigit() else 0


class Replayed:
    """A `receive` that gives a message that was received already, then whatever the server says."""

    def __init__(self, message: Message, receive: Receive) -> None:
        self._message: Message | None = message
        self._receive = receive

    @classmethod
    def body(cls, body: bytes, receive: Receive) -> Replayed:
        """One that begins with a whole body."""
        return cls({"type": "http.request", "body": body, "more_body": False}, receive)

    async def __call__(self) -> Message:
        """The message first, once."""
        if self._message is not None:
            message, self._message = self._message, None
            return message
        return await self._receive()


@dataclass(slots=True)
class Answer:
    """A whole JSON answer of the host, as it was sent."""

    start: Message
    body: bytes

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self.start["status"])

    def parsed(self) -> Mapping[str, Any] | None:
        """The JSON object; None for anything else, UTF-16 and UTF-32 included (nothing can be added to those)."""
        try:
            value = json.loads(self.body.decode().removeprefix("\ufeff"))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def with_members(self, members: Mapping[str, Any]) -> Answer:
        """The same object with further members at its end; the host's own bytes stay as they are."""
        head = self.body.rstrip()[:-1].rstrip()
        comma = b"" if head.endswith(b"{") else b","
        return self.with_body(head + comma + dump(members)[1:])

    def with_body(self, body: bytes) -> Answer:
        """Another body under the same status and headers; the length is right."""
        headers = replace_header(list(self.start["headers"]), b"content-length", str(len(body)).encode())
        return Answer({**self.start, "headers": headers}, body)

    async def send(self, send: Send) -> None:
        """Send it whole."""
        await send(self.start)
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


class AnswerHold:
    """A `send` for the host that holds a plain JSON answer until it is whole; `whole` then decides what is sent.

    An empty 204 counts as one. Anything else passes through message by message, untouched: other content types,
    compressed or streamed answers of another kind, files sent by path, and a JSON answer longer than `limit`.
    """

    def __init__(self, send: Send, *, limit: int, whole: Callable[[Answer], Awaitable[None]]) -> None:
        self._send = send
        self._limit = limit
        self._whole = whole
        self._start: Message | None = None
        self._held: list[Message] = []
        self._size = 0
        self._passing = False

    async def __call__(self, message: Message) -> None:
        """Hold or pass on."""
        if self._passing:
            await self._send(message)
        elif message["type"] == "http.response.start" and _may_hold(message):
            self._start = message
            self._held.append(message)
        elif message["type"] == "http.response.body" and self._start is not None:
            await self._hold(self._start, message)
        else:
            await self._let_go(message)

    async def _hold(self, start: Message, message: Message) -> None:
        self._size += len(message.get("body", b""))
        self._held.append(message)
        if self._size > self._limit:
            await self._let_go()
        elif not message.get("more_body", False):
            self._passing = True
            await self._whole(Answer(start, b"".join(m.get("body", b"") for m in self._held[1:])))

    async def _let_go(self, *more: Message) -> None:
        self._passing = True
        for message in (*self._held, *more):
            await self._send(message)
        self._held.clear()


def _may_hold(start: Message) -> bool:
    return start["status"] == 204 or is_plain_json(start.get("headers", []))


def dump(value: object) -> bytes:
    """Compact JSON that any UTF-8 reader can read (lone surrogates stay escaped)."""
    return _COMPACT.encode(value).encode()


def parse_object(body: bytes) -> dict[str, Any] | None:
    """A JSON object; None for what is none, is broken, or nests too deep to be read."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


async def answer_json(send: Send, status: int, value: object, *, headers: RawHeaders | None = None) -> None:
    """Answer JSON; never cached."""
    body = dump(value)
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            *(headers or []),
        ],
    }
    await Answer(start, body).send(send)


async def disconnected(receive: Receive) -> bool:
    """Whether the client is known to be gone; does not wait, but lets the loop turn `TURNS` times at most.

    Middleware of the host's wraps `receive` in tasks of its own, which need those turns. Call it once the host has
    answered: what is left of the request is dropped.
    """
    gone = False

    async def look(scope: anyio.CancelScope) -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        scope.cancel()

    async def wait(scope: anyio.CancelScope) -> None:
        # In a task of its own: each turn taken here would resume every frame of the host's that called us.
        for _ in range(TURNS):
            await checkpoint()
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(look, group.cancel_scope)
        group.start_soon(wait, group.cancel_scope)
    return gone
