"""What judging a whole report costs, against decoding its screenshots and the OCR check alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median

import cv2
from anyio.from_thread import start_blocking_portal

from benchmarks.figures import Figure, Goal
from benchmarks.ocr import Step, recorded_steps
from benchmarks.options import Options, one_core, progress
from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.plugin import default_validator
from otel_validation.settings import Settings
from otel_validation.vision.ocr.ppocr import PpOcrEngine

NAME = "whole"
GOAL = Goal("<=", 1.5)


@dataclass(slots=True)
class _Timed:
    """Seconds of a kind of report, step by step: judged as a whole, and decoded and read alone."""

    whole: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return median(a / b for a, b in zip(self.whole, self.floor, strict=True))


def run(options: Options) -> list[Figure]:
    """Seconds from a report's base64 to its verdict, by every checker of the matrix, over those of the floor.

    The floor is the same report's screenshots decoded, and the OCR check on them. One core; the recorded steps, once
    with the screenshot after the action alone and once with both. Each step's two times are taken one after the other,
    in turns, and the ratio is the median of theirs.
    """
    steps, rounds = recorded_steps(), options.rounds(9, 2)
    kinds = {"screenshot after": [_after_only(step) for step in steps], "screenshots before and after": steps}
    progress(f"{len(steps)} recorded steps, {rounds} rounds")
    threads = cv2.getNumThreads()
    with ExitStack() as stack:
        stack.enter_context(one_core())
        stack.callback(cv2.setNumThreads, threads)
        cv2.setNumThreads(1)
        portal = stack.enter_context(start_blocking_portal())
        validator, checker = default_validator(Settings()), OcrRoiChecker(PpOcrEngine())
        portal.call(validator.warm_up)
        checker.warm_up()
        judge = partial(portal.call, validator.validate)
        figures: list[Figure] = []
        for kind, them in kinds.items():
            calls = [(partial(judge, s.action, s.report), partial(_decode_and_read, checker, s)) for s in them]
            with options.profiled(f"whole validations, {kind}"):
                figures += _figures(kind, _measure(calls, rounds))
        return figures


def _measure(calls: list[tuple[Callable[[], object], Callable[[], object]]], rounds: int) -> _Timed:
    timed = _Timed()
    for whole, floor in calls:
        whole()
        floor()
    for number in range(rounds):
        for whole, floor in calls:
            pair = ((whole, timed.whole), (floor, timed.floor))
            for call, times in pair if number % 2 else pair[::-1]:
                times.append(_seconds(call))
    return timed


def _figures(kind: str, timed: _Timed) -> list[Figure]:
    return [
        Figure(NAME, f"{kind}, whole validation, median", median(timed.whole) * 1e3, "ms"),
        Figure(NAME, f"{kind}, decoding and the OCR check, median", median(timed.floor) * 1e3, "ms"),
        Figure(NAME, f"{kind}, whole / decoding and OCR check", timed.ratio, "x", GOAL),
    ]


def _decode_and_read(checker: OcrRoiChecker, step: Step) -> object:
    return checker.check(step.subject())


def _after_only(step: Step) -> Step:
    return replace(step, report=replace(step.report, screenshot_before=None))


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
