"""Screenshots: decoded once, safely, under a pixel budget; cropped before they become arrays."""

from __future__ import annotations

import base64
import binascii
import io
import struct
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from otel_validation.errors import ImageError

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import Pixels

Grey = npt.NDArray[np.uint8]
"""Grey levels, height x width."""

PIXEL_BUDGET = 50_000_000
"""Pixels that a screenshot may have: three 4K screens side by side have 24.9 million, a bomb has hundreds."""
LARGEST_BUDGET = 89_000_000
"""No budget goes past this: Pillow warns of a bomb above it, and a warning is not an answer."""

PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
JPEG_MAGIC = b"\xff\xd8\xff"
PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples a pixel, by PNG colour type (PNG specification, table 11.1)."""
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG frame header, which holds the size (ITU T.81, table B.1)."""
JPEG_BARE = frozenset(range(0xD0, 0xD9)) | {0x01}
"""Markers without a length (ITU T.81, table B.1)."""
INFLATE_STEP = 1 << 16
MEASURED_BYTES = 256 * 1024
"""PNG data up to this size are inflated once to be measured: a bomb is a small file by nature."""

SAME_SCALE = 1.01
"""A scale that is not worth a resize."""
BLANK_SAMPLES = 96
BLANK_SPREAD = 8
"""Grey levels within which a screen counts as one colour (JPEG noise on a black capture stays below)."""
DARK = 16
CURSOR_BLOCKS = 16
"""A mouse pointer on a black capture covers at most this many 8 x 8 blocks."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A decoded screenshot. `image` is a loaded Pillow image that nobody changes: crops may be taken by several
    threads at once.
    """

    image: Image.Image
    _plane: list[Grey] = field(default_factory=list, init=False, repr=False, compare=False)
    """The whole screen in grey, once somebody asked for most of it; two threads at once make it twice, and alike."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return self.image.size

    @property
    def width(self) -> int:
        """Width in pixels."""
        return self.image.size[0]

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.image.size[1]

    @property
    def rgb(self) -> Image.Image:
        """The whole screen as an RGB image, transparency on white; the image itself where it is RGB already."""
        return _as_rgb(self.image)

    def crop(self, box: tuple[float, float, float, float]) -> Pixels:
        """The pixels of `box` (x0, y0, x1, y1, cut at the frame's edges) as RGB; transparency lies on white.

        Raises ValueError where nothing of the box lies inside the frame.
        """
        return np.asarray(self._part(box))

    def grey(self, box: tuple[float, float, float, float], scale: float = 1.0) -> Grey:
        """As `crop`, in grey levels (ITU-R 601) and drawn at `scale` no more: a box of 150 x 30 pixels at 1.5 gives
        100 x 20. A third of the bytes, made before the array is. Not to be written to: it may be shared.
        """
        x0, y0, x1, y1 = self.clip(box)
        if not self._plane and (x1 - x0) * (y1 - y0) * 2 >= self.width * self.height:
            self._plane.append(np.asarray(self.rgb.convert("L")))
        if self._plane and x0 < x1 and y0 < y1:
            return _reduced(self._plane[0][y0:y1, x0:x1], scale)
        return _reduced(np.asarray(self._part(box).convert("L")), scale)

    def _part(self, box: tuple[float, float, float, float]) -> Image.Image:
        x0, y0, x1, y1 = self.clip(box)
        if x1 <= x0 or y1 <= y0:
            raise ValueError(f"the box {box} lies outside a frame of {self.size}")
        return _as_rgb(self.image.crop((x0, y0, x1, y1)))

    def clip(self, box: tuple[float, float, float, float]) -> tuple[int, int, int, int]:
        """`box` in whole pixels, cut at the frame's edges."""
        x0, y0, x1, y1 = (round(value) for value in box)
        return max(0, x0), max(0, y0), min(self.width, x1), min(self.height, y1)


def decode_base64(text: str) -> bytes:
    """The bytes of a base64 text or of a base64 data URL; white space is tolerated, a path is never opened.

    Raises ImageError with reason `empty` or `not_base64`.
    """
    payload = text.strip()
    if payload[:5].lower() == "data:":
        header, _, payload = payload.partition(",")
        if not header.lower().endswith(";base64"):
            raise ImageError("not_base64", "a data URL must be base64: data:image/png;base64,...")
    if not payload:
        raise ImageError("empty", "the screenshot is empty")
    try:
        return _strict(payload)
    except (binascii.Error, ValueError):
        pass
    try:
        return _strict("".join(payload.split()))
    except (binascii.Error, ValueError) as error:
        raise ImageError("not_base64", "the screenshot is not base64 (a path or a URL is never read)") from error


def decode_frame(data: bytes, *, pixel_budget: int = PIXEL_BUDGET) -> Frame:
    """Decode a PNG or a JPEG; its size is checked against `pixel_budget` (pixels) before anything is inflated.

    Raises ImageError with one of the reasons `empty`, `format` (neither PNG nor JPEG), `too_large` (more pixels
    than the budget), `oversized_data` (a PNG that inflates past its header's size), `animated`, `corrupt`.
    """
    if not data:
        raise ImageError("empty", "the screenshot is empty")
    width, height = _header_size(data)
    if width < 1 or height < 1:
        raise ImageError("corrupt", f"the header says {width} x {height} pixels")
    budget = min(pixel_budget, LARGEST_BUDGET)
    if width * height > budget:
        raise ImageError("too_large", f"{width} x {height} pixels are more than the budget of {budget}")
    try:
        if data.startswith(PNG_MAGIC):
            _refuse_overflow(data, (width, height))
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG"))
        if image.format == "PNG" and getattr(image, "is_animated", False):
            raise ImageError("animated", "a screenshot has one frame")
        image.load()
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        raise ImageError("corrupt", f"the image cannot be decoded ({type(error).__name__})") from error
    return Frame(image)


def is_blank(frame: Frame) -> bool:
    """Whether the capture shows nothing: one colour all over, or black with at most a mouse pointer.

    This is what a locked, minimised or disconnected remote session gives. A hundred rows and columns are looked at
    first, so a screen with something on it costs next to nothing.
    """
    sample = frame.image.resize(
        (min(frame.width, BLANK_SAMPLES), min(frame.height, BLANK_SAMPLES)), Image.Resampling.NEAREST
    )
    grey = np.asarray(_as_rgb(sample).convert("L")).astype(np.int16)
    typical = int(np.median(grey))
    if np.count_nonzero(np.abs(grey - typical) > BLANK_SPREAD) > max(2, grey.size // 1000):
        return False
    whole = np.asarray(_as_rgb(frame.image.reduce(8) if frame.image.mode != "P" else frame.image).convert("L"))
    marked = int(np.count_nonzero(np.abs(whole.astype(np.int16) - typical) > BLANK_SPREAD / 2))
    return marked == 0 or (typical <= DARK and marked <= CURSOR_BLOCKS)


def _reduced(grey: Grey, scale: float) -> Grey:
    """Halved exactly, then interpolated: an exact mean over each target pixel's area takes five times longer."""
    if scale <= SAME_SCALE:
        return grey
    height, width = (max(1, round(side / scale)) for side in grey.shape)
    while grey.shape[1] >= 2 * width and grey.shape[0] >= 2 * height:
        half = grey.shape[1] // 2, grey.shape[0] // 2
        grey = cv2.resize(grey, half, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
    if grey.shape == (height, width):
        return grey
    return cv2.resize(grey, (width, height), interpolation=cv2.INTER_LINEAR).astype(np.uint8, copy=False)


def _strict(payload: str) -> bytes:
    return base64.b64decode(payload, validate=True)


def _as_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I"):
        return image.point(lambda value: value / 256).convert("L").convert("RGB")
    if image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info:
        layer = image.convert("RGBA")
        if layer.getchannel("A").getextrema() == (255, 255):
            return layer.convert("RGB")
        sheet = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        return Image.alpha_composite(sheet, layer).convert("RGB")
    return image.convert("RGB")


def _header_size(data: bytes) -> tuple[int, int]:
    if data.startswith(PNG_MAGIC):
        return _png_size(data)
    if data.startswith(JPEG_MAGIC):
        return _jpeg_size(data)
    raise ImageError("format", "a screenshot is a PNG or a JPEG")


def _png_size(data: bytes) -> tuple[int, int]:
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise ImageError("corrupt", "the PNG has no header")
    width, height = struct.unpack_from(">II", data, 16)
    return int(width), int(height)


def _refuse_overflow(data: bytes, size: tuple[int, int]) -> None:
    """Refuse a small PNG whose data inflate to more than its header allows.

    Pillow stops inflating at the header's size, so memory is safe in any case; what is refused is the lie. Only
    small files are measured: inflating twice would cost a large honest screenshot half of its decoding time.
    """
    packed = _packed_pixels(data)
    if not 0 < len(packed) <= MEASURED_BYTES:
        return
    depth, colour = data[24], data[25]
    row = -(-size[0] * depth * PNG_CHANNELS.get(colour, 4) // 8)
    allowed = (row + 8) * (size[1] + 8)
    inflater, inflated = zlib.decompressobj(), 0
    while packed and inflated <= allowed:
        inflated += len(inflater.decompress(packed, INFLATE_STEP))
        packed = inflater.unconsumed_tail
    if inflated > allowed:
        raise ImageError("oversized_data", "the PNG holds more data than its header announces")


def _packed_pixels(data: bytes) -> bytes:
    """The PNG's IDAT chunks together; empty where they are more than are measured."""
    at, parts, total = 8, [], 0
    while at + 8 <= len(data) and total <= MEASURED_BYTES:
        length = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"IDAT":
            parts.append(data[at + 8 : at + 8 + length])
            total += length
        at += 12 + length
    return b"".join(parts) if total <= MEASURED_BYTES else b""


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in JPEG_BARE:
            at += 2
        elif marker in JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return int(width), int(height)
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    raise ImageError("corrupt", "the JPEG has no frame header")
