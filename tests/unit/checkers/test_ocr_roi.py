"""The label under the click, on screens rendered here and read by the real engine."""

import json
import threading

import pytest
from ocr_kit import Stub, line
from PIL import Image, ImageDraw
from screen_kit import BLACK, WHITE, browser, font, screen, subject

from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.delivery.action import Action
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import FailureCategory, Verdict
from otel_validation.vision.ocr.ppocr import PpOcrEngine


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


class Counting(PpOcrEngine):
    """The embedded engine; it notes the zoom of each search, and counts the lines that were read."""

    def __init__(self):
        super().__init__()
        self.zooms_asked, self.lines_read = [], 0

    def lines(self, image, near, *, zoom=None):
        self.zooms_asked.append(zoom)
        for found in super().lines(image, near, zoom=zoom):
            self.lines_read += 1
            yield found


class TestCost:
    LABELS = ((300, 300, "Imagerie"), (300, 330, "Biologie"), (400, 300, "Dossier"), (400, 330, "Courriers"))

    def test_a_click_on_its_label_costs_one_quick_search_and_one_line(self):
        engine = Counting()
        finding = OcrRoiChecker(engine).check(subject(screen(*self.LABELS), (325, 307)))
        assert finding.verdict is Verdict.COMPLETE
        assert (engine.zooms_asked, engine.lines_read) == ([1.0], 1)

    def test_nothing_but_a_success_is_concluded_from_the_quick_search(self):
        engine = Counting()
        finding = OcrRoiChecker(engine).check(subject(screen(*self.LABELS), (325, 337)))
        assert finding.verdict is Verdict.TERMINATE
        assert engine.zooms_asked[:2] == [1.0, None]

    def test_the_screen_after_is_not_read_where_the_one_before_concludes(self):
        engine = Counting()
        image = screen(*self.LABELS)
        OcrRoiChecker(engine).check(subject(image, (325, 307), before=image))
        assert engine.lines_read == 1

    def test_an_engine_that_finds_and_reads_at_once_is_asked_once(self):
        asked = []

        class Whole(Stub):
            def read(self, image, *, near=None, limit=None):
                asked.append(limit)
                return super().read(image, near=near, limit=limit)

        stub = OcrRoiChecker(Whole(line("Biologie", (100, 38, 180, 58)), line("Dossier", (10, 5, 80, 25))))
        assert stub.check(subject(screen((600, 600, "x")), (140, 48))).verdict is Verdict.TERMINATE
        assert asked == [None]


class TestSeedDefects:
    def test_zero_is_a_coordinate_not_a_missing_one(self, checker):
        image = screen((2, 2, "Imagerie"))
        made = subject(image, None, aim={"x_pct": 0.0, "y_pct": 0.0})
        finding = checker.check(made)
        assert finding.evidence["click_px"] == [0, 0]
        assert finding.verdict is Verdict.COMPLETE

    @pytest.mark.parametrize(
        "text", ["Compte rendu operatoire", "Knowledge base", "dr.martin@chu-lyon.fr", "https aide", "Chrome dur"]
    )
    def test_browser_words_in_the_page_are_not_the_browser(self, checker, text):
        """ "opera" in "operatoire", "edge" in "Knowledge", ".fr" in an e-mail address made a false TERMINATE."""
        image = browser()
        draw = ImageDraw.Draw(image)
        draw.text((300, 300), text, fill=BLACK, font=font(15))
        draw.text((300, 330), "https://www.example.fr/", fill=BLACK, font=font(15))
        finding = checker.check(subject(image, (330, 309), expected=text))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["surface"] is None

    def test_half_of_the_words_is_not_enough(self, checker):
        image = screen((300, 300, "Supprimer dossier"))
        finding = checker.check(subject(image, (360, 308), expected="Valider dossier"))
        assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)

    def test_the_region_grows_with_the_scale(self, checker):
        image = screen((300, 300, "Imagerie"))
        widths = []
        for window in (None, {"dpi_scale": 2.0}, {"dpi_scale": "huge"}, {"dpi_scale": 90}):
            roi = checker.check(subject(image, (640, 400), window=window)).evidence["roi"]
            widths.append((roi[2] - roi[0], roi[3] - roi[1]))
        assert widths == [(320, 96), (640, 192), (320, 96), (320, 96)]

    def test_a_ligature_is_folded(self):
        stub = OcrRoiChecker(Stub(line("Coeur", (100, 38, 150, 58))))
        assert stub.check(subject(screen((260, 340, "x")), (120, 48), "Cœur")).verdict is Verdict.COMPLETE


