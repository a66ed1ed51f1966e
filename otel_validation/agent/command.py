"""A local command as the callback: the action's JSON on its standard input, the execution's JSON on its output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.abc
import anyio.to_thread

from otel_validation.agent.execution import CONTRACT_FIELDS, UNSET, Execution
from otel_validation.delivery.action import read_position
from otel_validation.errors import ConfigurationError

if TYPE_CHECKING:
    from otel_validation.agent.execution import ActionContext

OUTPUT_INVALID = "command_output_invalid"
SCREENSHOT_UNREADABLE = "screenshot_unreadable"


class Command:
    """Runs `arguments` for each action, without a shell; its standard error goes where the agent's goes.

    A non-zero exit is a failure, whatever the output says. No output with exit 0 is a success without evidence.
    The output is one JSON object: `success` (a bool, default true), `error`, `actual_position`, `window`, `value`,
    and `screenshot_before` / `screenshot_after` as paths of files on this machine; anything else is sent along.
    Where the agent is cancelled, the command is killed. Raises ConfigurationError where there is no command.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        if not arguments:
            msg = "the command is empty: name the program that executes an action"
            raise ConfigurationError(msg)
        self._arguments = list(arguments)

    async def __call__(self, context: ActionContext) -> Execution:
        """Run the command once. A program that cannot be started raises OSError."""
        stdin = json.dumps(dict(context.action)).encode("ascii")
        code, output = await _run(self._arguments, stdin)
        if code != 0:
            return Execution(False, f"command_exit_{code}")
        if not output.strip():
            return Execution(True)
        try:
            answer = json.loads(output)
        except (ValueError, RecursionError):
            return Execution(False, OUTPUT_INVALID)
        if not isinstance(answer, dict):
            return Execution(False, OUTPUT_INVALID)
        return await anyio.to_thread.run_sync(execution_of, answer)


def execution_of(answer: Mapping[str, Any]) -> Execution:
    """The command's answer as an Execution; what cannot be read makes it a failed one, never a success."""
    success, error = answer.get("success", True), answer.get("error")
    if not isinstance(success, bool) or not isinstance(error, str | None):
        return Execution(False, OUTPUT_INVALID)
    window = answer.get("window")
    try:
        before, after = (_image(answer.get(name)) for name in ("screenshot_before", "screenshot_after"))
    except (OSError, TypeError, ValueError):
        return Execution(False, SCREENSHOT_UNREADABLE)
    return Execution(
        success,
        error,
        actual_position=read_position(answer.get("actual_position")),
        screenshot_before=before,
        screenshot_after=after,
        window=window if isinstance(window, Mapping) else None,
        value=answer.get("value", UNSET),
        extra={name: value for name, value in answer.items() if name not in CONTRACT_FIELDS},
    )


def _image(path: str | None) -> bytes | None:
    return None if path is None else Path(path).read_bytes()


async def _run(arguments: Sequence[str], stdin: bytes) -> tuple[int, bytes]:
    async with await anyio.open_process(arguments, stderr=None) as process, anyio.create_task_group() as tasks:
        tasks.start_soon(_feed, cast("anyio.abc.ByteSendStream", process.stdin), stdin)
        stdout = cast("anyio.abc.ByteReceiveStream", process.stdout)
        output = b"".join([chunk async for chunk in stdout])
        code = await process.wait()
        tasks.cancel_scope.cancel()
    return code, output


async def _feed(stream: anyio.abc.ByteSendStream, stdin: bytes) -> None:
    # A command that needs nothing from the action does not read it: a broken pipe is no failure.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await stream.send(stdin)
        await stream.aclose()
