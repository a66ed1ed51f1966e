"""The label under the click: is it the one that the action was aimed at?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from otel_validation.errors import UnplacedError, UnusableExpectationError
from otel_validation.validation.expectation import expected_text, expects_text, typed_text
from otel_validation.validation.front import told
from otel_validation.validation.matrix import kind_of
from otel_validation.validation.place import place_of
from otel_validation.validation.screens import Unusable, screens_of
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict
from otel_validation.vision.labels import (
    Span,
    around_click,
    find_spans,
    is_link,
    is_sentence,
    shows,
    stacked,
    under_click,
)
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.region import RADIUS, Page, Region, labels_in
from otel_validation.vision.surfaces import COARSER, Surface, SurfaceFinder
from otel_validation.vision.text import MatchKind, shows_typed
from otel_validation.vision.windows import dialog_around

if TYPE_CHECKING:
    from otel_validation.validation.checker import Subject
    from otel_validation.validation.front import Told
    from otel_validation.validation.place import Place
    from otel_validation.vision.expected import ExpectedText
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import Box, OcrEngine, Pixels, TextBox

DIALOG_ZOOM = 1.5
"""A whole dialog is read at this scale at least, as the region of interest is (small letters are lost below)."""
STRETCH = 3.0
"""How much wider the region gets where it cuts the label under the click."""
NEAREST = 3
"""Lines read first; the others only where the label may go over several lines."""
QUICK_ZOOM, QUICK_HEIGHT = 1.0, 64
"""The nearest line is first searched at this scale and in so many rows (pixels at 100 %), which takes a quarter of
the time of the whole search: most clicks are on their label."""
LEGIBLE = 0.6
"""OCR confidence below which a text is not evidence of another label."""


TYPING = frozenset({"type", "type_secret", "paste_and_execute"})
TYPED_CONFIDENCE = 0.85
"""A text in its field is no proof that it was typed now: it may have stood there before."""
NO_SCREEN = Unusable(FailureCategory.UNKNOWN, "there is no screenshot after the action")
SURFACE_CONFIDENCE, SUSPECT_CONFIDENCE = 0.9, 0.75
"""For a surface told by what it says, and for one told by its looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrRoiOptions:
    """How the region of interest is cut, and how sure the checker may be (validator seeds, section 9)."""

    click_radius: float = RADIUS
    """Pixels at 100 % read above and under a click; to its sides `WIDE` times as much."""
    typing_radius: float = RADIUS
    """The same around what was typed; a field is wide, so its sides are `STRETCH` times as far again."""
    suspect_confidence: float = SURFACE_CONFIDENCE
    """Confidence of a surface told by what it says; one told by its looks has `SUSPECT_CONFIDENCE` at most."""
    expected_confidence: float = 1.0
    """The most confidence that a label found under the click may have."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What stands under the click of one frame, and what follows from it."""

    verdict: Verdict
    category: FailureCategory | None
    confidence: float
    reasoning: str
    region: Region
    labels: tuple[TextBox, ...] = ()
    under: TextBox | None = None
    surface: Surface | None = None
    match: MatchKind | None = None
    other: bool = False
    """Whether nothing under the click can be the expected label."""


