"""A TracerProvider as the standard `OTEL_*` variables ask for it, for the programs of this package.

The plugin itself never calls this: it joins whatever provider the host has.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

from otel_validation.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

logger = logging.getLogger(__name__)

LONGEST_GOODBYE_S = 5.0
"""How long the end of a program waits for its exporter."""
GRPC, HTTP = "grpc", "http/protobuf"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def asked_exporter() -> str:
    """What the environment asks for: `otlp`, `console` or `none` (where it says nothing of traces)."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return "none"
    asked = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if not asked:
        return "otlp" if any(os.environ.get(name) for name in ENDPOINTS) else "none"
    if asked not in ("otlp", "console", "none"):
        msg = f"OTEL_TRACES_EXPORTER={asked!r} is not known here: use otlp, console or none"
        raise ConfigurationError(msg)
    return asked


def configure(service_name: str) -> TracerProvider | None:
    """Set the global provider up where the environment asks for an exporter; None where it does not.

    `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` and the `OTEL_BSP_*` and
    `OTEL_EXPORTER_OTLP_*` variables mean what the OpenTelemetry specification says.
    """
    asked = asked_exporter()
    if asked == "none":
        return None
    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    provider = TracerProvider(resource=Resource.create({} if named else {SERVICE_NAME: service_name}))
    if asked == "console":
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    else:
        provider.add_span_processor(BatchSpanProcessor(_otlp_exporter()))
    trace.set_tracer_provider(provider)
    return provider


def shut_down(provider: TracerProvider | None) -> None:
    """Export what is queued and end; an exporter that cannot be reached is waited for `LONGEST_GOODBYE_S` at most."""
    if provider is None:
        return
    # The SDK's own shutdown waits up to 30 s and more; a daemon thread is left behind when the process ends.
    leaving = threading.Thread(target=provider.shutdown, name="otel_validation.shut_down", daemon=True)
    leaving.start()
    leaving.join(LONGEST_GOODBYE_S)
    if leaving.is_alive():
        logger.warning("the exporter did not take the last spans within %g s: they are lost", LONGEST_GOODBYE_S)


def asked_protocol() -> str:
    """The OTLP protocol that the environment asks for: `grpc` (the default) or `http/protobuf`."""
    variables = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((os.environ[name] for name in variables if os.environ.get(name)), GRPC).strip().lower()
    if protocol not in (GRPC, HTTP):
        msg = f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol!r} is not supported: use {GRPC} or {HTTP}"
        raise ConfigurationError(msg)
    return protocol


def _otlp_exporter() -> SpanExporter:
    if asked_protocol() == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter()
