"""One suite for every OCR engine: what the checkers rely on."""

import os
import threading

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.ppocr import PpOcrEngine

ENGINES = {"ppocr": PpOcrEngine}


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


@pytest.fixture(scope="module", params=sorted(ENGINES))
def engine(request):
    try:
        made = ENGINES[request.param]()
        made.warm_up()
    except OcrUnavailableError as error:
        pytest.skip(str(error))
    return made


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
    assert len(line.char_x) in {0, len(line.text)}
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
    assert engine.read(roi((60, 36, text), font=latin))[0].text == text


@pytest.mark.parametrize(("ground", "ink"), [("#1e1e1e", "white"), ("white", "black"), ("#0a64d8", "white")])
def test_light_on_dark_is_read_like_dark_on_light(engine, ground, ink):
    assert engine.read(roi((100, 40, "Enregistrer"), ground=ground, ink=ink))[0].text == "Enregistrer"


def test_field_case_d12_eight_threads_get_their_own_texts(engine):
    """8 threads, 50 regions each, every one with its own six-digit number: 400 of 400."""
    numbers = [[f"{100000 + 7919 * (thread * 50 + i) % 900000}" for i in range(50)] for thread in range(8)]
    assert len({number for row in numbers for number in row}) == 400
    right = [0] * 8

    def work(thread):
        for number in numbers[thread]:
            image = roi((12, 8, number), size=(96, 32))
            right[thread] += any(number == line.text for line in engine.read(image))

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(right) == 400
