"""The browser's own menus, and menus and lists that only share some of its words."""

import pytest
from PIL import Image, ImageDraw, ImageFont
from screen_kit import subject

from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.validation.verdict import FailureCategory, Verdict
from otel_validation.vision.ocr.ppocr import PpOcrEngine

PAGE_MENU = ("Back", "Forward", "Reload", None, "Save as...", "Print...", None, "View page source", "Inspect")
IMAGE_MENU = (
    "Ouvrir l'image dans un nouvel onglet",
    "Enregistrer l'image sous...",
    "Copier l'image",
    None,
    "Inspecter",
)
MAIN_MENU = ("New tab", "New window", None, "Passwords and autofill", "History", "Downloads", "Delete browsing data...")
APPLICATION_MENU = ("Copier", "Couper", "Coller", None, "Imprimer", "Partager")
FILE_MENU = ("Nouvelle fenêtre", "Nouvel onglet", None, "Enregistrer sous...", "Imprimer", "Personnaliser", "Quitter")
ROW, LINE = 30, 16


@pytest.fixture(scope="module")
def checker():
    made = OcrRoiChecker(PpOcrEngine())
    made.warm_up()
    return made


def drawn(rows, *, at=(420, 260), scale=1.0, ground="white", ink="#202020", outline=None, width=330):
    """A page with a menu at `at`, and the middle of each of its rows, in pixels; None among `rows` is a line across."""
    image = Image.new("RGB", (round(1280 * scale), round(800 * scale)), "white")
    draw = ImageDraw.Draw(image)
    draw.text((60 * scale, 60 * scale), "Dossier patient", fill="black", font=ImageFont.load_default(22 * scale))
    (x, y), places = at, {}
    height = sum(LINE if row is None else ROW for row in rows)
    box = tuple(round(v * scale) for v in (x, y - 8, x + width, y + height + 8))
    draw.rectangle(box, fill=ground, outline=outline)
    for row in rows:
        if row is None:
            draw.line([v * scale for v in (x, y + LINE / 2, x + width, y + LINE / 2)], fill="#d0d0d0")
            y += LINE
            continue
        draw.text(((x + 24) * scale, (y + 7) * scale), row, fill=ink, font=ImageFont.load_default(13 * scale))
        places[row] = round((x + 60) * scale), round((y + ROW / 2) * scale)
        y += ROW
    return image, places


@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize(
    "look",
    [{}, {"outline": "#c8c8c8"}, {"ground": "#2b2b2b", "ink": "#eeeeee"}],
    ids=["borderless", "light", "dark"],
)
@pytest.mark.parametrize(
    ("rows", "clicked"),
    [(PAGE_MENU, "Print..."), (PAGE_MENU, "Inspect"), (IMAGE_MENU, "Copier l'image"), (MAIN_MENU, "History")],
)
def test_the_browsers_own_menu_is_the_wrong_application(checker, rows, clicked, look, scale):
    image, places = drawn(rows, scale=scale, **look)
    window = {"dpi_scale": scale}
    finding = checker.check(subject(image, places[clicked], "Imagerie", window=window))
    assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_APPLICATION)
    assert finding.evidence["surface"] == "browser_menu"


def test_a_click_at_the_end_of_a_row_is_in_the_menu_too(checker):
    image, places = drawn(MAIN_MENU, outline="#c8c8c8")
    finding = checker.check(subject(image, (720, places["History"][1]), "Imagerie"))
    assert finding.evidence["surface"] == "browser_menu"


def test_a_command_of_it_that_was_expected_is_complete(checker):
    image, places = drawn(PAGE_MENU)
    assert checker.check(subject(image, places["Inspect"], "Inspect")).verdict is Verdict.COMPLETE


@pytest.mark.parametrize(("rows", "clicked"), [(APPLICATION_MENU, "Imprimer"), (FILE_MENU, "Enregistrer sous...")])
def test_an_applications_menu_is_the_application(checker, rows, clicked):
    image, places = drawn(rows, outline="#c8c8c8")
    finding = checker.check(subject(image, places[clicked], "Imagerie"))
    assert (finding.verdict, finding.category) == (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)


@pytest.mark.parametrize(
    "rows",
    [("Inspecter", "Biologie", "Courriers", "Prescriptions"), ("Personnaliser",), ("Synthèse", "Capture web", "Notes")],
)
def test_one_such_word_among_an_applications_own_is_no_menu_of_the_browser(checker, rows):
    image, places = drawn(rows, outline="#c8c8c8")
    finding = checker.check(subject(image, places[rows[0]], "Imagerie"))
    assert finding.evidence["surface"] is None
    assert finding.category is FailureCategory.WRONG_TARGET


def test_the_page_beside_the_menu_is_the_application(checker):
    image, _ = drawn(PAGE_MENU, at=(160, 70))
    finding = checker.check(subject(image, (110, 72), "Imagerie"))
    assert finding.evidence["surface"] is None


class Counting(PpOcrEngine):
    reads = 0

    def read(self, image, **given):
        self.reads += 1
        return super().read(image, **given)


@pytest.mark.parametrize(
    ("rows", "clicked", "further"),
    [
        (("Dossier", "Biologie", "Courriers"), "Biologie", False),
        (IMAGE_MENU, "Copier l'image", False),
        (PAGE_MENU, "Reload", True),
    ],
    ids=["no commands", "enough of them", "more to see"],
)
def test_more_of_a_column_is_read_only_where_commands_are_near_and_too_few(rows, clicked, further):
    engine = Counting()
    image, places = drawn(rows)
    OcrRoiChecker(engine).check(subject(image, places[clicked], "Imagerie"))
    assert (engine.reads > 0) is further
