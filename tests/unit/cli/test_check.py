"""`otel-validation check` on screens rendered here: what it prints, writes, and exits with."""

import importlib
import json
import os
from pathlib import Path

import pytest
import typer
from PIL import Image, ImageDraw, ImageFont
from typer.testing import CliRunner

from otel_validation import plugin
from otel_validation.vision.ocr import easy
from otel_validation.vision.ocr.registry import make_engine

module = importlib.import_module("otel_validation.cli.check")  # the package exports the function under this name

app = typer.Typer()
app.command()(module.check)


@app.callback()
def root() -> None:
    """Keeps `check` a subcommand, as in the real application."""


@pytest.fixture
def run(monkeypatch):
    for name in [name for name in os.environ if name.startswith("RPA_")]:
        monkeypatch.delenv(name)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["check", *map(str, arguments)])


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    image = Image.new("RGB", (1000, 600), "white")
    draw = ImageDraw.Draw(image)
    for x, text in ((100, "Dossier"), (300, "Imagerie"), (500, "Biologie")):
        draw.text((x, 200), text, fill="black", font=ImageFont.load_default(16))
    path = tmp_path_factory.mktemp("screens") / "shot.png"
    image.save(path)
    return path


def test_complete_exits_0_and_prints_what_is_under_the_click(run, shot):
    result = run(shot, "--at", "0.33,0.35", "--expect", "Imagerie")
    assert result.exit_code == 0, result.output
    assert "complete" in result.output
    assert "under the click  Imagerie" in result.output
    assert "\x1b[" not in result.output


def test_a_check_has_all_the_time_that_it_takes(run, shot, tmp_path, monkeypatch):
    rules = tmp_path / "rules.toml"
    rules.write_text('[matrix.click]\nchecks = ["ocr_roi"]\nbudget_s = 0.001\n')
    monkeypatch.setenv("RPA_VALIDATOR_RULES", str(rules))
    result = run(shot, "--at", "0.33,0.35", "--expect", "Imagerie")
    assert result.exit_code == 0, result.output


def test_pixels_are_accepted_and_another_label_exits_1(run, shot):
    result = run(shot, "--at", "530,210", "--expect", "Imagerie")
    assert result.exit_code == 1
    assert "wrong_target" in result.output


def test_json_holds_the_whole_finding(run, shot):
    result = run(shot, "--at", "530,210", "--expect", "Imagerie", "--json", "--before", shot)
    body = json.loads(result.output)
    assert (body["verdict"], body["failure_category"]) == ("terminate", "wrong_target")
    assert body["evidence"]["text_under_click"] == "Biologie"
    assert body["evidence"]["frame"] == "before"
    assert body["elapsed_ms"] > 0
    checks = {check["checker"]: check["verdict"] for check in body["checks"]}
    assert checks == {"ocr_roi": "terminate", "dialog_presence": "complete", "pixel_diff": "continue"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--expect", "Radiologie", "--expect", "Imagerie"], 0),
        (["--expect", "Radiologie", "--expect", "Dossier"], 1),
        (["--expect-pattern", "imag.*"], 0),
        (["--expect-pattern", "dossier|biologie"], 1),
        (["--expect", "Dossier", "--expect-pattern", "imag.*"], 0),
    ],
)
def test_one_of_several_labels_or_a_pattern_may_be_expected(run, shot, options, code):
    assert run(shot, "--at", "330,210", *options).exit_code == code


def test_with_the_screen_before_it_is_judged_as_a_server_does(run, shot):
    """The label is right, and the click did nothing."""
    result = run(shot, "--at", "330,210", "--expect", "Imagerie", "--before", shot)
    assert result.exit_code == 1
    assert "no_visual_change" in result.output


@pytest.mark.parametrize(("frames", "code"), [((), 0), (("--before",), 1)])
def test_annotate_writes_a_png_of_the_same_size(run, shot, tmp_path, frames, code):
    target = tmp_path / "judged.png"
    before = [*frames, shot] if frames else []
    result = run(shot, "--at", "330,210", "--expect", "Imagerie", "--annotate", target, *before)
    assert result.exit_code == code, result.output
    with Image.open(target) as image:
        assert image.size == (1000, 600)


def test_a_click_outside_the_screen_has_nothing_to_draw(run, shot, tmp_path):
    result = run(shot, "--at", "5000,10", "--expect", "Imagerie", "--annotate", tmp_path / "x.png")
    assert result.exit_code == 3
    assert "outside the screen" in result.output


