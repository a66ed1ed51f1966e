"""From what a page says of itself, and from where its window is, to labelled clicks in the corpus's format."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field
from typing import Any

Box = tuple[float, float, float, float]

CLEAR_X, CLEAR_Y = 60, 34
"""A place is blank where nothing readable stands within so many CSS pixels."""
CHROMIUM = {"toolbar": 21.0, "strip": 62.0, "bookmarks": 33.0}
FIREFOX = {"toolbar": 20.0, "strip": 62.0, "bookmarks": 28.0}
"""How far above the page's top (or above the bookmarks bar) the middle of each bar is, in CSS pixels."""


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled click, as `otel-validation check --batch` reads it."""

    image: str
    case: str
    x_pct: float
    y_pct: float
    expected_text: str
    truth: str
    clicked_on: str
    action_type: str = "click"
    note: str = ""
    tags: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Sheet:
    """One screen: its page's report, its window, and the cases made of it so far."""

    image: str
    size: tuple[int, int]
    page: dict[str, Any]
    origin: tuple[float, float]
    """Where the page's top left corner is on the screen, in pixels."""
    rng: random.Random
    cases: list[Case] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return float(self.page["ratio"])

    def screen(self, x: float, y: float) -> tuple[float, float]:
        return self.origin[0] + x * self.ratio, self.origin[1] + y * self.ratio

    def add(self, truth: str, at: tuple[float, float], expected: str, clicked_on: str, *tags: str) -> None:
        """A case for a click at `at` (pixels of the screen), where that is on the screen."""
        width, height = self.size
        if not (0 <= at[0] < width and 0 <= at[1] < height):
            return
        name = f"{self.image.rpartition('.')[0]}_{len(self.cases):02}"
        x, y = round((at[0] + 0.25) / width, 6), round((at[1] + 0.25) / height, 6)
        self.cases.append(Case(self.image, name, x, y, expected, truth, clicked_on, tags=list(tags)))

    def labels(self) -> list[dict[str, Any]]:
        return list(self.page["labels"])

    def some_label(self) -> str:
        return str(self.rng.choice(self.labels())["text"])

    def add_labels(self, most: int) -> None:
        """Right labels (a third of them on the padding of their button or tab), and neighbours for others."""
        labels = self.labels()
        for label in self.rng.sample(labels, min(most, len(labels))):
            padded = label["padded"] != label["box"] and self.rng.random() < 0.34
            box = label["padded"] if padded else label["box"]
            at = self.screen(*_inside(self.rng, box))
            self.add("complete", at, label["text"], label["text"], label["kind"], *(["padding"] if padded else []))
        for label in self.rng.sample(labels, min(most // 2, len(labels))):
            others = sorted(
                (o for o in labels if o["text"] != label["text"]), key=lambda o: _far(o["box"], label["box"])
            )
            if others:
                wanted = self.rng.choice(others[:2])["text"]
                self.add(
                    "wrong_target", self.screen(*_inside(self.rng, label["box"])), wanted, label["text"], "neighbour"
                )

    def add_blanks(self, most: int) -> None:
        """Clicks on open ground of the page; the label expected is the nearest one."""
        left, top, right, bottom = self.page["area"]
        for _ in range(60):
            if most == 0:
                return
            x, y = self.rng.uniform(left + 20, right - 20), self.rng.uniform(top + 20, bottom - 20)
            if min(right, self.page["size"][0]) - 10 < x or min(bottom, self.page["size"][1]) - 10 < y:
                continue
            if all(_clear(box, x, y) for box in self.page["taken"]):
                nearest = min(self.labels(), key=lambda o: _far(o["box"], (x, y, x, y)))
                self.add("nothing", self.screen(x, y), nearest["text"], "open ground")
                most -= 1

    def add_foreign(self, most: int) -> None:
        """Clicks on what the page itself marks as another surface (a desktop drawn in HTML)."""
        foreign = self.page["foreign"]
        for part in self.rng.sample(foreign, min(most, len(foreign))):
            self.add(
                "wrong_application",
                self.screen(*_inside(self.rng, part["box"])),
                self.some_label(),
                part["kind"],
                part["kind"],
            )

    def add_browser(self, kind: str, *, bookmarks: bool) -> None:
        """Clicks on the browser's tab strip, toolbar and bookmarks bar."""
        bars = FIREFOX if kind == "firefox" else CHROMIUM
        width, lift = self.page["size"][0], bars["bookmarks"] if bookmarks else 0.0
        toolbar, strip = -lift - bars["toolbar"], -lift - bars["strip"]
        points = [
            ("address_bar", self.rng.uniform(0.25, 0.55) * width, toolbar),
            ("address_bar", width - self.rng.choice((22, 60)), toolbar),
            ("address_bar", self.rng.choice((20, 55)), toolbar),
            ("tab_strip", self.rng.uniform(60, 160), strip),
            ("tab_strip", self.rng.uniform(230, 480), strip),
        ]
        if bookmarks:
            points.append(("bookmarks_bar", self.rng.uniform(20, 420), -lift / 2))
        for surface, x, y in points:
            self.add("wrong_application", self.screen(x, y), self.some_label(), surface, surface)

    def add_panels(self, panels: list[tuple[int, int, int, int]]) -> None:
        """Clicks on the desktop's panels: near both ends and somewhere between."""
        for x, y, width, height in panels:
            for part in (0.02, self.rng.uniform(0.15, 0.7), 0.98):
                at = (x + part * width, y + height / 2)
                self.add("wrong_application", at, self.some_label(), "taskbar", "taskbar")

    def add_popup(self, box: Box, surface: str, count: int) -> None:
        """Clicks inside what opened on top of the page."""
        for _ in range(count):
            at = _inside(self.rng, box)
            self.add("wrong_application", at, self.some_label(), surface, surface)


def _inside(rng: random.Random, box: Box) -> tuple[float, float]:
    left, top, right, bottom = box
    return left + (right - left) * rng.uniform(0.15, 0.85), top + (bottom - top) * rng.uniform(0.2, 0.8)


def _far(box: Box, other: Box) -> float:
    dx = max(box[0] - other[2], other[0] - box[2], 0.0)
    dy = max(box[1] - other[3], other[1] - box[3], 0.0)
    return float((dx * dx + dy * dy) ** 0.5)


def _clear(box: Box, x: float, y: float) -> bool:
    return not (box[0] - CLEAR_X <= x <= box[2] + CLEAR_X and box[1] - CLEAR_Y <= y <= box[3] + CLEAR_Y)
