"""What the reference server's own calls take and give."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from otel_validation.delivery.action import LONGEST_ID

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID)]
LONGEST_REPLAY = 10_000
"""Actions of one replay."""
DEEPEST_ACTION = 64
"""Levels of an action's JSON: FastAPI cannot answer what nests deeper than a few hundred."""


class ReplayStatus(StrEnum):
    """Where a replay stands; `paused_need_help` is the seeds' word for a pause that waits for a person."""

    RUNNING = "running"
    PAUSED = "paused_need_help"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class ActionState(StrEnum):
    """Where one action of a replay stands."""

    QUEUED = "queued"
    IN_FLIGHT = "in_flight"
    WAITING = "waiting"
    """An orphan that waits to be resent."""
    RECHECKING = "rechecking"
    """Reported and not confirmed yet: a look at the screen decides."""
    DONE = "done"
    FAILED = "failed"
    DEAD = "dead"
    CANCELLED = "cancelled"


def _sendable(action: dict[str, Any]) -> dict[str, Any]:
    """An action must survive being sent as JSON: no NaN, no Infinity, no lone surrogate, no endless nesting.

    What cannot be sent would be lost with the poll that takes it from the queue.
    """
    if _nests_deeper_than(action, DEEPEST_ACTION):
        msg = f"an action nests {DEEPEST_ACTION} levels deep at most"
        raise ValueError(msg)
    try:
        json.dumps(action, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        msg = "an action holds only what JSON can carry: finite numbers and valid Unicode"
        raise ValueError(msg) from None
    if not isinstance(action.get("action_id"), str) or not 0 < len(action["action_id"]) <= LONGEST_ID:
        msg = f"an action has an `action_id`, a text of 1 to {LONGEST_ID} characters"
        raise ValueError(msg)
    if not isinstance(action.get("type"), str):
        msg = "an action has a `type`, such as click"
        raise ValueError(msg)
    return action


def _nests_deeper_than(value: object, levels: int) -> bool:
    layer: list[object] = [value]
    for _ in range(levels):
        layer = [inner for outer in layer for inner in _parts(outer)]
    return any(isinstance(value, dict | list) for value in layer)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _distinct(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len({action["action_id"] for action in actions}) != len(actions):
        msg = "each action of a replay has an `action_id` of its own"
        raise ValueError(msg)
    return actions


class ReplayRequest(BaseModel):
    """A replay to run: its actions in order, each carried verbatim but for `replay_id`, which is the server's."""

    model_config = ConfigDict(extra="forbid")

    workflow: Annotated[str, StringConstraints(max_length=LONGEST_ID)] = ""
    session_id: Identifier
    machine_id: Identifier
    actions: Annotated[
        list[Annotated[dict[str, Any], AfterValidator(_sendable)]],
        Field(min_length=1, max_length=LONGEST_REPLAY),
        AfterValidator(_distinct),
    ]


class ReplayCreated(BaseModel):
    """The answer to a new replay."""

    replay_id: str
    status: ReplayStatus
    trace_id: str | None


class ActionView(BaseModel):
    """One action as an operator sees it."""

    action_id: str
    type: str
    state: ActionState
    attempts: int
    """How often it was handed out, retries included."""
    retries: int
    verdict: dict[str, Any] | None
    route: str | None
    error: str | None


class ReplayView(BaseModel):
    """A replay as an operator sees it."""

    replay_id: str
    workflow: str
    session_id: str
    machine_id: str
    status: ReplayStatus
    message: str | None
    trace_id: str | None
    actions: list[ActionView]


class ReplaySummary(BaseModel):
    """A replay in a list."""

    replay_id: str
    workflow: str
    session_id: str
    machine_id: str
    status: ReplayStatus
    message: str | None
    done: int
    actions: int


class StatusAnswer(BaseModel):
    """A replay's new status."""

    replay_id: str
    status: ReplayStatus


class DeadLetterView(BaseModel):
    """A dead letter as an operator sees it. `age_s`: seconds from its first dispatch to the give-up."""

    dead_letter_id: str
    action_id: str
    type: str
    session_id: str
    machine_id: str
    cause: str
    attempts: int
    age_s: float
    given_up_at: datetime
    late_reports: int


class ReportBody(BaseModel):
    """Whose report it is. The rest was read by the plugin, which is lenient: what it settled must not fail here."""

    model_config = ConfigDict(extra="ignore")

    session_id: Identifier
    action_id: Identifier
