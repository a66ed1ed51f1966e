"""Looks: the server asks for a fresh screenshot; the action they are after is not executed again."""

from __future__ import annotations

import base64
import threading

import pytest

from otel_validation.agent import ActionContext, Execution, Screen

pytestmark = pytest.mark.anyio

LOOK = {"action_id": "act_1~look1-0badcafe", "type": "screenshot_evidence", "look_of": "act_1", "purpose": "recheck"}


class Calls:
    """A callback that gives `result` and keeps the contexts it was called with."""

    def __init__(self, result):
        self.result, self.contexts = result, []

    async def __call__(self, context: ActionContext):
        self.contexts.append(context)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def give_look(host, **block):
    host.give(LOOK, look_of="act_1", **block)


def a_capture(shot=b"fresh"):
    return Calls(Screen(shot, {"title": "x"}))


async def test_the_capture_callback_answers_a_look(host, make_agent, make_action):
    execute, capture = Calls(Execution(True)), a_capture()
    agent = make_agent(execute, capture=capture)
    host.give(make_action())
    give_look(host, token="t2")
    assert (await agent.run_once()).look_of is None
    run = await agent.run_once()
    (context,) = capture.contexts
    assert (context.look_of, context.type, context.action) == ("act_1", "screenshot_evidence", LOOK)
    assert [c.action_id for c in execute.contexts] == ["act_1"]
    assert (run.look_of, run.action_id, run.executed, run.success) == ("act_1", LOOK["action_id"], True, True)
    assert host.reports[1] == {
        "session_id": "s1",
        "action_id": LOOK["action_id"],
        "success": True,
        "error": None,
        "screenshot_after": base64.b64encode(b"fresh").decode(),
        "window": {"title": "x"},
        "delivery_token": "t2",
    }


async def test_a_look_that_is_delivered_again_shows_the_screen_of_that_moment(host, make_agent):
    capture = a_capture()
    agent = make_agent(Calls(Execution(True)), capture=capture)
    give_look(host)
    give_look(host, token="t2", attempt=2, redelivered=True)
    await agent.run_once()
    capture.result = Screen(b"later")
    run = await agent.run_once()
    assert (run.executed, len(capture.contexts)) == (True, 2)
    assert [base64.b64decode(report["screenshot_after"]) for report in host.reports] == [b"fresh", b"later"]
    assert len(agent._ledger) == 0


async def test_an_action_is_executed_once_whatever_was_looked_at_in_between(host, make_agent, make_action):
    execute = Calls(Execution(True))
    agent = make_agent(execute, capture=a_capture())
    host.give(make_action())
    give_look(host, token="t2")
    host.give(make_action(), token="t3", attempt=2, redelivered=True)
    runs = [await agent.run_once() for _ in range(3)]
    assert len(execute.contexts) == 1
    assert [run.executed for run in runs] == [True, True, False]
    assert [report["action_id"] for report in host.reports] == ["act_1", LOOK["action_id"], "act_1"]


async def test_without_a_capture_callback_a_look_is_an_action_that_is_executed_once(host, make_agent):
    execute = Calls(Execution(True, screenshot_after=b"fresh"))
    agent = make_agent(execute)
    give_look(host)
    give_look(host, token="t2", attempt=2, redelivered=True)
    for _ in range(2):
        await agent.run_once()
    (context,) = execute.contexts
    assert (context.look_of, context.type) == ("act_1", "screenshot_evidence")
    assert [report["delivery_token"] for report in host.reports] == ["t1", "t2"]


async def test_a_hosts_own_action_with_such_members_is_executed(host, make_agent, make_action):
    execute, capture = Calls(Execution(True)), a_capture()
    agent = make_agent(execute, capture=capture)
    host.give(make_action(look_of="act_0", purpose="recheck"))
    host.poll_answers.append({"action": LOOK, "replay_paused": False})
    await agent.run_once()
    await agent.run_once()
    assert (len(execute.contexts), capture.contexts) == (2, [])
    assert [context.look_of for context in execute.contexts] == [None, None]


@pytest.mark.parametrize(
    ("result", "error"),
    [(OSError("Durand"), "OSError"), (b"bytes", "TypeError"), (Execution(True), "TypeError"), (None, "TypeError")],
)
async def test_a_capture_that_fails_is_a_failed_look(host, make_agent, result, error):
    agent = make_agent(Calls(Execution(True)), capture=Calls(result))
    give_look(host)
    assert (await agent.run_once()).success is False
    assert (host.reports[0]["error"], "screenshot_after" in host.reports[0]) == (error, False)


@pytest.mark.parametrize("look_of", ["", 5, None, ["act_1"]])
async def test_a_look_of_nothing_is_an_action(host, make_agent, look_of):
    execute, capture = Calls(Execution(True)), a_capture()
    host.give(LOOK, look_of=look_of)
    await make_agent(execute, capture=capture).run_once()
    assert (len(execute.contexts), capture.contexts) == (1, [])


async def test_a_plain_capture_function_runs_in_a_thread(host, make_agent, anyio_backend):
    threads = []

    def capture(context):
        threads.append(threading.current_thread())
        return Screen(b"fresh")

    give_look(host)
    await make_agent(Calls(Execution(True)), capture=capture).run_once()
    assert threads != [threading.main_thread()]


async def test_a_screen_shows_nothing_in_a_log():
    assert "secret" not in repr(Screen(b"secret", {"title": "secret"}))
