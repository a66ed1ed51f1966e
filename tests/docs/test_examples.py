"""Every example of the documentation is run as it stands: Python in this process, shell against a real server.

Sybil parses the pages. `console` blocks are for reading (`test_names.py` knows their commands and options); the agent
page has a test of its own, which lends it a screen and a mouse.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from http_kit import serving
from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from otel_validation.server.app import create_app
from otel_validation.settings import Settings

if TYPE_CHECKING:
    from sybil import Example

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PYTHON = [
    "index",
    "drop-in",
    "delivery",
    "validation",
    "pixels",
    "windows",
    "recheck",
    "ocr",
    "server",
    "telemetry",
    "settings",
]
SHELL = ["server", "cli"]


class Shell:
    """Runs `bash` blocks one after the other. What a call answers is kept for the next: $TOKEN, $REPLAY."""

    def __init__(self, variables: dict[str, str]) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RPA_", "OTEL_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {**clean, "PATH": path, **variables}
        self.answers: list[dict] = []

    def __call__(self, example: Example) -> None:
        for command in commands(example.parsed):
            done = subprocess.run(
                ["bash", "-euc", command],
                cwd=ROOT,
                env=self.env,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            if command.startswith("curl"):
                self.keep(json.loads(done.stdout))

    def keep(self, answer: object) -> None:
        if isinstance(answer, dict):
            assert "detail" not in answer, answer
            self.answers.append(answer)
            self.env["REPLAY"] = answer.get("replay_id", self.env.get("REPLAY", ""))
            self.env["TOKEN"] = (answer.get("delivery") or {}).get("token", self.env.get("TOKEN", ""))


def commands(block: str) -> list[str]:
    """A block's commands: each line that begins with a program's name, with the lines that belong to it."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith(("curl ", "otel-validation ")):
            found.append(line)
        else:
            found[-1] += f"\n{line}"
    return found


@pytest.mark.parametrize("page", PYTHON)
def test_python(page, monkeypatch):
    for name in list(os.environ):
        if name.startswith("RPA_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    document = Document.parse(str(DOCS / f"{page}.md"), PythonCodeBlockParser(), encoding="utf-8")
    examples = list(document.examples())
    assert examples
    for example in examples:
        example.evaluate()


@pytest.mark.skipif(not shutil.which("curl") and not os.environ.get("CI"), reason="the examples call curl")
@pytest.mark.parametrize("page", SHELL)
def test_shell(page):
    with serving(create_app(Settings(validator_mode="off", api_token=None))) as server:
        shell = Shell({"URL": server.url, "RPA_SERVER_URL": server.url})
        document = Document.parse(str(DOCS / f"{page}.md"), CodeBlockParser("bash", shell), encoding="utf-8")
        examples = list(document.examples())
        assert examples
        for example in examples:
            example.evaluate()
    if page == "server":
        statuses = [answer["status"] for answer in shell.answers if "status" in answer]
        assert statuses[:3] == ["running", "extended", "accepted"]
        assert {"paused_need_help", "cancelled"} <= set(statuses)


def test_every_page_has_an_example_that_is_run():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"agent", "benchmarks"}
    assert pages == set(PYTHON) | set(SHELL)
