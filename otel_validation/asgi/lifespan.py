"""The timer's life inside the host's lifespan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from otel_validation.asgi.messages import App, Message, Receive, Scope, Send


class Lifespan:
    """One lifespan of the host's: `serve` runs from its startup to its shutdown.

    It ends before the host hears of the shutdown, so that the last spans are ended while what exports them is up.
    """

    def __init__(self, serve: Callable[[], Awaitable[None]], receive: Receive, send: Send) -> None:
        self._serve = serve
        self._receive = receive
        self._send = send
        self._scope = anyio.CancelScope()
        self._over: anyio.Event | None = None

    async def run(self, app: App, scope: Scope) -> None:
        """Let the host have its lifespan."""
        async with anyio.create_task_group() as group:

            async def on_started(message: Message) -> None:
                if message["type"] == "lifespan.startup.complete":
                    self._over = anyio.Event()
                    group.start_soon(self._until_shutdown, self._over)
                    await checkpoint()
                await self._send(message)

            await app(scope, self._before_shutdown, on_started)
            group.cancel_scope.cancel()

    async def _until_shutdown(self, over: anyio.Event) -> None:
        try:
            with self._scope:
                await self._serve()
        finally:
            over.set()

    async def _before_shutdown(self) -> Message:
        message = await self._receive()
        if message["type"] == "lifespan.shutdown" and self._over is not None:
            self._scope.cancel()
            await self._over.wait()
        return message
