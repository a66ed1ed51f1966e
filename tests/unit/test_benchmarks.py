"""The benchmarks run, on a small scale, and answer in shape; what they measure is no test's business."""

from __future__ import annotations

import json

import pytest

from benchmarks import engines
from benchmarks.__main__ import main
from benchmarks.clicks import drawn
from benchmarks.crowd import all_at_once, own_reports
from benchmarks.figures import Figure, Goal, table
from benchmarks.options import Options, percentile
from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.errors import OcrUnavailableError
from otel_validation.plugin import default_validator
from otel_validation.settings import Settings
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import Validator
from otel_validation.vision.ocr.registry import make_engine

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", ["lateness", "wake", "memory"])
def test_a_short_run_answers_figures(name, tmp_path, capsys):
    out = tmp_path / "figures.json"
    assert main(["--short", "--scale", "0.002", "--only", name, "--json", str(out)]) == 0
    answered = json.loads(out.read_text("utf-8"))
    assert answered["short"] is True
    assert answered["machine"]["cores"] >= 1
    assert {f["benchmark"] for f in answered["figures"]} == {name}
    assert all(isinstance(f["value"], float) and f["unit"] for f in answered["figures"])
    goals = [f for f in answered["figures"] if f["goal"] is not None]
    assert goals
    assert all(isinstance(f["held"], bool) for f in goals)
    shown = capsys.readouterr().out
    assert all(f"{name}: {f['name']}" in shown for f in answered["figures"])


def test_a_missed_goal_fails_a_strict_run_only(monkeypatch):
    missed = Figure("memory", "too much", 3.0, "x", Goal("<", 2.0))
    monkeypatch.setattr("benchmarks.__main__.BENCHMARKS", {"memory": lambda _: [missed]})
    assert main(["--only", "memory"]) == 0
    assert main(["--only", "memory", "--strict"]) == 1


def test_the_table_says_what_is_held():
    lines = table([Figure("a", "fast", 1.0, "ms", Goal("<", 2.0)), Figure("a", "slow", 3.0, "ms", Goal("<", 2.0))])
    assert [line.split()[-1] for line in lines.splitlines()[2:]] == ["yes", "NO"]


def test_a_percentile_is_one_of_the_values():
    assert [percentile([3.0, 1.0, 2.0, 4.0], p) for p in (50, 95, 100)] == [2.0, 4.0, 4.0]


def test_a_figure_survives_being_written(tmp_path):
    for figure in (Figure("a", "fast", 1.0, "ms", Goal("<", 2.0)), Figure("a", "nothing here", None, "")):
        assert Figure.from_json(json.loads(json.dumps(figure.as_json()))) == figure
    assert Figure("a", "nothing here", None, "x", Goal("<", 2.0)).held is None
    assert table([Figure("a", "nothing here", None, "")]).split()[-1] == "-"


def test_drawn_clicks_are_the_same_every_time_and_of_three_kinds():
    once, again = drawn(2), drawn(2)
    assert [click.truth for click in once] == ["complete", "wrong_target", "nothing"] * 2
    assert [c.subject.report for c in once] == [c.subject.report for c in again]


async def test_eight_reports_at_once_get_the_verdict_on_their_own_screen():
    validator = default_validator(Settings(validator_workers=8))
    await validator.warm_up()
    reports = own_reports(24)
    assert [await all_at_once(validator, reports[n : n + 8]) for n in (0, 8, 16)] == [8, 8, 8]


async def test_a_verdict_on_another_screen_would_be_seen():
    class Crossed(Validator):
        """Gives the second of two reports the screen of the first."""

        async def validate(self, action, report):
            return await super().validate(action, reports[0].report)

    validator = Crossed([OcrRoiChecker()], subject=ReportSubject)
    reports = own_reports(2)
    assert await all_at_once(validator, reports) == 1


def test_engines_are_compared_on_the_same_clicks(monkeypatch, tmp_path):
    def only_ours(name, **options):
        if name != "ppocr":
            raise OcrUnavailableError(name, f"{name} is not installed")
        return make_engine(name, **options)

    monkeypatch.setattr(engines, "RIVALS_PYTHON", tmp_path / "absent")
    monkeypatch.setattr(engines, "make_engine", only_ours)
    monkeypatch.setattr(engines, "real", lambda every: [])
    found = {f.name: f for f in engines.run(Options(short=True))}
    assert found["ppocr: check, median"].value > 0
    assert found["ppocr: region alone, median"].value > 0
    assert found["ppocr: right on drawn screens"].value == 100
    assert found["easyocr is not installed here (make easyocr)"].value is None


class Measured:
    def __init__(self, name, seconds, right):
        self.name, self.checks, self.reads, self.right = name, [seconds], [seconds / 2], {"drawn": right}

    share = engines.Contestant.share


def test_the_rival_has_to_be_ten_times_slower_and_no_better():
    ours, slower, better = Measured("ppocr", 0.1, [True, False]), Measured("easyocr", 1.0, [True, False]), [True, True]
    found = {f.name: f for f in engines.figures({"ppocr": ours, "easyocr": slower})}
    assert found["check: easyocr / ppocr"].held is True
    assert found["right on drawn screens: ppocr - easyocr"].held is True
    found = {f.name: f for f in engines.figures({"ppocr": ours, "easyocr": Measured("easyocr", 0.9, better)})}
    assert found["check: easyocr / ppocr"].held is False
    assert found["right on drawn screens: ppocr - easyocr"].value == -50
    assert found["right on drawn screens: ppocr - easyocr"].held is False