def test_zero_is_a_coordinate(run, shot):
    result = run(shot, "--at", "0,0", "--expect", "Imagerie", "--json")
    assert json.loads(result.output)["evidence"]["click_px"] == [0, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["SHOT", "--at", "1,2"],
        ["SHOT", "--expect", "x"],
        ["SHOT", "--at", "1,2", "--expect", " "],
        ["SHOT", "--at", "1,2", "--expect-pattern", "("],
        ["SHOT", "--at", "1,2", "--expect-pattern", ".*"],
        ["SHOT", "--at", "here", "--expect", "x"],
        ["SHOT", "--at", "nan,1", "--expect", "x"],
        ["SHOT", "--at", "1,2", "--expect", "x", "--engine", "nope"],
        ["--batch", "SHOT"],
        ["--batch", "BAD", "--out", "OUT"],
        ["--batch", "NOTLIST", "--out", "OUT"],
        ["--batch", "NOCASE", "--out", "OUT"],
    ],
)
def test_wrong_usage_exits_2(run, shot, tmp_path, arguments):
    for name, text in (("BAD", "{"), ("NOTLIST", "{}"), ("NOCASE", '[{"case": "a"}, 3]')):
        (tmp_path / name).write_text(text)
    places = {"SHOT": shot, **{name: tmp_path / name for name in ("BAD", "NOTLIST", "NOCASE", "OUT")}}
    assert run(*[places.get(argument, argument) for argument in arguments]).exit_code == 2


def test_the_engine_is_chosen_by_option_then_by_variable(run, shot, monkeypatch):
    made = []

    def make(name, *, model_dir):
        made.append((name, model_dir))
        return make_engine()

    monkeypatch.setattr(plugin, "make_engine", make)
    click = (shot, "--at", "330,210", "--expect", "Imagerie")
    assert run(*click).exit_code == 0
    monkeypatch.setenv("RPA_OCR_ENGINE", "EasyOCR")
    monkeypatch.setenv("RPA_OCR_MODEL_DIR", "/srv/weights")
    assert run(*click).exit_code == 0
    assert run(*click, "--engine", "tesseract").exit_code == 0
    weights = Path("/srv/weights")
    assert made == [("ppocr", None), ("easyocr", weights), ("tesseract", weights)]


def test_an_unknown_engine_exits_2_and_lists_the_known_ones(run, shot):
    result = run(shot, "--at", "1,2", "--expect", "x", "--engine", "paddle")
    assert result.exit_code == 2
    assert "ppocr, rapidocr, easyocr, tesseract" in " ".join(result.output.replace("│", " ").split())


def test_an_engine_that_is_not_installed_exits_3_and_says_what_to_install(run, shot, monkeypatch):
    monkeypatch.setattr(easy, "folder_of", lambda name: None)
    result = run(shot, "--at", "1,2", "--expect", "x", "--engine", "easyocr")
    assert result.exit_code == 3
    assert 'pip install "otel_validation[easyocr]"' in result.output


def test_weights_that_are_not_there_exit_3(run, shot, tmp_path):
    result = run(shot, "--at", "1,2", "--expect", "x", "--model-dir", tmp_path)
    assert result.exit_code == 3
    assert "det.onnx is missing" in result.output


def test_a_file_that_is_no_image_exits_3(run, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a picture")
    assert run(text, "--at", "1,1", "--expect", "x").exit_code == 3
    assert run(tmp_path / "absent.png", "--at", "1,1", "--expect", "x").exit_code == 3


def test_a_batch_writes_one_line_a_case(run, shot, tmp_path):
    cases = [
        {"case": "right", "image": "shot.png", "x_pct": 0.33, "y_pct": 0.35, "expected_text": "Imagerie"},
        {"case": "wrong", "image": "shot.png", "x_pct": 0.53, "y_pct": 0.35, "expected_text": "Imagerie"},
        {"case": "unplaced", "image": "shot.png", "expected_text": "Imagerie", "action_type": "click"},
        {"case": "several", "image": "shot.png", "x_pct": 0.33, "y_pct": 0.35, "expected_text": ["X-ray", "Imagerie"]},
        {"case": "pattern", "image": "shot.png", "x_pct": 0.33, "y_pct": 0.35, "expected_pattern": "[a-z]+"},
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    result = run("--batch", tmp_path / "cases.json", "--images", shot.parent, "--out", tmp_path / "v.jsonl")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"case", "verdict", "failure_category", "confidence", "elapsed_ms"}] * 5
    assert [row["verdict"] for row in rows] == ["complete", "terminate", "continue", "complete", "complete"]


def test_a_batch_with_a_missing_image_judges_the_others_and_exits_3(run, shot, tmp_path):
    cases = [
        {"case": "gone", "image": "gone.png", "x_pct": 0.33, "y_pct": 0.35, "expected_text": "Imagerie"},
        {"case": "right", "image": "shot.png", "x_pct": 0.33, "y_pct": 0.35, "expected_text": "Imagerie"},
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    result = run("--batch", tmp_path / "cases.json", "--images", shot.parent, "--out", tmp_path / "v.jsonl")
    assert result.exit_code == 3
    rows = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert [row["verdict"] for row in rows] == ["continue", "complete"]


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    cases = [module.Case(name=str(i), image="x", at=None, expected_text=None, action_type="click") for i in range(30)]
    assert module._with_progress(cases) is cases
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert list(module._with_progress(cases)) == cases


def test_help_has_examples(run):
    result = run("--help")
    assert result.exit_code == 0
    assert "--at 0.265,0.295" in result.output
