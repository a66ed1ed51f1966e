"""What every checker owes the Validator: one suite over all that are built in."""

from __future__ import annotations

import base64
import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
from PIL import Image

from otel_validation import Action, Finding, Point, Report, Settings, Verdict
from otel_validation.checkers.dialog_presence import DialogPresenceChecker
from otel_validation.checkers.json_schema import JsonSchemaChecker
from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.checkers.pixel_diff import PixelDiffChecker
from otel_validation.checkers.similarity import SimilarityChecker
from otel_validation.checkers.title_bar import TitleBarChecker
from otel_validation.checkers.window_focus import WindowFocusChecker
from otel_validation.errors import ImageError
from otel_validation.plugin import default_validator
from otel_validation.validation.checker import Checker
from otel_validation.validation.matrix import MATRIX
from otel_validation.validation.subject import ReportSubject

CHECKERS: list[Checker] = [
    OcrRoiChecker(),
    JsonSchemaChecker(),
    PixelDiffChecker(),
    SimilarityChecker(),
    DialogPresenceChecker(),
    TitleBarChecker(),
    WindowFocusChecker(),
]
MEMBERS = [name for name, member in vars(Checker).items() if callable(member) and not name.startswith("_")]
CENTRE = Point(0.5, 0.5)


def png(colour: str = "white", size: tuple[int, int] = (640, 400)) -> str:
    buffer = BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def subject(*, before=None, after=None, position=CENTRE, payload=None) -> ReportSubject:
    action = Action("a1", "click", "s1", "m1", payload or {"target_spec": {"by_text": "Imagerie"}})
    report = Report(
        session_id="s1",
        action_id="a1",
        success=True,
        position=position,
        position_given=position is not None,
        screenshot_before=before,
        screenshot_after=after,
    )
    return ReportSubject(action, report)


@pytest.fixture(params=CHECKERS, ids=lambda checker: checker.name, scope="module")
def checker(request) -> Checker:
    request.param.warm_up()
    return request.param


def is_sound(finding: Finding, checker: Checker) -> bool:
    json.dumps(dict(finding.evidence), allow_nan=False)
    return finding.checker == checker.name and 0 <= finding.confidence <= 1 and bool(finding.reasoning)


def test_every_checker_that_is_built_in_is_under_this_suite_and_in_the_matrix():
    named = {name for row in MATRIX.values() for name in row.checkers}
    built_in = set(default_validator(Settings()).names)
    assert built_in == {checker.name for checker in CHECKERS}
    assert built_in <= named


def test_it_has_what_the_protocol_names(checker):
    assert {"applies", "check", "warm_up"} <= set(MEMBERS)
    assert all(callable(getattr(checker, member)) for member in MEMBERS)
    assert not inspect.iscoroutinefunction(checker.check), "check runs in a worker thread"


def test_it_does_not_apply_without_evidence(checker):
    assert checker.applies(subject()) is False


@pytest.mark.parametrize("broken", ["not base64 !", base64.b64encode(b"no image").decode(), "/etc/passwd"])
def test_an_unreadable_screenshot_is_no_success(checker, broken):
    try:
        finding = checker.check(subject(after=broken))
    except ImageError:
        return
    assert finding.verdict is Verdict.CONTINUE
    assert not finding.verified


@pytest.mark.parametrize("position", [Point(0.0, 0.0), Point(1.0, 1.0), Point(-3.0, 0.5), Point(1e9, 1e9), None])
def test_any_position_gives_a_sound_finding_and_an_empty_screen_no_success(checker, position):
    finding = checker.check(subject(after=png(), position=position))
    assert is_sound(finding, checker)
    assert finding.verdict is not Verdict.COMPLETE


@pytest.mark.parametrize(
    "payload",
    [
        {"target_spec": {"by_text": "x" * 10_000}},
        {"by_text": "\ud83e"},
        {"by_text": "٣"},
        {"by_text": ["Imagerie", 3], "accent_sensitive": True, "case_sensitive": True},
        {"by_text_pattern": "("},
        {"by_text_pattern": "(a+)+$"},
    ],
)
def test_any_expected_text_gives_a_sound_finding(checker, payload):
    finding = checker.check(subject(after=png(), payload=payload))
    assert is_sound(finding, checker)
    assert finding.verdict is not Verdict.COMPLETE


def test_screens_of_different_sizes_are_no_reason_to_fail(checker):
    finding = checker.check(subject(before=png(size=(1, 1)), after=png(size=(3000, 10))))
    assert is_sound(finding, checker)
    assert finding.verdict is not Verdict.COMPLETE


def test_it_can_be_called_from_several_threads_at_once(checker):
    subjects = [subject(after=png(colour)) for colour in ("white", "grey", "navy", "olive") * 4]
    with ThreadPoolExecutor(8) as pool:
        findings = list(pool.map(checker.check, subjects))
    assert all(is_sound(finding, checker) for finding in findings)
