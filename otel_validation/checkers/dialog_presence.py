"""Dialogs in the way: is something over the page that the action did not expect?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from otel_validation.errors import UnplacedError, UnusableExpectationError
from otel_validation.validation.expectation import expected_text, expects_text
from otel_validation.validation.matrix import kind_of
from otel_validation.validation.place import place_of, scale_of
from otel_validation.validation.screens import Screens, Unusable, screens_of
from otel_validation.validation.verdict import Conclusion, FailureCategory, Finding, Verdict
from otel_validation.vision.dialogs import Dialog, Kind, find_dialogs, find_menu
from otel_validation.vision.expected import ExpectedText
from otel_validation.vision.labels import shows
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.region import box_around, labels_in
from otel_validation.vision.text import fold

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.checker import Subject
    from otel_validation.validation.place import Place
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box, OcrEngine, TextBox

ZOOM = 1.5
"""A dialog is read at this scale at least (small letters are lost below)."""
LINES, CHARACTERS = 40, 200
"""Lines of a dialog kept as evidence, and characters of each."""
LOWER, ANSWER_WORDS = 0.65, 3
"""A text button stands in the lower third of its dialog, right of the middle, and has few words."""
WORDS = re.compile(
    r"cookie|traceur|vie privee|consent|privacy|rgpd|gdpr"
    r"|session (a |est |has )?expir|reconnect|user account control|controle de compte|windows security|securite windows"
    r"|(enregistrer|save) (les modifications|changes|your changes|vos modifications)|chat|how can (i|we) help"
    r"|(puis-je|pouvons-nous) vous aider"
)
"""Folded words of consent banners, session ends, elevation and save prompts, chat widgets. They only confirm what
already looks like a dialog."""
EXPECTED = "expected_dialog"


@dataclass(frozen=True, slots=True)
class _Expectation:
    """What the action says of dialogs. `declared` is None where it says nothing."""

    label: ExpectedText | None
    declared: bool | None
    texts: tuple[ExpectedText, ...]

    @classmethod
    def of(cls, action: Action) -> _Expectation:
        spec = action.payload.get("target_spec")
        sent = action.payload.get(EXPECTED)
        if sent is None and isinstance(spec, Mapping):
            sent = spec.get(EXPECTED)
        given = [
            text for text in (sent if isinstance(sent, list) else [sent]) if isinstance(text, str) and text.strip()
        ]
        declared = sent if isinstance(sent, bool) else True if given else None
        return cls(_label(action), declared, tuple(ExpectedText((text,)) for text in given))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The screens, and where the click is on them (None for an action that has no position)."""

    after: Frame
    before: Frame | None
    at: Place | None
    scale: float

    @property
    def click(self) -> tuple[int, int] | None:
        return None if self.at is None else (self.at.x, self.at.y)


class _Read:
    """A dialog and what stands in it, read when it is asked for; boxes in pixels of the screenshot."""

    def __init__(self, dialog: Dialog, read: Callable[[], list[TextBox]]) -> None:
        self.dialog = dialog
        self._read = read

    @cached_property
    def labels(self) -> list[TextBox]:
        """The labels in the dialog."""
        return self._read()

    @property
    def seen(self) -> list[TextBox]:
        """The labels, as far as anybody asked."""
        return self.labels if "labels" in vars(self) else []

    def shows(self, text: ExpectedText) -> bool:
        """Whether the text stands in it."""
        return any(shows(label, self.labels, text) for label in self.labels)

    @property
    def confirmed(self) -> bool:
        """Whether it is one for certain: by its looks, else by its words or its text buttons."""
        if self.dialog.sure:
            return True
        if WORDS.search(fold(" ".join(label.text for label in self.labels))):
            return True
        return self.dialog.kind is Kind.MODAL and self._answers()

    def _answers(self) -> bool:
        x0, y0, x1, y1 = self.dialog.box
        low, middle = y0 + LOWER * (y1 - y0), (x0 + x1) / 2
        answers = (label for label in self.labels if label.box[1] >= low and (label.box[0] + label.box[2]) / 2 > middle)
        return any(len(label.text.split()) <= ANSWER_WORDS for label in answers)


