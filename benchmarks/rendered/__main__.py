"""`python -m benchmarks.rendered [--part tune|report] [--looks N] [--out DIR]`: render the set and its cases.json.

Installs nothing: a missing program is named with its Debian package and the exit code is 3.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageGrab

from benchmarks.rendered.cases import Case, Sheet
from benchmarks.rendered.collect import Desk, serving
from benchmarks.rendered.desktops import desktop
from benchmarks.rendered.looks import Look, looks
from benchmarks.rendered.pages import DATA, PageStyle, page
from benchmarks.rendered.stage import Stage, browser, missing_packages, place_window, stage
from otel_validation.vision.image import Frame, is_blank
from scripts.headful import RenderError, still_screen, xdotool

MISSING = 3
PAGES = 3
"""Pages of each look; the last two carry what opens on top of a page."""
WAIT_S = 60.0
"""How long a page may take to speak, on a machine with other work."""
SAME_ORIGIN = 3.0
"""Pixels by which two looks at where the page begins may differ: the pointer is told in whole CSS pixels."""
POPUP_LEAST = 60
"""Sides of the smallest pop-up, in pixels."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rendered", description="Render the labelled set.")
    parser.add_argument("--part", choices=("tune", "report"), action="append", help="default: both")
    parser.add_argument("--looks", type=int, default=60, help="looks of each part (default: %(default)s)")
    parser.add_argument("--only", action="append", help="this look (may be repeated)")
    parser.add_argument("--out", type=Path, default=Path("build/rendered"))
    asked = parser.parse_args()
    if packages := missing_packages():
        print(f"Missing Debian packages; install them with: apt-get install {' '.join(packages)}", file=sys.stderr)
        return MISSING
    for part in asked.part or ("tune", "report"):
        folder: Path = asked.out / part
        (folder / "images").mkdir(parents=True, exist_ok=True)
        cases: list[Case] = []
        for look in looks(part, asked.looks):
            if asked.only and look.name not in asked.only:
                continue
            began = time.monotonic()
            try:
                made = _render(look, folder / "images")
            except (RenderError, queue.Empty, subprocess.SubprocessError) as error:
                print(f"{look.name}: left out ({type(error).__name__}: {error})", file=sys.stderr)
                continue
            cases += made
            print(f"{look.name}: {len(made)} cases in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        text = json.dumps([case.as_json() for case in cases], ensure_ascii=False, indent=1)
        (folder / "cases.json").write_text(text + "\n", encoding="utf-8")
        print(f"{part}: {len(cases)} cases: {folder}")
    return 0


def _render(look: Look, folder: Path) -> list[Case]:
    """The screens of one look, written to the folder; their cases."""
    rng = random.Random(look.seed)
    style = PageStyle(look.lang, look.dark, look.font, look.size)
    make = desktop if look.kind == "mock" else page
    desk = Desk(pages={number: make(rng, style) for number in range(PAGES)})
    host, tabs = rng.choice(DATA["hosts"]), rng.randint(0, 3)
    with (
        tempfile.TemporaryDirectory(prefix="rendered-", ignore_cleanup_errors=True) as home,
        serving(desk) as port,
        stage(look, Path(home)) as on,
        browser(on, port, host, tabs=tabs),
    ):
        shoot = _Shoot(look, on, desk, folder, rng)
        for number in range(PAGES):
            shoot.page(number)
            if number + 1 < PAGES:
                desk.show(number + 1, "/" + rng.choice(DATA["paths"]))
        return shoot.cases


class _Shoot:
    """Takes the screens of one look."""

    def __init__(self, look: Look, on: Stage, desk: Desk, folder: Path, rng: random.Random) -> None:
        self.look, self.on, self.desk, self.folder, self.rng = look, on, desk, folder, rng
        self.cases: list[Case] = []
        self._origin: tuple[float, float] | None = None
        self._panels: list[tuple[int, int, int, int]] = []

    def page(self, number: int) -> None:
        """The page `number`, and what opens on it."""
        report = self._wait(number)
        alone = self.look.kind in {"mock", "page"}
        if alone:
            self._origin = 0.0, 0.0
        elif self._origin is None:
            time.sleep(1.0)
            place_window(self.on)
            time.sleep(1.0)
            self._panels = self.on.panels()
            # the window may have changed its size since the page spoke
            self.desk.show(number, "/")
            report = self._wait(number)
        if not alone:
            self._origin = self._find_origin()
        image = self._grab()
        if is_blank(Frame(image)):
            raise RenderError("the screen stayed blank")
        sheet = self._sheet(report, image, f"{self.look.name}_{number}.png")
        sheet.add_labels(12)
        sheet.add_blanks(3)
        sheet.add_foreign(6)
        if not alone:
            sheet.add_browser(self.look.kind, bookmarks=self.look.bookmarks)
            sheet.add_panels(self._panels)
        self.cases += sheet.cases
        if not alone and number > 0:
            self._popups(number, report, image)

    def _popups(self, number: int, report: dict[str, Any], before: Image.Image) -> None:
        """A menu of the browser on one page, its suggestions while one types on the other."""
        if number == 1:
            x, y = self._at(report["size"][0] - 20, -(33 if self.look.bookmarks else 0) - 20)
            self._do("mousemove", str(x), str(y), "click", "1")
        else:
            self._do("key", "ctrl+l")
            self._do("type", "--delay", "30", self.rng.choice(DATA[self.look.lang]["typed"]))
        time.sleep(0.8)
        after = self._grab(patient=False)
        box = _changed(before, after, round(self._origin[1]) if self._origin else 0)
        self._do("key", "Escape", "key", "Escape")
        x, y = self._at(8, report["size"][1] - 8)
        self._do("mousemove", str(x), str(y), "click", "1")
        time.sleep(0.4)
        if box is None:
            return
        sheet = self._sheet(report, after, f"{self.look.name}_{number}b.png")
        sheet.add_popup(box, "browser_popup", 3)
        if number == 2:
            sheet.add(
                "wrong_application",
                self._at(report["size"][0] * 0.4, self._toolbar()),
                sheet.some_label(),
                "address_bar",
                "typed",
            )
        self.cases += sheet.cases

    def _toolbar(self) -> float:
        return -(31 if self.look.bookmarks else 0) - 20.5

    def _sheet(self, report: dict[str, Any], image: Image.Image, name: str) -> Sheet:
        image.save(self.folder / name)
        return Sheet(name, image.size, report, self._origin or (0.0, 0.0), self.rng)

    def _wait(self, number: int) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_S
        while True:
            report = self.desk.seen.get(timeout=max(0.1, deadline - time.monotonic()))
            if report["number"] == number:
                return report

    def _at(self, x: float, y: float) -> tuple[int, int]:
        left, top = self._origin or (0.0, 0.0)
        return round(left + x * self.look.scale), round(top + y * self.look.scale)

    def _do(self, *arguments: str) -> None:
        xdotool(self.on.display, *arguments, environment=self.on.environment)

    def _find_origin(self) -> tuple[float, float]:
        """Where the page begins on the screen: the pointer's place as the screen and as the page have it, told twice
        the same. (A loaded machine may tell of a pointer that has moved since.)
        """
        width, height = self.look.screen
        last: tuple[float, float] | None = None
        for part in (0.5, 0.52, 0.48, 0.5, 0.53, 0.47, 0.5):
            x, y = round(width * part), round(height * part)
            self._do("mousemove", str(x), str(y))
            time.sleep(0.5)
            sent = None
            while not self.desk.pointer.empty():
                sent = self.desk.pointer.get()
            if sent is None:
                continue
            found = x - sent["x"] * sent["ratio"], y - sent["y"] * sent["ratio"]
            if last is not None and max(abs(found[0] - last[0]), abs(found[1] - last[1])) <= SAME_ORIGIN:
                return found
            last = found
        raise RenderError("the page never saw the pointer, or not where it was")

    def _grab(self, *, patient: bool = True) -> Image.Image:
        """The screen; with the pointer out of the page's way where that closes nothing."""
        if patient:
            width, height = self.look.screen
            self._do("mousemove", str(width - 3), str(height // 2))
        try:
            return still_screen(self.on.display, patience_s=4.0).convert("RGB")
        except RenderError:  # a caret that blinks
            return ImageGrab.grab(xdisplay=self.on.display).convert("RGB")


def _changed(before: Image.Image, after: Image.Image, top: int) -> tuple[int, int, int, int] | None:
    """The largest box that changed under the row `top`; None where it is too small for a pop-up."""
    a, b = (np.asarray(image.convert("L"), np.int16) for image in (before, after))
    mask = (np.abs(a - b)[top:] > 6).astype(np.uint8)
    mask = cv2.dilate(mask, np.ones((15, 15), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    boxes = [(int(w * h), int(x), int(y), int(w), int(h)) for x, y, w, h, _ in stats[1:count]]
    if not boxes:
        return None
    _, x, y, w, h = max(boxes)
    if min(w, h) < POPUP_LEAST:
        return None
    return x + 14, top + y + 14, x + w - 14, top + y + h - 14


if __name__ == "__main__":
    sys.exit(main())
