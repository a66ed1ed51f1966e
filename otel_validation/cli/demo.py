"""`otel-validation demo`: the main job on real screens, end to end, in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import typer
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from otel_validation.cli.console import Exit, err, fail, out, print_json, print_table
from otel_validation.cli.demo_scenes import ORPHAN_TIMEOUT_S, SCENES, NotReadyError, Outcome, Scene, stage
from otel_validation.cli.serve import refuse_missing_engine, settings_or_fail, tracing
from otel_validation.plugin import routing_policy
from otel_validation.settings import STREAM, Settings
from otel_validation.tracing.setup import shut_down
from otel_validation.tracing.tree import trace_tree
from otel_validation.validation.routing import Mode

TOLD = "lost-answer"
"""The scene whose trace is printed: it has an orphan, a resend and a verdict."""


def demo_settings() -> Settings:
    """The environment's settings, with the demo's shorter timeouts, its own paths and no token."""
    return settings_or_fail(
        watchdog_orphan_timeout_s=ORPHAN_TIMEOUT_S,
        watchdog_scan_interval_s=1.0,
        api_token=None,
        poll_path=f"{STREAM}/next",
        report_path=f"{STREAM}/result",
        progress_path=f"{STREAM}/progress",
        metrics_path=f"{STREAM}/watchdog/metrics",
    )


@dataclass(frozen=True, slots=True)
class Played:
    """A scene that was played."""

    scene: Scene
    outcome: Outcome

    @property
    def as_expected(self) -> bool:
        """Whether it came out as it must."""
        return self.scene.came_out(self.outcome)

    def row(self) -> dict[str, Any]:
        """As a line of the table."""
        last = self.outcome.last
        verdict = last["verdict"] or {}
        return {
            "scene": self.scene.name,
            "verdict": verdict.get("verdict", "none"),
            "category": verdict.get("failure_category"),
            "route": last["route"],
            "delivered": last["attempts"],
            "executed": self.outcome.executions.get(last["action_id"], 0),
            "replay": self.outcome.replay["status"],
            "as_expected": "yes" if self.as_expected else "NO",
        }


def demo(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """Play the main job on real screens: a server, agents and their faults, in under a minute.

    ```
    otel-validation demo
    ```

    A recorded replay of a French hospital application runs on a real server on loopback: right clicks, the click in
    the address bar that claims a success, the neighbouring tab, an answer that never arrives, an agent that dies. Exit
    code 0 only if all five come out as they must. Spans also go to OTEL_EXPORTER_OTLP_ENDPOINT where it is set.
    """
    settings = demo_settings()
    refuse_missing_engine(settings)
    spans = InMemorySpanExporter()
    provider = tracing("otel-validation-demo") or TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    if not as_json:
        out.print(f"Leases last {ORPHAN_TIMEOUT_S:g} s here (30 s in production); two resends, then a give-up.")
    not_ready: str | None = None
    try:
        with _quiet(logging.getLogger("otel_validation")):
            played, counters = anyio.run(_play, settings, provider)
    except* NotReadyError as errors:
        # Left before the program ends: what is raised in here leaves as a group on some versions of Python.
        not_ready = str(errors.exceptions[0])
    finally:
        shut_down(provider)
    if not_ready is not None:
        fail(not_ready)
    if as_json:
        print_json({"scenes": [p.row() for p in played], "counters": dict(counters)})
    else:
        _show(played, counters, spans)
    if not all(p.as_expected for p in played):
        fail(f"{_misfits(played)} did not come out as expected{_hint(settings)}", Exit.NOT_COMPLETE)


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """The faults are the demo's own: the table tells of them, not the log."""
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _misfits(played: list[Played]) -> str:
    return ", ".join(p.scene.name for p in played if not p.as_expected)


def _hint(settings: Settings) -> str:
    mode = routing_policy(settings).mode
    return "" if mode is Mode.ENFORCE else f": the validator is in mode {mode.value}, which stops nothing"


async def _play(settings: Settings, provider: TracerProvider) -> tuple[list[Played], dict[str, float]]:
    played: list[Played] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal) as progress:
        starting = progress.add_task("starting the server, loading the OCR engine", total=1)
        async with stage(settings, provider) as ready:
            progress.update(starting, completed=1)
            for scene in SCENES:
                task = progress.add_task(f"{scene.name}: {scene.title}", total=1)
                played.append(Played(scene, await ready.play(scene)))
                progress.update(task, completed=1)
                if not err.is_terminal:
                    verdict = "as expected" if played[-1].as_expected else "NOT as expected"
                    err.print(f"{scene.name}: {scene.title} -> {verdict}")
            counters = dict(await ready.counters())
    return played, counters


def _show(played: list[Played], counters: dict[str, float], spans: InMemorySpanExporter) -> None:
    told = next(p for p in played if p.scene.name == TOLD)
    trace_id = told.outcome.replay["trace_id"]
    if trace_id is None:
        out.print("\nOTEL_SDK_DISABLED: there are no spans to show")
    else:
        out.print(f"\nThe trace of {TOLD}:")
        out.print(trace_tree(spans.get_finished_spans(), trace_id))
    print_table("\nCounters", ["counter", "value"], [{"counter": k, "value": v} for k, v in counters.items()])
    out.print()
    for p in played:
        out.print(f"{p.scene.name}: {p.scene.title}\n    must come to: {p.scene.expected}")
    print_table("\nWhat came of it", list(played[0].row()), [p.row() for p in played])
