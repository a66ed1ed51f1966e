"""`otel-validation serve`: what it refuses, in which words, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from otel_validation.cli import app

PROGRAM = str(Path(sys.executable).with_name("otel-validation"))
CANARY = "Zacharie-Dupont"


@pytest.fixture
def env(monkeypatch):
    """An environment without variables of ours or OpenTelemetry's."""
    for name in list(os.environ):
        if name.startswith(("RPA_", "OTEL_")):
            monkeypatch.delenv(name)
    return monkeypatch


def run(*args):
    result = CliRunner().invoke(app, ["serve", "--port", "0", *args])
    return result.exit_code, result.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_other_machines_need_a_token(env, host):
    code, said = run("--host", host)
    assert code == 2
    assert "RPA_API_TOKEN" in said


def test_several_workers_are_refused_with_the_reason(env):
    code, said = run("--workers", "2")
    assert code == 2
    assert "store that the workers share" in said


@pytest.mark.parametrize("store", ["sqlite:///x.db", "postgresql://u:p@h/d", "redis://"])
def test_an_unknown_store_is_refused(env, store):
    assert run("--store", store)[0] == 2
    env.setenv("RPA_STORE_URL", store)
    code, said = run()
    assert code == 2
    assert "memory" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", CANARY),
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "-1"),
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "nan"),
        ("RPA_WATCHDOG_MAX_RESENDS", CANARY),
        ("RPA_WATCHDOG_TIMEOUTS_S", f"{{{CANARY}"),
        ("RPA_WATCHDOG_TIMEOUTS_S", '{"wait": 0}'),
        ("RPA_VALIDATOR_MODE", CANARY),
        ("RPA_VALIDATOR_ENABLED", CANARY),
    ],
)
def test_a_variable_that_cannot_be_used_is_named_and_not_shown(env, name, value):
    env.setenv(name, value)
    code, said = run()
    assert code == 2
    assert name in said
    assert CANARY not in said


@pytest.mark.parametrize(("name", "value"), [("OTEL_TRACES_EXPORTER", "[/b]"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "x")])
def test_telemetry_that_cannot_be_set_up_is_named(env, name, value):
    env.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    env.setenv(name, value)
    code, said = run()
    assert code == 2
    assert name in said
    assert value in said


@pytest.mark.parametrize("args", [("--port", "70000"), ("--log-level", "loud"), ("--workers", "0"), ("--nonsense",)])
def test_arguments_that_cannot_be_used(env, args):
    assert run(*args)[0] == 2


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["demo"]])
def test_an_ocr_engine_that_is_not_there_is_an_error_of_the_environment(env, command, tmp_path):
    env.setenv("RPA_OCR_ENGINE", "tesseract")
    env.setenv("RPA_OCR_MODEL_DIR", str(tmp_path))
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 3
    assert "apt-get install tesseract-ocr-eng" in result.stderr


def test_a_port_in_use_is_an_error_of_the_environment(env):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = run("--port", str(taken.getsockname()[1]))
    assert code == 3
    assert "another server" in said


def test_what_it_runs_and_how_it_says_so(env):
    """The loop itself is a stand-in; the program's is run below."""
    ran = []

    def run_until_interrupted(self, sockets):
        ran.append((self.config, sockets[0].getsockname()))
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    env.setattr("uvicorn.Server.run", run_until_interrupted)
    try:
        code, said = run("--log-level", "ERROR")
        with pytest.raises(SystemExit) as left:
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (code, left.value.code) == (0, 0)
    ((config, (host, port)),) = ran
    assert (config.log_level, config.reset_contextvars) == ("error", True)
    assert f"listening on http://{host}:{port};" in said
    assert said.endswith("stopped\n")


@pytest.fixture
def server(env):
    """Start the program; the process and its address."""
    processes = []

    def start(*args, **variables):
        process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", *args],
            env={**os.environ, "PYTHONUNBUFFERED": "1", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"listening on (http://\S+);", line):
                return process, found[1], "".join(said)
        raise AssertionError("".join(said))

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_ends_cleanly(server, sent):
    process, url, said = server("--log-level", "WARNING")
    assert "no RPA_API_TOKEN" in said
    transport = httpx.HTTPTransport(retries=20)
    with httpx.Client(transport=transport, base_url=url, timeout=20) as http:
        assert http.get("/healthz").json()["status"] == "ok"
    process.send_signal(sent)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "\x1b" not in out + err
    assert out == ""


def test_with_a_token_it_may_listen_everywhere(server):
    process, url, said = server("--host", "0.0.0.0", RPA_API_TOKEN="s3cret")
    assert "without authentication" not in said
    port = url.rpartition(":")[2]
    answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/replays", timeout=20)
    assert answer.status_code == 401
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)


def test_ipv6_loopback_needs_no_token(server):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    _, url, _ = server("--host", "::1")
    assert httpx.get(f"{url}/healthz", timeout=20).status_code == 200
