"""Facts about the window in front, as the agent's operating system knows them: they outweigh what is read on pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

from otel_validation.delivery.action import finite

LONGEST_TITLE = 512
"""Characters kept of a title or of a process's name; the rest is cut off."""
FARTHEST = 1_000_000
"""No coordinate or side in pixels goes past this; one that does is not sent."""
SCALES = (0.5, 4.0)
"""A display scale outside these is absurd, and not sent."""
BASE_DPI = 96
"""Dots per inch at 100 % (Windows and X11)."""

Rect = tuple[float, float, float, float]
"""x0, y0, x1, y1; x1 and y1 exclusive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFacts:
    """What an agent says of the window in front when it took the screenshot after the action; None is "not sent".

    Coordinates are pixels of the virtual desktop, in the unit of the agent's own positions: physical pixels, or
    logical ones where `logical` is true.
    """

    title: str | None = None
    title_before: str | None = None
    """The title of the window in front before the action."""
    process: str | None = None
    """The name of its program's file ("chrome.exe"), without a path."""
    foreground: bool | None = None
    """Whether it has the keyboard focus; False says that another window has."""
    rect: Rect | None = None
    client_rect: Rect | None = None
    """The window without its title bar and borders."""
    remote_rect: Rect | None = None
    """Where a remote desktop's picture stands inside the screenshot (its pixels), without the black bars around it:
    fractions and pixels of a position are then those of the remote desktop."""
    dpi_scale: float | None = None
    """1.0 is 100 %; 0.5 to 4."""
    monitor_origin: tuple[float, float] | None = None
    """The top left corner of what was captured, on the virtual desktop: negative left of the main monitor."""
    screen_size: tuple[float, float] | None = None
    """Width and height of what was captured (of the remote desktop with `remote_rect`)."""
    logical: bool | None = None
    """True where the agent is not aware of the DPI: its pixels times `dpi_scale` are the screenshot's."""

    @classmethod
    def from_json(cls, value: object) -> WindowFacts | None:
        """Read a report's `window`. What has a wrong type or an absurd value is not sent; None where nothing is left.

        A rectangle is `[x0, y0, x1, y1]`, or an object with `left`, `top` and `right`, `bottom` or `width`,
        `height`; a pair is `[x, y]`, or an object with `left`, `top` or `width`, `height`. `dpi` (96 is 100 %) is
        read where there is no `dpi_scale`, `rectangle` where there is no `rect`. Never raises.
        """
        if not isinstance(value, Mapping):
            return None
        facts = cls(
            title=_text(value.get("title")),
            title_before=_text(value.get("title_before")),
            process=_process(value.get("process")),
            foreground=_flag(value.get("foreground")),
            rect=_rect(value.get("rect", value.get("rectangle"))),
            client_rect=_rect(value.get("client_rect")),
            remote_rect=_rect(value.get("remote_rect")),
            dpi_scale=_scale(value),
            monitor_origin=_pair(value.get("monitor_origin"), "left", "top"),
            screen_size=_size(value.get("screen_size")),
            logical=_flag(value.get("logical")),
        )
        return facts if any(fact is not None for fact in astuple(facts)) else None


def _text(value: object) -> str | None:
    """The text, cut; None for an empty one: what an agent sends whose system call failed."""
    text = value[:LONGEST_TITLE].strip() if isinstance(value, str) else ""
    return text or None


def _process(value: object) -> str | None:
    text = _text(value)
    return text.replace("\\", "/").rpartition("/")[2] or None if text else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _scale(value: Mapping[str, Any]) -> float | None:
    scale, dpi = finite(value.get("dpi_scale")), finite(value.get("dpi"))
    if scale is None and dpi is not None:
        scale = dpi / BASE_DPI
    return scale if scale is not None and SCALES[0] <= scale <= SCALES[1] else None


def _coordinate(value: object) -> float | None:
    number = finite(value)
    return number if number is not None and abs(number) <= FARTHEST else None


def _pair(value: object, first: str, second: str) -> tuple[float, float] | None:
    if isinstance(value, Mapping):
        value = [value.get(first), value.get(second)]
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    x, y = map(_coordinate, value)
    return None if x is None or y is None else (x, y)


def _size(value: object) -> tuple[float, float] | None:
    size = _pair(value, "width", "height")
    return size if size is not None and min(size) >= 1 else None


def _rect(value: object) -> Rect | None:
    if isinstance(value, Mapping):
        value = _sides(value)
    if not isinstance(value, list | tuple) or len(value) != 4:
        return None
    x0, y0, x1, y1 = map(_coordinate, value)
    if x0 is None or y0 is None or x1 is None or y1 is None or x1 <= x0 or y1 <= y0:
        return None
    return x0, y0, x1, y1


def _sides(value: Mapping[str, Any]) -> Rect | None:
    """The four sides of a rectangle sent as an object."""
    corner, far = _pair(value, "left", "top"), _pair(value, "right", "bottom")
    size = _pair(value, "width", "height")
    if corner is None:
        return None
    if far is None and size is not None:
        far = corner[0] + size[0], corner[1] + size[1]
    return None if far is None else (*corner, *far)
