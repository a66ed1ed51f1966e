"""New replays: what is accepted, what is refused, and that a refusal never shows what was sent."""

from __future__ import annotations

import json

import pytest
from http_kit import JSON_HEADERS, click

pytestmark = pytest.mark.anyio
CANARY = "Zacharie-Dupont-1942"


async def post(desk, body):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await desk.http.post("/api/v1/replays", content=content, headers=JSON_HEADERS)


def replay(*actions, **more):
    return {"session_id": "s1", "machine_id": "m1", "actions": list(actions) or [click()], **more}


def nested(levels):
    value = "x"
    for _ in range(levels):
        value = [value]
    return value


async def test_a_replay_is_created_and_shown(desk):
    answer = await desk.start(click(), click("act_2"), workflow="dossier")
    assert answer.status_code == 201
    assert answer.json()["status"] == "running"
    view = await desk.view()
    assert view["workflow"] == "dossier"
    assert [(a["action_id"], a["state"], a["attempts"], a["verdict"]) for a in view["actions"]] == [
        ("act_1", "queued", 0, None),
        ("act_2", "queued", 0, None),
    ]
    assert len(view["trace_id"]) == 32
    (line,) = (await desk.http.get("/api/v1/replays")).json()
    assert (line["done"], line["actions"], line["replay_id"]) == (0, 2, desk.replay_id)


async def test_a_busy_session_is_a_409_that_names_the_replay(desk):
    await desk.start()
    again = await desk.start()
    assert again.status_code == 409
    assert desk.replay_id in again.json()["detail"]
    assert (await desk.start(session="other")).status_code == 201


async def test_an_unknown_replay_is_a_404(desk):
    for call in ("", "/pause", "/resume", "/cancel"):
        method = "POST" if call else "GET"
        assert (await desk.http.request(method, f"/api/v1/replays/none{call}")).status_code == 404
    assert (await desk.redrive("none")).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "text",
        replay(actions=[]),
        replay(actions=[CANARY]),
        replay(actions=[{}]),
        replay({"action_id": "", "type": "click"}),
        replay({"action_id": 1, "type": "click"}),
        replay({"action_id": "x" * 257, "type": "click"}),
        replay({"action_id": "a"}),
        replay(click("a"), click("a")),
        replay(session_id=""),
        replay(session_id="x" * 257),
        replay(session_id=CANARY * 20),
        replay(machine_id=None),
        replay(workflow={"text": CANARY}),
        replay(**{CANARY: CANARY}),
        replay(click(x_pct=float("nan"))),
        replay(click(x_pct=float("inf"))),
        replay(click(text="\ud800" + CANARY)),
        replay(click(**{"\udc80" + CANARY: 1})),
        replay(**{"\udc80" + CANARY: 1}),
        replay(session_id="\ud83e"),
        replay(click(deep=nested(64))),
        replay(click(deep=nested(600))),
        b'{"session_id": "s1", "machine_id": "m1", "actions": [{"action_id": "a", "type": "click", "x": 1e999}]}',
    ],
)
async def test_what_cannot_be_run_is_a_422_that_shows_no_value(desk, body):
    answer = await post(desk, body)
    assert answer.status_code == 422
    assert CANARY not in answer.text
    assert (await desk.http.get("/api/v1/replays")).json() == []


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe\xfd", b"[" * 200_000, b"1" * 5_000, b""])
async def test_broken_json_is_a_4xx(desk, body):
    assert 400 <= (await post(desk, body)).status_code < 500


async def test_the_deepest_action_arrives(desk):
    deepest = click(deep=nested(63), big=10**400, text="Échec 🩺")
    assert (await desk.start(deepest)).status_code == 201
    action = (await desk.poll())["action"]
    assert action.pop("replay_id") == desk.replay_id
    assert action == deepest


async def test_an_action_that_no_poll_can_carry_is_refused(desk_with):
    async with desk_with(max_poll_answer_bytes=4_096) as desk:
        answer = await desk.start(click(text="é" * 2_000))
        assert answer.status_code == 422
        assert "RPA_MAX_POLL_ANSWER_BYTES" in answer.json()["detail"]
        assert (await desk.start(click(text="é" * 1_000))).status_code == 201
        assert (await desk.poll())["delivery"]["attempt"] == 1


async def test_ten_thousand_actions_are_accepted_and_one_more_is_not(desk):
    actions = [click(f"act_{n}") for n in range(10_001)]
    assert (await post(desk, replay(*actions))).status_code == 422
    assert (await desk.start(*actions[:-1])).status_code == 201
    assert (await desk.poll())["action"]["action_id"] == "act_0"
    assert len((await desk.view())["actions"]) == 10_000


async def test_the_replay_id_of_an_action_is_the_servers(desk):
    await desk.start(click(replay_id="mine"))
    assert (await desk.poll())["action"]["replay_id"] == desk.replay_id
    trace_id = (await desk.view())["trace_id"]
    assert {f"{s.context.trace_id:032x}" for s in desk.spans.get_finished_spans() if s.name.startswith("step")} <= {
        trace_id
    }
    assert desk.plugin.recorder.trace_id("s1") == trace_id


async def test_ended_replays_are_forgotten_one_day(desk, monkeypatch):
    monkeypatch.setattr("otel_validation.server.replays.FINISHED_REPLAYS", 2)
    for n in range(4):
        await desk.start(session=f"s{n}")
        await desk.do("cancel")
    await desk.start(session="running")
    left = [r["session_id"] for r in (await desk.http.get("/api/v1/replays")).json()]
    assert left == ["s2", "s3", "running"]
