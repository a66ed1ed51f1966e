"""The Report: what the agent says happened, with its screenshots, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from otel_validation.delivery.action import LONGEST_ID, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One agent's report on one action.

    `success` is None where the agent sent none or something that is not a bool: unknown, never a success.
    `screenshot_before` and `screenshot_after` are base64 or a data URL, as sent; decoding is the validator's.
    `position_given` tells a missing position from one that cannot be used (NaN, text).
    """

    session_id: str
    action_id: str
    token: str | None = None
    success: bool | None = None
    error: str | None = None
    position: Point | None = None
    position_given: bool = False
    screenshot_before: str | None = None
    screenshot_after: str | None = None
    window: Mapping[str, Any] | None = None
    traceparent: str | None = None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Report | None:
        """Read a report's JSON; None where it names no session or no action."""
        session_id, action_id = _identifier(body.get("session_id")), _identifier(body.get("action_id"))
        if session_id is None or action_id is None:
            return None
        success, window, position = body.get("success"), body.get("window"), body.get("actual_position")
        return cls(
            session_id=session_id,
            action_id=action_id,
            token=_text(body.get("delivery_token")),
            success=success if isinstance(success, bool) else None,
            error=_text(body.get("error")),
            position=Point.from_json(position),
            position_given=bool(position) or position == 0,
            screenshot_before=_text(body.get("screenshot_before")),
            screenshot_after=_text(body.get("screenshot_after")),
            window=window if isinstance(window, Mapping) else None,
            traceparent=_text(body.get("traceparent")),
        )

    @property
    def has_screenshot(self) -> bool:
        """Whether there is an image to judge at all."""
        return self.screenshot_after is not None or self.screenshot_before is not None


def _identifier(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_ID else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
