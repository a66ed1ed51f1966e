"""`otel-validation serve`: the reference replay server."""

from __future__ import annotations

import ipaddress
import logging
from typing import Annotated

import typer
import uvicorn
from pydantic import ValidationError

from otel_validation.cli.console import Exit, err, fail
from otel_validation.server.app import create_app
from otel_validation.settings import Settings
from otel_validation.tracing import setup


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; anything but loopback needs RPA_API_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 5005,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes; more than 1 needs a shared store.")] = 1,
    store: Annotated[str, typer.Option(envvar="RPA_STORE_URL", help="Where leases are kept: memory.")] = "memory",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Run the reference replay server.

    Spans go where the standard OTEL_* variables say, for example:

        OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 otel-validation serve

        RPA_API_TOKEN=secret otel-validation serve --host 0.0.0.0
    """
    settings = read_settings()
    _refuse_what_cannot_work(host, workers, store, settings)
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    provider = setup.configure("otel-validation-server")
    if settings.api_token is None:
        err.print("no RPA_API_TOKEN: listening on loopback only, without authentication")
    try:
        uvicorn.run(create_app(settings), host=host, port=port, log_level=log_level.lower())
    finally:
        if provider is not None:
            provider.shutdown()


def read_settings() -> Settings:
    """The settings of the environment; a value that cannot be used ends the program and is named."""
    try:
        return Settings()
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
        fail(f"the RPA_* environment cannot be used: {problems}", Exit.USAGE)


def _refuse_what_cannot_work(host: str, workers: int, store: str, settings: Settings) -> None:
    if store != "memory":
        fail(f"--store {store!r} is not known: this version keeps leases in memory (--store memory)", Exit.USAGE)
    if workers > 1:
        fail(
            f"--workers {workers} needs a store that the workers share: with --store memory an action handed out by "
            "one would be unknown to the others. Use --workers 1",
            Exit.USAGE,
        )
    if settings.api_token is None and not _is_loopback(host):
        fail(f"--host {host} is reachable from other machines: set RPA_API_TOKEN, or listen on 127.0.0.1", Exit.USAGE)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
