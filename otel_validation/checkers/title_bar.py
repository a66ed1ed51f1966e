"""Did the window that the action leads to, come to the front? By titles before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from otel_validation.errors import ImageError
from otel_validation.validation.expectation import ExpectedWindow, resulting_window
from otel_validation.validation.place import scale_of
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict, abstention
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.titlebar import read_title_bar
from otel_validation.vision.titles import Agreement, in_front, is_hung

if TYPE_CHECKING:
    from otel_validation.validation.checker import Subject
    from otel_validation.validation.window import WindowFacts
    from otel_validation.vision.ocr.engine import OcrEngine

BY_FACTS, BY_TITLE_BAR = 0.9, 0.75
"""Confidences: what the operating system says, and what is read of it."""
HUNG = 0.8
CHANGED = 0.6
"""Confidence in an effect of which nothing is known but that the title is another one."""


class TitleBarChecker:
    """COMPLETE where the expected window came to the front, TERMINATE (`wrong_application`) where another one did.

    The expected window is `expected_window_title` and `expected_application` of the action (see
    `expectation.resulting_window`), compared by whole parts of titles: a name in the midst of a document's title is
    none. The facts `title` and `process` go first; where none were sent, the title bar along the upper edge of the
    screen after is read. Another document of the right application proves nothing, a window that does not respond is
    CONTINUE (`ui_loading`). Without an expected window a title that changed is a weak proof, one that stayed is none.
    Where nothing can be told the checker abstains.

    Evidence: `expected` ({title, application} or None), `before`, `after` (list of str), `by` (`facts`, `title_bar` or
    None), `agreement` (str or None). It holds what the screen shows: it stays in the process.
    """

    name = "title_bar"

    def __init__(self, engine: OcrEngine | None = None) -> None:
        self._engine: OcrEngine = engine or PpOcrEngine()

    def warm_up(self) -> None:
        """Load the OCR weights."""
        self._engine.warm_up()

    def applies(self, subject: Subject) -> bool:
        """Whether the action names the window that it leads to, or the facts tell the titles before and after."""
        facts, report = subject.report.window, subject.report
        if resulting_window(subject.action) is not None:
            return facts is not None or report.screenshot_after is not None
        return facts is not None and facts.title is not None and facts.title_before is not None

    def check(self, subject: Subject) -> Finding:
        """Judge one report; see the class for the rules and the evidence."""
        facts, expected = subject.report.window, resulting_window(subject.action)
        evidence: dict[str, Any] = {"expected": None, "before": [], "after": [], "by": None, "agreement": None}
        if facts is not None:
            evidence |= {
                "before": _known(facts.title_before),
                "after": _known(facts.title, facts.process),
                "by": "facts",
            }
            if facts.title is not None and is_hung(facts.title):
                return Finding(
                    checker=self.name,
                    verdict=Verdict.CONTINUE,
                    confidence=HUNG,
                    reasoning="the window does not respond",
                    category=FailureCategory.UI_LOADING,
                    evidence=evidence,
                )
        if expected is None:
            return self._change(facts, evidence)
        evidence["expected"] = {"title": expected.title, "application": expected.application}
        found = Agreement.UNSURE if facts is None else _by_facts(facts, expected)
        if not evidence["after"]:
            found = self._by_title_bar(subject, expected, evidence)
        evidence["agreement"] = found.value
        return self._conclude(found, evidence)

    def _change(self, facts: WindowFacts | None, evidence: dict[str, Any]) -> Finding:
        if facts is None or facts.title is None or facts.title_before is None:
            return abstention(self.name, "nothing says which window is expected", evidence)
        changed = facts.title != facts.title_before
        return Finding(
            checker=self.name,
            verdict=Verdict.COMPLETE,
            confidence=CHANGED if changed else BY_FACTS,
            reasoning="the title changed" if changed else "the title stayed as it was",
            proof=changed,
            evidence=evidence,
        )

    def _conclude(self, found: Agreement, evidence: dict[str, Any]) -> Finding:
        finding = partial(
            Finding,
            checker=self.name,
            confidence=BY_FACTS if evidence["by"] == "facts" else BY_TITLE_BAR,
            evidence=evidence,
        )
        if found is Agreement.SAME:
            return finding(verdict=Verdict.COMPLETE, reasoning="the expected window is in front")
        if found is Agreement.PART:
            reasoning = "the expected application is in front, with another document"
            return finding(verdict=Verdict.COMPLETE, reasoning=reasoning, proof=False)
        if found is Agreement.OTHER:
            category = FailureCategory.WRONG_APPLICATION
            return finding(verdict=Verdict.TERMINATE, reasoning="another window is in front", category=category)
        return abstention(self.name, "the window in front cannot be told", evidence)

    def _by_title_bar(self, subject: Subject, expected: ExpectedWindow, evidence: dict[str, Any]) -> Agreement:
        try:
            frame = subject.after
        except ImageError:
            frame = None
        if frame is None:
            return Agreement.UNSURE
        bar = read_title_bar(frame, scale_of(subject.report, frame.size), self._engine)
        evidence |= {"after": list(bar.lines), "by": "title_bar"}
        found = bar.agreement(title=expected.title, application=expected.application)
        # Of a tab strip it is not known which tab is in front.
        return found if bar.whole else Agreement.UNSURE


def _by_facts(facts: WindowFacts, expected: ExpectedWindow) -> Agreement:
    return in_front(
        title=expected.title,
        application=expected.application,
        shown=facts.title,
        process=facts.process,
        exact=True,
    )


def _known(*texts: str | None) -> list[str]:
    return [text for text in texts if text is not None]
