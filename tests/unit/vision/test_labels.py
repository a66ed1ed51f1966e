"""Lines into labels, by geometry."""

import numpy as np
import pytest

from otel_validation.vision.expected import ExpectedText
from otel_validation.vision.labels import (
    around_click,
    find_spans,
    is_link,
    is_sentence,
    split_line,
    stacked,
    under_click,
)
from otel_validation.vision.ocr.engine import TextBox, distance


def line(text, box, confidence=1.0, *, chars=True):
    step = (box[2] - box[0]) / max(1, len(text))
    xs = tuple(box[0] + (i + 0.5) * step for i in range(len(text))) if chars else ()
    return TextBox(text, box, confidence, xs)


def find_span(label, expected, pixels=None):
    return next(find_spans(label, ExpectedText((expected,)), pixels), None)


def strip(*inked, size=(60, 400)):
    """White pixels with black columns between x0 and x1 on the rows of a line at 20..40."""
    pixels = np.full((*size, 3), 255, np.uint8)
    for x0, x1 in inked:
        pixels[24:36, x0:x1:2] = 0
    return pixels


def test_a_line_is_cut_at_wide_gaps_only():
    merged = line("Dossier Imagerie", (20, 20, 180, 40))
    parts = split_line(merged, strip((22, 86), (112, 178)))
    assert [part.text for part in parts] == ["Dossier", "Imagerie"]
    assert parts[0].box[2] < parts[1].box[0]
    assert [part.text for part in split_line(merged, strip((22, 92), (98, 178)))] == ["Dossier Imagerie"]


@pytest.mark.parametrize("text", ["a", "Imagerie"])
def test_a_line_without_character_positions_stays_whole(text):
    bare = line(text, (20, 20, 100, 40), chars=False)
    assert split_line(bare, strip((20, 100))) == [bare]


def test_an_empty_or_even_line_stays_whole():
    flat = line("ab", (20, 20, 20, 20))
    assert split_line(flat, strip()) == [flat]
    even = line("ab", (20, 20, 60, 40))
    assert split_line(even, strip()) == [even]


@pytest.mark.parametrize(
    ("text", "expected", "span"),
    [
        ("Dossier Imagerie", "Imagerie", (8, 16)),
        ("DossierImagerieBiologie", "imagerie", (7, 15)),
        ("Changes23", "Changes", (0, 7)),
        ("Chœur d'été", "ete", (8, 11)),
        ("poisson", "son", None),
        ("Lit 12", "Lit 1", None),
        ("poisson son", "son", (8, 11)),
        ("Imagerie", "...", None),
        ("8,540 g", "8,540", (0, 5)),
        ("8,540", "540", None),
        ("8,540", "8540", None),
        ("12/05/2026", "12", None),
    ],
)
def test_an_expected_text_is_found_as_whole_words(text, expected, span):
    found = find_span(line(text, (0, 0, 10 * len(text), 20)), expected)
    assert (None if found is None else (found.start, found.end)) == span


def test_without_positions_there_is_no_span():
    assert find_span(line("Dossier Imagerie", (0, 0, 160, 20), chars=False), "Imagerie") is None


def test_the_label_under_the_click_is_the_nearest_of_those_touched():
    high, low = line("a", (0, 0, 100, 20)), line("b", (0, 18, 100, 38))
    assert under_click([high, low], (50, 19.5)) in {high, low}
    assert under_click([high, low], (50, 36)) is low
    assert under_click([high, low], (50, 80)) is None
    assert distance((0, 0, 3, 3), (6, 7)) == 5.0


def test_open_ground_belongs_to_the_nearest_label_only_within_its_padding():
    pixels = strip((100, 200))
    label = line("Imagerie", (96, 20, 204, 40))
    assert around_click([label], (215, 30), pixels) is label
    assert around_click([label], (300, 30), pixels) is None
    assert around_click([], (300, 30), pixels) is None


def test_lines_of_one_column_make_a_label_in_order():
    first, second = line("Dossier du", (0, 0, 100, 20)), line("patient", (10, 24, 80, 44))
    other = line("Biologie", (300, 0, 380, 20))
    joined = stacked(second, [other, second, first], ExpectedText(("Dossier du patient",)))
    assert joined is not None
    assert joined.text == "Dossier du patient"
    assert joined.box == (0, 0, 100, 44)
    assert stacked(first, [first, line("patient", (10, 90, 80, 110))], ExpectedText(("Dossier du patient",))) is None


def test_a_label_beside_the_expected_one_is_no_line_of_it():
    expected, other = line("Hospitalisations", (10, 10, 150, 30)), line("le", (10, 34, 30, 54))
    assert stacked(other, [expected, other], ExpectedText(("Hospitalisations",))) is None


def inked(*parts, height=60):
    """White pixels with grey or coloured stripes (x0, x1, colour) on the rows of a line at 20..40."""
    pixels = np.full((height, 400, 3), 255, np.uint8)
    for x0, x1, colour in parts:
        pixels[24:37, x0:x1:3] = colour
    return pixels


@pytest.mark.parametrize(
    ("text", "gap", "apart"),
    [
        ("Enregistrer sous", 3, False),
        ("Enregistrer sous", 10, True),
        ("Enregistrer: sous", 5, True),
        ("Enregistrer (12)", 5, True),
        ("Enregistrer v", 5, True),
        ("Enregistrer 12", 6, False),
        ("Enregistrer 12", 14, True),
    ],
)
def test_a_part_of_a_line_is_a_label_only_where_it_stands_apart(text, gap, apart):
    label = line(text, (20, 20, 20 + 10 * len(text), 40))
    pixels = inked((22, 130, 0), (130 + gap, 20 + 10 * len(text) - 2, 0))
    assert (find_span(label, "Enregistrer", pixels) is not None) is apart
    assert find_span(label, "Enregistrer") is not None


def test_one_letter_before_a_label_is_its_icon():
    label = line("Q Rechercher", (20, 20, 140, 40))
    assert find_span(label, "Rechercher", inked((22, 138, 0))) is not None


def test_a_link_has_its_own_ink():
    label = line("Pour la suite lisez la documentation du service", (0, 20, 376, 40))
    span = find_span(label, "documentation")
    assert span is not None
    assert is_sentence(label)
    assert not is_sentence(line("Enregistrer sous", (0, 0, 9, 9)))
    x0, x1 = round(span.x0), round(span.x1)
    assert is_link(label, span, inked((0, x0, 30), (x0, x1, (0, 90, 220)), (x1, 376, 30)))
    assert not is_link(label, span, inked((0, 376, 30)))
    assert not is_link(label, span, inked((x0, x1, 30)))
    assert not is_link(line("a" * 8, (5, 5, 5, 5)), span, inked())
