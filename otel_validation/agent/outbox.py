"""The Outbox: reports that the server has not answered yet, in order."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from otel_validation.agent.link import UnansweredError

if TYPE_CHECKING:
    from otel_validation.agent.backoff import Backoff
    from otel_validation.agent.link import ServerLink
    from otel_validation.agent.report import ReportAnswer, StoredReport

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Parcel:
    """A report under one token, and the server's answer once there is one."""

    report: StoredReport
    token: str | None
    answer: ReportAnswer | None = None


class Outbox:
    """Sends each report until the server has answered it. A cancelled send leaves the report here, for the next.

    `timeout_s` gives up on a report after so many seconds; None never does.
    """

    def __init__(self, link: ServerLink, backoff: Backoff, timeout_s: float | None = None) -> None:
        self._link = link
        self._backoff = backoff
        self._timeout_s = timeout_s
        self._parcels: deque[Parcel] = deque()
        self._turn = anyio.Lock()

    async def deliver(self, report: StoredReport, token: str | None) -> ReportAnswer | None:
        """Send a report after those before it; None where it was given up. Raises AgentRefusedError, and keeps it."""
        parcel = Parcel(report, token)
        self._parcels.append(parcel)
        await self.flush()
        return parcel.answer

    async def flush(self) -> None:
        """Send whatever is here. Raises AgentRefusedError, and keeps the report."""
        async with self._turn:
            while self._parcels:
                parcel = self._parcels[0]
                with anyio.move_on_after(self._timeout_s):
                    parcel.answer = await self._send(parcel)
                self._parcels.popleft()
                if parcel.answer is None:
                    logger.error("a report was given up after %g s without an answer", self._timeout_s)

    async def _send(self, parcel: Parcel) -> ReportAnswer:
        failures = 0
        while True:
            try:
                answer = await self._link.report(parcel.report, parcel.token)
            except UnansweredError as error:
                failures += 1
                delay = self._backoff.delay_s(failures, at_least_s=error.retry_after_s)
                logger.warning("a report is not answered (%s); once more in %.1f s", error.reason, delay)
                await anyio.sleep(delay)
                continue
            if not 200 <= answer.http_status < 300:
                logger.error("the server answered a report with HTTP %d; it is not sent again", answer.http_status)
            return answer
