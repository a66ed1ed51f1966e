"""Captures that show no application (E07)."""

import pytest
from PIL import Image, ImageDraw
from pixels_kit import Desk, jpeg, large_font

from otel_validation.vision.availability import Unavailable, unavailable
from otel_validation.vision.image import Frame

SIZE = (1920, 1080)


def state(image):
    return unavailable(Frame(image))


def locked(ground=(12, 30, 60), *, time="14:32", size=150):
    image = Image.new("RGB", SIZE, ground)
    draw = ImageDraw.Draw(image)
    draw.text((760, 260), time, fill="white", font=large_font(size))
    draw.text((800, 460), "lundi 1 décembre", fill="white", font=large_font(36))
    return image


def letterboxed(content, *, bars=(0, 0, 0), upright=True):
    image = Image.new("RGB", SIZE, bars)
    image.paste(content.resize((1440, 1080) if upright else (1920, 800)), (240, 0) if upright else (0, 140))
    return image


@pytest.mark.parametrize("colour", ["black", "white", "#0a64d8"])
def test_one_colour_is_blank(colour):
    assert state(Image.new("RGB", SIZE, colour)) is Unavailable.BLANK


def test_an_application_is_available_light_and_dark():
    assert state(Desk().image) is None
    assert state(Desk(dark=True).image) is None


@pytest.mark.parametrize("upright", [True, False])
def test_a_letterboxed_remote_desktop_is_judged_by_its_content(upright):
    assert state(letterboxed(Desk(dark=True).image, upright=upright)) is None
    empty = letterboxed(Image.new("RGB", SIZE, (40, 40, 40)), upright=upright)
    assert state(empty) is Unavailable.EMPTY_SESSION
    assert state(jpeg(empty, 60)) is Unavailable.EMPTY_SESSION


def test_a_black_session_between_bars_of_another_black_is_empty():
    assert state(letterboxed(Image.new("RGB", SIZE, "black"), bars=(32, 32, 32))) is Unavailable.EMPTY_SESSION


def test_a_margin_at_one_side_only_is_no_letterbox():
    image = Image.new("RGB", SIZE, "black")
    image.paste((40, 40, 90), (300, 0, 1920, 1080))
    assert state(image) is None


@pytest.mark.parametrize("ground", [(12, 30, 60), (0, 0, 0), (225, 230, 235)])
def test_a_lock_screen_shows_the_time_in_huge_digits(ground):
    image = locked(ground)
    if sum(ground) > 384:
        image = Image.eval(locked((255 - ground[0],) * 3), lambda value: 255 - value)
    assert state(image) is Unavailable.LOCKED


def test_the_sides_of_boxes_are_no_digits_of_a_clock():
    image = Image.new("RGB", (1600, 900), (42, 42, 46))
    draw = ImageDraw.Draw(image)
    for x in (238, 654, 1102):
        draw.line((x, 92, x, 224), fill=(130, 130, 135), width=2)
    for y in (120, 160):
        draw.ellipse((400, y, 410, y + 10), fill="white")
    assert state(image) is None


def test_large_text_that_is_no_time_and_a_small_clock_are_not_a_lock_screen():
    assert state(locked(time="1432")) is None
    assert state(locked(time="Dossier")) is None
    assert state(locked(size=30)) is None


def test_a_tiny_capture_is_looked_at_too():
    assert state(Image.new("RGB", (1, 1), "black")) is Unavailable.BLANK
    assert state(Image.new("RGB", (3, 2), "red")) is Unavailable.BLANK
