"""The middleware: what is not ours passes first, byte for byte."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import anyio

from otel_validation.asgi.lifespan import Lifespan
from otel_validation.asgi.messages import (
    App,
    DisconnectedError,
    Receive,
    Scope,
    Send,
    TooLargeError,
    answer_json,
)
from otel_validation.asgi.own import answer_metrics, answer_progress
from otel_validation.asgi.poll import Poll
from otel_validation.asgi.report import Answers, ReportCall

if TYPE_CHECKING:
    from otel_validation.asgi.wiring import Wiring

logger = logging.getLogger(__name__)


LAZY_START_S = 0.05
"""From the first request to the timer's start where no lifespan starts it; no lease is that short."""


class ReplayMiddleware:
    """Pure ASGI middleware around a replay server.

    It reads polls and reports, answers heartbeats and the watchdog's counters, and runs the timer for as long as the
    host's lifespan, or from the first poll or report where the lifespan never reaches it (a mounted application).
    """

    def __init__(self, app: App, *, wiring: Wiring) -> None:
        self._app = app
        self._wiring = wiring
        self._answers = Answers()
        self._limiter: anyio.Semaphore | None = None
        self._lazy: asyncio.Task[None] | None = None
        settings = wiring.settings
        self._routes = {
            (method, path): call
            for method, path, call in (
                ("GET", settings.poll_path, self._poll),
                ("HEAD", settings.poll_path, self._poll),
                ("POST", settings.report_path, self._report),
                ("POST", settings.progress_path, self._progress),
                ("GET", settings.metrics_path, self._metrics),
            )
            if path
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Dispatch by scope type, then by path."""
        if scope["type"] == "lifespan" and self._wiring.active():
            await self._lifespan(scope, receive, send)
            return
        call = self._routes.get((scope["method"], _route_path(scope))) if scope["type"] == "http" else None
        if call is None or not self._wiring.active():
            await self._app(scope, receive, send)
            return
        self._serve_lazily()
        await call(scope, receive, send)

    async def _poll(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await Poll(self._wiring, scope, receive, send).answer(self._app)
        except DisconnectedError:
            logger.debug("a poll was not read")
        except TooLargeError:
            await answer_json(send, 413, {"detail": "a poll has no body"})

    async def _report(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._limiter is None:
            self._limiter = anyio.Semaphore(self._wiring.settings.max_reports_at_once, fast_acquire=True)
        await ReportCall(self._wiring, self._answers, scope, receive, send).answer(self._app, self._limiter)

    async def _progress(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await answer_progress(self._wiring, scope, receive, send)
        except DisconnectedError:
            logger.debug("a heartbeat was not read")

    async def _metrics(self, scope: Scope, _receive: Receive, send: Send) -> None:
        await answer_metrics(self._wiring, scope, send)

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Lifespan(self._serve, receive, send).run(self._app, scope)

    async def _serve(self) -> None:
        """The timer, for ever. The host's lifespan must not fall with it."""
        try:
            await self._wiring.serve()
        except Exception:
            logger.exception("the watchdog stopped: polls still sweep expired leases, no timer does")

    def _serve_lazily(self) -> None:
        """Start the timer where no lifespan did. The reference kept here is what keeps the task alive."""
        if self._wiring.serving():
            return
        loop = _asyncio_loop()
        if loop is None:
            return
        if self._lazy is None or self._lazy.done() or self._lazy.get_loop() is not loop:
            self._lazy = loop.create_task(self._serve_soon(), name="otel_validation")

    async def _serve_soon(self) -> None:
        # A loop that ends at once (asyncio.run around one request) must not leave tasks behind that never began.
        await anyio.sleep(LAZY_START_S)
        await self._serve()


def _asyncio_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None  # trio has no tasks outside a nursery: there each poll sweeps, as it does everywhere


def _route_path(scope: Scope) -> str:
    """The path below the mount point."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
