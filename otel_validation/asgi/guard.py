"""Who may get what the plugin answers itself."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cachetools import LRUCache

from otel_validation.asgi.messages import Scope, header

if TYPE_CHECKING:
    from pydantic import SecretStr

Authorize = Callable[[Scope], Awaitable[bool]]
"""Asked instead of the rules below: whether this request may be answered by the plugin."""

CREDENTIALS = (b"authorization", b"x-api-key")
SESSION_CREDENTIAL = b"cookie"
"""Counts where there is none of the above: load balancers and session middleware change cookies at every answer."""
NAMED = frozenset((*CREDENTIALS, SESSION_CREDENTIAL))
NONE = b""
"""Stands for no credentials at all; no digest is empty."""
REMEMBERED = 10_000
CREDENTIALS_A_SESSION = 8
"""Credentials remembered for a session, the latest: a refreshed token must not shut out the one before it."""


class Guard:
    """An answer of the plugin's own must not be easier to get than one of the host's.

    In order: `authorize` decides where it is given; else the bearer token where one is set; else the request must
    carry the credentials of a poll that the host itself answered with an action in the same session.
    """

    def __init__(self, token: SecretStr | None = None, authorize: Authorize | None = None) -> None:
        self._token = token
        self._authorize = authorize
        self._accepted: LRUCache[str, tuple[bytes, ...]] = LRUCache(maxsize=REMEMBERED)

    def learn(self, session_id: str, scope: Scope) -> None:
        """The host answered this request with an action of this session."""
        digest = _digest(scope)
        known = self._accepted.get(session_id, ())
        if known[-1:] == (digest,):
            return
        others = tuple(other for other in known if other != digest)
        self._accepted[session_id] = (*others, digest)[-CREDENTIALS_A_SESSION:]

    def asks_host(self, session_id: str) -> bool:
        """Whether only the host can tell who may poll this session: no credentials of it are known (a restart)."""
        return self._authorize is None and self._token is None and session_id not in self._accepted

    async def allows(self, session_id: str, scope: Scope) -> bool:
        """Whether the plugin may answer this request of this session."""
        if self._authorize is not None:
            return await self._authorize(scope)
        if self._token is not None:
            return self._bears_token(scope)
        digest = _digest(scope)
        return any(hmac.compare_digest(known, digest) for known in self._accepted.get(session_id, ()))

    async def allows_operator(self, scope: Scope) -> bool:
        """Whether the plugin may answer a request that belongs to no session: with the token, else from loopback."""
        if self._authorize is not None:
            return await self._authorize(scope)
        return self._bears_token(scope) if self._token is not None else _from_loopback(scope)

    def _bears_token(self, scope: Scope) -> bool:
        expected = b"bearer " + (self._token.get_secret_value().encode() if self._token is not None else b"")
        given = header(scope["headers"], b"authorization") or b""
        return hmac.compare_digest(given[:7].lower() + given[7:], expected)


def _digest(scope: Scope) -> bytes:
    given: dict[bytes, bytes] = {}
    for key, value in scope["headers"]:
        name = key.lower()
        if name in NAMED:
            given.setdefault(name, value)
    if not given:
        return NONE
    hashed = hashlib.sha256()
    names = CREDENTIALS if any(name in given for name in CREDENTIALS) else (SESSION_CREDENTIAL,)
    for name in names:
        hashed.update(b"\1%d:" % len(given[name]) + given[name] if name in given else b"\0")
    return hashed.digest()


def _from_loopback(scope: Scope) -> bool:
    client = scope.get("client")
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