class OcrRoiChecker:
    """COMPLETE where the expected label is under the click; TERMINATE where another label or a foreign surface is.

    The target is judged on the screen before the action where one was sent (that is what the click met), else on
    the screen after it. A click that cannot be placed and a blank screen give CONTINUE, not verified; no readable
    label gives CONTINUE with `ocr_text_missing`.

    Of typing (`TYPING`) it is asked whether the typed text stands around the click on the screen after: COMPLETE, or
    CONTINUE with `ocr_text_missing`, since fields hide, format and cut what is typed. A secret is never looked for.

    Evidence: `expected` (str, or a list of alternatives), `text_under_click` (str or None), `boxes` (list of {text,
    box: [x0, y0, x1, y1] px, confidence}), `roi` ([x0, y0, x1, y1] px), `click_px` ([x, y]), `surface` (str or None),
    `match` (how the texts agree, or None), `frame` ("before" or "after"). They hold what the screen shows: they stay
    in the process.
    """

    name = "ocr_roi"

    def __init__(
        self,
        engine: OcrEngine | None = None,
        *,
        surfaces: SurfaceFinder | None = None,
        options: OcrRoiOptions | None = None,
    ) -> None:
        self._options = options or OcrRoiOptions()
        self._engine: OcrEngine = engine or PpOcrEngine()
        self._surfaces = surfaces or SurfaceFinder(self._engine)

    def warm_up(self) -> None:
        """Load the OCR weights."""
        self._engine.warm_up()

    def applies(self, subject: Subject) -> bool:
        """Whether there is a screenshot and an expected label. With no label there is nothing to find: a surface
        alone does not tell a wrong click from a wanted one. Of typing: whether there is a text and a screen after.
        """
        if kind_of(subject.action) in TYPING:
            return typed_text(subject.action) is not None and subject.report.screenshot_after is not None
        return expects_text(subject.action) and subject.report.has_screenshot

    def check(self, subject: Subject) -> Finding:
        """Judge one click, or what was typed; see the class for the rules and the evidence."""
        if kind_of(subject.action) in TYPING:
            return self._typed(subject, typed_text(subject.action) or "")
        try:
            expected = expected_text(subject.action)
        except UnusableExpectationError as error:
            return Unusable(FailureCategory.UNKNOWN, error.reason).finding(self.name, {"expected": None})
        evidence: dict[str, Any] = {"expected": expected.as_json()}
        screens = screens_of(subject)
        if isinstance(screens, Unusable):
            return screens.finding(self.name, evidence)
        frames = {"before": screens.before, "after": screens.after}
        try:
            readings = self._readings(subject, frames, expected)
        except UnplacedError as error:
            return Unusable(FailureCategory.UNKNOWN, error.reason).finding(self.name, evidence)
        name, reading = _decisive(readings)
        return self._finding(reading, {**evidence, "frame": name})

    def _typed(self, subject: Subject, text: str) -> Finding:
        """Whether the text stands around the click on the screen after it was typed."""
        evidence: dict[str, Any] = {"expected": text, "frame": "after"}
        screens = screens_of(subject)
        if isinstance(screens, Unusable) or screens.after is None:
            return (screens if isinstance(screens, Unusable) else NO_SCREEN).finding(self.name, evidence)
        try:
            at = place_of(subject.action, subject.report, screens.after.size)
        except UnplacedError as error:
            return Unusable(FailureCategory.UNKNOWN, error.reason).finding(self.name, evidence)
        page = Page(self._engine, self._region(screens.after, at, self._options.typing_radius, stretch=STRETCH))
        labels = page.labels()
        shown = next((label for label in labels if shows_typed(label.text, text)), None)
        if shown is None:
            missing = _missing(page.region, labels, "the typed text cannot be read around the click")
            return self._finding(missing, evidence)
        reasoning = "the typed text is around the click"
        confidence = TYPED_CONFIDENCE * shown.confidence
        reading = _Reading(Verdict.COMPLETE, None, confidence, reasoning, page.region, tuple(labels), shown)
        return self._finding(reading, evidence)

    def _readings(
        self, subject: Subject, frames: Mapping[str, Frame | None], expected: ExpectedText
    ) -> list[tuple[str, _Reading]]:
        """Readings of the frames in order, up to the first that concludes."""
        readings = []
        for name, frame in frames.items():
            if frame is None:
                continue
            at = place_of(subject.action, subject.report, frame.size)
            reading = self._read(frame, at, expected, told(subject.report.window, (at.x, at.y), frame.size))
            readings.append((name, reading))
            if reading.verdict is not Verdict.CONTINUE:
                break
        return readings

    def _read(self, frame: Frame, at: Place, expected: ExpectedText, facts: Told) -> _Reading:
        scale = at.scale
        radius = self._options.click_radius
        region = self._region(frame, at, radius)
        surface = self._surfaces.find(frame, region.click_px, scale, known=at.known, ruled_out=facts.ruled_out)
        if surface is not None:
            return _on_surface(region, surface, self._options.suspect_confidence)
        quick = self._quick(region, scale, expected)
        if quick is not None:
            return quick
        page = Page(self._engine, region)
        under = page.under(NEAREST)
        if under is not None and _is_cut(under, region, frame) and not expected.match(under.text).accepted:
            region = self._region(frame, at, radius, stretch=STRETCH)
            page = Page(self._engine, region)
            under = page.under(NEAREST)
        if under is not None and expected.may_contain(under.text):
            under = under_click(page.labels(), region.click)
        labels = page.seen
        reading = _judge(region, labels, under, expected)
        if reading.verdict is not Verdict.COMPLETE:
            instead = self._turned(frame, reading, at, expected) or self._suspect(frame, page, reading, at, facts)
            if instead is not None:
                return instead
        if reading.other and self._in_foreign_dialog(frame, page, scale, expected, known=at.known):
            return replace(
                reading,
                verdict=Verdict.TERMINATE,
                category=FailureCategory.UNEXPECTED_DIALOG,
                confidence=max(reading.confidence, SUSPECT_CONFIDENCE),
                surface=Surface.OS_DIALOG,
                reasoning="the click is in a dialog that does not show the expected label",
            )
        return reading

    def _region(self, frame: Frame, at: Place, radius: float, *, stretch: float = 1.0) -> Region:
        return Region.around(frame, (at.x, at.y), at.scale, radius=radius, stretch=stretch)

    def _turned(self, frame: Frame, reading: _Reading, at: Place, expected: ExpectedText) -> _Reading | None:
        """COMPLETE where the expected label is written upwards or downwards under the click."""
        if not reading.other:
            return None
        for region in Region.turned(frame, (at.x, at.y), at.scale):
            under = Page(self._engine, region).under(NEAREST)
            match = None if under is None else expected.match(under.text)
            if under is not None and match is not None and match.accepted:
                return _complete(reading.region, [], under, match.kind, match.score)
        return None

    def _suspect(self, frame: Frame, page: Page, reading: _Reading, at: Place, facts: Told) -> _Reading | None:
        """WRONG_APPLICATION where a click that met no expected label is on another surface, or what looks like one."""
        region, under = reading.region, reading.under
        if facts.surface is not None:
            return _on_surface(region, facts.surface, self._options.suspect_confidence)
        dx, dy = region.box[0], region.box[1]
        surface = self._surfaces.suspect(
            frame,
            region.click_px,
            at.scale,
            label=None if under is None else under.shifted(dx, dy).box,
            near=[label.shifted(dx, dy) for label in page.labels()],
            known=at.known,
            ruled_out=facts.ruled_out,
        )
        confidence = min(SUSPECT_CONFIDENCE, self._options.suspect_confidence)
        return None if surface is None else _on_surface(region, surface, confidence)

    def _quick(self, region: Region, scale: float, expected: ExpectedText) -> _Reading | None:
        """COMPLETE where the line nearest to the click is the expected label; None says nothing."""
        if not self._engine.zooms:
            return None
        page = Page(self._engine, region.middle(QUICK_HEIGHT * scale), zoom=QUICK_ZOOM / scale)
        under = page.under(1)
        if under is None or not expected.match(under.text).accepted:
            return None
        return _judge(page.region, page.seen, under, expected)

    def _in_foreign_dialog(
        self, frame: Frame, page: Page, scale: float, expected: ExpectedText, *, known: bool
    ) -> bool:
        """Whether the click is in a dialog that shows the expected label nowhere.

        A dialog that shows it is the one the action was aimed at: there, another label is the wrong target.
        """
        dialog = dialog_around(frame, page.region.click_px, scale)
        if dialog is None and not known:
            dialog = dialog_around(frame, page.region.click_px, scale * COARSER)
        if dialog is None:
            return False
        x, y, _, _ = page.region.box
        labels = [label for label in page.labels() if _is_in(label.shifted(x, y), dialog)]
        if any(shows(label, labels, expected) for label in labels):
            return False
        labels = labels_in(frame, dialog, scale, self._engine, least=DIALOG_ZOOM)
        return not any(shows(label, labels, expected) for label in labels)

    def _finding(self, reading: _Reading, evidence: Mapping[str, Any]) -> Finding:
        region = reading.region
        dx, dy = region.box[0], region.box[1]
        shown = [label.shifted(dx, dy) for label in reading.labels]
        most = self._options.expected_confidence if reading.verdict is Verdict.COMPLETE else 1.0
        return Finding(
            checker=self.name,
            verdict=reading.verdict,
            confidence=round(min(most, max(0.0, reading.confidence)), 3),
            reasoning=reading.reasoning,
            category=reading.category,
            evidence={
                **evidence,
                "text_under_click": None if reading.under is None else reading.under.text,
                "boxes": [
                    {"text": label.text, "box": [round(v) for v in label.box], "confidence": round(label.confidence, 3)}
                    for label in shown
                ],
                "roi": list(region.box),
                "click_px": list(region.click_px),
                "surface": None if reading.surface is None else reading.surface.value,
                "match": None if reading.match is None else reading.match.value,
            },
        )


