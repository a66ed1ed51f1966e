"""Comparing labels: what is forgiven, what is not."""

import pytest

from otel_validation.vision.text import (
    MatchKind,
    compact,
    fold,
    letters,
    match,
    shows_typed,
    starts_word,
    without_marks,
)


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
        ("Compte rendu opératoire", "COMPTE RENDU OPERATOIRE"),
        ("Ouvrir...", "Ouvrir…"),
    ],
)
def test_field_case_d04_and_the_seeds_accents_and_ligatures_are_folded(expected, seen):
    assert match(expected, seen).kind is MatchKind.EXACT


@pytest.mark.parametrize(("expected", "seen"), [("8,540", "9,540"), ("8,540", "8540"), ("12/05", "12/06"), ("7", "1")])
def test_field_case_d04_numbers_are_compared_exactly(expected, seen):
    assert not match(expected, seen).accepted


@pytest.mark.parametrize(
    ("expected", "seen"),
    [("côte", "coté"), ("préférée", "préféree"), ("Œuvre côté cour", "oeuvrecotecour"), ("Entrée…", "Entree libre")],
)
def test_field_case_d04_accents_count_where_asked(expected, seen):
    assert match(expected, seen).kind is not MatchKind.NONE
    found = match(expected, seen, accent_sensitive=True)
    assert (found.accepted, found.other) == (False, False)


@pytest.mark.parametrize("seen", ["Œdème du pied", "OEDÈME DU PIED", "Œdèmedupied", "OEdème du pled"])
def test_what_accents_do_not_touch_is_forgiven_all_the_same(seen):
    assert match("Œdème du pied", seen, accent_sensitive=True).accepted


def test_case_counts_where_asked():
    assert match("US", "us").kind is MatchKind.EXACT
    assert match("US", "us", case_sensitive=True).kind is MatchKind.UNSURE
    assert match("Straße", "Strasse", case_sensitive=True).kind is MatchKind.EXACT
    assert match("Imagerie", "Imagcrie", case_sensitive=True).accepted
    assert not match("Imagerie", "imagcrie", case_sensitive=True).accepted


def test_field_case_d02_missing_spaces_are_forgiven_in_long_labels_only():
    assert match("Compte rendu opératoire", "Compterenduopératoire").kind is MatchKind.SPACELESS
    assert match("son or", "sonor").score <= 0.5
    assert not match("son or", "sonor").accepted


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("IPP 0014I2", "IPP 001412"),
        ("Lit 1", "Lit I"),
        ("Lit I", "Lit 1"),
        ("Salle 10", "Salle 1O"),
        ("Il", "11"),
    ],
)
def test_field_case_d05_a_look_alike_in_an_identifier_is_never_accepted_nor_another_label(expected, seen):
    assert match(expected, seen).kind is MatchKind.UNSURE


def test_field_case_d05_a_look_alike_in_a_label_is_accepted_with_less_confidence():
    found = match("Valider", "Va1ider")
    assert found.kind is MatchKind.CONFUSABLE
    assert 0.5 < found.score < 0.9


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("Valider dossier", "Supprimer dossier"),
        ("Import", "Export"),
        ("Connecter", "Déconnecter"),
        ("Activer", "Désactiver"),
        ("Lire", "Dire"),
        ("Enregistrer", "Enregistrer sous"),
        ("Page 12", "Page 13"),
        ("Lit 12 nord", "Lit 12 sud"),
        ("Imagerie", ""),
        ("Imagerie", "..."),
        ("!", "?"),
        ("Dossier 7", "Dossier"),
    ],
)
def test_another_label_is_not_accepted(expected, seen):
    assert match(expected, seen).other


@pytest.mark.parametrize(
    ("expected", "seen"),
    [("Imagerie", "lmagerie"), ("Hospitalisation", "Hospitalisaton"), ("Lettre de liaison", "Lettredeliaisom")],
)
def test_a_misread_letter_in_a_long_word_is_forgiven(expected, seen):
    found = match(expected, seen)
    assert found.accepted
    assert found.score < 0.9


def test_a_misread_word_beside_the_right_number_is_forgiven():
    assert match("Chambre 12", "Chanbre 12").accepted


def test_one_letter_under_a_pointer_leaves_it_open():
    assert match("View PDF", "View POF").kind is MatchKind.UNSURE


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("Self-operating computer str…", "Self-operating computer structure"),
        ("Imagerie médicale du thorax", "Imagerie médi…"),
    ],
)
def test_a_label_cut_by_an_ellipsis_matches_its_beginning(expected, seen):
    assert match(expected, seen).kind is MatchKind.TRUNCATED


