"""Surfaces that are not the application: the browser's own chrome, the OS's bars.

Structure decides: a wide, low, evenly filled field with small icons at its left, at the top of a window; a band
along an edge of the screen, parted from what lies above by an edge over its whole width, with a clock at its end.
A text is read only inside a structure already found (the field, the end of the band), to confirm it. So a page that
shows an e-mail address, "Compte rendu operatoire" or "Knowledge base" is never taken for the address bar
(DESIGN section 9).

Lengths are in pixels at 100 % scale, as browsers and desktops draw them; the finder works on a reduced image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from otel_validation.vision.surfaces.bars import Bars
from otel_validation.vision.surfaces.browser import COARSER, Browser
from otel_validation.vision.surfaces.menus import Menus
from otel_validation.vision.surfaces.suggestions import Suggestions
from otel_validation.vision.surfaces.surface import Surface
from otel_validation.vision.surfaces.suspects import BY_LOOKS, suspect

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box, OcrEngine, TextBox


class SurfaceFinder:
    """Tells which foreign surface a click is on. Thread-safe: it holds the engine and nothing else."""

    def __init__(self, engine: OcrEngine) -> None:
        self._bars = Bars(engine)
        self._browser = Browser(engine)
        self._menus = Menus(engine)
        self._suggestions = Suggestions(engine)

    def find(
        self,
        frame: Frame,
        click: tuple[int, int],
        scale: float,
        *,
        known: bool = True,
        ruled_out: frozenset[Surface] = frozenset(),
    ) -> Surface | None:
        """The surface under `click` (pixels) of a screen drawn at `scale` (1.0 is 100 %); None for the application.

        Those that are `ruled_out`, by what the agent's operating system knows, are not looked for. Where the scale is
        not `known` but guessed from the screen's size, the surfaces of a larger one are searched too: a 1920 x 1080
        screen is as often drawn at 125 or 150 % as at 100 %.
        """
        for factor in () if Surface.TASKBAR in ruled_out else (1.0,) if known else (1.0, COARSER):
            surface = self._bars.find(frame, click, scale * factor)
            if surface is not None:
                return surface
        return None if Surface.ADDRESS_BAR in ruled_out else self._browser.find(frame, click, scale, known=known)

    def suspect(
        self,
        frame: Frame,
        click: tuple[int, int],
        scale: float,
        *,
        label: Box | None = None,
        near: Sequence[TextBox] = (),
        known: bool = True,
        ruled_out: frozenset[Surface] = frozenset(),
    ) -> Surface | None:
        """As `find`, by looks (see `suspects`) or by the commands of a menu (see `menus`): for a click whose expected
        label is not under it.

        `label` is the box of the text under the click, `near` are the labels read around it, in pixels.
        """
        found = self._suspected(frame, click, scale, label, near, known=known, ruled_out=ruled_out)
        return next((surface for surface in found if surface is not None and surface not in ruled_out), None)

    def _suspected(
        self,
        frame: Frame,
        click: tuple[int, int],
        scale: float,
        label: Box | None,
        near: Sequence[TextBox],
        *,
        known: bool,
        ruled_out: frozenset[Surface],
    ) -> Iterator[Surface | None]:
        """What it may be on, what is surest first; each is looked for only when it is asked for."""
        if Surface.BROWSER_MENU not in ruled_out:
            yield Surface.BROWSER_MENU if self._menus.holds(frame, click, scale, near) else None
            yield Surface.BROWSER_POPUP if self._suggestions.holds(frame, click, scale, near) else None
        for factor in () if ruled_out >= BY_LOOKS else (1.0,) if known else (1.0, COARSER):
            yield suspect(frame, click, scale * factor, label, larger=factor != 1.0)
            yield self._bars.suspect(frame, click, scale * factor)
