"""`python -m benchmarks [--short] [--only NAME] [--json FILE] [--profile] [--strict]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import crowd, cycle, engines, lateness, memory, ocr, pixels, wake, whole
from benchmarks.figures import Figure, table
from benchmarks.options import Options

Benchmark = Callable[[Options], list[Figure]]
BENCHMARKS: dict[str, Benchmark] = {
    m.NAME: m.run for m in (cycle, lateness, wake, memory, ocr, whole, crowd, engines, pixels)
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, print the table; 1 where `--strict` is given and a goal is missed, else 0."""
    asked = _parser().parse_args(arguments)
    options = Options(short=asked.short, scale=asked.scale, profile=asked.profile)
    figures: list[Figure] = []
    for name in asked.only or BENCHMARKS:
        began = time.monotonic()
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures += BENCHMARKS[name](options)
        print(f"{name} took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"\n{_machine_line()}\n\n{table(figures)}")
    if asked.json is not None:
        asked.json.write_text(json.dumps(_as_json(options, figures), indent=2) + "\n", encoding="utf-8")
    missed = [figure for figure in figures if figure.held is False]
    return 1 if asked.strict and missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure; ratios within one run.")
    parser.add_argument("--short", action="store_true", help="fewer rounds: under a minute")
    parser.add_argument("--only", action="append", choices=list(BENCHMARKS), help="this one (may be repeated)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--profile", action="store_true", help="print profiles on stderr; its times are no measurement")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a goal is missed")
    parser.add_argument("--scale", type=float, default=1.0, help=argparse.SUPPRESS)
    return parser


def _machine() -> dict[str, str | int]:
    return {"cores": os.cpu_count() or 0, "python": platform.python_version(), "machine": platform.machine()}


def _machine_line() -> str:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return "{cores} cores, Python {python}, {machine}, load {load:.1f}".format(**_machine(), load=load)


def _as_json(options: Options, figures: Sequence[Figure]) -> dict[str, object]:
    return {
        "short": options.short,
        "scale": options.scale,
        "machine": _machine(),
        "figures": [figure.as_json() for figure in figures],
    }


if __name__ == "__main__":
    sys.exit(main())
