from __future__ import annotations

import base64
import logging

import anyio
import httpx
import pytest
from starlette.responses import PlainTextResponse, Response

from otel_validation.agent import UNSET, ActionRun, AgentClient, AgentRefusedError, Execution
from otel_validation.delivery.action import PixelPoint, Point
from otel_validation.errors import ConfigurationError

pytestmark = pytest.mark.anyio


class Callback:
    """Counts its calls; returns what it is told to, or raises it."""

    def __init__(self, *results) -> None:
        self.contexts = []
        self._results = list(results)

    async def __call__(self, context):
        self.contexts.append(context)
        result = self._results.pop(0) if self._results else Execution(True)
        if isinstance(result, Exception):
            raise result
        return result


async def run_for(agent, seconds):
    with anyio.move_on_after(seconds):
        await agent.run()


async def test_polls_executes_and_reports(host, make_agent, make_action):
    host.give(make_action(target_spec={"by_text": "Imagerie"}, unknown=[1]), token="abc", attempt=2, redelivered=True)
    callback = Callback(
        Execution(
            True,
            actual_position=(0.0, 0.5),
            screenshot_before=b"before",
            screenshot_after=b"after",
            window={"title": "x"},
            value=0,
            extra={"agent_version": "7", "success": "never", "delivery_token": "never"},
        )
    )
    run = await make_agent(callback, token="secret", wait_s=5).run_once()

    (context,) = callback.contexts
    assert context.action == make_action(target_spec={"by_text": "Imagerie"}, unknown=[1])
    assert (context.attempt, context.retry, context.redelivered, context.cancelled) == (2, 0, True, False)
    assert dict(host.polls[0].query_params) == {"session_id": "s1", "machine_id": "m1", "wait_s": "5"}
    assert host.polls[0].headers["authorization"] == host.report_headers[0]["authorization"] == "Bearer secret"
    assert host.report_headers[0]["content-type"] == "application/json"
    assert host.reports == [
        {
            "session_id": "s1",
            "action_id": "act_1",
            "success": True,
            "error": None,
            "actual_position": {"x_pct": 0.0, "y_pct": 0.5},
            "screenshot_before": base64.b64encode(b"before").decode(),
            "screenshot_after": base64.b64encode(b"after").decode(),
            "delivery_token": "abc",
            "window": {"title": "x"},
            "value": 0,
            "agent_version": "7",
        }
    ]
    assert isinstance(run, ActionRun)
    assert (run.executed, run.success, run.attempt, run.type) == (True, True, 2, "click")
    assert (run.answer.status, run.answer.route, run.answer.verdict["verdict"]) == ("accepted", "continue", "complete")


async def test_nothing_to_do(host, make_agent):
    agent = make_agent(Callback())
    assert await agent.run_once() is None
    host.poll_answers.append(Response(status_code=204))
    assert await agent.run_once() is None
    assert host.reports == []


@pytest.mark.parametrize(("value", "sent"), [(None, {"value": None}), ("", {"value": ""}), (UNSET, {})])
async def test_a_value_that_is_falsy_is_sent_and_only_a_missing_one_left_out(
    host, make_agent, make_action, value, sent
):
    host.give(make_action())
    await make_agent(Callback(Execution(True, value=value, actual_position=Point(0.0, 0.0)))).run_once()
    assert {k: v for k, v in host.reports[0].items() if k == "value"} == sent
    assert host.reports[0]["actual_position"] == {"x_pct": 0.0, "y_pct": 0.0}


async def test_a_position_may_be_pixels_of_the_virtual_desktop(host, make_agent, make_action):
    host.give(make_action())
    window = {"monitor_origin": [-1920, -248]}
    await make_agent(Callback(Execution(True, actual_position=PixelPoint(-800, 300), window=window))).run_once()
    assert host.reports[0]["actual_position"] == {"x_px": -800, "y_px": 300}
    assert host.reports[0]["window"] == window


async def test_a_server_without_the_plugin_is_worked_for_without_a_token(host, make_agent, make_action):
    host.poll_answers.append({"action": make_action()})
    host.report_answers.append({"ok": True})
    run = await make_agent(Callback()).run_once()
    assert "delivery_token" not in host.reports[0]
    assert (run.answer.http_status, run.answer.status, run.answer.verdict, run.answer.route) == (200, None, None, None)


# Executed at most once


async def test_a_redelivery_is_reported_again_under_the_new_token_and_not_executed(host, make_agent, make_action):
    host.give(make_action(), token="t1")
    host.give(make_action(), token="t2", attempt=2, redelivered=True)
    callback = Callback(Execution(True, screenshot_after=b"x", value=4))
    agent = make_agent(callback)
    first, second = await agent.run_once(), await agent.run_once()
    assert len(callback.contexts) == 1
    assert (first.executed, second.executed, second.success) == (True, False, True)
    assert [r.pop("delivery_token") for r in host.reports] == ["t1", "t2"]
    assert host.reports[0] == host.reports[1]


