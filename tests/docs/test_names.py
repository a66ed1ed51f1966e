"""Names in the documentation exist, and its generated tables are up to date."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from otel_validation.cli import app
from otel_validation.delivery.lease import GiveUpCause
from otel_validation.delivery.outcome import ReportStatus
from otel_validation.settings import Settings
from otel_validation.tracing import semconv
from otel_validation.validation.routing import Route
from otel_validation.validation.verdict import FailureCategory

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CHANGELOG.md"]
OTHER_VARIABLES = {"RPA_SERVER_URL", "RPA_STORE_URL"}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)


def settings_variables():
    names = set()
    for name, field in Settings.model_fields.items():
        aliases = getattr(field.validation_alias, "choices", [f"RPA_{name.upper()}"])
        names |= {alias for alias in aliases if alias.startswith("RPA_")}
    return names


@pytest.mark.parametrize("script", ["semconv_table", "settings_table"])
def test_generated_tables_are_up_to_date(script):
    done = subprocess.run(
        [sys.executable, f"scripts/{script}.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run scripts/{script}.py {done.stderr}"


@pages
def test_settings_exist(page):
    named = set(re.findall(r"RPA_[A-Z0-9_]+(?<!_)\b", page.read_text("utf-8"))) - {"RPA_"}
    assert named <= settings_variables() | OTHER_VARIABLES


def test_every_setting_is_documented():
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    fields = [f"RPA_{name.upper()}" for name in Settings.model_fields]
    assert [name for name in fields if name not in page] == []


@pages
def test_attributes_exist(page):
    known = {value for name, value in vars(semconv).items() if name.isupper() and isinstance(value, str)}
    named = set(re.findall(r"`((?:rpa|verification|messaging)\.[a-z_.]+)`", page.read_text("utf-8")))
    assert named <= known


@pages
def test_spans_exist(page):
    known = {value for name, value in vars(semconv).items() if name.startswith("SPAN_")}
    named = set(re.findall(r"`([a-z_]+) \{(?:type|checker)\}`", page.read_text("utf-8")))
    assert named <= known


def test_enumerations_are_documented():
    delivery = (ROOT / "docs" / "delivery.md").read_text("utf-8")
    validation = (ROOT / "docs" / "validation.md").read_text("utf-8")
    for value in (*ReportStatus, *GiveUpCause):
        assert f"`{value}`" in delivery
    for value in (*FailureCategory, *Route):
        assert f"`{value}`" in validation


@pages
def test_commands_and_options_exist(page):
    commands = typer.main.get_command(app)
    for line in re.findall(r"(?m)^(?:\$ )?(?:[A-Z_]+=\S+ )*(otel-validation [^`|]*)$", page.read_text("utf-8")):
        command, words = commands, shlex.split(line)[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not hasattr(command, "commands"), line
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line


@pages
def test_make_targets_exist(page):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?m)^\$ make (\w+)", page.read_text("utf-8")):
        assert f"\n{target}:" in makefile


@pages
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+\.md)(?:#[\w-]+)?\)", page.read_text("utf-8")):
        assert (page.parent / target).is_file(), target