class TestPlacing:
    def test_the_reported_position_wins_over_the_aim(self, checker):
        made = subject(browser(), (335, 129), aim={"x_pct": 205 / 1280, "y_pct": 129 / 800})
        assert checker.check(made).verdict is Verdict.TERMINATE

    def test_without_a_reported_position_the_aim_is_judged(self, checker):
        made = subject(browser(), None, aim={"x_pct": 205 / 1280, "y_pct": 129 / 800})
        assert checker.check(made).verdict is Verdict.COMPLETE

    @pytest.mark.parametrize(
        ("at", "aim", "given"),
        [
            (None, None, False),
            (None, {"x_pct": 1.2, "y_pct": 0.5}, False),
            (None, {"x_pct": -0.1, "y_pct": 0.5}, False),
            (None, {"x_pct": 0.2, "y_pct": 0.5}, True),
            ((-300, 100), None, None),
        ],
    )
    def test_a_click_that_cannot_be_placed_is_not_verified(self, checker, at, aim, given):
        finding = checker.check(subject(browser(), at, aim=aim, given=given))
        assert (finding.verdict, finding.verified) == (Verdict.CONTINUE, False)
        assert "position" in finding.reasoning

    def test_the_last_pixel_is_a_position(self, checker):
        made = subject(browser(), None, aim={"x_pct": 1.0, "y_pct": 1.0})
        assert checker.check(made).evidence["click_px"] == [1279, 799]


class TestScreens:
    def test_a_black_screen_is_unavailable(self, checker):
        finding = checker.check(subject(screen(ground=(0, 0, 0)), (205, 129)))
        assert (finding.category, finding.verified) == (FailureCategory.SCREEN_UNAVAILABLE, False)
        assert finding.verdict is Verdict.CONTINUE

    def test_a_black_screen_after_a_good_one_is_unavailable(self, checker):
        finding = checker.check(subject(screen(ground=(0, 0, 0)), (205, 129), before=browser()))
        assert finding.category is FailureCategory.SCREEN_UNAVAILABLE

    def test_a_black_screen_before_leaves_the_one_after(self, checker):
        finding = checker.check(subject(browser(), (205, 129), before=screen(ground=(0, 0, 0))))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["frame"] == "after"

    def test_the_target_is_judged_on_the_screen_before(self, checker):
        gone = screen((500, 500, "Examen du 12"))
        finding = checker.check(subject(gone, (205, 129), before=browser()))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["frame"] == "before"
        finding = checker.check(subject(browser(), (335, 129), before=browser()))
        assert finding.category is FailureCategory.WRONG_TARGET

    def test_a_label_seen_only_after_counts_where_nothing_was_readable_before(self, checker):
        empty = screen((900, 700, "Chargement"))
        finding = checker.check(subject(browser(), (205, 129), before=empty))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["frame"] == "after"
        finding = checker.check(subject(browser(), (335, 129), before=empty))
        assert finding.verdict is Verdict.CONTINUE
        assert finding.evidence["frame"] == "before"

    def test_screens_of_different_size_are_not_verified(self, checker):
        finding = checker.check(subject(browser(), (205, 129), before=screen(size=(800, 600))))
        assert (finding.verdict, finding.verified) == (Verdict.CONTINUE, False)

    def test_a_screenshot_that_cannot_be_read_is_invalid(self, checker):
        report = Report(session_id="s", action_id="a", screenshot_after="/tmp/shot.png")
        action = Action("a", "click", "s", "m", {"by_text": "Imagerie"})
        finding = checker.check(ReportSubject(action, report))
        assert (finding.category, finding.verified) == (FailureCategory.IMAGE_INVALID, False)

    def test_it_applies_to_a_screenshot_and_a_label(self, checker):
        report = Report(session_id="s", action_id="a", screenshot_after="x")
        bare = Report(session_id="s", action_id="a")
        action = Action("a", "click", "s", "m", {"by_text": "Imagerie"})
        unlabelled = Action("a", "click", "s", "m", {})
        assert checker.applies(ReportSubject(action, report))
        assert not checker.applies(ReportSubject(action, bare))
        assert not checker.applies(ReportSubject(unlabelled, report))
        assert not checker.check(ReportSubject(unlabelled, report)).verified


