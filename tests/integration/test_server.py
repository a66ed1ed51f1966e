"""The program as it is run: a real server process, a real agent, and a collector that hears of them by OTLP."""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import httpx
import pytest
from http_kit import NEXT, click
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from otel_validation.agent import AgentClient, Execution
from otel_validation.cli.demo_scenes import Recording

PROGRAM = str(Path(sys.executable).with_name("otel-validation"))


class Collector:
    """What arrived by OTLP over HTTP: (service, span)."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"
        self.spans = []
        self.arrived = threading.Condition()

    def take(self, body):
        request = ExportTraceServiceRequest.FromString(body)
        with self.arrived:
            for resource in request.resource_spans:
                names = {a.key: a.value.string_value for a in resource.resource.attributes}
                for scope in resource.scope_spans:
                    self.spans += [(names["service.name"], span) for span in scope.spans]
            self.arrived.notify_all()

    def named(self, *operations):
        return [span for _, span in self.spans if span.name.split()[0] in operations]


@contextmanager
def collecting():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextmanager
def serving(**variables):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("RPA_", "OTEL_"))}
    process = subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", "--log-level", "warning"],
        env={**clean, "PYTHONUNBUFFERED": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stderr:
            if found := re.search(r"listening on (\S+);", line):
                yield process, found[1]
                break
        else:
            raise AssertionError(f"the server did not start: {process.wait()}")
    finally:
        process.kill()
        process.communicate()


def ended(process, sent=signal.SIGTERM, within_s=15.0):
    process.send_signal(sent)
    _, err = process.communicate(timeout=within_s)
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    return err


async def run_replay(url, provider, recording, *names):
    steps = {step.action["action_id"]: step for step in recording.steps(*names)}
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        body = {"session_id": "s1", "machine_id": "m1", "actions": [step.action for step in steps.values()]}
        created = (await http.post("/api/v1/replays", json=body)).json()

        def execute(context):
            step = steps[context.action_id]
            return Execution(True, actual_position=step.position, screenshot_after=step.after)

        agent = AgentClient(url, session_id="s1", machine_id="m1", execute=execute, wait_s=5, tracer_provider=provider)
        with anyio.fail_after(60):
            async with agent:
                for _ in steps:
                    await agent.run_once()
        return (await http.get(f"/api/v1/replays/{created['replay_id']}")).json()


@pytest.mark.slow
def test_one_trace_from_the_server_and_the_agent_arrives_at_a_collector():
    with collecting() as collector:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_BSP_SCHEDULE_DELAY": "60000",
        }
        provider = TracerProvider(resource=Resource.create({"service.name": "agent"}), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
        with serving(**variables) as (process, url):
            replay = anyio.run(run_replay, url, provider, Recording(), "notes", "imagerie")
            assert replay["status"] == "completed"
            assert [a["verdict"]["verdict"] for a in replay["actions"]] == ["complete", "complete"]
            # Open at the end: one more replay, whose action nobody reports.
            body = {"session_id": "s2", "machine_id": "m1", "actions": [click("open")]}
            httpx.post(f"{url}/api/v1/replays", json=body, timeout=30).raise_for_status()
            polled = httpx.get(f"{url}{NEXT}", params={"session_id": "s2", "machine_id": "m1"}, timeout=30).json()
            assert polled["delivery"]["attempt"] == 1
            ended(process)
        provider.shutdown()
    spans = [(service, span) for service, span in collector.spans if span.trace_id.hex() == replay["trace_id"]]
    by_id = {span.span_id: span for _, span in spans}
    count = {}
    for _, span in spans:
        count[span.name.split()[0]] = count.get(span.name.split()[0], 0) + 1
    expected = {
        "replay": 1,
        "step": 2,
        "dispatch": 2,
        "execute": 2,
        "report": 2,
        "validate": 2,
        "check": 4,
        "verdict": 2,
    }
    assert {name: count.get(name) for name in expected} == expected
    for service, span in spans:
        if span.name.startswith("execute"):
            assert service == "agent"
            assert by_id[span.parent_span_id].name.startswith("dispatch")
        elif span.name.split()[0] in expected:
            assert service == "otel-validation-server"
    missing = [span.name for _, span in spans if span.parent_span_id and span.parent_span_id not in by_id]
    assert missing == []
    (open_one,) = [s for s in collector.named("dispatch") if s.trace_id.hex() != replay["trace_id"]]
    attributes = {a.key: a.value.string_value for a in open_one.attributes}
    assert attributes["error.type"] == "shutdown"
    # A report's body is large: the requests after it on the same connection must not be children of its span.
    polls = [span for span in collector.named("GET") if "next" in span.name]
    assert polls
    assert all(not span.parent_span_id for span in polls)


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://10.255.255.1:4318"])
def test_a_dead_collector_neither_slows_nor_hangs_the_server(endpoint):
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    with serving(RPA_VALIDATOR_MODE="off", **variables) as (process, url):
        with httpx.Client(base_url=url, timeout=30) as http:
            body = {"session_id": "s1", "machine_id": "m1", "actions": [click(f"a{n}") for n in range(20)]}
            http.post("/api/v1/replays", json=body).raise_for_status()
            for _ in range(20):
                polled = http.get(NEXT, params={"session_id": "s1", "machine_id": "m1"}).json()
                report = {"session_id": "s1", "action_id": polled["action"]["action_id"], "success": True}
                report["delivery_token"] = polled["delivery"]["token"]
                assert http.post(NEXT.replace("next", "result"), json=report).json()["status"] == "accepted"
        began = time.monotonic()
        ended(process, within_s=10.0)
        assert time.monotonic() - began < 10


def test_without_otel_variables_nothing_is_exported_and_the_work_is_done():
    with serving(RPA_VALIDATOR_MODE="off") as (process, url):
        body = {"session_id": "s1", "machine_id": "m1", "actions": [click()]}
        created = httpx.post(f"{url}/api/v1/replays", json=body, timeout=30).json()
        assert created["trace_id"] is None
        polled = httpx.get(f"{url}{NEXT}", params={"session_id": "s1", "machine_id": "m1"}, timeout=30).json()
        assert polled["delivery"]["traceparent"] is None
        assert "4317" not in ended(process)


def test_a_client_that_resets_its_long_poll_takes_nothing_with_it():
    with serving(RPA_VALIDATOR_MODE="off") as (process, url):
        port = int(url.rpartition(":")[2])
        httpx.get(f"{url}/healthz", timeout=30)
        gone = socket.create_connection(("127.0.0.1", port))
        request = f"GET {NEXT}?session_id=s1&machine_id=m1&wait_s=20 HTTP/1.1\r\nhost: x\r\n\r\n"
        gone.sendall(request.encode())
        time.sleep(0.3)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()
        time.sleep(0.5)
        body = {"session_id": "s1", "machine_id": "m1", "actions": [click()]}
        httpx.post(f"{url}/api/v1/replays", json=body, timeout=30).raise_for_status()
        polled = httpx.get(f"{url}{NEXT}", params={"session_id": "s1", "machine_id": "m1"}, timeout=30).json()
        assert (polled["action"]["action_id"], polled["delivery"]["attempt"]) == ("act_1", 1)
        ended(process, signal.SIGINT)


def test_probes_and_prefetches_over_real_http_take_nothing():
    with serving(RPA_VALIDATOR_MODE="off") as (process, url):
        query = {"session_id": "s1", "machine_id": "m1"}
        with httpx.Client(base_url=url, timeout=30) as http:
            http.post("/api/v1/replays", json={**query, "actions": [click()]}).raise_for_status()
            for _ in range(20):
                assert http.head(NEXT, params=query).status_code == 405
                assert http.options(NEXT, params=query).status_code == 405
                assert http.get(NEXT, params=query, headers={"Sec-Purpose": "prefetch"}).status_code == 503
            assert http.get(NEXT, params=query).json()["delivery"]["attempt"] == 1
        ended(process)
