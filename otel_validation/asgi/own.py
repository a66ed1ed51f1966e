"""The calls that the plugin answers itself: heartbeats and the watchdog's counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_validation.asgi.messages import (
    Receive,
    Scope,
    Send,
    TooLargeError,
    answer_json,
    discard_body,
    parse_object,
    read_body,
)
from otel_validation.delivery.engine import Ticket

if TYPE_CHECKING:
    from otel_validation.asgi.wiring import Wiring

LARGEST_HEARTBEAT = 16 * 1024


async def answer_progress(wiring: Wiring, scope: Scope, receive: Receive, send: Send) -> None:
    """`POST {token}`: the new deadline; a pause; 409 for an attempt that is not in flight any more.

    The token is its own proof: only whoever got the action has it.
    """
    try:
        body = parse_object(await read_body(scope, receive, LARGEST_HEARTBEAT))
    except TooLargeError:
        await discard_body(scope, receive, wiring.settings.max_report_bytes)
        await answer_json(send, 413, {"detail": f"a heartbeat is at most {LARGEST_HEARTBEAT} bytes"})
        return
    token = body.get("token", body.get("delivery_token")) if body is not None else None
    if not isinstance(token, str):
        await answer_json(send, 422, {"detail": 'a heartbeat is JSON with the delivery\'s token: {"token": "..."}'})
        return
    extended = await wiring.engine.extend(token)
    if extended is None:
        await answer_json(
            send, 409, {"status": "stale", "detail": "this attempt is not in flight: stop, report nothing"}
        )
    elif isinstance(extended, Ticket):
        lease = {"deadline": extended.deadline.isoformat(), "visibility_timeout_s": extended.lease.timeout_s}
        await answer_json(send, 200, {"status": "extended", **lease})
    else:
        await answer_json(send, 200, {"status": "paused", "reason": extended.reason.value})


async def answer_metrics(wiring: Wiring, scope: Scope, send: Send) -> None:
    """The seeds' counters, to an operator: with the bearer token where one is set, else from loopback only."""
    if await wiring.guard.allows_operator(scope):
        await answer_json(send, 200, {"watchdog": dict(wiring.counters())})
    else:
        await answer_json(send, 401, {"detail": "send the bearer token of RPA_API_TOKEN"})
