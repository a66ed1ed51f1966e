"""`python -m benchmarks.accuracy FOLDER...`: how often clicks of a labelled set are judged right.

A FOLDER holds `cases.json` and `images/`, as `make rendered` writes them. With `--verdicts FILE` the verdicts of
`otel-validation check --batch` are scored; without it each case is judged here, every screen decoded once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Goal, table
from benchmarks.options import percentile
from otel_validation.cli.check import Judge
from otel_validation.delivery.action import Point
from otel_validation.settings import Settings
from otel_validation.validation.subject import ReportSubject

RIGHT: dict[str, Callable[[str | None, str | None], bool]] = {
    "complete": lambda verdict, _: verdict == "complete",
    "wrong_application": lambda verdict, why: (
        verdict == "terminate" and why in {"wrong_application", "unexpected_dialog"}
    ),
    "wrong_target": lambda verdict, why: verdict == "terminate" and why == "wrong_target",
    "nothing": lambda verdict, _: verdict == "continue",
}
"""By the truth of a case, whether a verdict and its failure category are right."""
GOAL, WRONG_GOAL = Goal(">=", 0.97), Goal("<=", 0.01)
POLICY = "policy"
"""Cases with this tag are a matter of what one wants; they are left out."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and what was said of it."""

    case: Mapping[str, Any]
    verdict: str | None
    category: str | None
    elapsed_ms: float | None = None

    @property
    def truth(self) -> str:
        return str(self.case["truth"])

    @property
    def right(self) -> bool:
        return RIGHT[self.truth](self.verdict, self.category)


def score(name: str, judged: Sequence[Judged]) -> list[Figure]:
    """The share of right verdicts by truth, of wrong clicks called a success, of right ones stopped."""
    judged = [row for row in judged if POLICY not in row.case.get("tags", ())]
    total, right = Counter(row.truth for row in judged), Counter(row.truth for row in judged if row.right)
    wrong = [row for row in judged if row.truth != "complete"]
    good = [row for row in judged if row.truth == "complete"]
    figures = [Figure(name, "cases", len(judged), "")]
    figures += [Figure(name, f"right {t}", right[t] / total[t], f"of {total[t]}", GOAL) for t in RIGHT if total[t]]
    if wrong:
        share = sum(row.verdict == "complete" for row in wrong) / len(wrong)
        figures.append(Figure(name, "false success", share, f"of {len(wrong)}", WRONG_GOAL))
    if good:
        share = sum(row.verdict == "terminate" for row in good) / len(good)
        figures.append(Figure(name, "false terminate", share, f"of {len(good)}", WRONG_GOAL))
    times = [row.elapsed_ms for row in judged if row.elapsed_ms is not None]
    if times:
        figures += [Figure(name, f"check, p{p}", percentile(times, p), "ms") for p in (50, 95)]
    return figures


def judge(cases: Iterable[Mapping[str, Any]], images: Path) -> Iterator[Judged]:
    """Judge each case as `check` does, by the whole Validator; the frame of a screen is shared by its cases."""
    ordered = sorted(cases, key=lambda case: str(case["image"]))
    with Judge(Settings()) as judging:
        for image, group in groupby(ordered, key=lambda case: str(case["image"])):
            first: ReportSubject | None = None
            for case in group:
                subject = ReportSubject.from_image(
                    images / image, at=Point(case["x_pct"], case["y_pct"]), expected_text=case["expected_text"]
                )
                if first is not None:
                    subject._after = first._after
                first = subject
                _ = subject.after
                made = judging.judge(subject)
                category = made.result.category
                yield Judged(
                    case, made.result.verdict.value, None if category is None else category.value, made.elapsed_ms
                )


def read_verdicts(cases: Iterable[Mapping[str, Any]], file: Path) -> list[Judged]:
    """The verdicts of a file with one JSON object a line; a case without one has none."""
    lines = (json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip())
    rows = {row["case"]: row for row in lines}
    return [
        Judged(case, row.get("verdict"), row.get("failure_category"), row.get("elapsed_ms"))
        for case in cases
        for row in [rows.get(case["case"], {})]
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the folders; 1 where `--strict` is given and a goal is missed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description="Score a labelled set.")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="with cases.json and images/")
    parser.add_argument("--verdicts", type=Path, metavar="FILE", help="score these instead of judging")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th case")
    parser.add_argument("--truth", action="append", choices=list(RIGHT), help="only these cases (may be repeated)")
    parser.add_argument("--misses", action="store_true", help="list what was judged wrong")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a goal is missed")
    asked = parser.parse_args(arguments)
    figures: list[Figure] = []
    for folder in asked.folders:
        cases = json.loads((folder / "cases.json").read_text("utf-8"))[:: asked.every]
        cases = [case for case in cases if not asked.truth or case["truth"] in asked.truth]
        judged = read_verdicts(cases, asked.verdicts) if asked.verdicts else list(judge(cases, folder / "images"))
        figures += score(folder.name, judged)
        for row in judged if asked.misses else ():
            if not row.right:
                case = row.case
                print("\t".join(map(str, (case["case"], row.truth, row.verdict, row.category, case["clicked_on"]))))
    print(table(figures))
    return 1 if asked.strict and any(figure.held is False for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
