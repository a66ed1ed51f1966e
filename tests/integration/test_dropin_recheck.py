"""E03 whole: a legacy host behind a real uvicorn, a legacy agent, real screens that take their time.

The agent takes its screenshot too early. It is asked for another one, never for another click.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import pytest
from http_kit import METRICS, NEXT, RESULT, Site, a_site, click, serving
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from PIL import Image, ImageDraw
from screen_kit import encoded, screen

from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.clock import SystemClock
from otel_validation.validation.matrix import Row
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict

TABS = ((60, 120, "Dossier"), (180, 120, "Imagerie"), (310, 120, "Biologie"))
AT = {"x_pct": 200.5 / 1280, "y_pct": 128.5 / 800}
DELAY_S = 0.2


def before() -> Image.Image:
    return screen(*TABS, text_size=15)


def page() -> Image.Image:
    return screen(*TABS, (60, 200, "Radiographie du thorax"), text_size=15)


def spinner() -> Image.Image:
    image = screen()
    ImageDraw.Draw(image).arc((610, 370, 670, 430), 30, 300, fill=(90, 90, 200), width=6)
    return image


class Changed:
    """Whether anything on the screen changed, pixel by pixel."""

    name = "changed"

    def applies(self, subject: Any) -> bool:
        return subject.report.screenshot_before is not None

    def check(self, subject: Any) -> Finding:
        whole = (0.0, 0.0, float(subject.before.width), float(subject.before.height))
        same = np.array_equal(subject.before.crop(whole), subject.after.crop(whole))
        return Finding(
            checker=self.name,
            verdict=Verdict.CONTINUE if same else Verdict.COMPLETE,
            confidence=0.95,
            reasoning="",
            category=FailureCategory.NO_VISUAL_CHANGE if same else None,
        )

    def warm_up(self) -> None: ...


@dataclass
class LegacyAgent:
    """Knows actions by their type, no tokens and no looks; clicks what is a click, photographs what is a screenshot."""

    client: httpx.Client
    screens: list[Image.Image]
    before: Image.Image | None = None
    clicks: list[str] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)

    def work(self, times: int) -> None:
        """Poll, do it, report; `times` actions, of whatever kind."""
        for _ in range(times):
            action = None
            while action is None:
                polled = self.client.get(NEXT, params={"session_id": "s", "machine_id": "m", "wait_s": 5}).json()
                assert polled["replay_paused"] is False
                action = polled["action"]
            self.answers.append(self.client.post(RESULT, json=self.done(action)).json())

    def done(self, action: dict[str, Any]) -> dict[str, Any]:
        report = {"session_id": "s", "action_id": action["action_id"], "success": True}
        if action["type"] == "click":
            self.clicks.append(action["action_id"])
            report |= {"actual_position": AT, "label": "Imagerie"}
            if self.before is not None:
                report["screenshot_before"] = encoded(self.before)
        return {**report, "screenshot_after": encoded(self.screens.pop(0))}

    @property
    def routes(self) -> list[str]:
        return [answer["route"] for answer in self.answers]


@pytest.fixture(scope="module")
def ocr() -> OcrRoiChecker:
    checker = OcrRoiChecker()
    checker.warm_up()
    return checker


@contextmanager
def world(*checkers: Any, **settings: Any) -> Iterator[tuple[Site, httpx.Client, InMemorySpanExporter]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    matrix = {"click": Row(checks=tuple(checker.name for checker in checkers))}
    site = a_site(
        clock=SystemClock(),
        settings={"validator_recheck_delay_s": DELAY_S, **settings},
        validator=Validator(checkers, subject=ReportSubject, matrix=matrix),
        tracer_provider=provider,
    )
    site.queue(click("act_1", target_spec={"by_text": "Imagerie"}), click("act_2"))
    with serving(site.app) as server, httpx.Client(base_url=server.url, timeout=15) as client:
        yield site, client, exporter


def of_first_step(exporter: InMemorySpanExporter) -> list[str]:
    """The names of the spans of act_1 and of the looks after it, checks left out."""
    of = [
        span.name
        for span in exporter.get_finished_spans()
        if "act_1" in (span.attributes.get("rpa.action.id"), span.attributes.get("rpa.look.of"))
    ]
    return sorted(name for name in of if not name.startswith("check "))


def judged_on(site: Site) -> list[tuple[Any, ...]]:
    return [(told["action_id"], told["success"], told["error"]) for told in site.told]


@pytest.mark.parametrize(
    ("screens", "taken_before"),
    [
        ([spinner, page], None),
        ([spinner, spinner, page], None),
        ([before, page], before),
    ],
    ids=["spinner", "spinner for long", "as before"],
)
def test_e03_the_effect_that_shows_late_is_a_success_of_one_click(ocr, screens, taken_before):
    """E03: CONTINUE on the first screenshot, looks, COMPLETE on the last; no resend, no second click, no TERMINATE."""
    with world(ocr, Changed()) as (site, client, exporter):
        shots = [make() for make in screens]
        agent = LegacyAgent(client, list(shots), taken_before() if taken_before else None)
        agent.work(len(screens))
        counters = client.get(METRICS).json()["watchdog"]
        polled = client.get(NEXT, params={"session_id": "s", "machine_id": "m"}).json()
    assert agent.clicks == ["act_1"]
    assert agent.routes == ["recheck"] * (len(screens) - 1) + ["continue"]
    verdicts = [answer["verdict"]["verdict"] for answer in agent.answers]
    assert verdicts == ["continue"] * (len(screens) - 1) + ["complete"]
    assert agent.answers[-1]["received"] == "act_1"
    assert judged_on(site) == [("act_1", True, None)]
    assert site.told[0]["screenshot_after"] == encoded(shots[-1])
    assert site.told[0]["label"] == "Imagerie"
    assert polled["action"]["action_id"] == "act_2"
    assert counters["rechecks_total"] == len(screens) - 1
    assert counters["orphans_resent_total"] == counters.get("verdicts_terminate_total", 0) == 0
    assert counters["verdicts_complete_total"] == 1
    assert of_first_step(exporter) == sorted(
        ["dispatch click", "report click", "step click"]
        + ["dispatch screenshot_evidence", "report screenshot_evidence"] * (len(screens) - 1)
        + ["validate click", "verdict click"] * len(screens)
    )


def test_e03_an_effect_that_never_shows_pauses_after_two_looks(ocr):
    """E03: the recheck is bounded."""
    with world(ocr, Changed()) as (site, client, _):
        agent = LegacyAgent(client, [spinner(), spinner(), spinner()])
        agent.work(3)
        polled = client.get(NEXT, params={"session_id": "s", "machine_id": "m"}).json()
    assert agent.clicks == ["act_1"]
    assert agent.routes == ["recheck", "recheck", "pause"]
    assert judged_on(site) == [("act_1", False, "validator_continue: ocr_text_missing")]
    assert polled["replay_paused"] is True


def test_a_poll_is_held_until_the_look_is_due(ocr):
    with world(ocr, validator_recheck_delay_s=0.4) as (site, client, _):
        agent = LegacyAgent(client, [spinner()])
        agent.work(1)
        at_once = client.get(NEXT, params={"session_id": "s", "machine_id": "m"}).json()
        look = client.get(NEXT, params={"session_id": "s", "machine_id": "m", "wait_s": 10})
    assert at_once == {"action": None, "replay_paused": False}
    assert look.json()["action"]["look_of"] == "act_1"
    assert look.elapsed.total_seconds() < 5
    assert site.told == []


def test_a_look_whose_answer_is_lost_is_handed_out_again(ocr):
    with world(ocr, watchdog_timeouts_s={"screenshot_evidence": 0.3}) as (site, client, _):
        agent = LegacyAgent(client, [spinner(), page()])
        agent.work(1)
        lost = client.get(NEXT, params={"session_id": "s", "machine_id": "m", "wait_s": 10}).json()
        agent.work(1)
    assert lost["delivery"]["attempt"] == 1
    assert agent.answers[-1]["delivery"]["attempt"] == 2
    assert (agent.clicks, judged_on(site)) == (["act_1"], [("act_1", True, None)])
