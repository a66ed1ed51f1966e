"""Bad input through the plugin and the legacy host: a 4xx or a CONTINUE with a reason, never a 500, bounded memory."""

from __future__ import annotations

import base64
import gzip
import json
import os
import struct
import threading
import time
import zlib
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx
import psutil
import pytest
from http_kit import JSON_HEADERS, NEXT, RESULT, a_site, click, serving

from otel_validation.clock import SystemClock
from otel_validation.plugin import default_validator
from otel_validation.settings import Settings

DEMO = Path(__file__).parents[2] / "otel_validation" / "cli" / "demo_data"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> str:
    """A one-bit PNG of this size: a few kilobytes that decode to `width` x `height` pixels."""
    row = bytes(1 + width // 8)
    packer, rows = zlib.compressobj(9), b""
    for _ in range(height):
        rows += packer.compress(row)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows + packer.flush()) + chunk(b"IEND", b"")
    return base64.b64encode(png).decode()


@pytest.fixture(scope="module")
def world() -> Any:
    settings = {"watchdog_orphan_timeout_s": 600, "validator_rechecks": 0}
    site = a_site(clock=SystemClock(), settings=settings, validator=default_validator(Settings(**settings)))
    with serving(site.app) as server, httpx.Client(base_url=server.url, timeout=30) as client:
        yield site, client


class Peak:
    """The most resident memory of this process beyond what it had at first, in bytes."""

    def __enter__(self) -> Self:
        self._process, self._done, self.bytes = psutil.Process(os.getpid()), threading.Event(), 0
        self._before = self._process.memory_info().rss
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.bytes = max(self.bytes, self._process.memory_info().rss - self._before)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def dispatched(world: Any, session_id: str) -> tuple[Any, httpx.Client, partial[httpx.Response]]:
    site, client = world
    action = click("act_1", target_spec={"by_text": "Imagerie"})
    site.queue(action, session_id=session_id)
    assert client.get(NEXT, params={"session_id": session_id}).json()["delivery"]["attempt"] == 1
    return site, client, partial(client.post, RESULT, headers=JSON_HEADERS)


def tracked(client: httpx.Client, session_id: str) -> bool:
    """Whether the action is still in flight: nothing else is handed out, and a report of it is accepted."""
    held = client.get(NEXT, params={"session_id": session_id}).json()["action"] is None
    last = client.post(RESULT, json={"session_id": session_id, "action_id": "act_1", "success": False})
    return held and last.json()["status"] == "accepted"


SHOT = base64.b64encode((DEMO / "02-notes.png").read_bytes()).decode()


def a_report(session_id: str, **more: Any) -> bytes:
    return json.dumps({"session_id": session_id, "action_id": "act_1", "success": True, **more}).encode()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("nan", {"actual_position": {"x_pct": float("nan"), "y_pct": 0.5}, "screenshot_after": SHOT}),
        ("infinite", {"actual_position": {"x_pct": float("inf"), "y_pct": -1e308}, "screenshot_after": SHOT}),
        ("words", {"actual_position": "left", "screenshot_after": SHOT}),
        ("no-image", {"screenshot_after": base64.b64encode(b"not an image").decode()}),
        ("not-base64", {"screenshot_after": "/etc/passwd"}),
        ("cut", {"screenshot_after": SHOT[: len(SHOT) // 2 // 4 * 4]}),
        ("bomb", {"screenshot_after": bomb(20_000, 10_000)}),
        ("bombs", {"screenshot_before": bomb(20_000, 20_000), "screenshot_after": bomb(20_000, 20_000)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_evidence_that_cannot_be_used_is_a_continue_with_a_reason(world, name, more):
    """E09 among them: 200 and 400 megapixels in a few kilobytes are refused before they are decoded."""
    site, _, post = dispatched(world, name)
    with Peak() as peak:
        answer = post(content=a_report(name, **more))
    assert answer.status_code == 200
    verdict = answer.json()["verdict"]
    assert verdict["verdict"] == "continue"
    assert verdict["verified"] is False
    assert verdict["reasoning"]
    assert answer.json()["status"] == "accepted"
    assert peak.bytes < 200 * 2**20
    told = site.told[-1]
    assert told["success"] is False
    assert told["error"].startswith("validator_continue: ")


def test_a_report_without_a_screenshot_stands_and_is_not_verified(world):
    _, _, post = dispatched(world, "bare")
    verdict = post(content=a_report("bare")).json()["verdict"]
    assert (verdict["validated"], verdict["verified"]) == (False, False)


@pytest.mark.parametrize(
    "body",
    [
        b"{broken",
        b"",
        b"[]",
        b"\xff\xfe\xfd",
        b'{"session_id": {}, "action_id": []}',
        b'{"session_id": "%s", "action_id": "act_1", "success": "perhaps"}',
        b"[" * 100_000,
        b'{"n": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda body: body[:20],
)
def test_what_is_no_report_is_a_4xx_of_the_hosts_or_unknown_and_the_action_stays_tracked(world, body):
    session_id = f"no-report-{abs(hash(body))}"
    _site, client, post = dispatched(world, session_id)
    answer = post(content=body)
    assert 400 <= answer.status_code < 500, answer.text
    assert tracked(client, session_id)


def test_an_unknown_session_is_said_to_be_unknown(world):
    _, client = world
    answer = client.post(RESULT, content=a_report("never-seen"), headers=JSON_HEADERS)
    assert answer.status_code == 200
    assert answer.json()["status"] == "unknown"
    assert answer.json()["verdict"] is None


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_of_50_megabytes_is_413_in_bounded_memory(world, announced):
    session_id = f"large-{announced}"
    _, client, _post = dispatched(world, session_id)
    piece = b"x" * 500_000

    def pieces() -> Any:
        yield a_report(session_id)[:-1] + b', "x": "'
        for _ in range(100):
            yield piece

    headers = dict(JSON_HEADERS)
    if announced:
        headers["content-length"] = str(len(a_report(session_id)) + 7 + 100 * len(piece))
    with Peak() as peak:
        answer = client.post(RESULT, content=pieces(), headers=headers)
    assert answer.status_code == 413
    assert "RPA_MAX_REPORT_BYTES" in answer.json()["detail"]
    assert peak.bytes < 100 * 2**20
    assert tracked(client, session_id)


def test_c06_a_gzip_bomb_is_a_4xx_in_bounded_memory_and_the_action_stays_tracked(world):
    _, client, _ = dispatched(world, "gzip")
    packed = gzip.compress(bytes(2**20)) * 1_024  # members in a row: 1 GB inflated
    headers = {**JSON_HEADERS, "content-encoding": "gzip"}
    with Peak() as peak:
        answer = client.post(RESULT, content=packed, headers=headers)
    assert 400 <= answer.status_code < 500
    assert peak.bytes < 100 * 2**20
    assert tracked(client, "gzip")


def test_odd_polls_are_no_errors_of_the_plugins(world):
    _, client = world
    for query in (
        "", "session_id=", "session_id=%00", "session_id=%ff", f"session_id={'s' * 5_000}", "session_id=a&wait_s=nan",
        "session_id=a&machine_id=" + "m" * 5_000, "session_id[]=a", "session_id=%F0%9F%A9%BA",
    ):  # fmt: skip
        answer = client.get(f"{NEXT}?{query}")
        assert answer.status_code in (200, 422), query


def test_the_server_is_well_after_all_this(world):
    site, client = world
    began = time.monotonic()
    site.queue(click("last"), session_id="well")
    assert client.get(NEXT, params={"session_id": "well"}).json()["delivery"]["attempt"] == 1
    assert time.monotonic() - began < 1
