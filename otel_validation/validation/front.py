"""What the window facts say of a place on the screen: which surface it is on, and on which it cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from otel_validation.errors import UnplacedError
from otel_validation.validation.place import on_screenshot
from otel_validation.vision.surfaces import Surface
from otel_validation.vision.text import compact, fold
from otel_validation.vision.titles import is_browser

if TYPE_CHECKING:
    from otel_validation.validation.window import Rect, WindowFacts

OF_BROWSERS = frozenset(
    {
        Surface.TAB_STRIP,
        Surface.ADDRESS_BAR,
        Surface.BOOKMARKS_BAR,
        Surface.BROWSER_POPUP,
        Surface.BROWSER_MENU,
    }
)
OF_DESKTOPS = frozenset({Surface.TASKBAR, Surface.MENU_BAR, Surface.DOCK, Surface.DESKTOP})
SHELLS = frozenset(
    {
        "explorer",
        "dwm",
        "searchhost",
        "searchapp",
        "shellexperiencehost",
        "startmenuexperiencehost",
        "finder",
        "dock",
        "gnomeshell",
        "plasmashell",
        "xfdesktop",
        "pcmanfm",
    }
)
"""Programs whose windows are the desktop and its bars: theirs rule nothing out."""


@dataclass(frozen=True, slots=True)
class Told:
    """`surface` is what the place is on for sure, `ruled_out` what it cannot be on; nothing where no facts say so."""

    surface: Surface | None = None
    ruled_out: frozenset[Surface] = frozenset()


NOTHING = Told()


def told(facts: WindowFacts | None, at: tuple[int, int], size: tuple[int, int]) -> Told:
    """What the facts say of the pixel `at` of a screenshot of `size`.

    In the window in front there is no task bar, dock or desktop, in its client area no title bar, and in that of a
    program that is no browser nothing of a browser. Between its border and its client area is its title bar. A window
    that has not the focus, or is the desktop's own, says nothing; nor does a place outside.
    """
    if facts is None or facts.foreground is False or _is_shell(facts.process):
        return NOTHING
    in_client = _holds(facts, facts.client_rect, at, size)
    in_window = _holds(facts, facts.rect, at, size)
    if in_window and in_client is False:
        return Told(Surface.TITLE_BAR)
    if not (in_window or in_client):
        return NOTHING
    ruled_out = OF_DESKTOPS | ({Surface.TITLE_BAR} if in_client else set())
    foreign = facts.process is not None and not is_browser(facts.process)
    return Told(ruled_out=ruled_out | OF_BROWSERS if foreign else ruled_out)


def _is_shell(process: str | None) -> bool:
    return process is not None and compact(fold(process)).removesuffix("exe") in SHELLS


def _holds(facts: WindowFacts, rect: Rect | None, at: tuple[int, int], size: tuple[int, int]) -> bool | None:
    """Whether the rectangle holds the pixel; None where there is none, or it cannot be placed."""
    if rect is None:
        return None
    try:
        x0, y0, x1, y1 = on_screenshot(facts, rect, size)
    except UnplacedError:
        return None
    return x0 <= at[0] < x1 and y0 <= at[1] < y1
