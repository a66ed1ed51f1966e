"""The command line."""

from __future__ import annotations

from typing import Annotated

import typer

from otel_validation.cli.agent import agent
from otel_validation.cli.check import check
from otel_validation.cli.demo import demo
from otel_validation.cli.doctor import doctor
from otel_validation.cli.operate import dead_letters, replays
from otel_validation.cli.serve import serve

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
    help="Leases, verdicts and OpenTelemetry traces for RPA replay servers.",
)
for command in (demo, serve, agent, check, doctor):
    app.command()(command)
app.add_typer(replays, name="replays")
app.add_typer(dead_letters, name="dead-letters")


def _version(asked: bool) -> None:
    if asked:
        from otel_validation import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Leases, verdicts and OpenTelemetry traces for RPA replay servers."""


def main() -> None:
    """The `otel-validation` program."""
    app()