def _on_surface(region: Region, surface: Surface, confidence: float) -> _Reading:
    reasoning = f"the click is on the {surface.value.replace('_', ' ')}, not on the application"
    return _Reading(
        Verdict.TERMINATE, FailureCategory.WRONG_APPLICATION, confidence, reasoning, region, surface=surface
    )


def _decisive(readings: list[tuple[str, _Reading]]) -> tuple[str, _Reading]:
    """The last reading where it concludes, else the first: what the click met outweighs what came after it."""
    return readings[-1] if readings[-1][1].verdict is Verdict.COMPLETE else readings[0]


def _judge(region: Region, labels: list[TextBox], under: TextBox | None, expected: ExpectedText) -> _Reading:
    """The rules of the class on one frame's labels."""
    near = under or around_click(labels, region.click, region.pixels)
    if near is None:
        return replace(_missing(region, labels, "no readable label is under the click"), other=True)
    found = _expected_at(region, near, labels, expected)
    if found is not None:
        label, kind, score = found
        return _complete(region, labels, label, kind, score if under is not None else score * 0.9)
    if _part_of_sentence(region, near, expected) is not None:
        return _missing(region, labels, "the expected text is under the click, but as a part of a sentence", near)
    kind = expected.match(near.text).kind
    if kind is MatchKind.UNSURE:
        return _missing(region, labels, "the label under the click is too close to the expected one to tell", near)
    if under is None or near.confidence < LEGIBLE or not _says_something(near, expected):
        return replace(_missing(region, labels, "no other label is clearly under the click", near), other=True)
    return _Reading(
        Verdict.TERMINATE,
        FailureCategory.WRONG_TARGET,
        near.confidence * 0.95,
        "another label is under the click",
        region,
        tuple(labels),
        near,
        match=kind,
        other=True,
    )


