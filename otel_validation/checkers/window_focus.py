"""Is the window that the action acts in, in front? By window facts; by the title bar where none were sent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from otel_validation.errors import ImageError
from otel_validation.validation.expectation import ExpectedWindow, acting_window
from otel_validation.validation.matrix import kind_of
from otel_validation.validation.place import scale_of
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict, abstention
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.titlebar import read_title_bar
from otel_validation.vision.titles import Agreement, in_front

if TYPE_CHECKING:
    from otel_validation.validation.checker import Subject
    from otel_validation.vision.ocr.engine import OcrEngine

STAYS = frozenset(
    {
        "type",
        "type_secret",
        "paste_and_execute",
        "scroll",
        "wait",
        "verify_screen",
        "visual_condition",
        "screenshot_evidence",
        "extract_text",
        "extract_text_scroll",
        "extract_table",
    }
)
"""Types that open no other window: the one in front afterwards is the one that they acted in."""
BY_FACTS, BY_TITLE_BAR = 0.9, 0.75
"""Confidences: what the operating system says, and what is read of it."""
LOST = 0.6
"""An agent may as well describe the window that it looked for, not the one in front."""


class WindowFocusChecker:
    """TERMINATE (`wrong_application`) where another window was in front when the action acted.

    The expected window is `window_title` and `application` of the action (see `expectation.acting_window`). Facts go
    first: `title_before`, or for types that open nothing (`STAYS`) `title` and `process`. Where none were sent, the
    title bar along the upper edge of the screen before is read (of the one after, for those types). A window that has
    lost the focus by the facts gives CONTINUE. The right window proves no effect; where nothing can be told the
    checker abstains.

    Evidence: `expected` ({title, application}), `seen` (list of str: titles and program), `by` (`facts`, `title_bar` or
    None), `agreement` (str). It holds what the screen shows: it stays in the process.
    """

    name = "window_focus"

    def __init__(self, engine: OcrEngine | None = None) -> None:
        self._engine: OcrEngine = engine or PpOcrEngine()

    def warm_up(self) -> None:
        """Load the OCR weights."""
        self._engine.warm_up()

    def applies(self, subject: Subject) -> bool:
        """Whether the action names its window, and there are facts or a screenshot."""
        report = subject.report
        return acting_window(subject.action) is not None and (report.window is not None or report.has_screenshot)

    def check(self, subject: Subject) -> Finding:
        """Judge one report; see the class for the rules and the evidence."""
        expected = acting_window(subject.action) or ExpectedWindow()
        stays = kind_of(subject.action) in STAYS
        found, seen, by = self._by_facts(subject, expected, stays=stays)
        if found is Agreement.UNSURE and not seen:
            found, seen, by = self._by_title_bar(subject, expected, stays=stays)
        evidence = {
            "expected": {"title": expected.title, "application": expected.application},
            "seen": seen,
            "by": by,
            "agreement": found.value,
        }
        confidence = BY_FACTS if by == "facts" else BY_TITLE_BAR
        finding = partial(Finding, checker=self.name, evidence=evidence)
        facts = subject.report.window
        if found is Agreement.OTHER:
            category = FailureCategory.WRONG_APPLICATION
            reasoning = "another window was in front"
            return finding(verdict=Verdict.TERMINATE, confidence=confidence, category=category, reasoning=reasoning)
        if stays and facts is not None and facts.foreground is False:
            category = FailureCategory.WRONG_APPLICATION
            reasoning = "the window has lost the focus"
            return finding(verdict=Verdict.CONTINUE, confidence=LOST, category=category, reasoning=reasoning)
        if found is Agreement.UNSURE:
            return abstention(self.name, "the window in front cannot be told", evidence)
        reasoning = "the expected window was in front"
        return finding(verdict=Verdict.COMPLETE, confidence=confidence, reasoning=reasoning, proof=False)

    @staticmethod
    def _by_facts(
        subject: Subject, expected: ExpectedWindow, *, stays: bool
    ) -> tuple[Agreement, list[str], str | None]:
        facts = subject.report.window
        if facts is None:
            return Agreement.UNSURE, [], None
        shown = facts.title_before if facts.title_before is not None else facts.title if stays else None
        process = facts.process if stays else None
        found = in_front(
            title=expected.title, application=expected.application, shown=shown, process=process, exact=True
        )
        return found, [text for text in (shown, process) if text is not None], "facts"

    def _by_title_bar(
        self, subject: Subject, expected: ExpectedWindow, *, stays: bool
    ) -> tuple[Agreement, list[str], str | None]:
        try:
            frame = subject.before or (subject.after if stays else None)
        except ImageError:
            frame = None
        if frame is None:
            return Agreement.UNSURE, [], None
        bar = read_title_bar(frame, scale_of(subject.report, frame.size), self._engine)
        found = bar.agreement(title=expected.title, application=expected.application)
        return found, list(bar.lines), "title_bar"
