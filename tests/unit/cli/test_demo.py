"""`otel-validation demo` as people run it: five scenes, an exit code that means them, a clean Ctrl-C."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from otel_validation.cli import app, demo_scenes

PROGRAM = str(Path(sys.executable).with_name("otel-validation"))
demo = importlib.import_module("otel_validation.cli.demo")
NOTHING_SET = {name: None for name in os.environ if name.startswith(("RPA_", "OTEL_"))}
SCENES = ["right-clicks", "address-bar", "neighbour-tab", "lost-answer", "dead-agent"]


def start(*args, **variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("RPA_", "OTEL_"))}
    return subprocess.Popen(
        [PROGRAM, "demo", *args],
        env={**clean, "PYTHONUNBUFFERED": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_all_five_scenes_come_out_right_and_observe_stops_nothing():
    observed = start("--json", RPA_VALIDATOR_MODE="observe")
    settings = {"RPA_API_TOKEN": "of another server", "RPA_POLL_PATH": "/elsewhere"}
    told = CliRunner().invoke(app, ["demo"], env={**NOTHING_SET, **settings})
    out, err = told.stdout, told.stderr
    assert told.exit_code == 0, out + err
    assert "\x1b" not in out + err
    assert "Leases last 2 s here (30 s in production)" in out
    assert [line.split(":")[0] for line in err.splitlines()] == SCENES
    assert "NOT as expected" not in err
    rows = {line.split("│")[1].strip(): line for line in out.splitlines() if line.startswith("│")}
    assert all(rows[scene].rstrip(" │").endswith("yes") for scene in SCENES)
    assert "wrong_application" in rows["address-bar"]
    assert "wrong_target" in rows["neighbour-tab"]
    for span in ("replay", "step click", "dispatch click", "execute click", "report click", "verdict click", "resend"):
        assert span in out
    assert "error.type=lease_expired" in out

    out, err = observed.communicate(timeout=120)
    assert observed.returncode == 1, out + err
    assert "mode observe" in err
    scenes = {row["scene"]: row for row in json.loads(out)["scenes"]}
    assert list(scenes) == SCENES
    assert [name for name, row in scenes.items() if row["as_expected"] == "NO"] == ["address-bar", "neighbour-tab"]
    assert scenes["lost-answer"]["delivered"] == 2
    assert scenes["lost-answer"]["executed"] == 1


def test_ctrl_c_ends_it_cleanly():
    process = start()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode not in (0, 3)
    assert "Traceback" not in err


def test_a_server_that_does_not_get_ready_is_an_error_of_the_environment(monkeypatch):
    monkeypatch.setattr(demo_scenes, "PATIENCE_S", 0.0)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 3
    assert "doctor" in result.stderr


def test_a_variable_that_cannot_be_used_is_a_usage_error(monkeypatch):
    monkeypatch.setenv("RPA_VALIDATOR_MODE", "loud")
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 2
    assert "RPA_VALIDATOR_MODE" in result.stderr


def a_play(*, trace_id=None, state="done"):
    """Scenes that came to nothing, without a server."""
    action = {"action_id": "act_1", "state": state, "verdict": None, "route": None, "attempts": 1}
    outcome = demo_scenes.Outcome({"status": "running", "trace_id": trace_id, "actions": [action]}, {}, [])

    async def play(_settings, _provider):
        return [demo.Played(scene, outcome) for scene in demo_scenes.SCENES], {"scans_total": 1}

    return play


def test_scenes_that_come_to_nothing_are_named(monkeypatch):
    monkeypatch.setattr(demo, "_play", a_play())
    result = CliRunner().invoke(app, ["demo", "--json"], env={**NOTHING_SET, "RPA_VALIDATOR_MODE": "off"})
    assert result.exit_code == 1
    assert {row["as_expected"] for row in json.loads(result.stdout)["scenes"]} == {"NO"}
    assert "address-bar" in result.stderr
    assert "mode off" in result.stderr


def test_without_spans_it_says_why(monkeypatch):
    monkeypatch.setattr(demo, "_play", a_play())
    result = CliRunner().invoke(app, ["demo"], env={**NOTHING_SET, "OTEL_SDK_DISABLED": "true"})
    assert result.exit_code == 1
    assert "OTEL_SDK_DISABLED" in result.stdout
    assert result.stderr.rstrip().endswith("did not come out as expected")
