"""Safe decoding: what is refused, before it costs anything."""

import base64
import io
import struct
import zlib

import numpy as np
import psutil
import pytest
from PIL import Image

from otel_validation.errors import ImageError
from otel_validation.vision.image import Frame, decode_base64, decode_frame, is_blank


def png(width, height, *, depth=8, colour=2, data=None):
    """A PNG made by hand: its data may contradict its header."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    packed = zlib.compress(b"" if data is None else data, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def saved(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def refusal(data, **options):
    with pytest.raises(ImageError) as caught:
        decode_frame(data, **options)
    return caught.value.reason


class TestBase64:
    def test_plain_data_url_and_white_space(self):
        raw = b"\x00\x01picture\xff"
        text = base64.b64encode(raw).decode()
        assert decode_base64(text) == raw
        assert decode_base64(f"data:image/png;base64,{text}") == raw
        assert decode_base64(f"  {text[:5]}\r\n {text[5:]}\n") == raw

    @pytest.mark.parametrize("text", ["", "   ", "data:image/png;base64,"])
    def test_nothing_is_refused(self, text):
        with pytest.raises(ImageError) as caught:
            decode_base64(text)
        assert caught.value.reason == "empty"

    @pytest.mark.parametrize("text", ["data:image/png,abc", "é", "abc", "https://example.org/a.png", "a\nb?"])
    def test_anything_else_is_refused(self, text):
        with pytest.raises(ImageError) as caught:
            decode_base64(text)
        assert caught.value.reason == "not_base64"


def test_a_screenshot_given_as_a_path_is_never_read(tmp_path, monkeypatch):
    """The seed opened the file that a client named."""
    target = tmp_path / "shot.png"
    target.write_bytes(saved(Image.new("RGB", (4, 4))))
    monkeypatch.chdir(tmp_path)
    for text in (str(target), "shot.png", f"file://{target}"):
        with pytest.raises(ImageError):
            decode_base64(text)
    (tmp_path / "abcd").write_bytes(saved(Image.new("RGB", (4, 4))))
    assert refusal(decode_base64("abcd")) == "format"  # a name that happens to be base64: its letters are the data


class TestFieldCaseE09:
    def test_a_huge_one_bit_png_is_refused_before_decoding(self):
        bomb = png(20_000, 20_000, depth=1, colour=0, data=bytes(2_501 * 20_000))
        assert len(bomb) < 80_000
        before = psutil.Process().memory_info().rss
        assert refusal(bomb) == "too_large"
        assert psutil.Process().memory_info().rss - before < 20_000_000

    def test_a_gif_is_refused_however_many_frames(self):
        frames = [Image.new("P", (64, 64), i) for i in range(20)]
        assert refusal(saved(frames[0], "GIF", save_all=True, append_images=frames[1:])) == "format"

    def test_an_animated_png_is_refused(self):
        frames = [Image.new("RGB", (64, 64), (i, 0, 0)) for i in range(3)]
        assert refusal(saved(frames[0], save_all=True, append_images=frames[1:])) == "animated"

    def test_data_that_inflate_past_the_header_are_refused(self):
        assert refusal(png(10, 10, data=bytes(50_000_000))) == "oversized_data"

    def test_a_three_screen_capture_is_accepted(self):
        frame = decode_frame(saved(Image.new("L", (11_520, 2_160), 200), compress_level=1))
        assert frame.size == (11_520, 2_160)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"hello", "format"),
        (b"\x89PNG\r\n\x1a\n", "corrupt"),
        (png(0, 5), "corrupt"),
        (png(10, 10, data=b""), "corrupt"),
        (b"\xff\xd8\xff", "corrupt"),
        (b"\xff\xd8\xff\xe0\x00\x02" + bytes(30), "corrupt"),
        (b"\xff\xd8\xff\xff\xd0\x01" + bytes(30), "corrupt"),
    ],
)
def test_what_is_not_a_screenshot_is_refused(data, reason):
    assert refusal(data) == reason


def test_a_truncated_png_is_refused():
    noise = np.random.default_rng(1).integers(0, 255, (400, 400, 3), np.uint8)
    data = saved(Image.fromarray(noise))
    assert len(data) > 256 * 1024
    assert refusal(data[: len(data) // 2]) == "corrupt"


def test_a_jpeg_is_read_and_its_size_is_checked_from_the_header():
    data = saved(Image.new("RGB", (300, 200), "white"), "JPEG")
    assert decode_frame(data).size == (300, 200)
    assert refusal(data, pixel_budget=59_999) == "too_large"


class TestFrame:
    def test_a_crop_is_cut_at_the_edges(self):
        frame = Frame(Image.new("RGB", (100, 50), "red"))
        assert frame.crop((-10, -10, 20, 20)).shape == (20, 20, 3)
        assert frame.clip((90.4, 40, 200, 200)) == (90, 40, 100, 50)
        with pytest.raises(ValueError, match="outside"):
            frame.crop((200, 0, 300, 10))

    @pytest.mark.parametrize(
        ("image", "pixel"),
        [
            (Image.new("RGBA", (4, 4), (10, 20, 30, 255)), (10, 20, 30)),
            (Image.new("RGBA", (4, 4), (0, 0, 0, 0)), (255, 255, 255)),
            (Image.new("L", (4, 4), 77), (77, 77, 77)),
            (Image.new("I;16", (4, 4), 77 * 256), (77, 77, 77)),
            (Image.new("1", (4, 4), 1), (255, 255, 255)),
        ],
    )
    def test_every_mode_becomes_rgb(self, image, pixel):
        crop = decode_frame(saved(image)).crop((0, 0, 4, 4))
        assert crop.dtype == np.uint8
        assert tuple(crop[1, 1]) == pixel


class TestBlank:
    @pytest.mark.parametrize("colour", ["black", "white", "#0a64d8"])
    def test_one_colour_is_blank(self, colour):
        assert is_blank(Frame(Image.new("RGB", (1920, 1080), colour)))

    def test_black_with_a_pointer_is_blank(self):
        image = Image.new("RGB", (1920, 1080), "black")
        image.paste("white", (961, 541, 971, 557))
        assert is_blank(Frame(image))

    def test_a_palette_capture_is_looked_at_too(self):
        assert is_blank(Frame(Image.new("P", (640, 480), 0)))

    def test_white_with_a_line_of_text_is_not(self):
        image = Image.new("RGB", (1920, 1080), "white")
        image.paste("black", (901, 541, 990, 550))
        assert not is_blank(Frame(image))

    def test_a_screen_is_not(self):
        image = Image.new("RGB", (1920, 1080), "white")
        image.paste("navy", (0, 0, 1920, 200))
        assert not is_blank(Frame(image))


class TestGrey:
    def test_grey_levels_are_those_of_the_colours(self):
        image = Image.new("RGB", (40, 20), (200, 40, 90))
        image.paste((255, 255, 255), (20, 0, 40, 20))
        grey = Frame(image).grey((10, 5, 30, 15))
        assert grey.shape == (10, 20)
        assert set(grey[:, :10].ravel()) == {round(0.299 * 200 + 0.587 * 40 + 0.114 * 90)}
        assert set(grey[:, 10:].ravel()) == {255}

    @pytest.mark.parametrize(
        ("scale", "size"),
        [(1.0, (400, 200)), (1.005, (400, 200)), (1.5, (267, 133)), (2.0, (200, 100)), (3.0, (133, 67))],
    )
    def test_they_are_given_as_drawn_at_100_percent(self, scale, size):
        image = Image.new("RGB", (400, 200), "black")
        image.paste("white", (200, 0, 400, 200))
        grey = Frame(image).grey((0, 0, 400, 200), scale)
        assert grey.shape == size[::-1]
        assert grey.dtype == "uint8"
        assert (grey[:, : size[0] // 2 - 2] == 0).all()
        assert (grey[:, size[0] // 2 + 2 :] == 255).all()
