"""A click judged against one of several texts, a pattern, a text whose accents count; D01, D02, D04, D05, D08."""

import pytest
from ocr_kit import Stub, line
from screen_kit import browser, screen, subject

from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.delivery.action import Action
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import FailureCategory, Verdict

IMAGERIE, BIOLOGIE = (205, 129), (335, 129)


@pytest.fixture(scope="module")
def checker():
    made = OcrRoiChecker()
    made.warm_up()
    return made


def click(image, at, **spec):
    made = subject(image, at)
    action = Action("a1", "click", "s1", "m1", {"target_spec": spec})
    return ReportSubject(action, made.report)


def stubbed(seen, **spec):
    """The finding on a click in the middle of the only line that the engine reads."""
    at = 160  # the middle of the region: where it begins is 160 px left of the click
    stub = OcrRoiChecker(Stub(line(seen, (at - 5 * len(seen), 38, at + 5 * len(seen), 58))))
    return stub.check(click(screen((600, 600, "x")), (at, 48), **spec))


def test_one_of_several_labels_suffices(checker):
    spec = {"by_text": ["Radiologie", "Imagerie"]}
    finding = checker.check(click(browser(), IMAGERIE, **spec))
    assert finding.verdict is Verdict.COMPLETE
    assert finding.evidence["expected"] == ["Radiologie", "Imagerie"]
    finding = checker.check(click(browser(), BIOLOGIE, **spec))
    assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)


def test_a_pattern_judges_a_click(checker):
    image = screen((300, 300, "Dossier 20417"), (300, 340, "Dossier en attente"))
    assert checker.check(click(image, (345, 308), by_text_pattern=r"dossier \d+")).verdict is Verdict.COMPLETE
    finding = checker.check(click(image, (345, 348), by_text_pattern=r"dossier \d+"))
    assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)


@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        ({"by_text": ["Dossier", "Imagerie"]}, Verdict.COMPLETE),
        ({"by_text": ["Dossier", "Biologie"]}, Verdict.TERMINATE),
        ({"by_text_pattern": "Imag.*"}, Verdict.COMPLETE),
        ({"by_text_pattern": "Bio.*"}, Verdict.TERMINATE),
    ],
)
def test_field_case_d01_of_merged_neighbours_the_one_at_the_click_decides(spec, verdict):
    merged = line("DossierImagerieBiologie", (20, 35, 224, 55))
    image = screen((600, 600, "x"))
    for x in range(20, 224, 3):
        if not (78 < x < 87 or 149 < x < 158):
            image.paste((20, 20, 20), (x, 40, x + 1, 46))
    assert OcrRoiChecker(Stub(merged)).check(click(image, (116, 45), **spec)).verdict is verdict


@pytest.mark.parametrize("spec", [{"by_text_pattern": "("}, {"by_text_pattern": ".*"}, {"by_text": ["x"] * 40}])
def test_an_expected_text_that_cannot_be_used_is_never_a_success(checker, spec):
    spec = {**spec, "by_text_any": [str(i) for i in range(40)]} if "by_text" in spec else spec
    made = click(browser(), IMAGERIE, **spec)
    assert checker.applies(made)
    finding = checker.check(made)
    assert (finding.verdict, finding.verified, finding.category) == (Verdict.CONTINUE, False, FailureCategory.UNKNOWN)


def test_field_case_d02_a_short_text_without_its_space_is_not_accepted():
    finding = stubbed("sonor", by_text="son or")
    assert (finding.verdict, finding.category) == (Verdict.CONTINUE, FailureCategory.OCR_TEXT_MISSING)
    assert finding.confidence <= 0.5


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("Cœur", "Coeur"),
        ("œdème", "oedeme"),
        ("fichier", "\ufb01chier"),
        ("Léa", "Le\u0301a"),
        ("n° 7", "n°\u00a07"),
        ("L\u2019examen", "L'examen"),
        ("STRASSE", "Straße"),
    ],
)
def test_field_case_d04_what_typography_changes_is_the_same_label(expected, seen):
    assert stubbed(seen, by_text=expected).verdict is Verdict.COMPLETE


@pytest.mark.parametrize(
    ("spec", "seen"),
    [
        ({"by_text": "côte", "accent_sensitive": True}, "coté"),
        ({"by_text": "8,540"}, "9,540"),
        ({"by_text": "8540"}, "8,540"),
        ({"by_text": "540"}, "8,540"),
        ({"by_text": "IPP 001"}, "IPP 0012"),
    ],
)
def test_field_case_d04_another_accent_or_number_is_not(spec, seen):
    assert stubbed(seen, **spec).verdict is not Verdict.COMPLETE


@pytest.mark.parametrize(
    ("spec", "seen", "verdict", "match"),
    [
        ({"by_text": "Valider"}, "Va1ider", Verdict.COMPLETE, "confusable"),
        ({"by_text": "Lit I"}, "Lit 1", Verdict.CONTINUE, None),
        ({"by_text": ["Lit 1", "Lit 2"]}, "Lit I", Verdict.CONTINUE, None),
        ({"by_text_pattern": r"IPP \d{6}"}, "IPP 0O1412", Verdict.CONTINUE, None),
    ],
)
def test_field_case_d05_evidence_says_confusable_and_a_number_is_left_open(spec, seen, verdict, match):
    finding = stubbed(seen, **spec)
    assert (finding.verdict, finding.evidence["match"]) == (verdict, match)
    assert finding.confidence < 0.9


def test_field_case_d05_a_look_alike_in_a_part_of_a_line_is_noted_too():
    finding = stubbed("Va1ider: (3)", by_text="Valider")
    assert finding.verdict is Verdict.COMPLETE
    assert finding.evidence["match"] == "confusable"


@pytest.mark.parametrize(("text_size", "scale"), [(9, 1.0), (18, 2.0)])
def test_field_case_d08_labels_too_small_to_read_stop_nothing(checker, text_size, scale):
    """Below 11 px at 100 % a label may be found or not; it is never taken for another one."""
    image = screen((300, 300, "Imagerie"), (300, 340, "x"), text_size=text_size)
    at = (300 + 2 * text_size, 300 + text_size // 2)
    finding = checker.check(subject(image, at, window={"dpi_scale": scale}))
    assert finding.verdict in {Verdict.COMPLETE, Verdict.CONTINUE}
    assert finding.reasoning


def test_a_label_of_two_lines_is_one(checker):
    image = screen((300, 300, "Compte rendu"), (300, 318, "d'hospitalisation"))
    for pattern in ({"by_text": "Compte rendu d'hospitalisation"}, {"by_text_pattern": "Compte rendu d'hosp.*"}):
        assert checker.check(click(image, (340, 308), **pattern)).verdict is Verdict.COMPLETE
