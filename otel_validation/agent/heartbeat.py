"""The Heartbeat: extends a lease while its action is executed, and hears whether it is still wanted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from otel_validation.agent.execution import Signal
from otel_validation.agent.link import Progress, ProgressStatus, UnansweredError

if TYPE_CHECKING:
    from otel_validation.agent.execution import ActionContext
    from otel_validation.agent.ledger import Entry
    from otel_validation.agent.link import ServerLink

logger = logging.getLogger(__name__)

OnSignal = Callable[["ActionContext", Signal], None]
"""Called on the event loop when a heartbeat brings news; it must not block."""

SIGNALS: dict[ProgressStatus, Signal] = {
    ProgressStatus.PAUSED: Signal.PAUSED,
    ProgressStatus.CANCELLED: Signal.CANCELLED,
    ProgressStatus.STALE: Signal.STALE,
}
SHORTEST_INTERVAL_S = 0.05


def no_signal(context: ActionContext, signal: Signal) -> None:
    """The default hook: does nothing."""


class Heartbeat:
    """Beats every `fraction` of the visibility timeout. Nothing that goes wrong here reaches the action."""

    def __init__(
        self,
        link: ServerLink,
        context: ActionContext,
        entry: Entry,
        *,
        fraction: float = 1 / 3,
        on_signal: OnSignal = no_signal,
    ) -> None:
        self._link = link
        self._context = context
        self._entry = entry
        self._fraction = fraction
        self._on_signal = on_signal

    async def run(self, visibility_timeout_s: float | None) -> None:
        """Beat until cancelled, or until the server says that there is nothing to extend."""
        if visibility_timeout_s is None:
            return
        interval = self._interval(visibility_timeout_s)
        while True:
            await anyio.sleep(interval)
            progress = await self._beat(interval)
            if progress is None:
                continue
            if progress.visibility_timeout_s:
                interval = self._interval(progress.visibility_timeout_s)
            self._tell(SIGNALS.get(progress.status))
            if self._context.cancelled or progress.status is ProgressStatus.UNSUPPORTED:
                return

    async def _beat(self, interval: float) -> Progress | None:
        token = self._entry.token
        if token is None:
            return Progress(ProgressStatus.UNSUPPORTED)
        try:
            progress = await self._link.progress(self._context.action_id, token, timeout_s=interval)
        except UnansweredError as error:
            logger.info("a heartbeat is not answered (%s)", error.reason)
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the action goes on
            logger.warning("a heartbeat failed: %s", type(error).__name__)
            return None
        # Delivered to this agent once more meanwhile: the new token is the one in flight, the execution goes on.
        superseded = progress.status is ProgressStatus.STALE and self._entry.token != token
        return None if superseded else progress

    def _tell(self, signal: Signal | None) -> None:
        if not self._context.tell(signal) or signal is None:
            return
        try:
            self._on_signal(self._context, signal)
        except Exception as error:  # noqa: BLE001 - a hook never breaks its host
            logger.warning("the on_signal hook failed: %s", type(error).__name__)

    def _interval(self, visibility_timeout_s: float) -> float:
        return max(SHORTEST_INTERVAL_S, visibility_timeout_s * self._fraction)
