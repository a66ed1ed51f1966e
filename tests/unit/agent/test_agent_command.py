from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import anyio
import pytest
import typer
from typer.testing import CliRunner

from otel_validation.agent import ActionContext, ActionRun, AgentClient, AgentRefusedError, Execution, ReportAnswer
from otel_validation.agent.command import Command
from otel_validation.cli.agent import agent
from otel_validation.delivery.action import Point
from otel_validation.errors import ConfigurationError

ARGUMENTS = ["--server", "http://127.0.0.1:9", "--session", "s1", "--machine", "m1"]


@pytest.fixture
def anyio_backend():
    return "asyncio"


def run_code(code: str, action=None) -> Execution:
    async def main():
        return await Command([sys.executable, "-c", code])(
            ActionContext(action=action or {"action_id": "a"}, action_id="a", type="click")
        )

    return anyio.run(main)


def answering(answer) -> str:
    return f"print({json.dumps(answer)!r})"


def test_the_action_goes_in_and_the_execution_comes_out(tmp_path):
    (tmp_path / "after.png").write_bytes(b"\x89PNG")
    code = (
        "import json, sys; action = json.load(sys.stdin); "
        "print(json.dumps({'success': True, 'actual_position': {'x_pct': action['x_pct'], 'y_pct': 0},"
        f" 'screenshot_after': {str(tmp_path / 'after.png')!r}, 'window': {{'title': 'é'}}, 'value': None,"
        " 'clicks': 1, 'session_id': 'never'}))"
    )
    assert run_code(code, {"action_id": "a", "x_pct": 0.25}) == Execution(
        True,
        actual_position=Point(0.25, 0.0),
        screenshot_after=b"\x89PNG",
        window={"title": "é"},
        value=None,
        extra={"clicks": 1},
    )


def test_no_output_and_exit_0_is_a_success_without_evidence():
    assert run_code("") == Execution(True)


def test_a_non_zero_exit_is_a_failure_whatever_the_output_says():
    assert run_code("print('{\"success\": true}'); raise SystemExit(3)") == Execution(False, "command_exit_3")


@pytest.mark.parametrize("code", ["print('done')", "print('[1]')", "print('[' * 100000)"])
def test_output_that_is_no_object_is_a_failure(code):
    assert run_code(code) == Execution(False, "command_output_invalid")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"success": "true"}, "command_output_invalid"),
        ({"success": True, "error": 3}, "command_output_invalid"),
        ({"success": True, "screenshot_after": "/nowhere/after.png"}, "screenshot_unreadable"),
        ({"success": True, "screenshot_before": 7.5}, "screenshot_unreadable"),
        ({"success": True, "screenshot_before": "a\0b"}, "screenshot_unreadable"),
    ],
)
def test_an_answer_that_cannot_be_read_is_never_a_success(answer, error):
    assert run_code(answering(answer)) == Execution(False, error)


def test_a_command_that_fails_by_its_own_word():
    assert run_code(answering({"success": False, "error": "no window"})) == Execution(False, "no window")


def test_a_command_that_does_not_read_a_large_action_is_no_failure():
    action = {"action_id": "a", "text": "x" * 2_000_000}
    assert run_code("import sys; sys.stdin.close()", action) == Execution(True)


@pytest.mark.anyio
async def test_a_program_that_is_not_there_is_a_failed_action_and_the_command_is_killed_on_cancel(
    host, make_agent, make_action, tmp_path
):
    host.give(make_action())
    run = await make_agent(Command(["/nowhere/program"])).run_once()
    assert (run.success, host.reports[0]["error"]) == (False, "FileNotFoundError")

    pid_file = tmp_path / "pid"
    code = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    context = ActionContext(action={}, action_id="a", type="click")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Command([sys.executable, "-c", code]), context)
        with anyio.fail_after(10):
            while not pid_file.exists() or not pid_file.read_text():  # noqa: ASYNC110 - nothing tells when
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_an_empty_command_is_refused():
    with pytest.raises(ConfigurationError):
        Command([])


# The command line


@pytest.fixture
def invoke():
    app = typer.Typer()
    app.command()(agent)

    def run(*arguments):
        return CliRunner().invoke(app, [*ARGUMENTS, *arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})

    return run


def test_help_shows_an_example(invoke):
    result = invoke("--help")
    assert result.exit_code == 0
    assert "otel-validation agent --server" in " ".join(result.output.split())


def test_each_run_is_a_line_and_ctrl_c_leaves_cleanly(invoke, monkeypatch):
    async def run(self):
        for executed, answer in ((True, ReportAnswer(200, "accepted")), (False, None)):
            self._on_run(
                ActionRun(
                    action_id="act_1\x1b[2J",
                    type="Mme Dupont",
                    attempt=1,
                    executed=executed,
                    success=True,
                    answer=answer,
                )
            )
        raise KeyboardInterrupt

    monkeypatch.setattr(AgentClient, "run", run)
    result = invoke("--exec", "python click.py")
    assert result.exit_code == 0
    assert "act_1?[2J other: executed, success=true, server says accepted" in result.output
    assert "act_1?[2J other: reported again, success=true, server says nothing" in result.output
    assert result.output.rstrip().endswith("stopped")


@pytest.mark.parametrize("wrong", [("--exec", ""), ("--exec", '"unclosed'), ("--exec", "true", "--server", "[/red]")])
def test_what_cannot_work_is_a_usage_error(invoke, wrong):
    result = invoke(*wrong)
    assert result.exit_code == 2
    assert "error: " in result.output


def test_spans_are_flushed_at_the_end_where_the_environment_asks_for_them(invoke, monkeypatch):
    shut_down = []

    class Provider:
        def shutdown(self):
            shut_down.append(True)

    async def run(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(AgentClient, "run", run)
    monkeypatch.setattr("otel_validation.tracing.setup.configure", lambda service_name: Provider())
    assert invoke("--exec", "true").exit_code == 0
    assert shut_down == [True]


def test_a_refused_agent_exits_with_3_and_says_what_to_do(invoke, monkeypatch):
    async def run(self):
        raise AgentRefusedError(401)

    monkeypatch.setattr(AgentClient, "run", run)
    result = invoke("--exec", "true")
    assert result.exit_code == 3
    assert "RPA_API_TOKEN" in result.output


def test_ctrl_c_of_the_real_process_exits_0():
    code = "import typer; from otel_validation.cli.agent import agent; typer.run(agent)"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *ARGUMENTS, "--exec", "true"], stderr=subprocess.PIPE, text=True
    )
    with process:
        for line in process.stderr:
            if "not answered" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(timeout=10) == 0
    assert "stopped" in rest
    assert "Traceback" not in rest
