"""`otel-validation agent`: an agent whose actions are executed by a local command."""

from __future__ import annotations

import shlex
from typing import Annotated

import anyio
import typer
from rich.markup import escape

from otel_validation.agent.client import ActionRun, AgentClient
from otel_validation.agent.command import Command
from otel_validation.cli.console import Exit, fail
from otel_validation.errors import AgentRefusedError, ConfigurationError
from otel_validation.tracing import setup
from otel_validation.tracing.semconv import type_name


def agent(
    *,
    server: Annotated[str, typer.Option(help="The replay server's address.")],
    session: Annotated[str, typer.Option(help="The session whose actions are executed.")],
    machine: Annotated[str, typer.Option(help="This machine's name.")],
    command: Annotated[str, typer.Option("--exec", help="The command, split like a shell would; no shell runs it.")],
    wait: Annotated[float | None, typer.Option(help="Seconds that the server may hold a poll (long polling).")] = None,
    poll_interval: Annotated[float, typer.Option(help="Seconds between polls while there is nothing to do.")] = 1.0,
) -> None:
    """Execute a replay's actions with a local command, until Ctrl-C.

    For each action COMMAND gets the action as JSON on its standard input, and writes one JSON object to its standard
    output: {"success": true, "actual_position": {"x_pct": 0.26, "y_pct": 0.29}, "screenshot_after": "/tmp/after.png"}.
    Screenshots are paths of files on this machine. A non-zero exit is a failed action. Each action is executed at
    most once while this runs; its report is sent until the server has answered. RPA_API_TOKEN is the bearer token;
    spans go where the standard OTEL_* variables say.

    ```
    otel-validation agent --server http://127.0.0.1:5005 --session s1 --machine pc1 --exec "python click.py"
    ```
    """
    try:
        client = AgentClient(
            server,
            session_id=session,
            machine_id=machine,
            execute=Command(shlex.split(command)),
            wait_s=wait,
            poll_interval_s=poll_interval,
            on_run=_show,
        )
        provider = setup.configure("otel-validation-agent")
    except (ConfigurationError, ValueError) as error:
        fail(escape(str(error)), Exit.USAGE)
    typer.echo(f"polling {server} as {machine}, session {session}; Ctrl-C ends", err=True)
    try:
        anyio.run(client.run)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    except AgentRefusedError as error:
        fail(str(error), Exit.ENVIRONMENT)
    finally:
        if provider is not None:
            provider.shutdown()


def _show(run: ActionRun) -> None:
    word = "executed" if run.executed else "reported again"
    status = run.answer.status if run.answer is not None else None
    typer.echo(
        f"{_printable(run.action_id)} {type_name(run.type)}: {word}, success={str(run.success).lower()}, "
        f"server says {_printable(status or 'nothing')}",
        err=True,
    )


def _printable(text: str) -> str:
    """Text of the server's, with nothing in it that a terminal obeys."""
    return "".join(character if character.isprintable() else "?" for character in text)
