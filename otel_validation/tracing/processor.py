"""The span processor: sees every dispatch span, one opened by hand in user code too."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from typing_extensions import override

from otel_validation.delivery.action import LONGEST_ID, Action, finite
from otel_validation.tracing import semconv

if TYPE_CHECKING:
    from opentelemetry.context import Context


logger = logging.getLogger(__name__)

PREFIX = f"{semconv.SPAN_DISPATCH} "
LONGEST_INBOX = 10_000
"""Notes kept for a timer that does not take them in (it has not started, or its loop is held)."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A dispatch span began. `token` is unique among the spans of this process."""

    token: str
    action: Action
    span: Span


@dataclass(frozen=True, slots=True)
class Closed:
    """It ended."""

    token: str


class DispatchSpanProcessor(SpanProcessor):
    """Notes dispatch spans as they open and close; whoever owns `inbox` acts on it.

    A dispatch span is one named `dispatch {type}`. Its lease comes from its attributes `rpa.action.id` (else the span
    stands for itself), `rpa.session.id`, `rpa.machine.id` and `rpa.lease.visibility_timeout_s` (seconds). Those of the
    recorder are left out: the store owns their leases.

    The callbacks neither block, nor raise, nor do I/O: they append to a queue and call `wake`, from whatever thread
    the span belongs to. The queue holds each open span, so that one whose last reference is lost is still noticed;
    beyond `LONGEST_INBOX` notes further spans are not watched, which is logged once.
    """

    def __init__(self, wake: Callable[[], None], *, active: bool = True) -> None:
        self.inbox: deque[Opened | Closed] = deque()
        self._wake = wake
        self._watched: set[str] = set()
        self._active = active
        self._overflowed = False

    @override
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note a dispatch span of somebody else's."""
        if not span.name.startswith(PREFIX) or not self._active or _is_ours(span):
            return
        if len(self.inbox) >= LONGEST_INBOX:
            self._overflow()
            return
        token = _token(span)
        self._watched.add(token)
        self.inbox.append(Opened(token, _action_of(span, token), span))
        self._wake()

    @override
    def on_end(self, span: ReadableSpan) -> None:
        """Note its end."""
        if not self._watched:
            return
        token = _token(span)
        if token in self._watched:
            self._watched.discard(token)
            self.inbox.append(Closed(token))
            self._wake()

    @override
    def shutdown(self) -> None:
        """Note nothing from now on."""
        self._active = False

    def _overflow(self) -> None:
        if not self._overflowed:
            self._overflowed = True
            logger.warning("the timer takes no dispatch spans in: further ones are not watched. Does `serve` run?")


def _is_ours(span: ReadableSpan) -> bool:
    scope = span.instrumentation_scope
    return scope is not None and scope.name == semconv.SCOPE


def _token(span: ReadableSpan) -> str:
    context = span.context
    return "" if context is None else f"{context.trace_id:032x}-{context.span_id:016x}"


def _action_of(span: ReadableSpan, token: str) -> Action:
    attributes = span.attributes or {}

    def text(name: str, default: str) -> str:
        value = attributes.get(name)
        return value[:LONGEST_ID] if isinstance(value, str) and value else default

    kind = span.name.removeprefix(PREFIX)
    timeout_s = finite(attributes.get(semconv.LEASE_TIMEOUT))
    return Action(
        action_id=text(semconv.ACTION_ID, token),
        type=kind,
        session_id=text(semconv.SESSION_ID, ""),
        machine_id=text(semconv.MACHINE_ID, ""),
        payload={} if timeout_s is None else {"visibility_timeout_s": timeout_s},
    )