async def test_a_server_that_forgot_is_answered_from_the_ledger_and_the_log_says_why(
    host, make_agent, make_action, caplog
):
    host.give(make_action(), make_action())
    agent = make_agent(Callback())
    runs = [await agent.run_once(), await agent.run_once()]
    assert [run.executed for run in runs] == [True, False]
    assert "replay_id" in caplog.text


@pytest.mark.parametrize("again", [{"retry": 1}, {"replay_id": "r2"}])
async def test_a_business_retry_and_another_replay_are_executed(host, make_agent, make_action, again):
    host.give(make_action(replay_id="r1"))
    host.give(make_action(replay_id=again.get("replay_id", "r1")), retry=again.get("retry", 0))
    callback = Callback()
    agent = make_agent(callback)
    await agent.run_once()
    assert (await agent.run_once()).executed is True
    assert len(callback.contexts) == 2


async def test_an_execution_that_still_runs_is_not_started_twice(host, make_agent, make_action):
    started, finish, calls = anyio.Event(), anyio.Event(), []

    async def slow(context):
        calls.append(context)
        started.set()
        await finish.wait()
        return Execution(True)

    host.give(make_action(), token="t1")
    host.give(make_action(), token="t2", attempt=2, redelivered=True)
    # The old token is stale by the server's word, but the new one is this agent's too: the callback goes on.
    agent = make_agent(slow)
    runs = []

    async def once():
        runs.append(await agent.run_once())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(once)
        await started.wait()
        tasks.start_soon(once)
        await anyio.sleep(25)
        finish.set()
    assert len(calls) == 1
    assert sorted(run.executed for run in runs) == [False, True]
    assert sorted(report["delivery_token"] for report in host.reports) == ["t1", "t2"]
    assert {beat["token"] for beat in host.beats} == {"t2"}
    assert not calls[0].cancelled


async def test_an_interrupted_execution_is_not_run_again_but_reported_as_failed(host, make_agent, make_action):
    async def endless(context):
        await anyio.sleep_forever()

    host.give(make_action(), token="t1")
    agent = make_agent(endless)
    await run_for(agent, 5)
    assert host.reports == []
    host.give(make_action(), token="t2", attempt=2, redelivered=True)
    run = await agent.run_once()
    assert (run.executed, run.success) == (False, False)
    assert (host.reports[0]["error"], host.reports[0]["delivery_token"]) == ("interrupted", "t2")


# Reported until answered


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
async def test_a_report_is_sent_until_the_server_has_answered_and_no_work_is_taken_meanwhile(
    host, make_agent, make_action, status
):
    host.give(make_action("a"), make_action("b"))
    host.report_answers.extend([(status, {})] * 3)
    callback = Callback()
    agent = make_agent(callback)
    began = anyio.current_time()
    run = await agent.run_once()
    assert run.answer.status == "accepted"
    assert [r["action_id"] for r in host.reports] == ["a"] * 4
    assert 3.5 <= anyio.current_time() - began <= 7.0
    assert len(host.polls) == 1
    await agent.run_once()
    assert [c.action_id for c in callback.contexts] == ["a", "b"]


async def test_a_report_is_retried_for_hours_without_a_server(host, make_agent, make_action):
    host.give(make_action())
    host.report_answers.extend([(503, {})] * 2_000)
    began = anyio.current_time()
    run = await make_agent(Callback()).run_once()
    assert run.answer.status == "accepted"
    assert anyio.current_time() - began > 2 * 3600


async def test_the_server_may_ask_for_a_longer_wait_up_to_the_cap(host, make_agent, make_action):
    host.give(make_action())
    answers = (("5", 5.0), ("3600", 8.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 2.0))
    for value, _ in answers:
        host.report_answers.append(Response(status_code=429, headers={"Retry-After": value}))
    began = anyio.current_time()
    await make_agent(Callback()).run_once()
    assert anyio.current_time() - began >= sum(least for _, least in answers)


async def test_connection_errors_and_timeouts_are_retried_and_their_messages_not_logged(
    host, make_agent, make_action, caplog
):
    host.give(make_action())
    inner = httpx.ASGITransport(app=host.app)
    errors = [httpx.ConnectError("patient"), httpx.ReadTimeout("patient"), OSError("patient")]

    class Flaky(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request):
            if request.method == "POST" and errors:
                raise errors.pop(0)
            return await inner.handle_async_request(request)

    run = await make_agent(Callback(), http=httpx.AsyncClient(transport=Flaky())).run_once()
    assert run.answer.status == "accepted"
    assert "ConnectError" in caplog.text
    assert "patient" not in caplog.text


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
async def test_any_other_status_is_an_answer(host, make_agent, make_action, caplog, status):
    host.give(make_action())
    host.report_answers.append((status, {"detail": "patient"}))
    run = await make_agent(Callback()).run_once()
    assert (run.answer.http_status, run.answer.status) == (status, None)
    assert len(host.reports) == 1
    assert f"HTTP {status}" in caplog.text
    assert "patient" not in caplog.text