def _expected_at(
    region: Region, near: TextBox, labels: list[TextBox], expected: ExpectedText
) -> tuple[TextBox, MatchKind, float] | None:
    """The expected label where it is the one at the click: alone, over several lines, or as a span of a line."""
    whole = expected.match(near.text)
    if whole.accepted:
        return near, whole.kind, whole.score
    joined = stacked(near, labels, expected)
    if joined is not None:
        return joined, expected.match(joined.text).kind, 0.95
    span = _span_at(region.click, near, expected, region.pixels)
    if span is not None:
        part_match = expected.match(near.text[span.start : span.end])
        return near, part_match.kind, min(0.85, part_match.score)
    part = _part_of_sentence(region, near, expected)
    return (near, MatchKind.EXACT, 0.8) if part is not None and is_link(near, part, region.pixels) else None


def _part_of_sentence(region: Region, near: TextBox, expected: ExpectedText) -> Span | None:
    """The expected text where it is running text under the click, in a longer sentence."""
    return _span_at(region.click, near, expected) if is_sentence(near) else None


def _span_at(
    click: tuple[float, float], label: TextBox, expected: ExpectedText, pixels: Pixels | None = None
) -> Span | None:
    """Where the expected text stands in the label, if that is at the click."""
    return next((span for span in find_spans(label, expected, pixels) if _on_span(click, span, label)), None)


def _on_span(click: tuple[float, float], span: Span, label: TextBox) -> bool:
    """Whether the click's x is on the span; where the span ends with its label, the label's padding counts too."""
    pad = label.height / 2
    left = span.x0 - (pad if span.start == 0 else 0)
    right = span.x1 + (pad if span.end == len(label.text) else 0)
    return left <= click[0] <= right


def _is_in(label: TextBox, box: Box) -> bool:
    """Whether the middle of the label is in the box."""
    x, y = (label.box[0] + label.box[2]) / 2, (label.box[1] + label.box[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _complete(region: Region, labels: list[TextBox], under: TextBox, kind: MatchKind, score: float) -> _Reading:
    reasoning = f"the expected label is under the click ({kind.value})"
    return _Reading(
        Verdict.COMPLETE, None, score * under.confidence, reasoning, region, tuple(labels), under, match=kind
    )


def _missing(region: Region, labels: list[TextBox], reasoning: str, under: TextBox | None = None) -> _Reading:
    return _Reading(Verdict.CONTINUE, FailureCategory.OCR_TEXT_MISSING, 0.3, reasoning, region, tuple(labels), under)


def _is_cut(label: TextBox, region: Region, frame: Frame) -> bool:
    """Whether the region of interest, and not the screen, ends where the label does."""
    margin = label.height / 2
    left = label.box[0] <= margin and region.box[0] > 0
    right = label.box[2] >= region.pixels.shape[1] - margin and region.box[2] < frame.width
    return left or right


def _says_something(label: TextBox, expected: ExpectedText) -> bool:
    """Whether the text is a label: one character is one only where one is expected and it is read for certain."""
    count = sum(char.isalnum() for char in label.text)
    return count >= 2 or (count == 1 and expected.one_character and label.confidence > 0.9)
