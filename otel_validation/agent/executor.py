"""The Executor: runs the callback once per execution and writes its report."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar, cast

import anyio
import anyio.to_thread

from otel_validation.agent.execution import ActionContext, Capture, Execute, Execution, Screen
from otel_validation.agent.heartbeat import Heartbeat, OnSignal
from otel_validation.agent.report import StoredReport
from otel_validation.agent.span import ExecuteSpan, execute_span

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from otel_validation.agent.assignment import Assignment
    from otel_validation.agent.ledger import Entry, Ledger
    from otel_validation.agent.link import ServerLink

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

ACTION_FAILED = "action_failed"
"""The `error.type` of an execution that says itself that it failed."""
EXECUTION_UNUSABLE = "execution_unusable"
"""The `error.type` of a callback that returned no Execution, or one that JSON cannot hold."""


class Executor:
    """Runs one action under its span and its heartbeat; whatever the callback does, a report comes of it."""

    def __init__(
        self,
        execute: Execute,
        link: ServerLink,
        ledger: Ledger,
        *,
        capture: Capture | None,
        heartbeat_fraction: float,
        on_signal: OnSignal,
        tracer_provider: TracerProvider | None,
    ) -> None:
        self._execute = execute
        self._capture = capture
        self._link = link
        self._ledger = ledger
        self._fraction = heartbeat_fraction
        self._on_signal = on_signal
        self._provider = tracer_provider

    async def run(self, assignment: Assignment, entry: Entry) -> None:
        """Execute and note the report in the ledger, an `interrupted` one where this is cancelled meanwhile."""
        context = ActionContext(
            action=assignment.action.payload,
            action_id=assignment.action.action_id,
            type=assignment.action.type,
            attempt=assignment.attempt,
            retry=assignment.retry,
            redelivered=assignment.redelivered,
            look_of=assignment.look_of,
        )
        report = entry.report
        try:
            with execute_span(self._provider, assignment) as span:
                outcome = await self._with_heartbeat(context, entry, assignment.visibility_timeout_s)
                report = _report(outcome, assignment, span)
        finally:
            self._ledger.finish(entry, report)

    async def _with_heartbeat(
        self, context: ActionContext, entry: Entry, timeout_s: float | None
    ) -> Execution | Exception:
        heartbeat = Heartbeat(self._link, context, entry, fraction=self._fraction, on_signal=self._on_signal)
        outcome: Execution | Exception
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heartbeat.run, timeout_s)
            try:
                outcome = await self._call(context)
            except Exception as error:  # noqa: BLE001 - whatever a callback raises is this action's failure
                outcome = error
            tasks.cancel_scope.cancel()
        return outcome

    async def _call(self, context: ActionContext) -> Execution:
        if self._capture is None or context.look_of is None:
            return await _called(self._execute, context)
        screen = await _called(self._capture, context)
        if not isinstance(screen, Screen):
            msg = "a capture callback returns a Screen"
            raise TypeError(msg)
        return screen.to_execution()


async def _called(callback: Callable[[ActionContext], Awaitable[Result] | Result], context: ActionContext) -> Result:
    if inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(type(callback).__call__):
        return await cast("Awaitable[Result]", callback(context))
    result = await anyio.to_thread.run_sync(callback, context)
    return await cast("Awaitable[Result]", result) if inspect.isawaitable(result) else result


def _report(outcome: Execution | Exception, assignment: Assignment, span: ExecuteSpan) -> StoredReport:
    # Of an exception only the type: its message may hold what is on the screen.
    if isinstance(outcome, Exception):
        name = type(outcome).__name__
        logger.warning("an action's callback raised %s", name)
        span.fail(name)
        return StoredReport.of(Execution(False, name), assignment, span.headers)
    try:
        report = StoredReport.of(outcome, assignment, span.headers)
    except (TypeError, ValueError, RecursionError) as error:
        name = type(error).__name__
        logger.warning("an execution cannot be sent (%s); it is reported as failed", name)
        span.fail(EXECUTION_UNUSABLE)
        return StoredReport.of(Execution(False, f"{EXECUTION_UNUSABLE}: {name}"), assignment, span.headers)
    if not report.success:
        span.fail(ACTION_FAILED)
    return report
