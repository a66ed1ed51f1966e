"""The agent page's example is complete: it is run as it stands, with a screen and a mouse of the test's."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import httpx
from PIL import Image, ImageGrab
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from otel_validation import agent
from otel_validation.validation.window import WindowFacts

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).parents[2] / "docs" / "agent.md"
ACTION = {"action_id": "act_1", "type": "click", "x_pct": 0.25, "y_pct": 0.0}
LOOK = {"action_id": "act_1~look1-0badcafe", "type": "screenshot_evidence", "look_of": "act_1", "purpose": "recheck"}


def example() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return code


def test_the_example_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    reports, clicks, entered = [], [], []
    answers = [
        {"action": ACTION, "replay_paused": False},
        {"action": LOOK, "replay_paused": False, "delivery": {"token": "t", "look_of": "act_1"}},
    ]

    async def poll(request):
        return JSONResponse(answers.pop(0))

    async def report(request):
        reports.append(await request.json())
        return JSONResponse({"status": "accepted"})

    base = "/api/v1/traces/stream/replay"
    app = Starlette(routes=[Route(f"{base}/next", poll), Route(f"{base}/result", report, methods=["POST"])])
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app=app))
    monkeypatch.setattr(agent, "AgentClient", functools.partial(agent.AgentClient, http=http))
    monkeypatch.setattr(ImageGrab, "grab", lambda: Image.new("RGB", (400, 200)))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: clicks.append((command, check)))
    with monkeypatch.context() as patch:
        patch.setattr(anyio, "run", entered.append)
        exec(compile(example(), str(PAGE), "exec"), {})
    for _ in range(2):
        anyio.run(entered[0].__self__.run_once)
    assert clicks == [(["xdotool", "mousemove", "100", "0", "click", "1"], True)]
    assert reports[0]["success"] is True
    assert reports[0]["actual_position"] == {"x_pct": 0.25, "y_pct": 0.0}
    assert [report["screenshot_after"][:5] for report in reports] == ["iVBOR"] * 2


def test_the_example_fits_on_a_screen() -> None:
    assert len([line for line in example().splitlines() if line]) <= 15


def test_the_window_facts_of_the_page_are_read_as_they_stand() -> None:
    (facts,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    sent = json.loads(facts)
    read = WindowFacts.from_json(sent)
    assert read is not None
    for name, value in sent.items():
        assert getattr(read, name) == (tuple(value) if isinstance(value, list) else value), name


def test_the_page_names_every_window_fact() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [field.name for field in dataclasses.fields(WindowFacts) if f"`{field.name}`" not in text] == []
