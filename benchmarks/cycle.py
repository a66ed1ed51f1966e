"""What the plugin adds to a poll and its report, on a real server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import psutil

from benchmarks.cycle_server import BARE, OTEL, PLUGIN, VARIANTS
from benchmarks.figures import Figure, Goal
from benchmarks.leases import click
from benchmarks.options import Options, one_core, progress
from examples.legacy_host import STREAM

NAME = "cycle"
AGENTS = 8
"""Agents at once: the server always has the next request to go on with, so its rate is its own."""
CYCLES = 50
"""Polls and reports of each agent in a round."""
GOAL = Goal("<=", 1.5)


class Connection:
    """HTTP/1.1 over one kept socket, as cheap as Python allows: the client must not be what is measured."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30.0)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method: str, path: str, body: bytes = b"") -> None:
        """Send a request."""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._socket.sendall(head.encode() + b"\r\n" + body)

    def answer(self) -> Any:  # noqa: ANN401
        """Read the answer's JSON; raises RuntimeError for any status but 200."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        while len(body) < length:
            body += self._more()
        if not head.startswith(b"HTTP/1.1 200"):
            msg = f"the server answered {head[:40]!r} {body[:200]!r}"
            raise RuntimeError(msg)
        return json.loads(body)

    def _more(self) -> bytes:
        more = self._socket.recv(65_536)
        if not more:
            msg = "the server closed the connection"
            raise RuntimeError(msg)
        return more

    def close(self) -> None:
        """Close it."""
        self._socket.close()


@dataclass(slots=True)
class Host:
    """A running variant: its process, one connection an agent, and what was measured, one entry a round."""

    variant: str
    process: subprocess.Popen[str]
    agents: list[Connection]
    handed: int = 0
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    spans: int = 0

    def play(self, cycles: int, *, keep: bool = True) -> None:
        """Let every agent poll and report `cycles` times; keep the seconds a cycle, on the wall and of the server."""
        self._enqueue(cycles)
        began, cpu = time.perf_counter(), cpu_seconds(self.process.pid)
        for _ in range(cycles):
            self._cycle()
        wall_s, cpu_s = time.perf_counter() - began, cpu_seconds(self.process.pid) - cpu
        if keep:
            self.wall_s.append(wall_s / (cycles * AGENTS))
            self.cpu_s.append(cpu_s / (cycles * AGENTS))

    def _enqueue(self, cycles: int) -> None:
        for number, agent in enumerate(self.agents):
            actions = [click(self.handed + step, replay_id=f"replay-{number}") for step in range(cycles)]
            agent.send("POST", f"/enqueue/session-{number}", json.dumps(actions).encode())
            agent.answer()
        self.handed += cycles

    def _cycle(self) -> None:
        for number, agent in enumerate(self.agents):
            agent.send("GET", f"{STREAM}/next?session_id=session-{number}&machine_id=poste-{number}")
        answers = [agent.answer() for agent in self.agents]
        for number, (agent, answer) in enumerate(zip(self.agents, answers, strict=True)):
            agent.send("POST", f"{STREAM}/result", _report(number, answer))
        for agent in self.agents:
            agent.answer()


def _report(number: int, answer: dict[str, Any]) -> bytes:
    """The report of what a poll answered, no screenshot, with the token where one was given."""
    action = answer["action"]
    report = {
        "session_id": f"session-{number}",
        "action_id": action["action_id"],
        "success": True,
        "error": None,
        "actual_position": {"x_pct": action["x_pct"], "y_pct": action["y_pct"]},
    }
    if "delivery" in answer:
        report["delivery_token"] = answer["delivery"]["token"]
    return json.dumps(report).encode()


def cpu_seconds(pid: int) -> float:
    """CPU seconds of all threads of a process, so far; to the nanosecond where Linux tells."""
    try:
        # The clock that clock_getcpuclockid(3) gives for a pid: CPUCLOCK_SCHED of the whole process.
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, AttributeError):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)


def run(options: Options) -> list[Figure]:
    """Cycles a second and the server's CPU time a cycle: bare, with FastAPIInstrumentor, and with the plugin too.

    A cycle is one poll that gets an action and one report of it, without a screenshot, by one of 8 agents. Each
    variant is a uvicorn process; all three run at once on one core and take turns every few hundred cycles, the
    client is on another core. Ratios are medians of the rounds' own ratios. CPU time is the steady figure where others
    use the machine; the wall shows the same on an idle one.
    """
    rounds, cycles = options.rounds(21, 4), max(2, round(options.rounds(CYCLES, CYCLES // 2) * options.scale))
    with ExitStack() as stack:
        hosts = {v: stack.enter_context(_running(v, profile=options.profile)) for v in VARIANTS}
        progress(f"three servers, {rounds} rounds of {cycles * AGENTS} cycles each")
        with one_core(0):
            for host in hosts.values():
                host.play(cycles, keep=False)
            for number in range(rounds):
                for place in range(len(VARIANTS)):
                    hosts[VARIANTS[(number + place) % len(VARIANTS)]].play(cycles)
    return _figures(hosts)


def _figures(hosts: dict[str, Host]) -> list[Figure]:
    titles = {BARE: "bare", OTEL: "FastAPIInstrumentor", PLUGIN: "FastAPIInstrumentor and plugin"}
    figures = [Figure(NAME, f"{titles[v]}", 1 / median(h.wall_s), "cycles/s") for v, h in hosts.items()]
    figures += [Figure(NAME, f"{titles[v]}, server CPU", median(h.cpu_s) * 1e6, "us/cycle") for v, h in hosts.items()]
    figures += [Figure(NAME, f"{titles[v]}, spans", h.spans / (h.handed * AGENTS), "/cycle") for v, h in hosts.items()]
    bare, otel, plugin = (hosts[variant] for variant in VARIANTS)
    return [
        *figures,
        Figure(NAME, "FastAPIInstrumentor / bare, CPU", _ratio(otel.cpu_s, bare.cpu_s), "x"),
        Figure(NAME, "plugin / FastAPIInstrumentor, CPU", _ratio(plugin.cpu_s, otel.cpu_s), "x", GOAL),
        Figure(NAME, "plugin / FastAPIInstrumentor, wall", _ratio(plugin.wall_s, otel.wall_s), "x", GOAL),
    ]


def _ratio(of: list[float], to: list[float]) -> float:
    return median(a / b for a, b in zip(of, to, strict=True))


@contextmanager
def _running(variant: str, *, profile: bool) -> Iterator[Host]:
    command = [sys.executable, "-m", "benchmarks.cycle_server", variant, *(["--profile"] if profile else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None:
            raise RuntimeError
        agents: list[Connection] = []
        host = Host(variant, process, agents)
        try:
            port = int(process.stdout.readline())
            agents.extend(Connection(port) for _ in range(AGENTS))
            yield host
        finally:
            for agent in agents:
                agent.close()
            process.terminate()
            out, _ = process.communicate(timeout=30.0)
            host.spans = int(out.strip() or 0)
