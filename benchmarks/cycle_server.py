"""One variant of the host in a process of its own: `python -m benchmarks.cycle_server VARIANT [--profile]`.

It prints its port once it listens, and at its end how many spans were exported.
"""

from __future__ import annotations

import asyncio
import cProfile
import signal
import sys
import time
from typing import TYPE_CHECKING

import uvicorn

from benchmarks.leases import CountingExporter, counting_provider
from benchmarks.options import one_core, show_profile
from examples.legacy_host import create_host
from otel_validation import instrument
from otel_validation.server.listen import listen
from otel_validation.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

BARE, OTEL, PLUGIN = VARIANTS = ("bare", "otel", "plugin")


def build(variant: str) -> tuple[FastAPI, CountingExporter]:
    """The legacy host bare, with FastAPIInstrumentor, or with both it and the plugin on the same provider."""
    app = create_host()
    provider, exporter = counting_provider()
    if variant == PLUGIN:
        plugin = instrument(app, Settings(), tracer_provider=provider)
        asyncio.run(plugin.validator.warm_up())
    if variant != BARE:
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

        FastAPIInstrumentor.instrument_app(app, tracer_provider=provider)
    return app, exporter


def main(variant: str, *, profile: bool) -> None:
    """Serve until SIGTERM."""
    # Uvicorn shuts down at the signal, then raises it again.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with one_core():
        app, exporter = build(variant)
        listener = listen("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=600))
        print(listener.getsockname()[1], flush=True)
        profiler = cProfile.Profile(time.thread_time) if profile else None
        if profiler is None:
            server.run(sockets=[listener])
        else:
            profiler.runcall(server.run, sockets=[listener])
            show_profile(profiler, f"server, {variant}")
        print(exporter.spans, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], profile="--profile" in sys.argv)
