"""Expected texts: one, one of several, a pattern."""

import pytest

from otel_validation.errors import UnusableExpectationError
from otel_validation.vision import expected as module
from otel_validation.vision.expected import MOST_TEXTS, ExpectedText
from otel_validation.vision.text import MatchKind, match


def pattern(source, **options):
    return ExpectedText(pattern=source, **options)


@pytest.mark.parametrize("seen", ["Valider", "Va1ider", "Valiber", "Annuler", "日Valider", "Val…", ""])
@pytest.mark.parametrize("options", [{}, {"accent_sensitive": True}, {"case_sensitive": True}])
def test_one_text_is_matched_as_ever(seen, options):
    assert ExpectedText(("Valider",), **options).match(seen) == match("Valider", seen, **options)


def test_the_best_of_several_texts_counts():
    expected = ExpectedText(("Enregistrer", "Valider", "OK"))
    assert expected.match("Valider").kind is MatchKind.EXACT
    assert expected.match("Va1ider").kind is MatchKind.CONFUSABLE
    assert expected.match("0K").kind is MatchKind.UNSURE
    assert expected.match("Annuler").other


def test_a_text_of_another_script_keeps_the_marks_that_belong_to_it():
    expected = ExpectedText(("Save", "日本"))
    assert expected.match("日Save").kind is MatchKind.EXACT
    assert expected.match("日本").kind is MatchKind.EXACT


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (r"Dossier n° \d+", "DOSSIER N°\u00a01234"),
        (r"\d{2}/\d{2}/\d{4}", "03/07/2026"),
        ("L\u2019examen (terminé|annulé)", "L'examen annule"),
        (r"Examen [ée]tendu", "Examen étendu"),
        ("Cœur.*", "Coeur et vaisseaux"),
        ("Ouvrir…", "Ouvrir..."),
        ("Valider|Confirmer", "confirmer"),
    ],
)
def test_a_pattern_is_met_by_the_whole_label(source, seen):
    found = pattern(source).match(seen)
    assert found.kind is MatchKind.PATTERN
    assert found.score > 0.9
    assert not pattern(source).match(f"{seen} autre chose en plus").accepted or source.endswith("*")


def test_accents_and_case_of_a_pattern_count_where_asked():
    assert pattern("c[oô]t[eé]").match("Côte").accepted
    assert not pattern("côté", accent_sensitive=True).match("côte").accepted
    assert pattern("côté", accent_sensitive=True).match("CÔTÉ").accepted
    assert not pattern("US|FR", case_sensitive=True).match("us").accepted


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (r"IPP \d{6}", "IPP 0O14l2"),
        (r"IPP \d{6}", "IPP 0014 12"),
        ("Compte rendu .*", "Compterendu de sortie"),
        ("Valider|Confirmer", "Va1ider"),
        ("US", "us"),
    ],
)
def test_field_case_d05_a_pattern_met_but_for_what_ocr_confuses_is_neither_met_nor_missed(source, seen):
    assert pattern(source, case_sensitive=True).match(seen).kind is MatchKind.UNSURE


def test_another_label_misses_a_pattern():
    assert pattern(r"Dossier \d+").match("Imagerie").other


def test_texts_and_a_pattern_are_alternatives():
    expected = ExpectedText(("Imagerie",), r"Examen \d+")
    assert expected.match("Imagerie").kind is MatchKind.EXACT
    assert expected.match("Examen 12").kind is MatchKind.PATTERN
    assert expected.match("Biologie").other


@pytest.mark.parametrize(
    ("texts", "source"),
    [((), None), (("x",) * (MOST_TEXTS + 1), None), ((), "("), ((), ".*"), ((), "(Valider)?"), (("ok",), "a*")],
)
def test_what_says_nothing_is_refused(texts, source):
    with pytest.raises(UnusableExpectationError):
        ExpectedText(texts, source)


def spans(expected, text):
    return [text[start:end] for start, end in expected.occurrences(text)]


def test_each_alternative_is_found_in_a_longer_text():
    assert spans(ExpectedText(("Imagerie", "Dossier")), "DossierImagerie") == ["Imagerie", "Dossier"]
    assert spans(ExpectedText(("ete",), accent_sensitive=True), "l'été") == []
    assert spans(ExpectedText(("été",), accent_sensitive=True), "l'été") == ["été"]


def test_a_pattern_is_found_as_whole_words_the_longest_first():
    assert spans(pattern(r"Lit \d+"), "Chambre 7 Lit 12 nord") == ["Lit 12"]
    assert spans(pattern(r"Lit .+"), "Lit 12 nord") == ["Lit 12 nord", "Lit 12"]
    assert spans(pattern("son"), "poisson") == []
    assert spans(pattern(r"\d+"), "8,540") == []


def test_a_long_line_is_searched_within_limits(monkeypatch):
    asked = []
    real = module._Pattern.meets
    monkeypatch.setattr(module._Pattern, "meets", lambda self, seen: asked.append(seen) or real(self, seen))
    assert spans(pattern("zzz"), "word " * 5_000) == []
    assert len(asked) <= module.MOST_WORDS**2


def test_a_line_of_a_longer_text_is_told():
    several = ExpectedText(("Imagerie", "Dossier du patient"))
    assert several.may_contain("patient")
    assert not several.may_contain("Dossier du patient")
    assert not several.may_contain("p")
    assert not several.may_contain("Biologie")
    assert pattern(r"Dossier \d+").may_contain("Dossier")
    assert not pattern(r"Dossier \d+").may_contain("Dossier 12")


def test_evidence_says_what_was_expected_and_a_repr_does_not():
    assert ExpectedText(("Imagerie",)).as_json() == "Imagerie"
    assert ExpectedText(("a", "b"), "c+").as_json() == ["a", "b", "/c+/"]
    assert "Imagerie" not in repr(ExpectedText(("Imagerie",), "Imagerie+"))


def test_a_single_character_is_expected_or_not():
    assert ExpectedText(("OK", " 7 ")).one_character
    assert not ExpectedText(("OK",)).one_character


def test_an_expected_text_is_folded_once_for_many_labels(monkeypatch):
    expected = ExpectedText(("Imagerie", "Biologie", "Courriers"), r"Dossier \d+")
    folded = []
    real = module.Form.of
    monkeypatch.setattr(module.Form, "of", lambda text, **options: folded.append(text) or real(text, **options))
    for _ in range(30):
        expected.match("Prescriptions")
    assert folded == ["Prescriptions"] * 30
