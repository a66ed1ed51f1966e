"""The label under the click, on screens rendered here and read by the real engine."""

import base64
import io
import json

import pytest
from PIL import Image, ImageDraw, ImageFont

from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.delivery.action import Action, Point
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import FailureCategory, Verdict

WHITE, BLACK, GREY = (255, 255, 255), (20, 20, 20), (240, 240, 240)


def font(size=14):
    return ImageFont.load_default(size)


def screen(*labels, size=(1280, 800), ground=WHITE, ink=BLACK, text_size=14):
    """A screen with labels at (x, y, text): x, y is the top left of the text."""
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    for x, y, text in labels:
        draw.text((x, y), text, fill=ink, font=font(text_size))
    return image


def encoded(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()


def subject(image, at, expected="Imagerie", *, before=None, aim=None, window=None, given=None):
    """A click at pixel `at` of `image` (None: no position reported)."""
    payload = {"action_id": "a1", "type": "click", "target_spec": {"by_text": expected}} | (aim or {})
    width, height = image.size
    report = Report(
        session_id="s1",
        action_id="a1",
        success=True,
        position=None if at is None else Point((at[0] + 0.5) / width, (at[1] + 0.5) / height),
        position_given=at is not None if given is None else given,
        screenshot_before=None if before is None else encoded(before),
        screenshot_after=encoded(image),
        window=window,
    )
    action = Action.from_json(payload, session_id="s1", machine_id="m1")
    return ReportSubject(action, report)


def browser(url="https://dossier.example.org/patient/17", tab="Dossier patient", size=(1280, 800)):
    """A browser drawn the way browsers look: tab strip, toolbar with icons and field, page."""
    image = Image.new("RGB", size, WHITE)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0], 36), fill=(222, 225, 230))
    draw.rounded_rectangle((8, 6, 220, 44), 8, fill=GREY)
    draw.text((30, 14), tab, fill=BLACK, font=font(13))
    draw.rectangle((0, 36, size[0], 76), fill=GREY)
    for x in (22, 58, 94):
        draw.line((x - 6, 56, x + 6, 50), fill=BLACK, width=2)
        draw.line((x - 6, 56, x + 6, 62), fill=BLACK, width=2)
    draw.rounded_rectangle((130, 42, size[0] - 120, 70), 12, fill=WHITE, outline=(200, 203, 208))
    draw.text((160, 48), url, fill=BLACK, font=font(14))
    draw.line((0, 77, size[0], 77), fill=(200, 203, 208))
    for x, text in ((60, "Dossier"), (180, "Imagerie"), (310, "Biologie")):
        draw.text((x, 120), text, fill=BLACK, font=font(15))
    return image


@pytest.fixture(scope="module")
def checker():
    made = OcrRoiChecker()
    made.warm_up()
    return made


def test_the_expected_label_under_the_click_is_complete(checker):
    finding = checker.check(subject(browser(), (205, 129)))
    assert finding.verdict is Verdict.COMPLETE
    assert finding.verified
    assert finding.confidence > 0.8
    assert finding.evidence["text_under_click"] == "Imagerie"
    json.dumps(dict(finding.evidence))


def test_the_neighbouring_label_is_the_wrong_target(checker):
    finding = checker.check(subject(browser(), (335, 129)))
    assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)
    assert finding.evidence["text_under_click"] == "Biologie"


@pytest.mark.parametrize(
    ("at", "surface"), [((400, 56), "address_bar"), ((80, 22), "tab_strip"), ((1220, 56), "address_bar")]
)
def test_a_click_on_the_browser_itself_is_the_wrong_application(checker, at, surface):
    finding = checker.check(subject(browser(url="https://imagerie.example.org/", tab="Imagerie"), at))
    assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_APPLICATION)
    assert finding.evidence["surface"] == surface


def test_nothing_readable_under_the_click_is_not_a_success(checker):
    finding = checker.check(subject(browser(), (700, 500)))
    assert (finding.verdict, finding.category) == (Verdict.CONTINUE, FailureCategory.OCR_TEXT_MISSING)
