"""The benchmarks run, on a small scale, and answer in shape; what they measure is no test's business."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.figures import Figure, Goal, table
from benchmarks.options import percentile


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
