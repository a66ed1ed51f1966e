"""What a poll answered, read defensively: a host without the plugin sends no `delivery`, a broken one anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from otel_validation.delivery.action import Action, finite

Key = tuple[str, str, int]
"""What makes one execution: replay, action, business retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One delivered action. `token` is None, and `visibility_timeout_s` too, where the server leases nothing.

    `look_of` is read from the plugin's `delivery` block alone: a host's own action cannot be taken for a look.
    """

    action: Action
    token: str | None = None
    attempt: int = 1
    retry: int = 0
    redelivered: bool = False
    visibility_timeout_s: float | None = None
    traceparent: str | None = None
    look_of: str | None = None

    @classmethod
    def from_json(cls, payload: object, delivery: object, *, session_id: str, machine_id: str) -> Assignment | None:
        """Read the poll's `action` and `delivery`; None where there is no usable action."""
        if not isinstance(payload, Mapping):
            return None
        action = Action.from_json(payload, session_id=session_id, machine_id=machine_id)
        if action is None:
            return None
        block: Mapping[str, Any] = delivery if isinstance(delivery, Mapping) else {}
        attempt = _count(block.get("attempt"), least=1)
        timeout = finite(block.get("visibility_timeout_s"))
        redelivered = block.get("redelivered")
        return cls(
            action=action,
            token=_text(block.get("token")),
            attempt=attempt,
            retry=_count(block.get("retry"), least=0),
            redelivered=redelivered if isinstance(redelivered, bool) else attempt > 1,
            visibility_timeout_s=timeout if timeout is not None and timeout > 0 else None,
            traceparent=_text(block.get("traceparent")),
            look_of=_text(block.get("look_of")),
        )

    @property
    def key(self) -> Key:
        """Deliveries with the same key are one execution."""
        replay_id = self.action.payload.get("replay_id")
        return (replay_id if isinstance(replay_id, str) else "", self.action.action_id, self.retry)


@dataclass(frozen=True, slots=True)
class PollAnswer:
    """A poll's answer: an assignment or nothing, and whether the replay is paused."""

    assignment: Assignment | None
    paused: bool = False


def _count(value: object, *, least: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= least else least


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