def test_a_cut_label_needs_enough_letters():
    assert not match("Imagerie", "Im...").accepted


@pytest.mark.parametrize(
    ("expected", "seen", "kind"),
    [
        ("Imprimer le dossier", "Imprimer...", MatchKind.UNSURE),
        ("Imprimer le dossier", "Imprimer le dos…", MatchKind.TRUNCATED),
        ("Enregistrer...", "Enregistrer sous", MatchKind.UNSURE),
        ("Enregistrer sous", "Enregistrer sous...", MatchKind.EXACT),
        ("Enregistrer sous...", "Enregis…", MatchKind.TRUNCATED),
        ("Enregistrer", "Enregistrer sous...", MatchKind.NONE),
        ("Compte rendu de consultation", "Compte rendu de…", MatchKind.TRUNCATED),
    ],
)
def test_dots_after_whole_words_may_be_a_commands_own(expected, seen, kind):
    assert match(expected, seen).kind is kind


@pytest.mark.parametrize(("expected", "seen"), [("Internes", "Intemes"), ("Chemises", "Chernises")])
def test_letters_that_run_together_are_look_alikes(expected, seen):
    assert match(expected, seen).kind is MatchKind.FUZZY


def test_in_short_words_letters_that_run_together_make_another_word():
    assert not match("corne", "come").accepted


@pytest.mark.parametrize("seen", ["Hospitalisations 17", "e.durand@chu-lyon.fr 17"])
def test_a_number_more_is_no_misreading(seen):
    assert not match(seen.removesuffix("17").strip(), seen).accepted


def test_letters_of_another_script_that_look_latin_are_look_alikes():
    assert match("Cocher", "\u0421\u043e\u0441her").kind is MatchKind.CONFUSABLE
    assert match("Annuler", "\u0391nnuler").kind is MatchKind.CONFUSABLE
    assert match("Poste 0", "\u0420oste O").kind is MatchKind.UNSURE


def test_no_word_begins_or_ends_inside_a_number():
    assert [starts_word("8,540 g", index) for index in (0, 1, 2, 5, 6)] == [True, False, False, True, True]
    assert starts_word("Changes23", 7)
    assert starts_word("DossierImagerie", 7)
    assert not starts_word("poisson", 4)


@pytest.mark.parametrize("text", ["Cœur à 8,540 g", "« L\u2019été »", "12/05 - n°\u00a07", ", 8", ""])
def test_letters_are_those_of_the_compact_form_and_say_where_they_come_from(text):
    found = letters(text)
    assert "".join(char for char, _ in found) == compact(fold(text))
    assert [index for _, index in found] == sorted(index for _, index in found)
    assert all(not text[index].isspace() for _, index in found)


def test_icons_read_as_foreign_letters_are_left_out():
    assert without_marks("Save", "日Save☆") == "Save"
    assert without_marks("日Save", "日Save") == "日Save"
    assert match("Save", "日Save").accepted


def test_fold_and_compact_are_idempotent():
    text = "Cœur « L\u2019été » \u2014 8,5"
    assert fold(fold(text)) == fold(text)
    assert compact(compact(fold(text))) == compact(fold(text)) == "coeurlete8,5"


@pytest.mark.parametrize(
    ("shown", "kind"),
    [
        ("20211019_013832...", MatchKind.EXACT),
        ("20211019_0138326...", MatchKind.UNSURE),
        ("20211019_014832...", MatchKind.NONE),
        ("20211019_01383266", MatchKind.NONE),
    ],
)
def test_the_letter_before_an_ellipsis_may_be_one_of_its_dots(shown, kind):
    assert match("20211019_013832", shown).kind is kind


@pytest.mark.parametrize(
    ("seen", "typed", "shown"),
    [
        ("Nom : DURAND", "durand", True),
        ("Cœur", "coeur", True),
        ("une longue phr", "Une longue phrase qui ne tient pas", True),
        ("ne tient pas", "Une longue phrase qui ne tient pas", True),
        ("longue phrase", "Une longue phrase qui ne tient pas", False),
        ("une", "Une longue phrase qui ne tient pas", False),
        ("12/03/1950", "13/03/1950", False),
        ("", "x", False),
        ("x", "\n ", False),
    ],
)
def test_what_was_typed_is_shown_whole_or_as_far_as_its_field_goes(seen, typed, shown):
    assert shows_typed(seen, typed) is shown
