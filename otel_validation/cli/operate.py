"""`otel-validation replays` and `dead-letters`: what operators do, over the server's API."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import httpx
import typer

from otel_validation.cli.console import Exit, fail, out, print_json, print_table, printable

Server = Annotated[str, typer.Option(envvar="RPA_SERVER_URL", help="Address of the replay server.")]
Token = Annotated[str | None, typer.Option(envvar="RPA_API_TOKEN", help="Bearer token.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
LOCAL = "http://127.0.0.1:5005"

replays = typer.Typer(no_args_is_help=True, help="Look at replays; pause, resume, cancel them.")
dead_letters = typer.Typer(no_args_is_help=True, help="Actions that were given up: list them, put one back.")


@replays.command("list")
def list_replays(server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """List replays, oldest first.

    ```
    otel-validation replays list --json
    ```
    """
    rows = _rows(_call("GET", server, "/api/v1/replays", token))
    columns = ["replay_id", "workflow", "session_id", "machine_id", "status", "done", "actions", "message"]
    _show(rows, as_json, "Replays", columns)


@replays.command("show")
def show_replay(replay_id: str, server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """Show one replay, action by action.

    ```
    otel-validation replays show 4f2a9c11d0e7b653
    ```
    """
    answer = _call("GET", server, f"/api/v1/replays/{_path(replay_id)}", token)
    replay = _record(answer, "replay_id", "status", "actions", "trace_id")
    if as_json:
        print_json(replay)
        return
    out.print(printable(f"{replay['replay_id']}  {replay['status']}  trace {replay['trace_id'] or 'none'}"))
    if replay.get("message"):
        out.print(printable(replay["message"]))
    rows = [{**a, "verdict": _verdict(a.get("verdict"))} for a in replay["actions"]]
    print_table("", ["action_id", "type", "state", "attempts", "retries", "verdict", "route", "error"], rows)


@replays.command("pause")
def pause_replay(replay_id: str, server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """Hand out nothing more until `resume`; lease clocks stand still.

    ```
    otel-validation replays pause 4f2a9c11d0e7b653
    ```
    """
    _operate("pause", replay_id, server, token, as_json)


@replays.command("resume")
def resume_replay(replay_id: str, server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """Go on with the next action.

    ```
    otel-validation replays resume 4f2a9c11d0e7b653
    ```
    """
    _operate("resume", replay_id, server, token, as_json)


@replays.command("cancel")
def cancel_replay(replay_id: str, server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """Withdraw everything that has not been settled.

    ```
    otel-validation replays cancel 4f2a9c11d0e7b653
    ```
    """
    _operate("cancel", replay_id, server, token, as_json)


@dead_letters.command("list")
def list_dead_letters(server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """List dead letters, oldest first.

    ```
    otel-validation dead-letters list
    ```
    """
    rows = _rows(_call("GET", server, "/api/v1/dead-letters", token))
    columns = ["dead_letter_id", "action_id", "type", "session_id", "cause", "attempts", "age_s", "given_up_at"]
    _show(rows, as_json, "Dead letters", columns)


@dead_letters.command("redrive")
def redrive(dead_letter_id: str, server: Server = LOCAL, token: Token = None, as_json: AsJson = False) -> None:
    """Put a dead letter back at the head of its session, with a fresh budget.

    ```
    otel-validation dead-letters redrive 0b1f77c2a94e5d38
    ```
    """
    answer = _record(_call("POST", server, f"/api/v1/dead-letters/{_path(dead_letter_id)}/redrive", token), "action_id")
    if as_json:
        print_json(answer)
    else:
        out.print(printable(f"{answer['action_id']} waits to be handed out again"))


def _operate(operation: str, replay_id: str, server: str, token: str | None, as_json: bool) -> None:
    said = _call("POST", server, f"/api/v1/replays/{_path(replay_id)}/{operation}", token)
    answer = _record(said, "replay_id", "status")
    if as_json:
        print_json(answer)
    else:
        out.print(printable(f"{answer['replay_id']}  {answer['status']}"))


def _show(rows: list[dict[str, Any]], as_json: bool, title: str, columns: list[str]) -> None:
    if as_json:
        print_json(rows)
    elif rows:
        print_table(title, columns, rows)
    else:
        out.print(f"no {title.lower()}")


def _verdict(verdict: dict[str, Any] | None) -> str:
    if verdict is None:
        return ""
    category = verdict["failure_category"]
    return f"{verdict['verdict']} ({category})" if category else str(verdict["verdict"])


def _rows(answer: object) -> list[dict[str, Any]]:
    return [_record(row) for row in answer] if isinstance(answer, list) else _not_ours()


def _record(answer: object, *members: str) -> dict[str, Any]:
    ours = isinstance(answer, dict) and all(member in answer for member in members)
    return answer if ours and isinstance(answer, dict) else _not_ours()


def _not_ours() -> NoReturn:
    fail("the answer is not that of a replay server: is --server right?")


def _path(identifier: str) -> str:
    return quote(identifier, safe="")


def _call(method: str, server: str, path: str, token: str | None) -> object:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if token and not (token.isascii() and token.isprintable()):
        fail("the token (--token or RPA_API_TOKEN) holds characters that a header cannot", Exit.USAGE)
    try:
        answer = httpx.request(method, server.rstrip("/") + path, headers=headers, timeout=10.0)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        fail(f"--server {server} is not an address such as {LOCAL}", Exit.USAGE)
    except httpx.HTTPError as error:
        fail(f"no answer from {server} ({type(error).__name__}): is the server running? See --server")
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        fail("the server wants a token: set RPA_API_TOKEN or give --token")
    if answer.is_error:
        fail(f"the server says: {_detail(answer)}", Exit.USAGE if answer.is_client_error else Exit.ENVIRONMENT)
    try:
        parsed: object = answer.json()
    except ValueError:
        _not_ours()
    return parsed


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}"
