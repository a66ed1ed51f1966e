"""Window titles: names are compared with whole parts."""

import pytest

from otel_validation.vision.titles import (
    Agreement,
    agreement,
    best,
    is_browser,
    is_hung,
    names_application,
    runs_application,
    title_parts,
)

SAME, PART, UNSURE, OTHER = Agreement.SAME, Agreement.PART, Agreement.UNSURE, Agreement.OTHER


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("DPI - Dossier patient - Google Chrome", ["DPI", "Dossier patient", "Google Chrome"]),
        ("Amazon.com Shopping Cart \u2014 Mozilla Firefox", ["Amazon.com Shopping Cart", "Mozilla Firefox"]),
        ("Accueil | Easily \u00b7 CHU", ["Accueil", "Easily", "CHU"]),
        ("Compte-rendu", ["Compte-rendu"]),
        ("DPI -Dossier patient- Google Chrome", ["DPI", "Dossier patient", "Google Chrome"]),
        ("(3) Bo\u00eete de r\u00e9ception - Outlook", ["Bo\u00eete de r\u00e9ception", "Outlook"]),
        ("*Sans titre - Bloc-notes", ["Sans titre", "Bloc-notes"]),
        ("DPI et 3 autres pages - Personnel - Microsoft\u200b Edge", ["DPI", "Personnel", "Microsoft\u200b Edge"]),
        ("DPI (Ne r\u00e9pond pas)", ["DPI"]),
        ("", []),
        (" - ", []),
    ],
)
def test_a_title_is_a_row_of_parts(title, parts):
    assert title_parts(title) == parts


@pytest.mark.parametrize(
    ("expected", "title"),
    [
        ("DPI - Dossier patient", "DPI - Dossier patient - Google Chrome"),
        ("DPI", "DPI - Dossier patient - Google Chrome"),
        ("Dossier patient", "DPI \u2014 dossier patient"),
        ("DPI - Dossier patient - Google Chrome", "DPI - Dossier patient et 2 autres pages - Microsoft\u200b Edge"),
        ("C\u0153ur | Imagerie", "Coeur - Imagerie - Mozilla Firefox"),
        ("DPI - Dossier *", "DPI - Dossier MARTIN - Google Chrome"),
        ("DPI - *", "DPI - Dossier - MARTIN - Google Chrome"),
        ("* - Easily", "Notes - MARTIN - Easily"),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_whole_parts_agree(expected, title, exact):
    assert agreement(expected, title, exact=exact) is SAME


@pytest.mark.parametrize(
    ("expected", "title"),
    [
        ("Edge", "Knowledge base"),
        ("Edge", "Knowledge base - Google Chrome"),
        ("DPI", "DPIA - Registre - Google Chrome"),
        ("Dossier", "Dossiers archiv\u00e9s du service - Google Chrome"),
        ("Imagerie", "Compte rendu imagerie - Word"),
        ("DPI - Google Chrome", "Intranet - Google Chrome"),
        ("Easily*", "Knowledge base"),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_a_piece_of_a_part_is_nothing(expected, title, exact):
    assert agreement(expected, title, exact=exact) is OTHER


def test_the_same_application_on_another_document_agrees_in_part():
    assert agreement("DPI - Dossier MARTIN", "DPI - Dossier DURAND - Google Chrome", exact=True) is PART
    assert agreement("MARTIN - Easily", "DURAND - Easily", exact=True) is PART
    assert agreement("MARTIN - Easily", "Easily - DURAND", exact=True) is OTHER


def test_what_ocr_gets_wrong_is_forgiven_only_where_ocr_read():
    assert agreement("Dossier patient", "Dossler patient - Chrome", exact=False) is SAME
    assert agreement("Dossier patient", "Dossler patient - Chrome", exact=True) is OTHER
    assert agreement("Lit 1", "Lit I - Easily", exact=False) is UNSURE
    assert agreement("Dossier patient - MARTIN", "Dossier patient-MARTIN", exact=False) is SAME


@pytest.mark.parametrize(
    ("expected", "seen", "found"),
    [
        ("Dossier patient", "Dossier pat", SAME),
        ("DPI - Dossier patient", "DPI - Dossier p", SAME),
        ("DPI - Dossier patient - Urgences", "DPI - Dossier", UNSURE),
        ("DPI - Dossier patient - Urgences", "DPI - Dos", SAME),
        ("Easily", "MARTIN \u00c9loise - D", UNSURE),
        ("Easily", "Easily - MAR", SAME),
    ],
)
def test_a_cut_title_may_hide_what_is_expected(expected, seen, found):
    assert agreement(expected, seen, exact=False, cut=True) is found


@pytest.mark.parametrize("title", ["", " - ", "\u25cf"])
def test_an_empty_title_tells_nothing(title):
    assert agreement("DPI", title, exact=True) is UNSURE
    assert agreement(" - ", "DPI", exact=True) is UNSURE


@pytest.mark.parametrize(
    ("name", "title", "found"),
    [
        ("Edge", "Knowledge base - Microsoft Edge", SAME),
        ("Microsoft Edge", "Knowledge base - Edge", SAME),
        ("Edge", "Knowledge base - Google Chrome", OTHER),
        ("Easily", "Dossier - Easily - Google Chrome", SAME),
        ("Easily", "Easily won - Google Chrome", OTHER),
        ("Word", "Document1 - Word", SAME),
        ("Word", "Password - Google Chrome", OTHER),
        ("DPI - Urgences", "DPI - Accueil", OTHER),
    ],
)
def test_an_application_is_named_by_whole_parts(name, title, found):
    assert names_application(name, title, exact=True) is found


@pytest.mark.parametrize(
    ("name", "process", "same"),
    [
        ("Edge", "msedge.exe", True),
        ("Microsoft Edge", "msedge.exe", True),
        ("msedge.exe", "MSEDGE.EXE", True),
        ("Google Chrome", "chrome", True),
        ("Easily", "Easily.exe", True),
        ("Easily", "chrome.exe", False),
        ("Internet Explorer", "iexplore.exe", True),
        ("", ".exe", False),
    ],
)
def test_an_application_runs_in_its_program(name, process, same):
    assert runs_application(name, process) is same


def test_browsers_show_other_applications():
    assert is_browser("msedge.exe")
    assert is_browser("firefox")
    assert not is_browser("Easily.exe")


def test_a_window_that_hangs():
    assert is_hung("DPI - Dossier (Ne r\u00e9pond pas)")
    assert is_hung("Document1 - Word (Not Responding)")
    assert not is_hung("Le malade ne r\u00e9pond pas - Easily")


def test_the_best_of_several_counts():
    assert best([OTHER, SAME, UNSURE]) is SAME
    assert best([OTHER, UNSURE]) is UNSURE
    assert best([]) is OTHER
