"""A provider as the `OTEL_*` variables ask for it, and an end that does not hang."""

from __future__ import annotations

import threading

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from otel_validation.errors import ConfigurationError
from otel_validation.tracing import setup

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """No OTEL_* of the machine's; what would have become the global provider."""
    import os

    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    providers = []
    monkeypatch.setattr(trace, "set_tracer_provider", providers.append)
    yield providers
    for provider in providers:
        provider.shutdown()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "none"),
        ({ENDPOINT: ""}, "none"),
        ({ENDPOINT: "http://127.0.0.1:1"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": " Console "}, "console"),
        ({"OTEL_TRACES_EXPORTER": "none", ENDPOINT: "http://127.0.0.1:1"}, "none"),
        ({"OTEL_SDK_DISABLED": "TRUE", ENDPOINT: "http://127.0.0.1:1"}, "none"),
        ({"OTEL_SDK_DISABLED": "1", ENDPOINT: "http://127.0.0.1:1"}, "otlp"),
        ({"OTEL_SERVICE_NAME": "x"}, "none"),
    ],
)
def test_what_is_asked_for(monkeypatch, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert setup.asked_exporter() == expected


def test_without_variables_there_is_no_provider(told):
    assert setup.configure("here") is None
    assert told == []


def test_an_unknown_exporter_is_named(monkeypatch):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(ConfigurationError, match=r"zipkin.*otlp, console or none"):
        setup.configure("here")


def processor_of(provider):
    (processor,) = provider._active_span_processor._span_processors
    return processor


def test_console(monkeypatch, told):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    provider = setup.configure("here")
    assert told == [provider]
    assert isinstance(processor_of(provider), SimpleSpanProcessor)


@pytest.mark.parametrize(
    ("variable", "value", "module"),
    [
        (None, None, "grpc"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "grpc"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "http"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "HTTP/protobuf", "http"),
    ],
)
def test_the_otlp_protocol(monkeypatch, told, variable, value, module):
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    if variable:
        monkeypatch.setenv(variable, value)
    processor = processor_of(setup.configure("here"))
    assert isinstance(processor, BatchSpanProcessor)
    assert f".proto.{module}." in type(processor.span_exporter).__module__


def test_an_unknown_protocol_is_named(monkeypatch):
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    with pytest.raises(ConfigurationError, match="http/json"):
        setup.configure("here")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "here"),
        ({"OTEL_SERVICE_NAME": "mine"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=theirs,x=1"}, "theirs"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "deployment=test"}, "here"),
    ],
)
def test_the_service_name(monkeypatch, told, variables, expected):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert setup.configure("here").resource.attributes["service.name"] == expected


def test_the_end_waits_for_a_dead_exporter_only_so_long(monkeypatch, caplog):
    monkeypatch.setattr(setup, "LONGEST_GOODBYE_S", 0.05)
    release = threading.Event()

    class Stuck(TracerProvider):
        def shutdown(self):
            release.wait(5)

    stuck = Stuck(shutdown_on_exit=False)
    setup.shut_down(stuck)
    release.set()
    assert "are lost" in caplog.text


def test_the_end_of_a_provider_that_ends(caplog):
    setup.shut_down(TracerProvider(shutdown_on_exit=False))
    setup.shut_down(None)
    assert caplog.text == ""