class DialogPresenceChecker:
    """TERMINATE (`unexpected_dialog`) where a dialog is new or takes the click and the action does not expect it.

    An action expects a dialog by `expected_dialog` (true, a text that it shows, or a list of such texts), by being a
    `right_click` (a menu at the click), or by its expected label, where that stands in the dialog. What merely looks
    like a dialog gives CONTINUE. COMPLETE where no dialog is in the way, which is no proof of an effect; a dialog that
    the action expects by `expected_dialog`, and a menu, is one.

    Evidence: `expected_dialog` (bool, list of str or None), `dialogs` (list of {box: [x0, y0, x1, y1] px, kind, new,
    sure, covers_click, signs, text: list of str}), `menu` ([x0, y0, x1, y1] px or None, for a right click), `click_px`
    ([x, y] or None), `compared` (whether there was a screen before). It holds what the screen shows: it stays in the
    process.
    """

    name = "dialog_presence"

    def __init__(self, engine: OcrEngine | None = None) -> None:
        self._engine: OcrEngine = engine or PpOcrEngine()

    def warm_up(self) -> None:
        """Load the OCR weights."""
        self._engine.warm_up()

    def applies(self, subject: Subject) -> bool:
        """Whether there is a screenshot after the action."""
        return subject.report.screenshot_after is not None

    def check(self, subject: Subject) -> Finding:
        """Judge one report; see the class for the rules and the evidence."""
        want = _Expectation.of(subject.action)
        evidence: dict[str, Any] = {EXPECTED: [text.as_json() for text in want.texts] or want.declared}
        screens = screens_of(subject)
        if isinstance(screens, Unusable):
            return screens.finding(self.name, evidence)
        try:
            seen = _seen(subject, screens)
        except UnplacedError as error:
            return Unusable(FailureCategory.UNKNOWN, error.reason).finding(self.name, evidence)
        evidence |= {"click_px": None if seen.click is None else list(seen.click), "compared": seen.before is not None}
        found = find_dialogs(seen.after, seen.click, seen.scale, before=seen.before)
        read = [self._read(seen, dialog) for dialog in found]
        unexpected = self._unexpected(seen, read, want)
        conclusion = unexpected or self._expected(seen, read, want)
        evidence["dialogs"] = [_described(each) for each in read]
        if unexpected is None and kind_of(subject.action) == "right_click" and seen.click is not None:
            return self._menu(seen, evidence)
        return conclusion.finding(self.name, evidence)

    def _unexpected(self, seen: _Seen, read: list[_Read], want: _Expectation) -> Conclusion | None:
        """The conclusion from the first dialog that the action does not expect; None without one."""
        conclusions = (self._judge(seen, each, want) for each in read)
        stops = [conclusion for conclusion in conclusions if conclusion is not None]
        return min(stops, key=lambda conclusion: conclusion.verdict is not Verdict.TERMINATE, default=None)

    def _judge(self, seen: _Seen, read: _Read, want: _Expectation) -> Conclusion | None:
        dialog = read.dialog
        if self._is_expected(seen, read, want) or not (dialog.new or dialog.blocks):
            return None
        doubt = self._doubt(seen, read, want)
        if doubt is not None:
            return Conclusion(Verdict.CONTINUE, 0.5, doubt, FailureCategory.UNEXPECTED_DIALOG)
        where = "lies over the click" if dialog.covers else "has appeared" if dialog.new else "is in the way"
        confidence = {Kind.MODAL: 0.92, Kind.WINDOW: 0.9}.get(dialog.kind, 0.85)
        if not dialog.sure:
            confidence -= 0.1
        _ = read.labels  # evidence, whatever it was told by
        return Conclusion(
            Verdict.TERMINATE, confidence, f"an unexpected dialog {where}", FailureCategory.UNEXPECTED_DIALOG
        )

    def _is_expected(self, seen: _Seen, read: _Read, want: _Expectation) -> bool:
        if want.declared and (not want.texts or any(map(read.shows, want.texts))):
            return True
        if want.label is not None and self._shows_label(seen, read, want.label):
            return True
        if read.dialog.new is False:  # the click was aimed at what was there, unless its label was elsewhere
            return want.label is None or self._on_label(seen, seen.before, want.label)
        if read.confirmed:
            return False
        # a part of the page stands like a dialog, too: a header, a card in a corner
        return not read.dialog.signs.over or (want.label is None and read.dialog.new is None)

    def _doubt(self, seen: _Seen, read: _Read, want: _Expectation) -> str | None:
        """Why nothing can be concluded from the dialog; None where it can."""
        dialog = read.dialog
        if not read.confirmed:
            return "what may be a dialog is at the click" if dialog.covers else "what may be a dialog has appeared"
        if dialog.new is None and want.label is None:
            return "a dialog is at the click, and nothing says whether that was aimed at it"
        if dialog.new and want.label is not None and self._was_in_dialog(seen, want.label):
            return "another dialog follows the one that was answered"
        return None

    def _menu(self, seen: _Seen, evidence: dict[str, Any]) -> Finding:
        at = seen.click
        menu = None if at is None else find_menu(seen.after, at, seen.scale, before=seen.before)
        evidence["menu"] = None if menu is None else [round(value) for value in menu]
        if menu is None:
            category = FailureCategory.NO_VISUAL_CHANGE if seen.before is not None else FailureCategory.UNKNOWN
            return Conclusion(Verdict.CONTINUE, 0.5, "no menu is at the click", category).finding(self.name, evidence)
        confidence = 0.85 if seen.before is not None else 0.7
        return Conclusion(Verdict.COMPLETE, confidence, "a menu is at the click").finding(self.name, evidence)

    def _expected(self, seen: _Seen, read: list[_Read], want: _Expectation) -> Conclusion:
        """The conclusion where no dialog is unexpected."""
        shown = [each for each in read if each.dialog.new is not False or each.dialog.blocks]
        if want.declared:
            if shown:
                return Conclusion(Verdict.COMPLETE, 0.9 if shown[0].confirmed else 0.75, "the expected dialog is there")
            return Conclusion(Verdict.CONTINUE, 0.5, "the expected dialog is not there", FailureCategory.UNKNOWN)
        label = want.label
        if label is not None and any(each.dialog.sure and self._shows_label(seen, each, label) for each in shown):
            return _nothing_against("the expected label is in the dialog")
        return _nothing_against("no dialog is in the way")

    def _read(self, seen: _Seen, dialog: Dialog) -> _Read:
        return _Read(dialog, lambda: self._labels(seen.after, dialog.box, seen.scale))

    def _shows_label(self, seen: _Seen, read: _Read, label: ExpectedText) -> bool:
        """Whether the dialog shows the label: at the click, which is soon read, or elsewhere."""
        at_click = read.dialog.covers and self._on_label(seen, seen.after, label, within=read.dialog.box)
        return at_click or read.shows(label)

    def _labels(self, frame: Frame, box: Box, scale: float) -> list[TextBox]:
        return labels_in(frame, box, scale, self._engine, least=ZOOM)

    def _on_label(self, seen: _Seen, frame: Frame | None, label: ExpectedText, *, within: Box | None = None) -> bool:
        """Whether the expected label is at the click on that screen (and in the box `within`)."""
        if frame is None or seen.at is None:
            return False
        x, y = seen.at.x, seen.at.y
        left, top, right, bottom = box_around((x, y), seen.scale)
        x0, y0, x1, y1 = within or (0.0, 0.0, float(frame.width), float(frame.height))
        roi = (max(x0, left), max(y0, top), min(x1, right), min(y1, bottom))
        labels = self._labels(frame, roi, seen.scale)
        near = [each for each in labels if each.box[0] - each.height <= x <= each.box[2] + each.height]
        touched = [each for each in near if each.box[1] - each.height <= y <= each.box[3] + each.height]
        return any(shows(each, labels, label) for each in touched)

    def _was_in_dialog(self, seen: _Seen, label: ExpectedText) -> bool:
        """Whether the click was on its label in a dialog of the screen before."""
        if seen.before is None or seen.click is None:
            return False
        dialogs = find_dialogs(seen.before, seen.click, seen.scale)
        return any(dialog.covers and dialog.sure for dialog in dialogs) and self._on_label(seen, seen.before, label)


