"""How far around a click is read, which way up, and how sure the operator lets the checker be."""

import numpy as np
import pytest
from PIL import Image, ImageDraw
from screen_kit import BLACK, WHITE, browser, font, screen, subject

from otel_validation.checkers.ocr_roi import OcrRoiChecker, OcrRoiOptions
from otel_validation.delivery.action import Action
from otel_validation.plugin import ocr_roi_options
from otel_validation.settings import Settings
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import FailureCategory, Verdict
from otel_validation.vision.image import decode_base64, decode_frame
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.region import Region, labels_in


@pytest.fixture(scope="module")
def engine():
    return PpOcrEngine()


@pytest.fixture(scope="module")
def checker(engine):
    return OcrRoiChecker(engine)


def upright(*labels, way, size=(1280, 800)):
    """A screen whose left edge carries labels (y of the middle, text), written upwards (90) or downwards (270)."""
    image = Image.new("RGB", size, WHITE)
    for y, text in labels:
        wide = round(font(15).getlength(text))
        strip = Image.new("RGB", (wide + 8, 24), WHITE)
        ImageDraw.Draw(strip).text((4, 2), text, fill=BLACK, font=font(15))
        turned = strip.rotate(way, expand=True)
        image.paste(turned, (4, y - turned.height // 2))
    return image


def seen(subject):
    return decode_frame(decode_base64(subject.report.screenshot_after))


@pytest.mark.parametrize("way", [90, 270])
class TestUprightLabels:
    LABELS = ((150, "Explorateur"), (320, "Structure"))

    def test_the_expected_label_is_complete(self, checker, way):
        finding = checker.check(subject(upright(*self.LABELS, way=way), (16, 150), "Explorateur"))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["click_px"] == [16, 150]

    def test_its_neighbour_is_no_success(self, checker, way):
        finding = checker.check(subject(upright(*self.LABELS, way=way), (16, 320), "Explorateur"))
        assert finding.verdict is not Verdict.COMPLETE


def test_level_text_is_not_turned():
    frame = seen(subject(screen((300, 300, "Imagerie")), (325, 307)))
    assert list(Region.turned(frame, (325, 307), 1.0)) == []


def test_a_region_in_a_corner_of_the_screen_keeps_the_click_where_it_is():
    pixels = Image.fromarray(np.arange(200 * 300 * 3, dtype=np.uint32).astype(np.uint8).reshape(200, 300, 3))
    frame = seen(subject(pixels, (0, 0)))
    region = Region.around(frame, (2, 1), 1.0)
    assert region.box == (0, 0, 162, 49)
    assert region.pixels.shape == (49, 162, 3)
    assert region.click == (2.5, 1.5)


class Sizes(PpOcrEngine):
    """The embedded engine; it notes the size of what it reads."""

    def __init__(self):
        super().__init__()
        self.read_at = []

    def read(self, image, **given):
        self.read_at.append(image.shape[1::-1])
        return super().read(image, **given)


@pytest.mark.parametrize(
    ("size", "scale", "read_at"),
    [
        ((400, 200), 1.0, (600, 300)),
        ((400, 200), 2.0, (400, 200)),
        ((1200, 760), 1.0, (1257, 796)),
        ((2400, 1600), 2.0, (1225, 816)),
        ((3000, 2000), 2.0, (1500, 1000)),
    ],
    ids=["enlarged", "large enough", "as large as fits", "made smaller", "at 100 % at least"],
)
def test_a_dialog_is_read_as_large_as_its_letters_need_and_its_pixels_allow(size, scale, read_at):
    engine = Sizes()
    frame = seen(subject(screen((60, 60, "Enregistrer"), size=(3200, 2200), text_size=round(14 * scale)), (0, 0)))
    labels = labels_in(frame, (0, 0, *size), scale, engine, least=1.5)
    assert engine.read_at == [pytest.approx(read_at, abs=1)]
    assert [label.text for label in labels] == ["Enregistrer"]
    assert labels[0].box == pytest.approx((60, 60, 60 + 80 * scale, 60 + 18 * scale), abs=14 * scale)


def test_nothing_is_read_outside_the_screen():
    engine = Sizes()
    frame = seen(subject(screen(), (0, 0)))
    assert labels_in(frame, (2000, 0, 2100, 50), 1.0, engine) == []
    assert engine.read_at == []


class TestOptions:
    def test_the_radius_sets_the_region(self, engine):
        made = OcrRoiChecker(engine, options=OcrRoiOptions(click_radius=60))
        assert made.check(subject(screen((300, 300, "Imagerie")), (640, 400))).evidence["roi"] == [440, 340, 840, 460]

    def test_what_was_typed_is_looked_for_in_a_region_of_its_own(self, engine):
        image = screen((300, 357, "DUPONT"))
        click = subject(image, (330, 400))
        typed = ReportSubject(
            Action.from_json({"action_id": "a1", "type": "type", "text": "DUPONT"}, session_id="s1", machine_id="m1"),
            click.report,
        )
        near, far = (OcrRoiChecker(engine, options=OcrRoiOptions(typing_radius=radius)) for radius in (24, 48))
        assert near.check(typed).verdict is Verdict.CONTINUE
        assert far.check(typed).verdict is Verdict.COMPLETE

    def test_a_foreign_surface_is_as_sure_as_the_operator_says(self, engine):
        made = OcrRoiChecker(engine, options=OcrRoiOptions(suspect_confidence=0.6))
        finding = made.check(subject(browser(), (400, 56)))
        assert (finding.category, finding.confidence) == (FailureCategory.WRONG_APPLICATION, 0.6)

    def test_the_expected_label_is_no_surer_than_the_operator_says(self, engine):
        made = OcrRoiChecker(engine, options=OcrRoiOptions(expected_confidence=0.5))
        finding = made.check(subject(browser(), (205, 129)))
        assert (finding.verdict, finding.confidence) == (Verdict.COMPLETE, 0.5)

    @pytest.mark.parametrize(
        ("given", "radii"),
        [
            ({}, (48, 48)),
            ({"validator_ocr_roi_radius": 60}, (60, 60)),
            ({"validator_ocr_roi_radius": 60, "validator_ocr_roi_radius_click": 80}, (80, 60)),
            ({"validator_ocr_roi_radius_type": 120}, (48, 120)),
        ],
    )
    def test_the_radius_of_a_type_wins_over_the_general_one(self, given, radii):
        options = ocr_roi_options(Settings(**given))
        assert (options.click_radius, options.typing_radius) == radii

    def test_the_confidences_come_from_the_settings(self):
        settings = Settings(validator_ocr_suspect_confidence=0.85, validator_ocr_expected_confidence=0.9)
        options = ocr_roi_options(settings)
        assert (options.suspect_confidence, options.expected_confidence) == (0.85, 0.9)


WINDOW = {"rect": [0, 0, 1280, 800], "client_rect": [0, 0, 1280, 800]}


class TestWindowFacts:
    """They go before what is seen on pixels."""

    def test_what_looks_like_an_address_bar_in_another_program_is_none(self, checker):
        image = browser(url="https://imagerie.example.org/")
        for process, category in (
            ("chrome.exe", FailureCategory.WRONG_APPLICATION),
            ("dpi.exe", FailureCategory.WRONG_TARGET),
        ):
            window = {**WINDOW, "process": process}
            finding = checker.check(subject(image, (220, 56), "Biologie", window=window))
            assert (finding.verdict, finding.category) == (Verdict.TERMINATE, category)

    def test_the_label_in_what_looks_like_an_address_bar_is_found_there(self, checker):
        address = "https://dossier.example.org/patient/17"
        image, window = browser(url=address), {**WINDOW, "process": "dpi.exe"}
        assert checker.check(subject(image, (220, 56), address, window=window)).verdict is Verdict.COMPLETE
        assert checker.check(subject(image, (220, 56), address)).category is FailureCategory.WRONG_APPLICATION

    def test_the_title_bar_is_known_without_being_seen(self, checker):
        image = screen((300, 300, "Biologie"), (300, 60, "Sans marque"))
        window = {"rect": [200, 50, 1100, 750], "client_rect": [200, 90, 1100, 750]}
        finding = checker.check(subject(image, (700, 70), window=window))
        assert (finding.category, finding.evidence["surface"]) == (FailureCategory.WRONG_APPLICATION, "title_bar")
        assert checker.check(subject(image, (700, 400), window=window)).verdict is Verdict.CONTINUE

    def test_in_a_client_area_is_no_task_bar(self, checker):
        image = screen((60, 775, "Imagerie"), (1200, 775, "14:32"))
        ImageDraw.Draw(image).line((0, 765, 1280, 765), fill=(120, 120, 120))
        assert checker.check(subject(image, (85, 782))).category is FailureCategory.WRONG_APPLICATION
        assert checker.check(subject(image, (85, 782), window=WINDOW)).verdict is Verdict.COMPLETE
