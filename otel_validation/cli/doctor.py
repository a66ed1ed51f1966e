"""`otel-validation doctor`: what is configured, which engines load, is the exporter reachable."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import numpy as np
import typer

from otel_validation.cli.console import Exit, fail, print_json, print_table
from otel_validation.cli.serve import read_settings
from otel_validation.clock import stopwatch
from otel_validation.errors import OtelValidationError
from otel_validation.tracing.setup import ENDPOINTS, HTTP, asked_exporter, asked_protocol
from otel_validation.vision.ocr.registry import ENGINES, make_engine

if TYPE_CHECKING:
    from otel_validation.settings import Settings


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing looked at."""

    what: str
    ok: bool
    detail: str
    asked: bool = True
    """Whether the configuration asks for it; what it does not ask for need not work."""

    @property
    def state(self) -> str:
        """The state in a word."""
        return "ok" if self.ok else "FAILS" if self.asked else "not here"


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """Say what is configured, which of the OCR engines load, and whether the exporter can be reached.

    ```
    otel-validation doctor --json
    ```

    Exit code 3 where something that is asked for does not work.
    """
    examined = list(_examine())
    if as_json:
        print_json([asdict(e) for e in examined])
    else:
        rows = [{"what": e.what, "state": e.state, "detail": e.detail} for e in examined]
        print_table("", ["what", "state", "detail"], rows)
    if not all(e.ok for e in examined if e.asked):
        fail("something that is asked for does not work, see above", Exit.ENVIRONMENT)


def _examine() -> Iterator[Examined]:
    yield Examined("python", True, platform.python_version())
    yield Examined("otel_validation", True, version("otel_validation"))
    settings = read_settings()
    yield Examined("watchdog", True, "on" if settings.watchdog_enabled else "off (RPA_WATCHDOG_ENABLED=0)")
    yield Examined("validator", True, settings.validator_mode if settings.validator_enabled else "off")
    yield Examined("api token", True, "set" if settings.api_token is not None else "none: loopback only")
    yield from (_examine_engine(name, settings) for name in ENGINES)
    yield _try("exporter", _reach_exporter)


def _try(what: str, examine: Callable[[], str]) -> Examined:
    try:
        return Examined(what, True, examine())
    except (OtelValidationError, OSError, ValueError) as error:
        return Examined(what, False, str(error))


def _examine_engine(name: str, settings: Settings) -> Examined:
    """Load an engine: the configured one with the configured weights, another with those that it finds."""
    configured = name == settings.ocr_engine
    model_dir = settings.ocr_model_dir if configured else None
    found = _try(f"ocr {name}{' (configured)' if configured else ''}", lambda: _read_something(name, model_dir))
    return replace(found, asked=configured)


def _read_something(name: str, model_dir: Path | None) -> str:
    engine = make_engine(name, model_dir=model_dir)
    engine.warm_up()
    began = stopwatch()
    engine.read(np.full((96, 320, 3), 255, np.uint8))
    took_ms = (stopwatch() - began) * 1e3
    versions = ", ".join(f"{name} {version(name)}" for name in ENGINES[name].distributions)
    return f"loads ({versions}); an empty 320x96 crop in {took_ms:.0f} ms"


def _reach_exporter() -> str:
    asked = asked_exporter()
    if asked != "otlp":
        return f"{asked}: spans are not sent anywhere" if asked == "none" else asked
    protocol = asked_protocol()
    default = 4318 if protocol == HTTP else 4317
    endpoint = next((os.environ[name] for name in reversed(ENDPOINTS) if os.environ.get(name)), "")
    endpoint = endpoint or f"http://localhost:{default}"
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    # Over HTTP an address is taken as it is, so its scheme says the port; over gRPC 4317 is the port of OTLP.
    of_scheme = {"https": 443, "http": 80 if protocol == HTTP else default}
    port = parts.port or of_scheme.get(parts.scheme, default)
    try:
        socket.create_connection((parts.hostname or "localhost", port), timeout=3.0).close()
    except OSError as error:
        msg = f"{endpoint} cannot be reached ({error.strerror or error}): is the collector running?"
        raise OSError(msg) from error
    return f"otlp ({protocol}): {endpoint} answers"
