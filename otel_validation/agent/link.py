"""The three calls of the HTTP contract (DESIGN section 7), from an agent's side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import anyio
import httpx

from otel_validation.agent.assignment import Assignment, PollAnswer
from otel_validation.agent.report import ReportAnswer, StoredReport
from otel_validation.delivery.action import finite
from otel_validation.errors import AgentRefusedError, ConfigurationError, OtelValidationError

POLL = "/api/v1/traces/stream/replay/next"
REPORT = "/api/v1/traces/stream/replay/result"
PROGRESS = "/api/v1/traces/stream/replay/progress"

NO_ANSWER = frozenset({408, 425, 429})
"""Statuses that, like every 5xx, ask for the same request once more."""
REFUSED = frozenset({401, 403})
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class UnansweredError(OtelValidationError):
    """Raised when the server gave no answer that can be used; `reason` is a status or an exception's type."""

    def __init__(self, reason: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(f"no usable answer from the server ({reason})")
        self.reason = reason
        self.retry_after_s = retry_after_s


class ProgressStatus(StrEnum):
    """The answers to a heartbeat."""

    EXTENDED = "extended"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    STALE = "stale"
    UNSUPPORTED = "unsupported"
    """The server knows no heartbeats."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A heartbeat's answer; `visibility_timeout_s` is the extended lease's length, None where it was not told."""

    status: ProgressStatus
    visibility_timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who polls: the session, the machine, and the bearer token (None: no header)."""

    session_id: str
    machine_id: str
    token: str | None = None

    def __post_init__(self) -> None:
        if not self.session_id or not self.machine_id:
            msg = "an agent needs a session_id and a machine_id"
            raise ConfigurationError(msg)
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            msg = "the token (argument or RPA_API_TOKEN) holds characters that a header cannot: check for a line break"
            raise ConfigurationError(msg)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


class ServerLink:
    """A connection to one server. `http` is used and left open where given; else one is made and closed here."""

    def __init__(
        self,
        base_url: str,
        identity: Identity,
        *,
        http: httpx.AsyncClient | None = None,
        request_timeout_s: float = 30.0,
        wait_s: float | None = None,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            msg = f"the server's address begins with http:// or https://, not {base_url!r}"
            raise ConfigurationError(msg)
        self.identity = identity
        self._base = base_url.rstrip("/")
        self._given = http
        self._own: httpx.AsyncClient | None = None
        self._timeout_s = request_timeout_s
        self._wait_s = wait_s

    async def poll(self) -> PollAnswer:
        """Ask for work. Raises UnansweredError, AgentRefusedError."""
        params: dict[str, str | float] = {
            "session_id": self.identity.session_id,
            "machine_id": self.identity.machine_id,
        }
        if self._wait_s is not None:
            params["wait_s"] = self._wait_s
        response = await self._request("GET", POLL, params=params, total_s=self._timeout_s + (self._wait_s or 0.0))
        if response.status_code == httpx.codes.NO_CONTENT:
            return PollAnswer(None)
        body = _object(response)
        if not response.is_success or body is None:
            raise UnansweredError(_reason(response))
        paused = body.get("replay_paused") is True
        if body.get("action") is None:
            return PollAnswer(None, paused)
        assignment = Assignment.from_json(
            body["action"],
            body.get("delivery"),
            session_id=self.identity.session_id,
            machine_id=self.identity.machine_id,
        )
        if assignment is None:
            raise UnansweredError("malformed action")
        return PollAnswer(assignment, paused)

    async def report(self, report: StoredReport, token: str | None) -> ReportAnswer:
        """Send a report once. Raises UnansweredError, AgentRefusedError.

        The time limit is on each read and write, not on the whole: screenshots over a slow line take their time.
        """
        response = await self._request("POST", REPORT, content=report.under(token), headers=report.headers)
        return ReportAnswer.from_json(response.status_code, _object(response))

    async def progress(self, action_id: str, token: str, *, timeout_s: float) -> Progress:
        """Send a heartbeat. Raises UnansweredError, AgentRefusedError."""
        body = {"session_id": self.identity.session_id, "action_id": action_id, "token": token}
        content = json.dumps(body).encode("ascii")
        response = await self._request("POST", PROGRESS, content=content, total_s=timeout_s)
        if response.status_code == httpx.codes.CONFLICT:
            return Progress(ProgressStatus.STALE)
        if response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED):
            return Progress(ProgressStatus.UNSUPPORTED)
        answer = _object(response) or {}
        try:
            status = ProgressStatus(answer.get("status", ""))
        except ValueError:
            raise UnansweredError(_reason(response)) from None
        return Progress(status, finite(answer.get("visibility_timeout_s")))

    async def aclose(self) -> None:
        """Close the client that was made here."""
        own, self._own = self._own, None
        if own is not None:
            with anyio.CancelScope(shield=True):
                await own.aclose()

    async def _request(
        self,
        method: str,
        path: str,
        *,
        total_s: float | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        params: Mapping[str, str | float] | None = None,
        content: bytes | None = None,
    ) -> httpx.Response:
        if content is not None:
            headers = {**headers, "Content-Type": "application/json"}
        try:
            with anyio.fail_after(total_s):
                response = await self._http.request(
                    method,
                    self._base + path,
                    headers={**headers, **self.identity.headers},
                    timeout=max(self._timeout_s, total_s or 0.0),
                    params=params,
                    content=content,
                )
        except (httpx.HTTPError, OSError) as error:
            # Only the type: httpx quotes header values, the token among them, in some of its messages.
            raise UnansweredError(type(error).__name__) from None
        if response.status_code in REFUSED:
            raise AgentRefusedError(response.status_code)
        if response.is_server_error or response.status_code in NO_ANSWER:
            raise UnansweredError(_reason(response), retry_after_s=_retry_after(response))
        return response

    @property
    def _http(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = httpx.AsyncClient()
        return self._own


def _reason(response: httpx.Response) -> str:
    return f"HTTP {response.status_code}" + (", malformed" if response.is_success else "")


def _object(response: httpx.Response) -> dict[str, Any] | None:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _retry_after(response: httpx.Response) -> float:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0.0
