"""RapidOCR (package `rapidocr`, extra `[rapidocr]`): PP-OCRv6 small on onnxruntime, with the weights of its wheel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.engine import TextBox, char_centres, upright
from otel_validation.vision.ocr.packages import folder_of
from otel_validation.vision.ocr.pooled import PooledEngine

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import Pixels

INSTALL = 'install it with: pip install "otel_validation[rapidocr]"'
DETECTOR, RECOGNISER = "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx"
"""The files of the wheel that RapidOCR 3.10 takes by default."""
SHORT_SIDE, LONG_SIDE, LARGEST_ZOOM = 320, 1280, 4.0
"""An image is enlarged until its shorter side has so many pixels, but never so that its longer side has more than so
many, nor so many times. RapidOCR's own rule (the shorter side to 736) takes twice the time on the region around a
click and finds no more, and enlarges a narrow strip without bounds (measured)."""


_Reader = Callable[["Pixels"], object]
"""What is used of a `rapidocr.RapidOCR`."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """The files of a model; `characters` is None where the recogniser holds its own list."""

    detector: Path
    recogniser: Path
    characters: Path | None = None


class RapidOcrEngine(PooledEngine[_Reader]):
    """RapidOCR, one instance for each concurrent read: nothing says that its objects may be shared by threads.

    `model_dir` holds a user's own weights: one `*det*.onnx`, one `*rec*.onnx` and, where the recogniser does not hold
    its characters itself, one `*.txt` with them. By default those of the installed package are taken; nothing is ever
    downloaded. Raises OcrUnavailableError where the package or a file is missing.
    """

    name = "rapidocr"

    def __init__(self, *, model_dir: Path | None = None, instances: int | None = None) -> None:
        super().__init__(instances=instances)
        package = folder_of("rapidocr")
        if package is None:
            raise OcrUnavailableError(self.name, f"the package rapidocr is not installed; {INSTALL}")
        self._weights = _own(model_dir) if model_dir is not None else _shipped(package / "models")

    def _load(self) -> _Reader:
        from rapidocr import RapidOCR

        weights = self._weights
        if weights.characters is None and not _names_its_characters(weights.recogniser):
            # RapidOCR would download a list of characters here.
            msg = f"{weights.recogniser.name} holds no list of its characters: put it beside it, as a .txt file"
            raise OcrUnavailableError(self.name, msg)
        return RapidOCR(params=_settings(weights))

    def _lines(self, model: _Reader, image: Pixels) -> list[TextBox]:
        short, long = sorted(image.shape[:2])
        zoom = max(1.0, min(SHORT_SIDE / short, LONG_SIDE / long, LARGEST_ZOOM))
        bgr = cv2.resize(np.ascontiguousarray(image[:, :, ::-1]), None, fx=zoom, fy=zoom)
        return [line.shifted(0, 0, zoom) for line in lines_of(model(bgr.astype(np.uint8, copy=False)))]


def lines_of(result: object) -> Iterator[TextBox]:
    """The lines of what RapidOCR answers; none where it found none (its answer's fields are then None)."""
    boxes, texts, scores = (getattr(result, name, None) for name in ("boxes", "txts", "scores"))
    if boxes is None or texts is None or scores is None:
        return
    words: Sequence[Any] = getattr(result, "word_results", None) or ()
    if len(words) != len(texts):
        words = [()] * len(texts)
    for corners, text, score, chars in zip(boxes, texts, scores, words, strict=True):
        if text and text.strip():
            seen = [(char, float(np.mean([x for x, _ in quad]))) for char, _, quad in chars]
            yield TextBox(text, upright(corners), min(1.0, float(score)), char_centres(text, seen))


def _own(folder: Path) -> _Weights:
    found = [sorted(folder.glob(pattern)) for pattern in ("*det*.onnx", "*rec*.onnx", "*.txt")]
    if [len(files) for files in found[:2]] != [1, 1] or len(found[2]) > 1:
        msg = f"{folder} must hold one *det*.onnx, one *rec*.onnx and at most one *.txt (RPA_OCR_MODEL_DIR)"
        raise OcrUnavailableError(RapidOcrEngine.name, msg)
    return _Weights(found[0][0], found[1][0], next(iter(found[2]), None))


def _shipped(folder: Path) -> _Weights:
    weights = _Weights(folder / DETECTOR, folder / RECOGNISER)
    for path in (weights.detector, weights.recogniser):
        if not path.is_file():
            msg = f"the package rapidocr does not hold {path.name}: pip install 'rapidocr>=3.10,<4'"
            raise OcrUnavailableError(RapidOcrEngine.name, msg)
    return weights


def _names_its_characters(recogniser: Path) -> bool:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(recogniser), providers=["CPUExecutionProvider"])
    return "character" in session.get_modelmeta().custom_metadata_map


def _settings(weights: _Weights) -> dict[str, Any]:
    settings = {
        "Global.use_cls": False,  # the text of a screen stands upright
        "Global.text_score": 0.0,  # what confidence is enough is for those who ask to decide
        "Global.log_level": "critical",
        "Global.return_word_box": True,
        "Global.return_single_char_box": True,
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        "Det.limit_type": "max",
        "Det.limit_side_len": LONG_SIDE,
        "Det.model_path": str(weights.detector),
        "Rec.model_path": str(weights.recogniser),
    }
    return settings if weights.characters is None else settings | {"Rec.rec_keys_path": str(weights.characters)}
