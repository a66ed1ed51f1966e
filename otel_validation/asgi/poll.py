"""One poll: answered by the host, or by the plugin where a resend, a pause or an action in flight is due."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import anyio

from otel_validation.asgi.messages import (
    Answer,
    AnswerHold,
    App,
    Receive,
    Replayed,
    Scope,
    Send,
    answer_json,
    disconnected,
    read_body,
)
from otel_validation.clock import stopwatch
from otel_validation.delivery.action import LONGEST_ID, Action
from otel_validation.delivery.engine import Forward, Held, PollAnswer, Ticket

if TYPE_CHECKING:
    from otel_validation.asgi.wiring import Wiring

logger = logging.getLogger(__name__)

PREFETCH = frozenset((b"sec-purpose", b"purpose", b"x-moz"))
"""Headers by which browsers mark a prefetch: the standard's, Chrome's and Safari's former one, Firefox's."""
HELD_S = 0.02
"""A poll that the host answered sooner was no long poll: that its client left meanwhile is not asked, since the
question costs more than the whole of the plugin's work on a poll. An answer that is lost all the same is an orphan."""
NOTHING: Mapping[str, Any] = {"action": None, "replay_paused": False}


class Poll:
    """One request on the poll path."""

    def __init__(self, wiring: Wiring, scope: Scope, receive: Receive, send: Send) -> None:
        # As Starlette reads it: of a repeated parameter the last counts, for the guard too.
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))
        self._wiring = wiring
        self._scope = scope
        self._receive = receive
        self._send = send
        self._session_id = query.get("session_id", "")
        self._machine_id = query.get("machine_id", "")[:LONGEST_ID]
        self._forwarded_at = 0.0
        self._wait_s = _seconds(query.get("wait_s", "0"), wiring.settings.max_wait_s)

    async def answer(self, app: App) -> None:
        """Answer, through the host or not."""
        if not 0 < len(self._session_id) <= LONGEST_ID:
            await app(self._scope, self._receive, self._send)
        elif self._scope["method"] == "HEAD":
            await self._through_host(app, self._keep_unreceived)
        elif _is_prefetch(self._scope):
            await answer_json(self._send, 503, {"detail": "a poll takes an action from its queue: it is no prefetch"})
        else:
            await self._respond(app)

    async def _respond(self, app: App) -> None:
        began = stopwatch()
        guard = self._wiring.guard
        allowed = await guard.allows(self._session_id, self._scope)
        due = await self._wiring.engine.poll(self._session_id, hand_out=allowed)
        if not allowed and isinstance(due, Held) and guard.asks_host(self._session_id):
            due = Forward(waiting=True)
        if isinstance(due, Forward):
            may_hand_out = due.waiting and (allowed or guard.asks_host(self._session_id))
            await self._through_host(app, self._deliver_waiting if may_hand_out else self._deliver)
        elif not allowed:
            await answer_json(self._send, 401, {"detail": REFUSED})
        elif isinstance(due, Held) and self._wait_s > 0:
            await self._wait_then_respond(app, began)
        else:
            await self._send_own(due)

    async def _wait_then_respond(self, app: App, began: float) -> None:
        """Hold the poll while an action is in flight; a client that goes away ends the wait and gets nothing."""
        body = await read_body(self._scope, self._receive, self._wiring.settings.max_report_bytes)
        due: PollAnswer | None = None
        waiting, watching = anyio.CancelScope(), anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(self._cancel_when_gone, waiting, watching)
            with waiting:
                due = await self._until_released(began)
            watching.cancel()
        if due is None:
            return
        if isinstance(due, Forward):
            self._receive = Replayed.body(body, self._receive)
            await self._through_host(app, self._deliver_waiting if due.waiting else self._deliver)
        else:
            await self._send_own(due)

    async def _until_released(self, began: float) -> PollAnswer:
        while True:
            # Asked again right before the wait: what happened since the first answer makes no more news.
            due = await self._wiring.engine.poll(self._session_id)
            remaining = self._wait_s - (stopwatch() - began)
            if not isinstance(due, Held) or remaining <= 0:
                return due
            await self._wiring.engine.news(self._session_id, remaining)

    async def _cancel_when_gone(self, waiting: anyio.CancelScope, watching: anyio.CancelScope) -> None:
        with watching:
            while (await self._receive())["type"] != "http.disconnect":
                pass
            waiting.cancel()

    async def _send_own(self, due: PollAnswer) -> None:
        if isinstance(due, Ticket):
            own = {**NOTHING, "action": due.delivery.action.payload, "delivery": self._delivery(due)}
        elif isinstance(due, Held | Forward):
            own = dict(NOTHING)
        else:
            own = {**NOTHING, "replay_paused": True, "pause": {"reason": due.reason.value, "message": due.message}}
        await answer_json(self._send, 200, own)

    # Through the host

    async def _through_host(self, app: App, whole: Callable[[Answer], Awaitable[None]]) -> None:
        hold = AnswerHold(self._send, limit=self._wiring.settings.max_poll_answer_bytes, whole=whole)
        self._forwarded_at = stopwatch()
        await app(self._scope, self._receive, hold)

    async def _deliver(self, answer: Answer) -> None:
        """The host answered: track the action it hands out before its bytes leave."""
        action = self._action_in(answer)
        if action is None:
            await answer.send(self._send)
            return
        self._wiring.guard.learn(self._session_id, self._scope)
        if stopwatch() - self._forwarded_at > HELD_S and await disconnected(self._receive):
            await self._wiring.engine.park(action)
            await answer.send(self._send)
            return
        ticket = await self._wiring.engine.dispatch(action)
        if ticket is None:
            # Two polls at once: the host let two actions go. This one waits its turn.
            await answer.with_body(b'{"action":null,"replay_paused":false}').send(self._send)
            return
        await self._with_delivery(answer, ticket).send(self._send)

    async def _deliver_waiting(self, answer: Answer) -> None:
        """The host goes first (tail repush); where it has nothing, the waiting action leaves."""
        if not _is_empty(answer):
            await self._deliver(answer)
            return
        ticket = await self._wiring.engine.dispatch_waiting(self._session_id)
        if ticket is None:
            await answer.send(self._send)
        else:
            self._wiring.guard.learn(self._session_id, self._scope)
            await self._send_own(ticket)

    async def _keep_unreceived(self, answer: Answer) -> None:
        """A host that runs its handler for HEAD lets an action go that no HEAD client can read: keep it."""
        action = self._action_in(answer)
        if action is not None:
            await self._wiring.engine.park(action)
        await answer.send(self._send)

    def _action_in(self, answer: Answer) -> Action | None:
        parsed = answer.parsed() if answer.status == 200 else None
        payload = parsed.get("action") if parsed is not None else None
        if not isinstance(payload, Mapping):
            return None
        action = Action.from_json(payload, session_id=self._session_id, machine_id=self._machine_id)
        if action is None:
            logger.warning("the host handed out an action with no usable action_id: it cannot be tracked")
        return action

    def _with_delivery(self, answer: Answer, ticket: Ticket) -> Answer:
        return answer.with_members({"delivery": self._delivery(ticket)})

    def _delivery(self, ticket: Ticket) -> Mapping[str, Any]:
        delivery, lease = ticket.delivery, ticket.lease
        block = {
            "token": lease.token,
            "attempt": lease.attempt,
            "retry": delivery.retry,
            "redelivered": lease.attempt > 1,
            "deadline": ticket.deadline.isoformat(),
            "visibility_timeout_s": lease.timeout_s,
            "traceparent": self._wiring.traceparent(lease.token),
        }
        if delivery.action.look_of is not None:
            block["look_of"] = delivery.action.look_of
        return block


REFUSED = (
    "an action of this session is due again, and this request carries other credentials than the poll that first got "
    "it: set RPA_API_TOKEN, or give instrument() an `authorize`"
)


def _is_prefetch(scope: Scope) -> bool:
    """Whether a browser asks in advance for what nobody may ever look at; 503 is how such a request is refused."""
    return any(b"prefetch" in value.lower() for key, value in scope["headers"] if key.lower() in PREFETCH)


def _is_empty(answer: Answer) -> bool:
    """Whether the host has nothing to hand out and has not paused the replay itself."""
    if answer.status == 204:
        return True
    parsed = answer.parsed() if answer.status == 200 else None
    return parsed is not None and not isinstance(parsed.get("action"), Mapping) and not parsed.get("replay_paused")


def _seconds(text: str, most: float) -> float:
    try:
        return min(max(float(text), 0.0), most)
    except ValueError:
        return 0.0
