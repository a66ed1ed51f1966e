"""The AgentClient: polls, executes once, reports until answered."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio

from otel_validation.agent.backoff import Backoff
from otel_validation.agent.executor import Executor
from otel_validation.agent.heartbeat import OnSignal, no_signal
from otel_validation.agent.ledger import Ledger
from otel_validation.agent.link import Identity, ServerLink, UnansweredError
from otel_validation.agent.outbox import Outbox
from otel_validation.errors import ConfigurationError

if TYPE_CHECKING:
    import httpx
    from opentelemetry.trace import TracerProvider

    from otel_validation.agent.assignment import Assignment
    from otel_validation.agent.execution import Capture, Execute
    from otel_validation.agent.report import ReportAnswer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRun:
    """One delivery, dealt with. `success` is the callback's word; the server's is in `answer`.

    `executed` is false where the action had been executed before and its report was only sent again. `answer` is
    None where the report was given up after `report_timeout_s`. `look_of` is the id of the action after which the
    server asked for a fresh screenshot, None for an action.
    """

    action_id: str
    type: str
    attempt: int
    executed: bool
    success: bool
    answer: ReportAnswer | None
    look_of: str | None = None


OnRun = Callable[[ActionRun], None]
"""Called after every delivery; it must not block."""


def no_run(run: ActionRun) -> None:
    """The default hook: does nothing."""


class AgentClient:
    """An agent of one session on one machine, on asyncio or trio.

    `execute` is called for each action, at most once in this process for the same (`replay_id`, `action_id`,
    business retry): an action that is delivered again is answered with the report that was kept. `token` is the
    bearer token (default: RPA_API_TOKEN). `http` is an `httpx.AsyncClient` to use, which stays open; by default one
    is made here, and closed by `run` and `aclose`.

    `capture` is called where the server asks for a fresh screenshot after an action that it did not see the effect of
    yet; as often as it asks. Without it, `execute` is called with an action of type `screenshot_evidence`.

    Times are in seconds: `poll_interval_s` from one poll to the next while there is nothing to do (1), `wait_s` for a
    server that holds a poll until there is something (none), `request_timeout_s` for a request (30),
    `report_timeout_s` before a report is given up (never), `heartbeat_fraction` of the visibility timeout between
    two heartbeats (1/3). `backoff` spaces what is tried again. `ledger_size` executions are remembered (256), in
    memory.

    `on_signal` hears of a pause, a cancel or a lost lease while an action runs, `on_run` of each delivery dealt with.
    `tracer_provider` makes the `execute` spans (default: the global one).

    Raises ConfigurationError for arguments that cannot work.
    """

    def __init__(
        self,
        base_url: str,
        *,
        session_id: str,
        machine_id: str,
        execute: Execute,
        capture: Capture | None = None,
        token: str | None = None,
        http: httpx.AsyncClient | None = None,
        poll_interval_s: float = 1.0,
        wait_s: float | None = None,
        request_timeout_s: float = 30.0,
        report_timeout_s: float | None = None,
        heartbeat_fraction: float = 1 / 3,
        ledger_size: int = 256,
        backoff: Backoff | None = None,
        on_signal: OnSignal = no_signal,
        on_run: OnRun = no_run,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        if not 0 < heartbeat_fraction < 1 or ledger_size < 1:
            msg = "heartbeat_fraction lies between 0 and 1, ledger_size is 1 or more"
            raise ConfigurationError(msg)
        bearer = os.environ.get("RPA_API_TOKEN") if token is None else token
        identity = Identity(session_id=session_id, machine_id=machine_id, token=bearer or None)
        self._link = ServerLink(base_url, identity, http=http, request_timeout_s=request_timeout_s, wait_s=wait_s)
        self._backoff = backoff or Backoff()
        self._ledger = Ledger(ledger_size)
        self._outbox = Outbox(self._link, self._backoff, report_timeout_s)
        self._executor = Executor(
            execute,
            self._link,
            self._ledger,
            capture=capture,
            heartbeat_fraction=heartbeat_fraction,
            on_signal=on_signal,
            tracer_provider=tracer_provider,
        )
        self._captures = capture is not None
        self._poll_interval_s = poll_interval_s
        self._on_run = on_run
        self._paused = False

    @property
    def paused(self) -> bool:
        """Whether the replay was paused at the last poll."""
        return self._paused

    async def run(self) -> None:
        """Work until cancelled. Raises AgentRefusedError where the server does not accept the token.

        A report that is not answered when this is cancelled is sent first by the next `run` or `run_once`.
        """
        failures = 0
        try:
            while True:
                began = anyio.current_time()
                try:
                    worked = await self._turn()
                except UnansweredError as error:
                    failures += 1
                    delay = self._backoff.delay_s(failures, at_least_s=error.retry_after_s)
                    logger.warning("a poll is not answered (%s); once more in %.1f s", error.reason, delay)
                    await anyio.sleep(delay)
                    continue
                failures = 0
                if worked is None:
                    # A server that held the poll has waited already.
                    await anyio.sleep(max(0.0, self._poll_interval_s - (anyio.current_time() - began)))
        finally:
            await self.aclose()

    async def run_once(self) -> ActionRun | None:
        """Poll once and deal with what comes. None where nothing did, or the poll was not answered (logged).

        Raises AgentRefusedError where the server does not accept the token.
        """
        try:
            return await self._turn()
        except UnansweredError as error:
            logger.warning("a poll is not answered (%s)", error.reason)
            return None

    async def aclose(self) -> None:
        """Close the HTTP client, unless it was given by the caller. The agent may be used again afterwards."""
        await self._link.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _turn(self) -> ActionRun | None:
        await self._outbox.flush()
        polled = await self._link.poll()
        self._note_pause(paused=polled.paused)
        return None if polled.assignment is None else await self._handle(polled.assignment)

    async def _handle(self, assignment: Assignment) -> ActionRun:
        if self._captures and assignment.look_of is not None:
            entry, mine = self._ledger.unremembered(assignment), True
        else:
            entry, mine = self._ledger.claim(assignment)
        if mine:
            await self._executor.run(assignment, entry)
        elif not assignment.redelivered:
            logger.warning(
                "an action known here is delivered as a new one: its report is sent again, it is not executed. "
                "A server that forgets what it delivered needs a `replay_id` of its own in each replay's actions"
            )
        await entry.done.wait()
        report = entry.report
        run = ActionRun(
            action_id=assignment.action.action_id,
            type=assignment.action.type,
            attempt=assignment.attempt,
            executed=mine,
            success=report.success,
            answer=await self._outbox.deliver(report, assignment.token),
            look_of=assignment.look_of,
        )
        self._hook(run)
        return run

    def _hook(self, run: ActionRun) -> None:
        try:
            self._on_run(run)
        except Exception as error:  # noqa: BLE001 - a hook never breaks its host
            logger.warning("the on_run hook failed: %s", type(error).__name__)

    def _note_pause(self, *, paused: bool) -> None:
        if paused is not self._paused:
            logger.info("the replay is %s", "paused" if paused else "running")
        self._paused = paused
