"""Dialogs as shapes."""

import pytest
from PIL import Image, ImageDraw

from otel_validation.vision.image import Frame
from otel_validation.vision.windows import dialog_around


def desktop(*, cross=True, box=(300, 200, 700, 460), scale=1, size=(1280, 800), outline="#606060"):
    image = Image.new("RGB", tuple(v * scale for v in size), "#c8d8e8")
    draw = ImageDraw.Draw(image)
    draw.rectangle(tuple(v * scale for v in box), fill="#f4f4f4", outline=outline, width=scale)
    if cross:
        x, y, side = (box[2] - 26) * scale, (box[1] + 12) * scale, 10 * scale
        draw.line((x, y, x + side, y + side), fill="black", width=2 * scale)
        draw.line((x, y + side, x + side, y), fill="black", width=2 * scale)
    return Frame(image)


@pytest.mark.parametrize("scale", [1, 2])
def test_the_window_around_the_click_is_found(scale):
    found = dialog_around(desktop(scale=scale), (500 * scale, 330 * scale), float(scale))
    assert found == pytest.approx([v * scale for v in (300, 200, 700, 460)], abs=3 * scale)


def test_without_a_cross_it_is_no_window():
    assert dialog_around(desktop(cross=False), (500, 330), 1.0) is None


def test_the_smallest_of_nested_windows_is_meant():
    frame = desktop(box=(100, 100, 900, 700))
    inner = desktop(box=(300, 250, 600, 450)).image.crop((300, 250, 601, 451))
    frame.image.paste(inner, (300, 250))
    found = dialog_around(frame, (450, 350), 1.0)
    assert found == pytest.approx((300, 250, 600, 450), abs=3)


@pytest.mark.parametrize("click", [(100, 100), (1000, 330), (0, 0), (1279, 799)])
def test_outside_there_is_none(click):
    assert dialog_around(desktop(), click, 1.0) is None


def test_a_window_over_most_of_the_screen_is_the_application():
    assert dialog_around(desktop(box=(10, 10, 1260, 780)), (600, 400), 1.0) is None


def test_a_small_group_is_no_window():
    assert dialog_around(desktop(box=(300, 200, 420, 260)), (350, 230), 1.0) is None


@pytest.mark.parametrize("mark", ["plus", "square", "none", "long"])
def test_only_a_cross_closes(mark):
    frame = desktop(cross=False)
    draw = ImageDraw.Draw(frame.image)
    x, y = 676, 212
    if mark == "plus":
        draw.line((x, y + 5, x + 10, y + 5), fill="black", width=2)
        draw.line((x + 5, y, x + 5, y + 10), fill="black", width=2)
    elif mark == "square":
        draw.rectangle((x, y, x + 10, y + 10), outline="black")
    elif mark == "long":
        draw.line((x - 20, y, x + 10, y + 3), fill="black", width=2)
    assert dialog_around(frame, (500, 330), 1.0) is None


def test_two_posts_without_a_lintel_are_no_window():
    frame = Frame(Image.new("RGB", (1280, 800), "white"))
    draw = ImageDraw.Draw(frame.image)
    for x in (300, 700):
        draw.line((x, 200, x, 460), fill="black", width=2)
    assert dialog_around(frame, (500, 330), 1.0) is None


def test_sides_that_only_pass_by_are_no_window():
    frame = Frame(Image.new("RGB", (1280, 800), "white"))
    draw = ImageDraw.Draw(frame.image)
    for x in (300, 700):
        for y in range(0, 800, 60):
            draw.line((x, y, x, y + 40), fill="black", width=2)
    assert dialog_around(frame, (500, 330), 1.0) is None
