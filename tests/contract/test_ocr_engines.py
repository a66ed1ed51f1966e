"""One suite for every OCR engine: what the checkers rely on.

`--engine NAME` (may be repeated) runs it on that engine alone, which must then load.
"""

import os
import random
import socket
import statistics
import threading
import unicodedata

import numpy as np
import psutil
import pytest
from PIL import Image, ImageDraw, ImageFont

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.registry import ENGINES, make_engine

APART = {"easyocr": "`make easyocr` runs this suite on it: torch has an environment of its own"}
"""Engines that need not load here, and where they do instead. The others must where CI is set."""
WAIVED = {
    ("easyocr", "accents"): "english_g2.pth knows no accent, and no package holds the Latin recogniser",
    ("easyocr", "characters"): "EasyOCR does not say where the characters of a line stand",
}
"""Rules that an engine does not keep, and why. Each is tested to be broken: one that is kept is no longer waived."""
READS = {"ppocr": 400, "tesseract": 400, "rapidocr": 150, "easyocr": 60}
"""Regions read to see whether memory stays flat: some seconds' worth of each engine."""
MOST_GROWTH_MB = 150
"""Field case D13: how far the memory held may grow (medians: one large region takes more for a moment)."""


@pytest.fixture(scope="session")
def latin():
    """A font with accents: Pillow's own has none."""
    try:
        return ImageFont.truetype("DejaVuSans.ttf", 18)
    except OSError:
        missing = "no font with accents: install fonts-dejavu-core"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)


def roi(*labels, size=(320, 96), ground="white", ink="black", text_size=16, font=None):
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    for x, y, text in labels:
        draw.text((x, y), text, fill=ink, font=font or ImageFont.load_default(text_size))
    return np.asarray(image)


def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        names = metafunc.config.getoption("--engine") or list(ENGINES)
        metafunc.parametrize("engine", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def engine(request):
    name = request.param
    try:
        made = loaded(name)
    except OcrUnavailableError as error:
        asked = name in request.config.getoption("--engine")
        if asked or ("CI" in os.environ and name not in APART):
            pytest.fail(str(error))
        pytest.skip(f"{error} ({APART.get(name, 'CI runs it')})")
    return made


def loaded(name):
    """The engine, warm, on a machine without a network: weights come from this disk or not at all."""
    asked = []

    def refuse(*target):
        asked.append(target)
        raise OSError("no network here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        try:
            made = make_engine(name)
            made.warm_up()
        finally:
            assert asked == [], "an engine asked for the network"
    return made


def without_accents(text):
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def test_waivers_name_engines_that_are_there():
    assert {name for name, _ in WAIVED} | set(APART) | set(READS) <= set(ENGINES)


def test_it_goes_by_its_name(engine, request):
    assert engine.name == request.node.callspec.params["engine"]


def test_it_reads_a_label_where_it_stands(engine):
    (line,) = engine.read(roi((100, 40, "Imagerie")))
    assert line.text == "Imagerie"
    assert line.confidence > 0.9
    x0, y0, x1, y1 = line.box
    assert 85 <= x0 <= 102
    assert 150 <= x1 <= 175
    assert 34 <= y0 < y1 <= 66


def test_characters_have_positions_in_reading_order(engine):
    (line,) = engine.read(roi((60, 40, "Compte rendu")))
    waived = (engine.name, "characters") in WAIVED
    assert len(line.char_x) == (0 if waived else len("Compte rendu"))
    assert list(line.char_x) == sorted(line.char_x)
    assert all(line.box[0] - 4 <= x <= line.box[2] + 4 for x in line.char_x)


@pytest.mark.parametrize(
    "image", [np.full((96, 320, 3), 128, np.uint8), np.zeros((1, 1, 3), np.uint8), np.zeros((2, 300, 3), np.uint8)]
)
def test_field_case_d10_an_image_without_text_gives_an_empty_list(engine, image):
    assert engine.read(image) == []


def test_near_puts_the_nearest_line_first_and_limit_bounds_the_work(engine):
    image = roi((20, 10, "Dossier"), (200, 60, "Biologie"))
    assert engine.read(image, near=(230, 70), limit=1)[0].text == "Biologie"
    assert len(engine.read(image, near=(230, 70))) == 2


@pytest.mark.parametrize("zoom", [None, 1.0])
def test_lines_come_nearest_first_one_by_one(engine, zoom):
    image = roi((20, 10, "Dossier"), (200, 60, "Biologie"), (20, 60, "Imagerie"))
    assert [line.text for line in engine.lines(image, (230, 70), zoom=zoom)] == ["Biologie", "Imagerie", "Dossier"]
    assert next(engine.lines(image, (50, 18), zoom=zoom)).text == "Dossier"
    assert not list(engine.lines(np.full((96, 320, 3), 128, np.uint8), (9, 9), zoom=zoom))


@pytest.mark.parametrize("text", ["Opératoire", "Prénom", "Forêt", "Été", "Reçu", "Noël"])
def test_french_accents_are_read(engine, latin, text):
    waived = (engine.name, "accents") in WAIVED
    assert engine.read(roi((60, 36, text), font=latin))[0].text == (without_accents(text) if waived else text)


@pytest.mark.parametrize(("ground", "ink"), [("#1e1e1e", "white"), ("white", "black"), ("#0a64d8", "white")])
def test_light_on_dark_is_read_like_dark_on_light(engine, ground, ink):
    assert engine.read(roi((100, 40, "Enregistrer"), ground=ground, ink=ink))[0].text == "Enregistrer"


def test_field_case_d12_eight_threads_get_their_own_texts(engine):
    """8 threads, 50 regions each, every one with its own six-digit number: 400 of 400."""
    numbers = [[f"{100000 + 7919 * (thread * 50 + i) % 900000}" for i in range(50)] for thread in range(8)]
    assert len({number for row in numbers for number in row}) == 400
    read = [[] for _ in range(8)]

    def work(thread):
        for number in numbers[thread]:
            image = roi((12, 8, number), size=(96, 32))
            read[thread].append([line.text for line in engine.read(image)])

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = [(number, texts) for row in zip(numbers, read, strict=True) for number, texts in zip(*row, strict=True)]
    misread = [(number, texts) for number, texts in answers if texts != [number]]
    assert len(answers) == 400
    assert len(misread) <= 20
    # A figure taken for another is the engine's own; it takes it so alone, too.
    for number, texts in misread:
        assert texts == [line.text for line in engine.read(roi((12, 8, number), size=(96, 32)))]


@pytest.mark.slow
def test_field_case_d13_memory_stays_flat_while_regions_differ_in_size(engine):
    chance, process, count = random.Random(13), psutil.Process(), READS[engine.name]
    seen = []
    for index in range(count):
        size = chance.randint(80, 400), chance.randint(80, 400)
        engine.read(roi((8, 10, f"Dossier {index}"), (8, size[1] // 2, "Imagerie"), size=size))
        seen.append(process.memory_info().rss / 2**20)
    fifth = count // 5
    warm, last = (statistics.median(seen[start : start + fifth]) for start in (fifth, count - fifth))
    assert last - warm < MOST_GROWTH_MB, seen[:: count // 20]
