"""The Report: what the agent says happened, with its screenshots, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from otel_validation.delivery.action import LONGEST_ID, Position, finite, read_position
from otel_validation.validation.window import WindowFacts

MILLISECONDS_FROM = 1e11
"""A number of this size is a time in milliseconds: as seconds it would lie 3,000 years ahead."""


@dataclass(frozen=True, slots=True)
class Captured:
    """When the agent took its screenshots and when it acted, in seconds of its own clock; None where it did not say.

    They are compared with each other only: an agent's clock is nobody else's.
    """

    before: float | None = None
    after: float | None = None
    action: float | None = None

    @classmethod
    def from_json(cls, value: object) -> Captured:
        """Read `{"before": .., "after": .., "action": ..}`: seconds or milliseconds since 1970, or ISO 8601."""
        if not isinstance(value, Mapping):
            return cls()
        return cls(*(_time(value.get(key)) for key in ("before", "after", "action")))

    @property
    def out_of_order(self) -> bool:
        """Whether the screen after the action was taken before the action, or before the screen before it."""
        return self.after is not None and any(
            earlier is not None and self.after < earlier for earlier in (self.before, self.action)
        )

    @property
    def at_once(self) -> bool:
        """Whether both screens carry the same time."""
        return self.after is not None and self.after == self.before


VALUE_MEMBERS = ("value", "extracted", "result")
"""Where agents put what an action read: the first that is there counts, be it 0, "" or false (DESIGN section 9); null
counts where nothing else is there."""
APART = frozenset(
    {"session_id", "action_id", "delivery_token", "traceparent", "screenshot_before", "screenshot_after"}
).union(VALUE_MEMBERS)
"""Members of a report's JSON that are not among `Report.members`."""
FIELDS = frozenset({"success", "error", "actual_position", "window"})
"""Those of `Report.members` that are fields of a Report too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One agent's report on one action.

    `success` is None where the agent sent none or something that is not a bool: unknown, never a success.
    `screenshot_before` and `screenshot_after` are base64 or a data URL, as sent; decoding is the validator's.
    `position_given` tells a missing position from one that cannot be used (NaN, text), `value_given` a missing value
    from null. `captured` says when the screenshots were taken (`captured_at` in JSON). `members` are the report's other
    members as they were sent. Neither they nor the value are bounded here, and a repr shows neither.
    """

    session_id: str
    action_id: str
    token: str | None = None
    success: bool | None = None
    error: str | None = None
    position: Position | None = None
    position_given: bool = False
    screenshot_before: str | None = None
    screenshot_after: str | None = None
    window: WindowFacts | None = None
    traceparent: str | None = None
    value: Any = field(default=None, repr=False)
    value_given: bool = False
    members: Mapping[str, Any] = field(default_factory=dict, repr=False)
    captured: Captured = Captured()

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Report | None:
        """Read a report's JSON; None where it names no session or no action."""
        session_id, action_id = _identifier(body.get("session_id")), _identifier(body.get("action_id"))
        if session_id is None or action_id is None:
            return None
        success, position = body.get("success"), body.get("actual_position")
        given = [name for name in VALUE_MEMBERS if name in body]
        named = next((name for name in given if body[name] is not None), None)
        return cls(
            session_id=session_id,
            action_id=action_id,
            token=_text(body.get("delivery_token")),
            success=success if isinstance(success, bool) else None,
            error=_text(body.get("error")),
            position=read_position(position),
            position_given=bool(position) or position == 0,
            screenshot_before=_text(body.get("screenshot_before")),
            screenshot_after=_text(body.get("screenshot_after")),
            window=WindowFacts.from_json(body.get("window")),
            traceparent=_text(body.get("traceparent")),
            value=None if named is None else body[named],
            value_given=bool(given),
            members={name: member for name, member in body.items() if name not in APART},
            captured=Captured.from_json(body.get("captured_at")),
        )

    def without_contents(self) -> Report:
        """The same report as if it carried no value and no members of its own: all that may be read of a secret."""
        return replace(self, value=None, value_given=False, members={})

    @property
    def has_more_evidence(self) -> bool:
        """Whether it holds more to judge by than where the action went and the screenshot after it."""
        held = (self.screenshot_before, self.window, self.members.keys() - FIELDS or None)
        return self.value_given or any(part is not None for part in held)

    def bare(self) -> Report:
        """Who reported on what and where: nothing that is evidence, or that an agent could make long."""
        return Report(
            session_id=self.session_id,
            action_id=self.action_id,
            token=self.token,
            success=self.success,
            position=self.position,
            position_given=self.position_given,
        )

    @property
    def has_screenshot(self) -> bool:
        """Whether there is an image to judge at all."""
        return self.screenshot_after is not None or self.screenshot_before is not None


def _identifier(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_ID else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _time(value: object) -> float | None:
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    number = finite(value)
    return number / 1e3 if number is not None and abs(number) >= MILLISECONDS_FROM else number
