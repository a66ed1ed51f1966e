"""What every command shares: consoles, exit codes, tables with a JSON twin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 140
"""Columns where the output is no terminal."""


def _console(*, stderr: bool = False) -> Console:
    # No markup: identifiers and messages come from clients, and "[/b]" in one would be an error.
    console = Console(stderr=stderr, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = PIPED_WIDTH
    return console


out = _console()
"""Standard output; colours only on a terminal."""
err = _console(stderr=True)
"""Standard error: progress and complaints."""


class Exit(IntEnum):
    """Exit codes of every command (DESIGN section 8)."""

    FINE = 0
    NOT_COMPLETE = 1
    USAGE = 2
    ENVIRONMENT = 3


def fail(message: str, code: Exit = Exit.ENVIRONMENT) -> NoReturn:
    """Say what is wrong and what to do, then leave."""
    err.print(Text("error:", style="red").append(f" {printable(message)}", style="default"), soft_wrap=True)
    raise typer.Exit(code)


def printable(value: object) -> str:
    """The value as text that a terminal shows and does not obey: control characters become U+FFFD."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in str(value))


def print_json(value: object) -> None:
    """JSON on standard output, for programs; ASCII, so that any terminal and locale can carry it."""
    typer.echo(json.dumps(value, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """A table on standard output, for people."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if row.get(column) is None else printable(row[column])) for column in columns))
    out.print(table)
