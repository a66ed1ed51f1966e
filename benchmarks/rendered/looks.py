"""Which screens are rendered: browser, window manager, panel, theme, scale, language and font of each."""

from __future__ import annotations

import random
from dataclasses import dataclass

FONTS = {
    "tune": ("Liberation Sans", "DejaVu Sans", "Roboto", "Noto Sans", "Liberation Serif"),
    "report": ("Open Sans", "Lato", "Inter", "Cantarell", "FreeSans"),
}
"""Five for each half, none in both."""
MANAGERS = {
    "tune": ("openbox:Clearlooks", "openbox:Onyx", "xfwm4", "icewm"),
    "report": ("metacity", "openbox:Numix", "openbox:Arc", "jwm", "marco"),
}
PANELS = {"tune": ("lxpanel", "tint2", "none", "none"), "report": ("xfce4-panel", "plank", "none", "mate-panel")}
GTK_THEMES = {
    "tune": {False: ("Adwaita", "Greybird"), True: ("Adwaita-dark", "Greybird-dark")},
    "report": {False: ("Arc", "Materia", "Numix"), True: ("Arc-Dark", "Materia-dark")},
}
SCREENS = ((1920, 1080), (1366, 768), (1280, 1024), (2560, 1440), (1600, 900), (1024, 768), (2560, 1600))
SCALES = (1.0, 1.0, 1.25, 1.5, 2.0)
KINDS = ("chromium", "firefox", "chromium", "mock", "page")
"""What draws the screen: a browser on a desktop, a desktop in HTML, or the page alone."""


@dataclass(frozen=True, slots=True)
class Look:
    """How one run of screens is drawn. `scale` is in device pixels per CSS pixel; `place` is None for a maximised
    window, else its x, y, width and height as parts of the screen.
    """

    name: str
    seed: int
    kind: str
    lang: str
    dark: bool
    font: str
    size: int
    scale: float
    screen: tuple[int, int]
    manager: str
    panel: str
    gtk_theme: str
    framed: bool
    """Whether the window manager draws the browser's title bar."""
    bookmarks: bool
    place: tuple[float, float, float, float] | None
    desktop_icons: bool


def looks(part: str, count: int) -> list[Look]:
    """The looks of a part (`tune` or `report`); the same for the same count."""
    return [_look(part, index) for index in range(count)]


def _look(part: str, index: int) -> Look:
    seed = index + (0 if part == "tune" else 10_000)
    rng = random.Random(seed)
    scale = rng.choice(SCALES)
    screens = [screen for screen in SCREENS if screen[0] / scale >= 1000]
    dark = rng.random() < 0.4
    windowed = rng.random() < 0.4
    place = (rng.uniform(0.02, 0.2), rng.uniform(0.03, 0.15), rng.uniform(0.62, 0.76), rng.uniform(0.65, 0.78))
    return Look(
        name=f"{part}_{index:03}",
        seed=seed,
        kind=KINDS[index % len(KINDS)],
        lang=("fr", "en")[index // len(KINDS) % 2],
        dark=dark,
        font=FONTS[part][index // 2 % 5],
        size=rng.randint(11, 20),
        scale=scale,
        screen=rng.choice(screens),
        manager=rng.choice(MANAGERS[part]),
        panel=rng.choice(PANELS[part]),
        gtk_theme=rng.choice(GTK_THEMES[part][dark]),
        framed=rng.random() < 0.4,
        bookmarks=rng.random() < 0.4,
        place=place if windowed else None,
        desktop_icons=rng.random() < 0.5,
    )
