"""The Action: one UI step, carried verbatim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_ID = 256
"""Characters kept of an identifier sent by a client; longer ones are refused where they enter."""


@dataclass(frozen=True, slots=True)
class Point:
    """A position as fractions of the screen, origin top left; 0.0 is a position, not a missing one."""

    x_pct: float
    y_pct: float

    @classmethod
    def from_json(cls, value: object) -> Point | None:
        """Read `{"x_pct": .., "y_pct": ..}`; None where a coordinate is missing, not a number, or not finite."""
        if not isinstance(value, Mapping):
            return None
        x, y = (finite(value.get(key)) for key in ("x_pct", "y_pct"))
        return None if x is None or y is None else cls(x, y)


@dataclass(frozen=True, slots=True)
class PixelPoint:
    """A position in pixels of the virtual desktop: negative left of and above the main monitor's corner."""

    x_px: float
    y_px: float


Position = Point | PixelPoint


def read_position(value: object) -> Position | None:
    """Read `{"x_pct": .., "y_pct": ..}`, else `{"x_px": .., "y_px": ..}`, else `{"x": .., "y": ..}`.

    The first pair of which a coordinate is there (not null) counts: where it cannot be used (NaN, text, one of two),
    no other takes its place. `x`, `y` are pixels; a pair in 0..1 that are not both whole are fractions, since no
    mouse reports such pixels.
    """
    if not isinstance(value, Mapping):
        return None
    pairs = (("x_pct", "y_pct"), ("x_px", "y_px"), ("x", "y"))
    names = next((pair for pair in pairs if any(value.get(name) is not None for name in pair)), pairs[0])
    x, y = (finite(value.get(name)) for name in names)
    if x is None or y is None:
        return None
    if names == pairs[0] or (names == pairs[2] and _are_fractions(x, y)):
        return Point(x, y)
    return PixelPoint(x, y)


def _are_fractions(x: float, y: float) -> bool:
    return 0 <= x <= 1 and 0 <= y <= 1 and not (x.is_integer() and y.is_integer())


def finite(value: object) -> float | None:
    """The value as a finite float; None for anything else (a bool is not a number here)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Action:
    """One UI step with a stable id. `payload` is the host's JSON, unknown fields included, never altered.

    `look_of` is set on a look alone, an extra action of the plugin's own (`delivery.look`): the id of the action that
    it looks after. No JSON of a host's makes one.
    """

    action_id: str
    type: str
    session_id: str
    machine_id: str
    payload: Mapping[str, Any]
    look_of: str | None = None

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], *, session_id: str, machine_id: str) -> Action | None:
        """Read an action as a host's poll answers it; None where there is no usable `action_id`."""
        action_id = payload.get("action_id")
        if not isinstance(action_id, str) or not 0 < len(action_id) <= LONGEST_ID:
            return None
        kind = payload.get("type")
        return cls(
            action_id=action_id,
            type=kind if isinstance(kind, str) and kind else "unknown",
            session_id=session_id,
            machine_id=machine_id,
            payload=payload,
        )

    @property
    def visibility_timeout_s(self) -> float | None:
        """The action's own visibility timeout, in seconds; None where it has none or it is not positive."""
        value = finite(self.payload.get("visibility_timeout_s"))
        return value if value is not None and value > 0 else None

    @property
    def aim(self) -> Position | None:
        """Where the action was meant to go: its own coordinates, else those of `target_spec`."""
        return read_position(self.payload) or read_position(self.payload.get("target_spec"))