async def test_the_plugins_status_goes_before_one_that_the_host_answers_itself(host, make_agent, make_action):
    host.give(make_action())
    host.report_answers.append({"status": "ok", "verdict": "fine", "route": 3, "delivery": {"status": "stale_adopted"}})
    answer = (await make_agent(Callback()).run_once()).answer
    assert (answer.status, answer.verdict, answer.route) == ("stale_adopted", None, None)


@pytest.mark.parametrize("body", [{"status": "unknown", "verdict": None, "route": None}, ["no object"]])
async def test_unknown_is_an_answer_and_so_is_an_answer_of_another_shape(host, make_agent, make_action, body):
    host.give(make_action())
    host.report_answers.append(body)
    run = await make_agent(Callback()).run_once()
    assert run.answer.status == ("unknown" if isinstance(body, dict) else None)
    assert len(host.reports) == 1


async def test_a_report_is_given_up_after_its_time_limit_where_there_is_one(host, make_agent, make_action, caplog):
    host.give(make_action("a"), make_action("b"))
    host.report_answers.extend([(503, {})] * 5)
    agent = make_agent(Callback(), report_timeout_s=10)
    run = await agent.run_once()
    assert run.answer is None
    assert "given up" in caplog.text
    host.report_answers.clear()
    assert (await agent.run_once()).action_id == "b"


async def test_a_report_not_answered_when_the_agent_is_stopped_is_sent_first_by_the_next_run(
    host, make_agent, make_action
):
    host.give(make_action("a"), make_action("b"))
    host.report_answers.extend([(503, {})] * 1000)
    agent = make_agent(Callback())
    await run_for(agent, 60)
    assert len(host.polls) == 1
    host.report_answers.clear()
    host.reports.clear()
    await agent.run_once()
    assert [report["action_id"] for report in host.reports] == ["a", "b"]


async def test_a_refused_report_is_kept(host, make_agent, make_action):
    host.give(make_action("a"))
    host.report_answers.append((401, {}))
    agent = make_agent(Callback())
    with pytest.raises(AgentRefusedError, match="RPA_API_TOKEN"):
        await agent.run_once()
    assert await agent.run_once() is None
    assert len(host.reports) == 2


# What a callback may do


async def test_an_exception_is_reported_by_its_type_alone_and_the_agent_goes_on(host, make_agent, make_action, caplog):
    caplog.set_level(logging.DEBUG)
    host.give(make_action("a"), make_action("b"))
    agent = make_agent(Callback(RuntimeError("Mme Dupont, 1956"), Execution(True)))
    first, second = await agent.run_once(), await agent.run_once()
    assert (first.success, second.success) == (False, True)
    assert (host.reports[0]["success"], host.reports[0]["error"]) == (False, "RuntimeError")
    assert "Dupont" not in caplog.text


@pytest.mark.parametrize(
    "result",
    [
        None,
        True,
        Execution("yes"),
        Execution(True, value=float("nan")),
        Execution(True, value=object()),
        Execution(True, actual_position=(0.1,)),
        Execution(True, screenshot_after="/etc/passwd"),
    ],
)
async def test_what_cannot_be_sent_is_reported_as_a_failure(host, make_agent, make_action, result):
    host.give(make_action())
    run = await make_agent(Callback(result)).run_once()
    assert run.success is False
    assert host.reports[0]["error"].startswith("execution_unusable: ")
    assert "screenshot_after" not in host.reports[0]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_plain_function_runs_in_a_thread(host, make_agent, make_action, anyio_backend):
    import threading

    threads = []

    def plain(context):
        threads.append(threading.current_thread())
        return Execution(not context.cancelled)

    async def later():
        return Execution(False, "later")

    host.give(make_action("a"), make_action("b"))
    assert (await make_agent(plain).run_once()).success is True
    assert threads[0] is not threading.current_thread()
    await make_agent(lambda context: later()).run_once()
    assert host.reports[1]["error"] == "later"


# The loop


async def test_the_loop_polls_at_its_interval_and_works_without_pause(host, make_agent, make_action):
    host.give(make_action("a"), make_action("b"), make_action("c"))
    await run_for(make_agent(Callback(), poll_interval_s=2.0), 9)
    assert [r["action_id"] for r in host.reports] == ["a", "b", "c"]
    assert len(host.polls) == 3 + 5


