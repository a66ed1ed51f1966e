"""Tesseract (package `tesserocr`, extra `[tesseract]`), inside this process.

`tesserocr` and not `pytesseract`: the latter writes every screen to a file and starts a program for each reading;
the former's wheel holds libtesseract, releases the interpreter's lock while it reads, and gives each character's box.
The language data is the system's (Debian: `tesseract-ocr-eng`, `tesseract-ocr-fra`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.engine import TextBox, char_centres
from otel_validation.vision.ocr.packages import folder_of
from otel_validation.vision.ocr.pooled import PooledEngine

if TYPE_CHECKING:
    from tesserocr import PyTessBaseAPI

    from otel_validation.vision.ocr.engine import Box, Pixels

INSTALL = (
    'install it with: pip install "otel_validation[tesseract]" and '
    "apt-get install tesseract-ocr-eng tesseract-ocr-fra (elsewhere: the tessdata files eng and fra)"
)
LANGUAGES = ("fra", "eng")
"""Tesseract's names of the languages read, those of them that are installed."""
FOLDERS = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
    "C:/Program Files/Tesseract-OCR/tessdata",
)
"""Where Debian (12 and 11), Fedora and Arch, hand-made builds, Homebrew and the Windows installer put them."""
ENLARGED = 2.5
"""Tesseract is made for scanned pages of 300 dots an inch; a screen has about 100. Larger takes longer and reads less:
at 3, with sharper edges (cubic), one figure of a small number in 40 was taken for another, at 2.5 none (measured)."""
MOST_PIXELS = 4_000_000
"""Past so many pixels an image is enlarged less."""
LINE_HEIGHT, LINE_MARGIN = 1.3, 0.2
"""Tesseract's boxes end where the ink does. In row heights (near the font's size, measured 0.75 to 1.1): what the
checkers know a line's box by (see `TextBox.box`)."""


class TesseractEngine(PooledEngine["PyTessBaseAPI"]):
    """Tesseract in its mode for sparse text, one instance for each concurrent read.

    The language data is looked for in `model_dir` alone where it is given, else in `TESSDATA_PREFIX`, then where
    systems put it. French and English are read, or the one of them that is there. Raises OcrUnavailableError where
    the package or the data is missing.
    """

    name = "tesseract"

    def __init__(self, *, model_dir: Path | None = None, instances: int | None = None) -> None:
        super().__init__(instances=instances)
        if folder_of("tesserocr") is None:
            raise OcrUnavailableError(self.name, f"the package tesserocr is not installed; {INSTALL}")
        self._data = _find_data([model_dir] if model_dir is not None else _usual_folders())

    def _load(self) -> PyTessBaseAPI:
        from tesserocr import OEM, PSM, LeptLogLevel, PyTessBaseAPI, set_leptonica_log_level

        # It writes to standard error for each narrow strip in which it finds no line.
        set_leptonica_log_level(LeptLogLevel.NONE)
        return PyTessBaseAPI(
            path=f"{self._data}/", lang="+".join(_languages(self._data)), psm=PSM.SPARSE_TEXT, oem=OEM.LSTM_ONLY
        )

    def _lines(self, model: PyTessBaseAPI, image: Pixels) -> list[TextBox]:
        height, width = image.shape[:2]
        zoom = max(1.0, min(ENLARGED, (MOST_PIXELS / (height * width)) ** 0.5))
        grey = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2GRAY)
        grey = cv2.resize(grey, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_LINEAR)
        model.SetImageBytes(grey.tobytes(), grey.shape[1], grey.shape[0], 1, grey.shape[1])
        try:
            model.Recognize()
            return [line.shifted(0, 0, zoom) for line in lines_of(model.GetIterator(), *grey.shape)]
        finally:
            model.Clear()


def lines_of(found: Any, height: int, width: int) -> Iterator[TextBox]:  # noqa: ANN401 - untyped
    """The lines of what Tesseract found, put together from its characters.

    `found` is a `tesserocr.PyResultIterator`, or None for an image without text. Boxes get the margin that every
    engine's have, as far as the image of `height` x `width` pixels goes.
    """
    from tesserocr import RIL, PyResultIterator, iterate_level

    if not isinstance(found, PyResultIterator) or found.Empty(RIL.SYMBOL):
        return
    line = _Line(found)
    for at in iterate_level(found, RIL.SYMBOL):
        if line.text and at.IsAtBeginningOf(RIL.TEXTLINE):
            yield from line.read(height, width)
            line = _Line(at)
        elif line.text and at.IsAtBeginningOf(RIL.WORD):
            line.text += " "
        line.add(at.GetUTF8Text(RIL.SYMBOL), at.BoundingBox(RIL.SYMBOL))
    yield from line.read(height, width)


class _Line:
    """A line while its characters come in, begun at its first."""

    def __init__(self, at: Any) -> None:  # noqa: ANN401 - untyped
        from tesserocr import RIL

        self.text = ""
        self._ink: Box = at.BoundingBox(RIL.TEXTLINE)
        self._row: float = at.RowAttributes()["row_height"]
        self._percent: float = at.Confidence(RIL.TEXTLINE)
        self._seen: list[tuple[str, float]] = []

    def add(self, symbol: str, box: Box) -> None:
        """Take one symbol, which may be several characters ("fi" read as one)."""
        self.text += symbol
        self._seen += [(char, (box[0] + box[2]) / 2) for char in symbol]

    def read(self, height: int, width: int) -> Iterator[TextBox]:
        """The whole line, if it says anything."""
        if not self.text.strip():
            return
        x0, y0, x1, y1 = self._ink
        middle, half, margin = (y0 + y1) / 2, self._row * LINE_HEIGHT / 2, self._row * LINE_MARGIN
        box = (
            max(0.0, x0 - margin),
            max(0.0, min(y0, middle - half)),
            min(float(width), x1 + margin),
            min(float(height), max(y1, middle + half)),
        )
        yield TextBox(self.text, box, min(1.0, max(0.0, self._percent / 100)), char_centres(self.text, self._seen))


def _usual_folders() -> list[Path]:
    asked = os.environ.get("TESSDATA_PREFIX")
    return [Path(folder) for folder in ([asked] if asked else []) + list(FOLDERS)]


def _languages(folder: Path) -> list[str]:
    return [language for language in LANGUAGES if (folder / f"{language}.traineddata").is_file()]


def _find_data(folders: list[Path]) -> Path:
    for folder in folders:
        if _languages(folder):
            return folder
    looked = ", ".join(map(str, folders))
    msg = f"Tesseract's language data (fra.traineddata, eng.traineddata) is in none of: {looked}; {INSTALL}"
    raise OcrUnavailableError(TesseractEngine.name, msg)
