"""What a callback is given and what it gives back."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final

import anyio

from otel_validation.delivery.action import PixelPoint, Point


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""No value at all, where None, 0 and "" are values."""

CONTRACT_FIELDS = frozenset(
    {
        "session_id",
        "action_id",
        "success",
        "error",
        "actual_position",
        "screenshot_before",
        "screenshot_after",
        "delivery_token",
        "window",
        "value",
        "traceparent",
    }
)
"""The report's fields as the contract names them (DESIGN section 7)."""


class Signal(StrEnum):
    """What a heartbeat's answer tells a running callback."""

    PAUSED = "paused"
    """The replay is paused; it may be resumed. The action goes on unless the callback decides otherwise."""
    CANCELLED = "cancelled"
    """An operator withdrew the action; its report changes nothing any more."""
    STALE = "stale"
    """This attempt is not the one in flight any more: its lease ran out."""


@dataclass(slots=True, kw_only=True, eq=False)
class ActionContext:
    """One action to execute, and what the server has said about it since.

    `action` is the host's JSON, unknown fields included. `attempt` counts deliveries from 1; `redelivered` is true
    where an earlier one got lost on its way: this callback was not called for it in this process. `retry` counts
    the executions that the server has asked for before this one, after a failed verdict.

    `look_of` is set where the server asks for nothing but a fresh screenshot after the action of that id, which is not
    to be executed again; the type is then `screenshot_evidence`.
    """

    action: Mapping[str, Any]
    action_id: str
    type: str
    attempt: int = 1
    retry: int = 0
    redelivered: bool = False
    look_of: str | None = None
    signal: Signal | None = None
    """What the last answered heartbeat said; may be read from any thread. PAUSED is taken back on a resume."""
    _cancelled: anyio.Event = field(default_factory=anyio.Event, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for this execution any more; safe to read from a thread."""
        return self.signal in (Signal.CANCELLED, Signal.STALE)

    async def wait_cancelled(self) -> None:
        """Return once `cancelled` is true; for async callbacks."""
        await self._cancelled.wait()

    def tell(self, signal: Signal | None) -> bool:
        """Take in a heartbeat's answer; true where it is news. CANCELLED and STALE are final."""
        if self.cancelled or signal is self.signal:
            return False
        self.signal = signal
        if self.cancelled:
            self._cancelled.set()
        return signal is not None


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of an action. `success` is the agent's word; the server judges it by the screenshots.

    `actual_position` is where the action really went, as fractions of the screenshot: (x_pct, y_pct), or a PixelPoint
    of the virtual desktop. Screenshots are PNG or JPEG bytes, of the whole screen. `window` holds facts about the
    window in front: title, process, rectangle, DPI, monitor origin (the agent page of the documentation lists them).
    `value` is what an extracting action read, left out while UNSET. `extra` is sent beside the contract's fields and
    never replaces one. `error` is sent as it is: put no screen text into it.
    """

    success: bool
    error: str | None = None
    actual_position: Point | PixelPoint | tuple[float, float] | None = None
    screenshot_before: bytes | None = field(default=None, repr=False)
    screenshot_after: bytes | None = field(default=None, repr=False)
    window: Mapping[str, Any] | None = field(default=None, repr=False)
    value: Any = field(default=UNSET, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """The report's fields that come from the execution; bytes as base64, what is missing left out."""
        body: dict[str, Any] = {name: value for name, value in self.extra.items() if name not in CONTRACT_FIELDS}
        body |= {"success": self.success, "error": self.error}
        if self.actual_position is not None:
            body["actual_position"] = _position(self.actual_position)
        for name, image in (("screenshot_before", self.screenshot_before), ("screenshot_after", self.screenshot_after)):
            if image is not None:
                body[name] = base64.b64encode(image).decode("ascii")
        if self.window is not None:
            body["window"] = dict(self.window)
        if self.value is not UNSET:
            body["value"] = self.value
        return body


@dataclass(frozen=True, slots=True)
class Screen:
    """What is on the screen now: a PNG or JPEG of all of it, and facts about the window in front, where known."""

    screenshot: bytes = field(repr=False)
    window: Mapping[str, Any] | None = field(default=None, repr=False)

    def to_execution(self) -> Execution:
        """The report of a look."""
        return Execution(True, screenshot_after=self.screenshot, window=self.window)


Execute = Callable[[ActionContext], Awaitable[Execution] | Execution]
"""The user's callback: an async function, or a plain one, which is run in a thread."""
Capture = Callable[[ActionContext], Awaitable[Screen] | Screen]
"""The user's callback for looks: an async function, or a plain one, which is run in a thread."""


def _position(position: Point | PixelPoint | tuple[float, float]) -> dict[str, float]:
    if isinstance(position, PixelPoint):
        return {"x_px": position.x_px, "y_px": position.y_px}
    x, y = (position.x_pct, position.y_pct) if isinstance(position, Point) else position
    return {"x_pct": x, "y_pct": y}