async def test_a_poll_that_the_server_held_is_followed_at_once_by_the_next(host, make_agent):
    async def held():
        await anyio.sleep(20)
        return {"action": None, "replay_paused": True}

    host.poll_answers.extend([held] * 4)
    agent = make_agent(Callback(), wait_s=20, poll_interval_s=5)
    await run_for(agent, 60.5)
    assert len(host.polls) == 4
    assert agent.paused is True


@pytest.mark.parametrize(
    "answer",
    [
        (500, {}),
        (404, {"detail": "no such path"}),
        PlainTextResponse("<html>patient</html>"),
        PlainTextResponse("[" * 100_000),
        PlainTextResponse(b"\xff\xfe"),
        ["no object"],
        {"action": "act_1"},
        {"action": {"type": "click"}},
        {"action": {"action_id": "", "type": "patient"}},
        {"action": {"action_id": "x" * 300}},
    ],
)
async def test_a_poll_answer_of_no_use_is_survived(host, make_agent, make_action, caplog, answer):
    host.poll_answers.extend([answer] * 3)
    host.give(make_action("after"))
    await run_for(make_agent(Callback()), 60)
    assert [r["action_id"] for r in host.reports] == ["after"]
    assert "a poll is not answered" in caplog.text
    assert "patient" not in caplog.text
    host.poll_answers.append(answer)
    assert await make_agent(Callback()).run_once() is None


@pytest.mark.parametrize(
    "block",
    [
        "text",
        {"token": 5, "attempt": "x", "retry": -1, "redelivered": "no", "visibility_timeout_s": -3, "traceparent": []},
        {"attempt": True, "visibility_timeout_s": float("1e999"), "traceparent": "00-zz-zz-00"},
    ],
)
async def test_a_delivery_block_of_no_use_counts_as_none(host, make_agent, make_action, block):
    import json

    text = json.dumps({"action": make_action(type=7, replay_id=3), "delivery": block})
    host.poll_answers.append(PlainTextResponse(text))
    callback = Callback()
    assert (await make_agent(callback).run_once()).executed
    (context,) = callback.contexts
    assert (context.attempt, context.retry, context.redelivered, context.type) == (1, 0, False, "unknown")
    assert "delivery_token" not in host.reports[0]


async def test_a_server_that_never_answers_a_poll_is_asked_again(host, make_agent, make_action):
    host.poll_answers.append(anyio.sleep_forever)
    host.give(make_action())
    await run_for(make_agent(Callback(), request_timeout_s=10), 30)
    assert len(host.reports) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_agent_stops_and_says_what_to_do(host, make_agent, status):
    host.poll_answers.append((status, {}))
    with pytest.raises(AgentRefusedError, match="RPA_API_TOKEN") as refused:
        await make_agent(Callback(), token="wrong").run()
    assert refused.value.status == status
    assert "wrong" not in str(refused.value)


async def test_the_token_comes_from_the_environment_unless_given(host, make_agent, monkeypatch):
    monkeypatch.setenv("RPA_API_TOKEN", "from-env")
    await make_agent(Callback()).run_once()
    await make_agent(Callback(), token="given").run_once()
    await make_agent(Callback(), token="").run_once()
    assert [p.headers.get("authorization") for p in host.polls] == ["Bearer from-env", "Bearer given", None]


async def test_hooks_hear_of_each_run_and_break_nothing(host, make_agent, make_action, caplog):
    host.give(make_action("a"), make_action("b"))
    seen = []

    def hook(run):
        seen.append(run.action_id)
        raise ValueError("patient")

    agent = make_agent(Callback(), on_run=hook)
    await agent.run_once()
    await agent.run_once()
    assert seen == ["a", "b"]
    assert "patient" not in caplog.text


async def test_a_given_http_client_stays_open_and_an_own_one_is_closed(host, make_agent):
    given = httpx.AsyncClient(transport=httpx.ASGITransport(app=host.app))
    async with make_agent(Callback(), http=given) as agent:
        await agent.run_once()
    assert not given.is_closed
    await given.aclose()


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "127.0.0.1:5005"},
        {"session_id": ""},
        {"machine_id": ""},
        {"token": "two\nlines"},
        {"token": "clé"},
        {"heartbeat_fraction": 0.0},
        {"heartbeat_fraction": 1.0},
        {"ledger_size": 0},
    ],
)
async def test_arguments_that_cannot_work_are_refused_at_once(wrong):
    options = {"base_url": "http://h", "session_id": "s", "machine_id": "m", "execute": Callback(), **wrong}
    with pytest.raises(ConfigurationError):
        AgentClient(options.pop("base_url"), **options)
