"""How alike pictures are: held to imagehash 4.3.2 and scikit-image 0.26.0, which gave the values below."""

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pixels_kit import SIZE, jpeg

from otel_validation.vision.image import Frame
from otel_validation.vision.likeness import (
    fitted,
    hash_distance,
    match_at,
    matches_on,
    perceptual_hash,
    shows_something,
    structural_similarity,
)

Y, X = np.mgrid[0:120, 0:160].astype(np.float64)
PICTURES = {
    "waves": 127 + 60 * np.sin(X / 9) + 50 * np.cos(Y / 13 + X / 40),
    "rings": 127 + 120 * np.cos(np.hypot(X - 70, Y - 50) / 6),
    "steps": ((X // 20 + Y // 15) % 4) * 70,
}
PICTURES = {name: np.clip(values, 0, 255).astype(np.uint8) for name, values in PICTURES.items()}
CHANGES = {
    "worse": lambda grey: np.clip(grey.astype(np.int16) + ((X * 7 + Y * 13).astype(int) % 31) - 15, 0, 255).astype(
        np.uint8
    ),
    "moved": lambda grey: np.roll(grey, 3, 1),
    "inverted": lambda grey: 255 - grey,
}


@pytest.mark.parametrize(
    ("name", "expected"), [("waves", 0xFC953F6AC06AC06A), ("rings", 0xF78FDCCD303C8230), ("steps", 0xAA266E042F7A7F0A)]
)
def test_the_hash_is_that_of_imagehash(name, expected):
    assert perceptual_hash(PICTURES[name]) == expected


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("waves", "worse", 0.679348),
        ("waves", "moved", 0.942137),
        ("waves", "inverted", -0.219939),
        ("rings", "worse", 0.872424),
        ("rings", "moved", 0.762056),
        ("rings", "inverted", -0.422960),
        ("steps", "worse", 0.735310),
        ("steps", "moved", 0.634733),
        ("steps", "inverted", -0.210916),
    ],
)
def test_the_index_is_that_of_scikit_image(name, change, expected):
    one = PICTURES[name]
    assert structural_similarity(one, CHANGES[change](one)) == pytest.approx(expected, abs=1e-5)


def test_equal_pictures_are_alike_and_unrelated_ones_are_not():
    waves, rings = PICTURES["waves"], PICTURES["rings"]
    assert structural_similarity(waves, waves) == pytest.approx(1.0)
    assert hash_distance(waves, waves) == 0
    assert hash_distance(waves, rings) > 20
    assert structural_similarity(waves, rings) < 0.2


def test_pictures_that_cannot_be_compared():
    with pytest.raises(ValueError, match="one size"):
        structural_similarity(PICTURES["waves"], PICTURES["waves"][:-1])
    with pytest.raises(ValueError, match="11 pixels"):
        structural_similarity(np.zeros((5, 40), np.uint8), np.zeros((5, 40), np.uint8))


def test_a_picture_is_reduced_never_enlarged():
    assert fitted(PICTURES["waves"], 80).shape == (60, 80)
    assert fitted(PICTURES["waves"], 500).shape == (120, 160)


@pytest.mark.parametrize(
    ("picture", "something"),
    [
        (np.full((30, 30, 3), 200, np.uint8), False),
        (np.zeros((4, 30, 3), np.uint8), False),
        (np.tile(np.arange(30, dtype=np.uint8)[:, None, None] * 8, (1, 30, 3)), True),
    ],
)
def test_a_picture_of_nothing_cannot_be_found(picture, something):
    assert shows_something(picture) is something


def toolbar(*, ground=(246, 246, 248), ink=(60, 60, 66), scale=1.0, size=SIZE):
    """Three icons: a disk at (112, 32), a plus at (172, 32), a magnifying glass at (232, 32)."""
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)

    def at(*values):
        return [value * scale for value in values]

    width = max(1, round(2 * scale))
    draw.rectangle(at(100, 20, 123, 43), outline=ink, width=width)
    draw.rectangle(at(105, 33, 118, 43), fill=ink)
    draw.line(at(172, 22, 172, 42), fill=ink, width=width)
    draw.line(at(162, 32, 182, 32), fill=ink, width=width)
    draw.ellipse(at(222, 22, 235, 35), outline=ink, width=width)
    draw.line(at(234, 34, 242, 42), fill=ink, width=2 * width)
    return image


DISK, PLUS, GLASS = (112, 32), (172, 32), (232, 32)


def anchor(place, image=None):
    x, y = place
    return np.asarray((image or toolbar()).crop((x - 16, y - 16, x + 16, y + 16)))


class TestMatchAt:
    @pytest.mark.parametrize("place", [DISK, PLUS, GLASS])
    def test_the_icon_under_the_click_fits_and_its_neighbours_do_not(self, place):
        frame = Frame(toolbar())
        for click in (DISK, PLUS, GLASS):
            score = match_at(frame, anchor(place), click).score
            assert score > 0.99 if click == place else score < 0.8

    @pytest.mark.parametrize(
        "image",
        [
            jpeg(toolbar(), 60),
            toolbar(ground=(40, 40, 44), ink=(230, 230, 230)),
            toolbar(ink=(150, 150, 155)),
            toolbar(ground=(222, 228, 240)),
        ],
    )
    def test_compression_themes_and_highlights_leave_it_what_it_is(self, image):
        for place in (DISK, PLUS, GLASS):
            assert match_at(Frame(image), anchor(place), place).score > 0.95

    def test_it_is_found_at_another_display_scale_and_away_from_the_click_s_centre(self):
        frame = Frame(toolbar(scale=1.5, size=(2560, 1600)))
        for place in (DISK, PLUS, GLASS):
            click = round(place[0] * 1.5) + 9, round(place[1] * 1.5) - 7
            assert match_at(frame, anchor(place), click).score > 0.85

    def test_a_red_dot_is_not_a_green_one(self):
        def dot(colour):
            image = Image.new("RGB", (200, 200), "white")
            ImageDraw.Draw(image).ellipse((90, 90, 110, 110), fill=colour)
            return image

        red, green = dot((200, 0, 0)), dot((0, 102, 0))
        sought = np.asarray(red.crop((84, 84, 116, 116)))
        assert match_at(Frame(jpeg(red, 60)), sought, (100, 100)).score > 0.95
        assert match_at(Frame(green), sought, (100, 100)).score < 0.6

    def test_an_even_place_fits_nothing(self):
        assert match_at(Frame(toolbar()), anchor(DISK), (900, 600)).score == 0

    def test_an_anchor_larger_than_the_screen_fits_nowhere(self):
        huge = np.asarray(toolbar(size=(800, 600)))
        assert match_at(Frame(toolbar(size=(300, 200))), huge, (112, 32)) is None
        assert matches_on(Frame(toolbar(size=(300, 200))), huge) == []


class TestMatchesOn:
    def test_the_place_comes_first(self):
        for place in (DISK, PLUS, GLASS):
            best = matches_on(Frame(jpeg(toolbar(), 70)), anchor(place))[0]
            assert best.score > 0.95
            assert abs(best.box[0] - place[0] + 16) <= 1
            assert abs(best.box[1] - place[1] + 16) <= 1

    def test_copies_are_found_too(self):
        image = toolbar()
        image.paste(image.crop((96, 16, 128, 48)), (900, 700))
        found = [match for match in matches_on(Frame(image), anchor(DISK)) if match.score > 0.99]
        assert sorted(match.box[:2] for match in found) == [(96, 16), (900, 700)]

    def test_an_empty_screen_has_none(self):
        assert matches_on(Frame(Image.new("RGB", SIZE, "white")), anchor(DISK)) == []