class TestFieldCases:
    @pytest.mark.parametrize(
        ("expected", "at", "verdict"),
        [
            ("Imagerie", 116, Verdict.COMPLETE),
            ("Biologie", 116, Verdict.TERMINATE),
            ("Imagerie", 166, Verdict.TERMINATE),
            ("Biologie", 166, Verdict.COMPLETE),
        ],
    )
    def test_d01_neighbours_in_one_box_are_told_apart(self, expected, at, verdict):
        left = 20 - max(0, at - 160)  # the stub answers in pixels of the region, which begins 160 px left of the click
        merged = line("DossierImagerieBiologie", (left, 35, left + 204, 55))
        image = screen((600, 600, "x"))
        for x in range(20, 224, 3):
            if not (78 < x < 87 or 149 < x < 158):
                image.paste(BLACK, (x, 40, x + 1, 46))
        finding = OcrRoiChecker(Stub(merged)).check(subject(image, (at, 45), expected))
        assert finding.verdict is verdict

    @pytest.mark.parametrize(
        ("expected", "at", "verdict"),
        [
            ("Imagerie", "Biologie", Verdict.TERMINATE),
            ("Biologie", "Biologie", Verdict.COMPLETE),
            ("Imagerie", "Imagerie", Verdict.COMPLETE),
            ("Biologie", "Imagerie", Verdict.TERMINATE),
        ],
    )
    def test_d01_a_tab_bar_with_eight_pixel_gaps(self, checker, expected, at, verdict):
        image = Image.new("RGB", (1200, 40), WHITE)
        draw, x, middle = ImageDraw.Draw(image), 10, {}
        for text in ("Dossier", "Imagerie", "Biologie"):
            draw.text((x, 12), text, fill=BLACK, font=font(15))
            width = draw.textlength(text, font=font(15))
            middle[text] = (int(x + width / 2), 20)
            x += width + 8
        assert checker.check(subject(image, middle[at], expected)).verdict is verdict

    def test_d02_spaces_that_ocr_dropped_are_forgiven_and_noted(self):
        stub = OcrRoiChecker(Stub(line("Compterenduopératoire", (100, 38, 300, 58))))
        finding = stub.check(subject(screen((600, 600, "x")), (200, 48), "Compte rendu opératoire"))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["match"] == "spaceless"

    @pytest.mark.parametrize(
        ("expected", "seen", "verdict"),
        [
            ("IPP 0014I2", "IPP 001412", Verdict.CONTINUE),
            ("Valider", "Va1ider", Verdict.COMPLETE),
            ("Lit 1", "Lit I", Verdict.CONTINUE),
        ],
    )
    def test_d05_look_alikes_pass_in_labels_only(self, expected, seen, verdict):
        stub = OcrRoiChecker(Stub(line(seen, (100, 38, 200, 58))))
        finding = stub.check(subject(screen((600, 600, "x")), (150, 48), expected))
        assert finding.verdict is verdict
        assert finding.confidence < 0.9

    def test_d07_light_on_dark_is_judged_like_dark_on_light(self, checker):
        findings = []
        for ground, ink in ((WHITE, BLACK), ((30, 30, 30), WHITE), ((10, 100, 216), WHITE)):
            image = screen((300, 300, "Enregistrer"), (300, 500, "Annuler"), ground=ground, ink=ink)
            findings.append(checker.check(subject(image, (330, 308), "Enregistrer")))
        assert {finding.verdict for finding in findings} == {Verdict.COMPLETE}
        confidences = [finding.confidence for finding in findings]
        assert max(confidences) - min(confidences) < 0.2

    @pytest.mark.parametrize(("text_size", "scale"), [(11, 1.0), (13, 1.0), (22, 2.0), (26, 2.0)])
    def test_d08_small_labels_are_found(self, checker, text_size, scale):
        image = screen((300, 300, "Imagerie"), (900, 700, "x"), text_size=text_size)
        finding = checker.check(subject(image, (315, 306), window={"dpi_scale": scale}))
        assert finding.verdict is Verdict.COMPLETE

    def test_d10_a_grey_region_is_a_missing_text(self, checker):
        image = screen((900, 700, "ailleurs"), ground=(128, 128, 128))
        finding = checker.check(subject(image, (300, 300)))
        assert (finding.verdict, finding.category) == (Verdict.CONTINUE, FailureCategory.OCR_TEXT_MISSING)
        assert finding.evidence["boxes"] == []

    def test_d12_eight_threads_judge_their_own_reports(self, checker):
        """8 threads x 10 reports, each with its own number under the click (8 x 50 in the engines' contract)."""
        right = [0] * 8

        def work(thread):
            for i in range(10):
                number = f"{100000 + 7919 * (thread * 10 + i) % 900000}"
                image = screen((12, 8, number), size=(96, 32), text_size=16)
                finding = checker.check(subject(image, (38, 17), number))
                right[thread] += finding.verdict is Verdict.COMPLETE

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(right) == 80


