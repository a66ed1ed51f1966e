"""`otel-validation serve`: the reference replay server."""

from __future__ import annotations

import ipaddress
import logging
import re
import signal
import socket
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
import uvicorn
from pydantic import ValidationError
from pydantic_settings import SettingsError

from otel_validation.cli.console import Exit, err, fail
from otel_validation.errors import OcrUnavailableError, OtelValidationError
from otel_validation.server.app import create_app
from otel_validation.server.listen import listen
from otel_validation.settings import Settings
from otel_validation.tracing import setup
from otel_validation.vision.ocr.registry import make_engine

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class LogLevel(StrEnum):
    """What is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; anything but loopback needs RPA_API_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 5005,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes; more than 1 needs a shared store.")] = 1,
    store: Annotated[str, typer.Option(envvar="RPA_STORE_URL", help="Where leases are kept: memory.")] = "memory",
    log_level: Annotated[LogLevel, typer.Option(case_sensitive=False, help="What is logged.")] = LogLevel.INFO,
) -> None:
    """Run the reference replay server.

    ```
    otel-validation serve
    RPA_API_TOKEN=secret otel-validation serve --host 0.0.0.0
    OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317 otel-validation serve
    ```

    Spans go where the standard OTEL_* variables say. Ctrl-C and SIGTERM end it: open spans are ended and exported.
    """
    settings = read_settings()
    _refuse_what_cannot_work(host, workers, store, settings)
    refuse_missing_engine(settings)
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with _listen(host, port) as listener:
        provider = tracing("otel-validation-server")
        if settings.api_token is None:
            err.print("no RPA_API_TOKEN: listening on loopback only, without authentication")
        err.print(f"listening on {_url(listener)}; Ctrl-C ends", soft_wrap=True)
        try:
            _run(settings, listener, log_level)
        finally:
            setup.shut_down(provider)


def _run(settings: Settings, listener: socket.socket, log_level: LogLevel) -> None:
    # uvicorn shuts down on SIGTERM, then raises it again: without a handler of ours the last spans would be lost.
    signal.signal(signal.SIGTERM, _leave)
    # A body over 64 kB resumes reading inside its request's task: reset, or later requests inherit its spans.
    config = uvicorn.Config(create_app(settings), log_level=log_level.value, reset_contextvars=True)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        err.print("stopped")


def read_settings() -> Settings:
    """The settings of the environment; a value that cannot be used ends the program and is named, not shown."""
    return settings_or_fail()


def settings_or_fail(**given: Any) -> Settings:  # noqa: ANN401 - whatever Settings takes
    """The same, with what is given over the environment."""
    try:
        settings = Settings(**given)
    except (ValidationError, SettingsError) as error:
        fail(f"the RPA_* environment cannot be used: {problems(error)}", Exit.USAGE)
    return settings


def refuse_missing_engine(settings: Settings) -> None:
    """End the program, saying what to install, where the OCR engine of the settings is not there."""
    try:
        make_engine(settings.ocr_engine, model_dir=settings.ocr_model_dir)
    except OcrUnavailableError as error:
        fail(str(error))


def problems(error: ValidationError | SettingsError) -> str:
    """What is wrong with which variable; no values."""
    if isinstance(error, ValidationError):
        return "; ".join(f"{_variable(str(e['loc'][0]))}: {e['msg']}" for e in error.errors())
    named = re.search(r'field "(\w+)"', str(error))
    return f"{_variable(named[1]) if named else 'a variable'}: it must be JSON"


def tracing(service_name: str) -> TracerProvider | None:
    """`setup.configure`; variables that cannot be used end the program."""
    try:
        return setup.configure(service_name)
    except OtelValidationError as error:
        fail(str(error), Exit.USAGE)


def _variable(name: str) -> str:
    return name if name.startswith("RPA_") else f"RPA_{name.upper()}"


def _leave(_signal: int, _frame: object) -> NoReturn:
    raise SystemExit(Exit.FINE)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        fail(f"cannot listen on {host} port {port} ({reason}): is another server running there? See --port")


def _url(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
