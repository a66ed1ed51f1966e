"""How long the OCR check of one click takes on one core, and what of it no check could save."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from statistics import median
from typing import Any

import cv2

from benchmarks.figures import Figure, Goal
from benchmarks.options import Options, one_core, percentile, progress
from otel_validation.checkers.ocr_roi import NEAREST, OcrRoiChecker
from otel_validation.delivery.action import Action
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.vision.image import Frame, decode_base64, decode_frame
from otel_validation.vision.ocr.ppocr import PpOcrEngine

NAME = "ocr"
GOAL = Goal("<", 30.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded click, its screens as an agent sends them."""

    name: str
    action: Action
    report: Report

    def subject(self) -> ReportSubject:
        """A subject whose screens are not decoded yet."""
        return ReportSubject(self.action, self.report)


def run(options: Options) -> list[Figure]:
    """Milliseconds a check over the recorded steps: on decoded screens (the goal), and from base64.

    One core, one thread. Beside them what a check is made of at least: decoding one screen, and one pass of the OCR
    engine over the region around the click.
    """
    steps, rounds = recorded_steps(), options.rounds(12, 2)
    engine = PpOcrEngine()
    checker = OcrRoiChecker(engine)
    progress(f"{len(steps)} recorded steps, {rounds} rounds")
    threads = cv2.getNumThreads()
    try:
        with one_core():
            cv2.setNumThreads(1)
            checker.warm_up()
            return _measure(steps, rounds, checker, engine, options)
    finally:
        cv2.setNumThreads(threads)


def _measure(
    steps: list[Step], rounds: int, checker: OcrRoiChecker, engine: PpOcrEngine, options: Options
) -> list[Figure]:
    decoded = [_decoded(step) for step in steps]
    findings = [checker.check(subject) for subject in decoded]
    with options.profiled("OCR checks on decoded screens"):
        checks = _times(rounds, [lambda s=subject: checker.check(s) for subject in decoded])
    whole = _times(max(2, rounds // 3), [lambda s=step: checker.check(s.subject()) for step in steps])
    decodes = _times(max(2, rounds // 3), [lambda t=text: _decode(t) for text in _screens(steps)])
    passes = _times(
        rounds,
        [_one_pass(engine, s, f.evidence) for s, f in zip(decoded, findings, strict=True) if "roi" in f.evidence],
    )
    slowest = max(range(len(steps)), key=lambda i: median(checks[i :: len(steps)]))
    return [
        Figure(NAME, "check on decoded screens, median", median(checks) * 1e3, "ms", GOAL),
        Figure(NAME, "check on decoded screens, p95", percentile(checks, 95) * 1e3, "ms"),
        Figure(
            NAME,
            f"check on decoded screens, slowest step ({steps[slowest].name})",
            _of(checks, slowest, len(steps)),
            "ms",
        ),
        Figure(NAME, "check with decoding, median", median(whole) * 1e3, "ms"),
        Figure(NAME, "check with decoding, p95", percentile(whole, 95) * 1e3, "ms"),
        Figure(NAME, "floor: decoding one screen, median", median(decodes) * 1e3, "ms"),
        Figure(NAME, "floor: one OCR pass at the click, median", median(passes) * 1e3, "ms"),
    ]


def _of(times: list[float], index: int, count: int) -> float:
    return median(times[index::count]) * 1e3


def _times(rounds: int, calls: list[Callable[[], object]]) -> list[float]:
    """Seconds of each call, every call once a round."""
    times = []
    for _ in range(rounds):
        for call in calls:
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
    return times


def recorded_steps() -> list[Step]:
    """The demo's recorded steps, with both screenshots."""
    folder = files("otel_validation.cli").joinpath("demo_data")
    recorded = json.loads(folder.joinpath("replay.json").read_text("utf-8"))

    def screen(name: str) -> str:
        return base64.b64encode(folder.joinpath(name).read_bytes()).decode("ascii")

    return [_step(step, screen(step["before"]), screen(step["after"])) for step in recorded["steps"]]


def _step(step: dict[str, Any], before: str, after: str) -> Step:
    body = {
        "session_id": "bench",
        "action_id": step["action"]["action_id"],
        "success": step["success"],
        "actual_position": step["actual_position"],
        "screenshot_before": before,
        "screenshot_after": after,
    }
    action = Action.from_json(step["action"], session_id="bench", machine_id="bench")
    report = Report.from_json(body)
    if action is None or report is None:
        msg = f"the recorded step {step['name']} is a whole one"
        raise AssertionError(msg)
    return Step(step["name"], action, report)


def _decoded(step: Step) -> ReportSubject:
    subject = step.subject()
    _ = subject.before, subject.after
    return subject


def _screens(steps: list[Step]) -> list[str]:
    texts = (text for s in steps for text in (s.report.screenshot_before, s.report.screenshot_after))
    return sorted({text for text in texts if text is not None})


def _decode(text: str) -> Frame:
    return decode_frame(decode_base64(text))


def _one_pass(engine: PpOcrEngine, subject: ReportSubject, evidence: Any) -> Callable[[], object]:  # noqa: ANN401
    """The engine alone, on the region that the check looked at."""
    frame = subject.before if evidence["frame"] == "before" else subject.after
    if frame is None:
        msg = "the check looked at a frame that is there"
        raise AssertionError(msg)
    x0, y0, _, _ = roi = evidence["roi"]
    near = (evidence["click_px"][0] - x0 + 0.5, evidence["click_px"][1] - y0 + 0.5)
    pixels = frame.crop(tuple(roi))
    return lambda: engine.read(pixels, near=near, limit=NEAREST)