class TestLabels:
    def test_a_click_in_the_padding_of_a_button_is_on_its_label(self, checker):
        image = screen((900, 700, "x"))
        draw = ImageDraw.Draw(image)
        draw.rounded_rectangle((300, 300, 460, 340), 6, fill=(10, 100, 216))
        draw.text((350, 312), "Valider", fill=WHITE, font=font(15))
        finding = checker.check(subject(image, (312, 330), "Valider"))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.confidence < 0.95
        assert checker.check(subject(image, (312, 370), "Valider")).verdict is Verdict.CONTINUE

    def test_two_lines_make_one_label(self, checker):
        image = screen((300, 300, "Dossier du"), (300, 318, "patient"))
        for y in (308, 326):
            finding = checker.check(subject(image, (320, y), "Dossier du patient"))
            assert finding.verdict is Verdict.COMPLETE
            assert finding.evidence["text_under_click"] == "Dossier du patient"

    def test_a_label_wider_than_the_region_is_read_whole(self, checker):
        text = "Historique complet des consultations externes et des hospitalisations"
        finding = checker.check(subject(screen((300, 300, text)), (500, 308), text))
        assert finding.verdict is Verdict.COMPLETE
        assert finding.evidence["roi"][2] - finding.evidence["roi"][0] > 320

    def test_a_link_in_a_sentence_is_a_span_of_its_line(self, checker):
        plain = screen((300, 300, "Pour la suite, lisez la documentation du service"))
        linked = plain.copy()
        draw = ImageDraw.Draw(linked)
        before = draw.textlength("Pour la suite, ", font=font())
        draw.rectangle(
            (300 + before, 298, 300 + before + draw.textlength("lisez la documentation", font=font()), 318), fill=WHITE
        )
        draw.text((300 + before, 300), "lisez la documentation", fill=(10, 90, 220), font=font())
        assert checker.check(subject(linked, (450, 308), "lisez la documentation")).verdict is Verdict.COMPLETE
        assert checker.check(subject(linked, (320, 308), "lisez la documentation")).verdict is Verdict.TERMINATE
        assert checker.check(subject(plain, (450, 308), "lisez la documentation")).verdict is Verdict.CONTINUE

    @pytest.mark.parametrize("text_size", [12, 14, 18])
    @pytest.mark.parametrize(
        ("shown", "expected"),
        [
            ("Enregistrer sous", "Enregistrer"),
            ("Enregistrer sous", "sous"),
            ("Notes generales", "Notes"),
            ("Lit 12", "Lit"),
            ("JavaScript", "Java"),
        ],
    )
    def test_a_word_of_a_longer_label_is_another_label(self, checker, shown, expected, text_size):
        image = screen((300, 300, shown), text_size=text_size)
        width = ImageDraw.Draw(image).textlength(shown[: shown.index(expected)] + expected, font=font(text_size))
        middle = 300 + width - ImageDraw.Draw(image).textlength(expected, font=font(text_size)) / 2
        finding = checker.check(subject(image, (int(middle), 300 + text_size // 2), expected))
        assert finding.verdict is not Verdict.COMPLETE

    def test_a_count_on_a_badge_belongs_to_its_label(self, checker):
        image = screen((300, 300, "Biologie"))
        draw = ImageDraw.Draw(image)
        end = 300 + draw.textlength("Biologie", font=font())
        draw.rounded_rectangle((end + 3, 299, end + 24, 318), 8, fill=(214, 222, 232))
        draw.text((end + 6, 300), "12", fill=BLACK, font=font())
        assert checker.check(subject(image, (325, 308), "Biologie")).verdict is Verdict.COMPLETE

    @pytest.mark.parametrize("shown", ["Patient: Durand", "Accueil > Durand", "Durand (12)", "Nom: Durand"])
    def test_marks_part_labels(self, checker, shown):
        image = screen((300, 300, shown))
        width = ImageDraw.Draw(image).textlength(shown[: shown.index("Durand")] + "Dur", font=font())
        assert checker.check(subject(image, (int(300 + width), 308), "Durand")).verdict is Verdict.COMPLETE

    def test_one_figure_is_a_label_where_one_is_expected(self, checker):
        stub = OcrRoiChecker(Stub(line("2", (146, 38, 156, 58), 0.99)))
        image = screen((600, 600, "x"))
        assert stub.check(subject(image, (150, 48), "3")).verdict is Verdict.TERMINATE
        assert stub.check(subject(image, (150, 48), "Imagerie")).verdict is Verdict.CONTINUE


def dialog(image, box, title, buttons):
    """A closable dialog drawn over `image`; `buttons` maps a label to its top left corner."""
    draw = ImageDraw.Draw(image)
    draw.rectangle(box, fill=(243, 243, 243), outline=(90, 90, 90))
    x, y = box[2] - 24, box[1] + 10
    draw.line((x, y, x + 10, y + 10), fill=BLACK, width=2)
    draw.line((x, y + 10, x + 10, y), fill=BLACK, width=2)
    draw.text((box[0] + 14, box[1] + 8), title, fill=BLACK, font=font(14))
    for text, (left, top) in buttons.items():
        draw.rectangle((left, top, left + 110, top + 30), fill=(225, 225, 225), outline=(120, 120, 120))
        draw.text((left + 24, top + 7), text, fill=BLACK, font=font(14))
    return image


BUTTONS = {"Annuler": (470, 440), "Enregistrer": (610, 440)}


class TestDialogs:
    def test_a_dialog_that_does_not_show_the_label_is_unexpected(self, checker):
        image = dialog(browser(), (420, 260, 800, 500), "Session", BUTTONS)
        finding = checker.check(subject(image, (520, 455), "Imagerie"))
        assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.UNEXPECTED_DIALOG)
        assert finding.evidence["surface"] == "os_dialog"

    def test_in_the_dialog_that_shows_it_another_label_is_the_wrong_target(self, checker):
        image = dialog(browser(), (420, 260, 800, 500), "Session", BUTTONS)
        finding = checker.check(subject(image, (520, 455), "Enregistrer"))
        assert finding.category is FailureCategory.WRONG_TARGET
        far = dialog(browser(), (420, 260, 800, 620), "Session", {"Annuler": (470, 320), "Enregistrer": (610, 560)})
        finding = checker.check(subject(far, (520, 335), "Enregistrer"))
        assert finding.category is FailureCategory.WRONG_TARGET

    def test_its_own_label_is_complete(self, checker):
        image = dialog(browser(), (420, 260, 800, 500), "Session", BUTTONS)
        assert checker.check(subject(image, (660, 455), "Enregistrer")).verdict is Verdict.COMPLETE


class TestTyping:
    """What was typed is looked for around the click, on the screen after it; nothing is ever stopped for it."""

    @pytest.fixture
    def field(self):
        return screen((300, 300, "Nom"), (360, 300, "DURAND Jean-Baptiste"), (300, 360, "Prénom"))

    def typed(self, image, text, *, kind="type", **payload):
        payload = {"type": kind, "text": text, "target_spec": {"by_text": "Nom"}} | payload
        return subject(image, (400, 308), aim=payload)

    @pytest.mark.parametrize(
        ("text", "verdict"),
        [
            ("DURAND Jean-Baptiste", Verdict.COMPLETE),
            ("Durand", Verdict.COMPLETE),
            ("Tout ce qui précède\nDurand", Verdict.COMPLETE),
            ("Monsieur DURAND Jean-Baptiste", Verdict.COMPLETE),
            ("MARTIN", Verdict.CONTINUE),
        ],
    )
    @pytest.mark.parametrize("kind", ["type", "type_text", "paste_and_execute"])
    def test_it_is_in_the_field_or_not_seen(self, checker, field, text, verdict, kind):
        made = self.typed(field, text, kind=kind)
        assert checker.applies(made)
        finding = checker.check(made)
        assert (finding.verdict, finding.verified) == (verdict, True)
        assert finding.category is (None if verdict is Verdict.COMPLETE else FailureCategory.OCR_TEXT_MISSING)

    def test_the_label_of_the_field_is_not_what_was_typed(self, checker, field):
        """It stands beside the click: asked for, it would be the wrong target."""
        assert checker.check(self.typed(field, "Inconnu")).verdict is Verdict.CONTINUE

    @pytest.mark.parametrize("secret", [{"kind": "type_secret"}, {"secret": True}])
    def test_a_secret_is_never_looked_for(self, checker, field, secret):
        assert not checker.applies(self.typed(field, "DURAND", **secret))

    @pytest.mark.parametrize("text", ["", "  ", None, 3])
    def test_nothing_typed_is_nothing_to_look_for(self, checker, field, text):
        assert not checker.applies(self.typed(field, text))

    def test_a_screen_that_cannot_be_judged_or_a_click_that_cannot_be_placed_is_no_proof(self, checker, field):
        black = self.typed(Image.new("RGB", (1280, 800), "black"), "DURAND")
        assert (checker.check(black).verified, checker.check(black).category) == (
            False,
            FailureCategory.SCREEN_UNAVAILABLE,
        )
        nowhere = subject(field, None, aim={"type": "type", "text": "DURAND"}, given=True)
        assert checker.check(nowhere).verified is False
