"""What the middleware is given by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_validation.asgi.guard import Guard
    from otel_validation.delivery.engine import Engine
    from otel_validation.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """The parts a request needs. `serve` runs until cancelled: the timer and the warm-up."""

    engine: Engine
    settings: Settings
    guard: Guard
    traceparent: Callable[[str], str | None]
    counters: Callable[[], Mapping[str, float]]
    serve: Callable[[], Coroutine[Any, Any, None]]
    serving: Callable[[], bool]
    active: Callable[[], bool]
