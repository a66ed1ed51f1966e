"""Many reports: does each get the verdict on its own screen, does memory stay flat, do others get answers meanwhile?"""

from __future__ import annotations

import base64
import io
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import psutil
import uvicorn
from PIL import Image, ImageDraw

from benchmarks.clicks import FONTS, drawn, font_of
from benchmarks.figures import Figure, Goal
from benchmarks.options import Options, percentile, progress
from otel_validation.delivery.action import Action, Point
from otel_validation.plugin import default_validator
from otel_validation.server.app import create_app
from otel_validation.server.listen import listen
from otel_validation.settings import Settings
from otel_validation.validation.matrix import Row
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import FailureCategory, Finding, ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.validation.checker import Subject

NAME = "crowd"
AT_ONCE = 8
GROWTH, ANSWERS = Goal("<", 50.0), Goal("<", 200.0)
STREAM = "/api/v1/traces/stream/replay"
WARM_UP = 100
"""Validations after which everything that is made once has been made."""
SLOW_S = 3.0


def run(options: Options) -> list[Figure]:
    """Eight reports at once, two thousand one after the other, and polls beside a check that takes three seconds."""
    return [*_each_its_own(options), *_memory(options), *_answers(options)]


# Each report its own verdict


@dataclass(frozen=True, slots=True)
class Own:
    """A report whose screen shows a text that no other shows; it expects that, or the text of the one before."""

    text: str
    expected: str
    action: Action
    report: Report

    def got(self, result: ValidationResult) -> bool:
        """Whether the verdict is the one on this report: by the text that was read, and by what follows from it."""
        read = next(f.evidence.get("text_under_click") for f in result.findings if f.checker == "ocr_roi")
        right = (Verdict.COMPLETE, None), (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)
        return read == self.text and (result.verdict, result.category) == right[self.text != self.expected]


def own_reports(count: int) -> list[Own]:
    """So many of them: numbers of records, of which one never passes for another."""
    texts = [f"Dossier {4021 + 37 * number}" for number in range(count)]
    return [_own(text, texts[number - number % 2]) for number, text in enumerate(texts)]


async def all_at_once(validator: Validator, reports: list[Own]) -> int:
    """Validate them all at the same time; how many got their own verdict."""
    own: list[bool] = []

    async def validate(report: Own) -> None:
        own.append(report.got(await validator.validate(report.action, report.report)))

    async with anyio.create_task_group() as group:
        for report in reports:
            group.start_soon(validate, report)
    return sum(own)


def _own(text: str, expected: str) -> Own:
    image = Image.new("RGB", (800, 400), "white")
    ImageDraw.Draw(image).text((300, 190), text, fill="black", font=font_of(FONTS[0], 18))
    return Own(text, expected, *_click(image, Point(340 / 800, 200 / 400), expected))


def _click(image: Image.Image, at: Point, expected: str) -> tuple[Action, Report]:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    payload = {"action_id": "bench", "type": "click", "target_spec": {"by_text": expected}}
    report = Report(
        session_id="bench",
        action_id="bench",
        success=True,
        position=at,
        position_given=True,
        screenshot_after=base64.b64encode(buffer.getvalue()).decode("ascii"),
    )
    return Action("bench", "click", "bench", "bench", payload), report


def _each_its_own(options: Options) -> list[Figure]:
    rounds = options.rounds(50, 6)
    progress(f"{rounds} times {AT_ONCE} reports at once")
    reports = own_reports(rounds * AT_ONCE)

    async def validate() -> int:
        validator = default_validator(Settings(validator_workers=AT_ONCE))
        await validator.warm_up()
        return sum([await all_at_once(validator, reports[n : n + AT_ONCE]) for n in range(0, len(reports), AT_ONCE)])

    own = anyio.run(validate)
    every = float(len(reports))
    return [Figure(NAME, f"{AT_ONCE} at once, verdicts on their own screen of {every:.0f}", own, "", Goal(">=", every))]


# Memory


