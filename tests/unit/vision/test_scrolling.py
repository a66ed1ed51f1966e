"""How far content scrolled."""

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pixels_kit import jpeg
from screen_kit import font

from otel_validation.vision.image import Frame
from otel_validation.vision.scrolling import content_shift

SIZE = (1200, 800)
AREA = (200, 100, 1000, 700)


def page(offset=0, across=0, *, seed=3):
    """A list scrolled by `offset` pixels under a fixed header."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", SIZE, "white")
    inner = Image.new("RGB", (AREA[2] - AREA[0], AREA[3] - AREA[1]), "white")
    draw = ImageDraw.Draw(inner)
    for row in range(90):
        words = " ".join(f"{rng.integers(1000, 99999)}" for _ in range(14))
        draw.text((10 - across, 30 * row - offset), words, fill=(30, 30, 30), font=font(15))
    image.paste(inner, AREA[:2])
    ImageDraw.Draw(image).text((210, 60), "Comptes rendus", fill="black", font=font(20))
    return image


def shift(before, after, box=AREA, scale=1.0):
    return content_shift(Frame(before), Frame(after), box, scale=scale)


@pytest.mark.parametrize("offset", [40, 120, 300, 480])
def test_a_list_moved_up(offset):
    moved = shift(page(), page(offset))
    assert moved.dx == 0
    assert abs(moved.dy + offset) <= 2


def test_a_list_moved_down_and_as_jpeg():
    moved = shift(jpeg(page(300), 70), jpeg(page(180), 70))
    assert abs(moved.dy - 120) <= 2


def test_a_table_moved_sideways():
    moved = shift(page(), page(across=160))
    assert moved.dy == 0
    assert abs(moved.dx + 160) <= 2


def test_the_area_may_hold_a_header_that_stays():
    moved = shift(page(), page(120), (0, 0, *SIZE))
    assert abs(moved.dy + 120) <= 2


@pytest.mark.parametrize("after", [page(), page(seed=4), page(1500), Image.new("RGB", SIZE, "white")])
def test_what_stays_and_what_is_replaced_did_not_move(after):
    assert shift(page(), after) is None


def test_rows_that_all_look_alike_say_nothing():
    def striped(offset):
        image = Image.new("RGB", SIZE, "white")
        for y in range(-30, SIZE[1], 20):
            ImageDraw.Draw(image).line((0, y + offset, SIZE[0], y + offset), fill="black")
        return image

    assert shift(striped(0), striped(7)) is None


def test_an_area_of_a_few_pixels_says_nothing():
    assert shift(page(), page(120), (300, 300, 312, 312)) is None
