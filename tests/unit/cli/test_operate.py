"""`replays` and `dead-letters`: a real server behind the HTTP client, and what is no replay server."""

from __future__ import annotations

import json
import os

import httpx
import pytest
from http_kit import NEXT, click, serving
from typer.testing import CliRunner

from otel_validation.cli import app, operate
from otel_validation.server.app import create_app
from otel_validation.settings import Settings

ODD = "[/b]\x1b[31m é"


@pytest.fixture
def call(monkeypatch):
    """A reference server that the commands talk to; its own calls."""
    for name in list(os.environ):
        if name.startswith("RPA_"):
            monkeypatch.delenv(name)
    settings = Settings(validator_mode="off", watchdog_max_resends=0)
    with serving(create_app(settings)) as server, httpx.Client(base_url=server.url) as http:
        monkeypatch.setenv("RPA_SERVER_URL", server.url)
        yield http.request


def run(*args):
    result = CliRunner().invoke(app, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def start(call, *, session="s1", **more):
    body = {"session_id": session, "machine_id": "m1", "actions": [click(), click("act_2")], **more}
    return call("POST", "/api/v1/replays", json=body).json()["replay_id"]


def wait_for_a_letter():
    while run("dead-letters", "list", "--json")[1] == "[]\n":
        pass


def test_replays_are_listed_shown_and_operated(call):
    assert run("replays", "list") == (0, "no replays\n", "")
    replay = start(call, workflow=ODD)
    code, out, _ = run("replays", "list")
    assert code == 0
    assert replay in out
    assert "[/b]" in out
    assert "\x1b" not in out
    code, out, _ = run("replays", "show", replay)
    assert (code, "act_2" in out) == (0, True)
    assert "trace none" in out
    for operation, status in (("pause", "paused_need_help"), ("resume", "running"), ("cancel", "cancelled")):
        assert run("replays", operation, replay) == (0, f"{replay}  {status}\n", "")
    code, out, _ = run("replays", "cancel", replay, "--json")
    assert json.loads(out) == {"replay_id": replay, "status": "cancelled"}


def test_json_has_the_servers_shape(call):
    replay = start(call, workflow=ODD)
    ((_, out, _), (_, shown, _)) = run("replays", "list", "--json"), run("replays", "show", replay, "--json")
    (line,) = json.loads(out)
    assert line["workflow"] == ODD
    assert [a["state"] for a in json.loads(shown)["actions"]] == ["queued", "queued"]
    assert json.loads(run("dead-letters", "list", "--json")[1]) == []


def test_a_paused_replay_says_why(call):
    replay = start(call)
    call("GET", f"{NEXT}?session_id=s1&machine_id=m1")
    report = {"session_id": "s1", "action_id": "act_1", "success": False}
    call("POST", "/api/v1/traces/stream/replay/result", json=report)
    code, out, _ = run("replays", "show", replay)
    assert code == 0
    assert "the last action failed" in out
    assert "continue" in out


def test_dead_letters_are_listed_and_redriven(call):
    assert run("dead-letters", "list")[1] == "no dead letters\n"
    start(call, session="a/b?#", actions=[click(visibility_timeout_s=0.001)])
    query = {"session_id": "a/b?#", "machine_id": "m1"}
    call("GET", NEXT, params=query)
    wait_for_a_letter()
    assert call("GET", NEXT, params=query).json()["replay_paused"] is True
    (letter,) = json.loads(run("dead-letters", "list", "--json")[1])
    code, out, _ = run("dead-letters", "list")
    assert (code, letter["dead_letter_id"] in out) == (0, True)
    code, out, _ = run("dead-letters", "redrive", letter["dead_letter_id"])
    assert (code, out) == (0, "act_1 waits to be handed out again\n")
    code, _, said = run("dead-letters", "redrive", letter["dead_letter_id"])
    assert code == 2
    assert "list them first" in said


def test_redriving_as_json(call):
    start(call, actions=[click(visibility_timeout_s=0.001)])
    call("GET", f"{NEXT}?session_id=s1&machine_id=m1")
    wait_for_a_letter()
    (letter,) = json.loads(run("dead-letters", "list", "--json")[1])
    code, out, _ = run("dead-letters", "redrive", letter["dead_letter_id"], "--json")
    assert (code, json.loads(out)["state"]) == (0, "waiting")


@pytest.mark.parametrize("name", ["none", "../dead-letters", "a/b", "?x", "#", "%2e%2e"])
def test_what_is_not_there_is_a_usage_error_that_says_so(call, name):
    for command in (("replays", "show"), ("replays", "pause"), ("dead-letters", "redrive")):
        code, out, said = run(*command, name)
        assert (code, out) == (2, "")
        assert "error:" in said


@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        (httpx.Response(401, json={"detail": "x"}), 3, "RPA_API_TOKEN"),
        (httpx.Response(500, text="oops"), 3, "HTTP 500"),
        (httpx.Response(503, json=[]), 3, "HTTP 503"),
        (httpx.Response(409, json={"detail": "[/b] busy"}), 2, "[/b] busy"),
        (httpx.Response(200, text="<html>"), 3, "--server"),
        (httpx.Response(200, json="text"), 3, "--server"),
        (httpx.Response(200, json={"hello": 1}), 3, "--server"),
        (httpx.Response(200, json=[1]), 3, "--server"),
        (httpx.Response(302), 3, "--server"),
        (httpx.ConnectError("no"), 3, "is the server running"),
        (httpx.ReadTimeout("no"), 3, "ReadTimeout"),
        (httpx.InvalidURL("no"), 2, "--server"),
        (httpx.UnsupportedProtocol("no"), 2, "--server"),
    ],
)
def test_answers_that_are_none(monkeypatch, answer, code, word):
    def request(*_args, **_options):
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(operate.httpx, "request", request)
    for command in (("replays", "show", "x"), ("dead-letters", "list"), ("dead-letters", "redrive", "x")):
        got, out, said = run(*command)
        assert (got, out) == (code, "")
        assert word in said


def test_the_token_is_sent_and_never_shown(monkeypatch):
    seen = []

    def request(_method, _url, *, headers, timeout):
        seen.append(headers)
        return httpx.Response(200, json=[])

    monkeypatch.setattr(operate.httpx, "request", request)
    monkeypatch.setenv("RPA_API_TOKEN", "s3cret")
    run("replays", "list")
    run("replays", "list", "--token", "other")
    assert seen == [{"Authorization": "Bearer s3cret"}, {"Authorization": "Bearer other"}]
    monkeypatch.setenv("RPA_API_TOKEN", "line\nbreak")
    code, _, said = run("replays", "list")
    assert code == 2
    assert "break" not in said
    assert "s3cret" not in run("replays", "list", "--help")[1]