def _memory(options: Options) -> list[Figure]:
    count = options.rounds(2_000, 200)
    progress(f"{count:,} validations one after the other")
    subjects = [click.subject for click in drawn(10)]

    async def validate() -> float:
        validator, process = default_validator(Settings()), psutil.Process()
        await validator.warm_up()
        before = 0
        for number in range(WARM_UP + count):
            if number == WARM_UP:
                before = process.memory_info().rss
            subject = subjects[number % len(subjects)]
            await validator.judge(ReportSubject(subject.action, subject.report))
        return (process.memory_info().rss - before) / 1e6

    grown = anyio.run(validate)
    return [Figure(NAME, f"memory grown over {count:,} validations", grown, "MB", GROWTH)]


# Others meanwhile


class SlowChecker:
    """Computes for three seconds, in Python: it lets go of the interpreter only where that takes it away."""

    name = "ocr_roi"

    def warm_up(self) -> None:
        """Nothing to load."""

    def applies(self, subject: Subject) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def check(self, subject: Subject) -> Finding:  # noqa: ARG002
        """Take the time."""
        ends = time.monotonic() + SLOW_S
        while time.monotonic() < ends:
            pass
        return Finding(checker=self.name, verdict=Verdict.COMPLETE, confidence=0.9, reasoning="slept well")


def _answers(options: Options) -> list[Figure]:
    checks = options.rounds(4, 1)
    progress(f"polls and health beside {checks} checks of {SLOW_S:g} s")
    validator = Validator(
        [SlowChecker()], subject=ReportSubject, matrix={"click": Row(checks=("ocr_roi",), budget_s=30.0)}
    )
    polls: list[float] = []
    health: list[float] = []
    with _server(validator) as url, httpx.Client(base_url=url, timeout=30.0) as client:
        for number in range(checks):
            slow = threading.Thread(target=_report_something, args=(url, f"slow-{number}"))
            slow.start()
            while slow.is_alive():
                poll = {"session_id": f"other-{number}", "machine_id": "poste"}
                polls.append(_timed(partial(client.get, f"{STREAM}/next", params=poll)))
                health.append(_timed(partial(client.get, "/healthz")))
            slow.join()
    return [
        Figure(NAME, f"polls beside a check of {SLOW_S:g} s, p95", percentile(polls, 95) * 1e3, "ms", ANSWERS),
        Figure(NAME, f"health beside a check of {SLOW_S:g} s, p95", percentile(health, 95) * 1e3, "ms", ANSWERS),
    ]


def _report_something(url: str, session_id: str) -> None:
    action = {"action_id": "slow", "type": "click", "x_pct": 0.5, "y_pct": 0.5, "target_spec": {"by_text": "x"}}
    replay = {"workflow": "bench", "session_id": session_id, "machine_id": "poste", "actions": [action]}
    with httpx.Client(base_url=url, timeout=30.0) as client:
        client.post("/api/v1/replays", json=replay).raise_for_status()
        poll = client.get(f"{STREAM}/next", params={"session_id": session_id, "machine_id": "poste"})
        report: dict[str, Any] = {"session_id": session_id, "action_id": "slow", "success": True}
        report |= {"delivery_token": poll.json()["delivery"]["token"], "screenshot_after": "aGVsbG8="}
        answer = client.post(f"{STREAM}/result", json=report)
        if answer.json()["verdict"]["verdict"] != "complete":
            raise RuntimeError(answer.text)


def _timed(call: partial[httpx.Response]) -> float:
    began = time.perf_counter()
    call().raise_for_status()
    return time.perf_counter() - began


@contextmanager
def _server(validator: Validator) -> Iterator[str]:
    """The reference server on a free port, in a thread of its own."""
    with ExitStack() as stack:
        listener = listen("127.0.0.1", 0)
        stack.callback(listener.close)
        app = create_app(Settings(), validator=validator)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        stack.callback(thread.join)
        stack.callback(setattr, server, "should_exit", True)
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