def _nothing_against(reasoning: str) -> Conclusion:
    return Conclusion(Verdict.COMPLETE, 0.9, reasoning, proof=False)


def _label(action: Action) -> ExpectedText | None:
    """The label that the action is aimed at; None where it names none, or none that can be used."""
    try:
        return expected_text(action) if expects_text(action) else None
    except UnusableExpectationError:
        return None


def _seen(subject: Subject, screens: Screens) -> _Seen:
    """The screens, and the click on them; raises UnplacedError."""
    after = screens.after
    if after is None:
        raise AssertionError("this checker applies to reports with a screenshot after the action")
    action, report = subject.action, subject.report
    if not report.position_given and action.aim is None:
        return _Seen(after, screens.before, None, scale_of(report, after.size))
    at = place_of(action, report, after.size)
    return _Seen(after, screens.before, at, at.scale)


def _described(read: _Read) -> dict[str, Any]:
    dialog, signs = read.dialog, read.dialog.signs
    return {
        "box": [round(value) for value in dialog.box],
        "kind": dialog.kind.value,
        "new": dialog.new,
        "sure": dialog.sure,
        "covers_click": dialog.covers,
        "signs": {
            "dimmed": signs.dimmed,
            "close": signs.close,
            "buttons": signs.buttons,
            "cuts": signs.cuts,
            "shadow": signs.shadow,
        },
        "text": [label.text[:CHARACTERS] for label in read.seen[:LINES]],
    }
