"""The OCR check with each engine on the same clicks: how long it takes on one core, and how often it is right."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

import cv2

from benchmarks.clicks import Click, drawn, real
from benchmarks.figures import Figure, Goal
from benchmarks.options import Options, one_core, progress
from otel_validation.checkers.ocr_roi import NEAREST, OcrRoiChecker
from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.registry import DEFAULT, ENGINES, make_engine

if TYPE_CHECKING:
    from otel_validation.validation.verdict import Finding

NAME = "engines"
RIVAL = "easyocr"
FASTER = Goal(">=", 10.0)
NO_WORSE = Goal(">=", 0.0)
ROOT = Path(__file__).resolve().parents[1]
RIVALS_PYTHON = ROOT / ".venv-easyocr" / "bin" / "python"


class Contestant:
    """An engine, its checker, and what was measured of them: seconds, and right or not by kind of screen."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.checks: list[float] = []
        self.reads: list[float] = []
        self.right: dict[str, list[bool]] = {}
        self.engine = make_engine(name)
        self.checker = OcrRoiChecker(self.engine)
        self.checker.warm_up()

    def judge(self, screens: str, click: Click) -> Finding:
        """Check one click, timed and marked."""
        began = time.perf_counter()
        finding = self.checker.check(click.subject)
        self.checks.append(time.perf_counter() - began)
        self.right.setdefault(screens, []).append(click.right(finding))
        return finding

    def read(self, click: Click, evidence: Finding) -> None:
        """Read the region that a finding looked at, timed: the engine alone."""
        frame, roi = click.subject.after, evidence.evidence["roi"]
        x, y = (at - corner for at, corner in zip(evidence.evidence["click_px"], roi, strict=False))
        if frame is None:
            raise AssertionError("a click has its screen")
        pixels = frame.crop(tuple(roi))
        began = time.perf_counter()
        self.engine.read(pixels, near=(x, y), limit=NEAREST)
        self.reads.append(time.perf_counter() - began)

    def share(self, screens: str) -> float:
        """Per cent of right verdicts."""
        return 100 * mean(self.right[screens])


def run(options: Options) -> list[Figure]:
    """The engines that load here, or those that load where EasyOCR is installed, if that is elsewhere.

    They take turns on every click, each on one core with one thread.
    """
    if importlib.util.find_spec(RIVAL) is None and RIVALS_PYTHON.exists():
        return _elsewhere(options)
    with _one_thread():
        contestants = list(_contestants())
        screens = _clicks(options)
        for kind, clicks in screens.items():
            progress(f"{len(clicks)} clicks on {kind} screens, with {', '.join(c.name for c in contestants)}")
            for click in clicks:
                _ = click.subject.after
                findings = [contestant.judge(kind, click) for contestant in contestants]
                looked = next((f for f in findings if "roi" in f.evidence), None)
                for contestant in contestants if looked else ():
                    contestant.read(click, looked)
    return figures({c.name: c for c in contestants})


def _clicks(options: Options) -> dict[str, list[Click]]:
    kinds = {"drawn": drawn(options.rounds(24, 4)), "real": real(options.rounds(4, 20))}
    return {kind: clicks for kind, clicks in kinds.items() if clicks}


def _contestants() -> Iterator[Contestant]:
    for name in ENGINES:
        try:
            yield Contestant(name)
        except OcrUnavailableError as error:
            progress(str(error))


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = cv2.getNumThreads()
    with one_core():
        cv2.setNumThreads(1)
        if importlib.util.find_spec("torch") is not None:
            import torch

            torch.set_num_threads(1)
        try:
            yield
        finally:
            cv2.setNumThreads(threads)


def figures(contestants: dict[str, Contestant]) -> list[Figure]:
    """What each took and had right, then the embedded engine against EasyOCR."""
    found = [figure for contestant in contestants.values() for figure in _of(contestant)]
    if RIVAL not in contestants:
        return [*found, Figure(NAME, f"{RIVAL} is not installed here (make easyocr)", None, "")]
    ours, theirs = contestants[DEFAULT], contestants[RIVAL]
    found.append(Figure(NAME, f"check: {RIVAL} / {DEFAULT}", median(theirs.checks) / median(ours.checks), "x", FASTER))
    found.append(Figure(NAME, f"region alone: {RIVAL} / {DEFAULT}", median(theirs.reads) / median(ours.reads), "x"))
    literal = median(theirs.reads) / median(ours.checks)
    found.append(Figure(NAME, f"region alone with {RIVAL} / whole check with {DEFAULT}", literal, "x"))
    for kind in ours.right:
        points = ours.share(kind) - theirs.share(kind)
        found.append(Figure(NAME, f"right on {kind} screens: {DEFAULT} - {RIVAL}", points, "points", NO_WORSE))
    return found


def _of(contestant: Contestant) -> Iterator[Figure]:
    name = contestant.name
    yield Figure(NAME, f"{name}: check, median", median(contestant.checks) * 1e3, "ms")
    yield Figure(NAME, f"{name}: region alone, median", median(contestant.reads) * 1e3, "ms")
    for kind in contestant.right:
        yield Figure(NAME, f"{name}: right on {kind} screens", contestant.share(kind), "%")


def _elsewhere(options: Options) -> list[Figure]:
    """The same in EasyOCR's own environment."""
    progress(f"in {RIVALS_PYTHON.parent.parent.name}, where {RIVAL} is")
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "figures.json"
        command = [str(RIVALS_PYTHON), "-m", "benchmarks", "--only", NAME, "--json", str(answer)]
        subprocess.run([*command, *(["--short"] if options.short else [])], cwd=ROOT, check=True, stdout=sys.stderr)
        return [Figure.from_json(figure) for figure in json.loads(answer.read_text("utf-8"))["figures"]]
