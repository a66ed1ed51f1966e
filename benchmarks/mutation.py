"""How many wrong steps are told from right ones: `python -m benchmarks.mutation`, or `make mutation`.

Right steps (the demo's recorded ones, and drawn ones of other scales and colours) are made wrong in known ways. A
mutant is killed where the verdict is no `complete`. Beside the Validator's rate stands that of each checker alone: how
many of the mutants that it had a say in it did not find `complete`.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import cycle
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import anyio
from PIL import Image
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import overlays
from benchmarks.overlays import DARK, LIGHT, Canvas
from otel_validation.delivery.action import Action, Point
from otel_validation.plugin import default_validator
from otel_validation.settings import Settings
from otel_validation.validation.report import Captured, Report
from otel_validation.validation.verdict import ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.validation.validator import Validator

DEMO_SCALE = 1.5
"""At which the demo's screens were drawn: its letters are 21 px high."""
FLOORS = {
    "shifted": 0.95,
    "neighbour": 0.95,
    "stale": 0.95,
    "swapped": 0.95,
    "black": 0.95,
    "dialog": 0.95,
    "other application": 0.95,
}
"""Share of each kind that the Validator has to kill; a run under one of them fails."""
VALIDATOR = "(all)"
CERTAINTY = 0.95
CLEAR = (2.5, 4.0, 6.0)
"""How far a shifted click is from its label, in label heights: past a tab's padding, which is a right click too."""
DIALOGS = (
    overlays.session_expired,
    overlays.uac,
    overlays.cookie_banner,
    overlays.chat_widget,
    overlays.save_prompt,
)

IN_ORDER = Captured(before=0.0, action=1.0, after=2.0)
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Step:
    """A right step: the click at `at` (pixels) on its label, whose box is `label`; `others` are other labels' boxes."""

    name: str
    expected: str
    at: tuple[float, float]
    label: Box
    others: tuple[Box, ...]
    before: Image.Image
    after: Image.Image
    scale: float
    captured: Captured = IN_ORDER


@dataclass(slots=True)
class Tally:
    """Mutants by kind and by who judged them: how many, and how many of them were killed."""

    mutants: Counter[tuple[str, str]] = field(default_factory=Counter)
    killed: Counter[tuple[str, str]] = field(default_factory=Counter)
    survivors: list[str] = field(default_factory=list)

    def add(self, kind: str, name: str, result: ValidationResult) -> None:
        """Count one mutant."""
        spoke = (finding for finding in result.findings if finding.verified or finding.proof)
        judged = {finding.checker: finding.verdict is Verdict.COMPLETE for finding in spoke}
        judged[VALIDATOR] = result.verdict is Verdict.COMPLETE
        for who, accepted in judged.items():
            self.mutants[kind, who] += 1
            self.killed[kind, who] += not accepted
        if judged[VALIDATOR]:
            self.survivors.append(f"{kind}: {name}")

    def rate(self, kind: str, who: str) -> float:
        """The share that was killed."""
        return self.killed[kind, who] / self.mutants[kind, who]

    def interval(self, kind: str, who: str) -> tuple[float, float]:
        """Wilson's interval of that share, at 95 %."""
        return wilson(self.killed[kind, who], self.mutants[kind, who])


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The interval that holds a share with a certainty of 95 % (E. B. Wilson, 1927)."""
    z = NormalDist().inv_cdf((1 + CERTAINTY) / 2)
    share, spread = successes / trials, z * z / trials
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


# Right steps


def steps() -> list[Step]:
    """The right ones of the demo's recorded steps, and drawn ones."""
    return [*_recorded(), *_drawn()]


def _recorded() -> Iterator[Step]:
    folder = files("otel_validation.cli").joinpath("demo_data")
    every = json.loads(folder.joinpath("replay.json").read_text("utf-8"))["steps"]
    boxes = {step["action"]["target_spec"]["by_text"]: tuple(step["label_box"]) for step in every}

    def screen(name: str) -> Image.Image:
        return Image.open(io.BytesIO(folder.joinpath(name).read_bytes())).convert("RGB")

    for step in every:
        if step["expected"]["verdict"] != "complete":
            continue
        before, expected = screen(step["before"]), step["action"]["target_spec"]["by_text"]
        at = step["actual_position"]["x_pct"] * before.width, step["actual_position"]["y_pct"] * before.height
        row = [box for text, box in boxes.items() if text != expected and box[1] == step["label_box"][1]]
        yield Step(
            step["name"], expected, at, tuple(step["label_box"]), tuple(row), before, screen(step["after"]), DEMO_SCALE
        )


def _drawn() -> Iterator[Step]:
    labels = {"Notes": (140, 58, 182, 74), "Imagerie": (270, 58, 330, 74), "Biologie": (390, 58, 446, 74)}
    looks = [(scale, theme) for scale in (1.0, 1.5, 2.0) for theme in (LIGHT, DARK)]
    for (scale, theme), expected in zip(looks, cycle(labels), strict=False):
        before, after = overlays.page(scale, theme), overlays.page(scale, theme)
        _open(after, expected, labels[expected])
        boxes = {text: tuple(value * scale for value in box) for text, box in labels.items()}
        own = boxes.pop(expected)
        at = (own[0] + own[2]) / 2, (own[1] + own[3]) / 2
        name = f"{expected}, {'light' if theme is LIGHT else 'dark'}, {scale:.0%}"
        yield Step(name, expected, at, own, tuple(boxes.values()), before.image, after.image, scale)


def _open(canvas: Canvas, tab: str, label: Box) -> None:
    """Show another page under the tab, which is underlined."""
    canvas.box((label[0], 80, label[2], 83), "#0b6fb8")
    canvas.box((20, 100, 820, 470), canvas.theme["card"], canvas.theme["line"], radius=6)
    for index in range(7):
        canvas.text((40, 130 + 44 * index), f"{tab} : compte rendu du {3 + index} mars, page {index + 1}")


# Mutants

Mutant = tuple[str, Step]


def mutants(step: Step) -> Iterator[Mutant]:
    """A step made wrong in every way; each with its kind."""
    yield from (("shifted", replace(step, at=at)) for at in _clear_of(step))
    for x0, y0, x1, y1 in step.others:
        yield "neighbour", replace(step, at=((x0 + x1) / 2, (y0 + y1) / 2))
    yield "stale", replace(step, after=step.before)
    times = replace(step.captured, before=step.captured.after, after=step.captured.before)
    yield "swapped", replace(step, before=step.after, after=step.before, captured=times)
    black = Image.new("RGB", step.after.size, "black")
    yield "black", replace(step, after=black)
    yield "black", replace(step, before=black, after=black)
    yield from (("dialog", replace(step, after=_with(step.after, step.scale, draw))) for draw in DIALOGS)
    for corner in ((40, 30), (120, 10), (0, 0)):
        covered = [_covered(screen, step.scale, corner) for screen in (step.before, step.after)]
        yield "other application", replace(step, before=covered[0], after=covered[1])


def _clear_of(step: Step) -> Iterator[tuple[float, float]]:
    """Places above, under, left and right of the label and on no other one, on the screen."""
    x0, y0, x1, y1 = step.label
    for heights in CLEAR:
        off = heights * (y1 - y0)
        for x, y in ((x0 - off, step.at[1]), (x1 + off, step.at[1]), (step.at[0], y0 - off), (step.at[0], y1 + off)):
            if 0 <= x < step.before.width and 0 <= y < step.before.height:
                yield x, y


def _with(screen: Image.Image, scale: float, draw: Callable[[Canvas], object]) -> Image.Image:
    canvas = Canvas.over(screen, scale)
    draw(canvas)
    return canvas.image


def _covered(screen: Image.Image, scale: float, corner: tuple[float, float]) -> Image.Image:
    """The screen under the window of another application, which covers the tabs."""
    canvas = Canvas.over(screen, scale)
    width, height = canvas.size
    x, y = corner
    box = (x, y, x + 0.8 * width, y + 0.7 * height)
    canvas.shadow(box)
    canvas.box(box, "#ffffff", "#8a8a8a")
    canvas.box((x, y, box[2], y + 30), "#e9e9ee")
    canvas.text((x + 12, y + 7), "Courrier - Messagerie", "black", 13)
    canvas.cross(box[2] - 24, y + 10, fill="black")
    for index in range(int((box[3] - y - 60) / 30)):
        canvas.text(
            (x + 20, y + 44 + 30 * index),
            f"Dr Martin   Réunion de service numéro {index + 2}   10 h 1{index % 10}",
            "black",
        )
    return canvas.image


# Judging


def measure(*, quiet: bool = False) -> Tally:
    """Judge every mutant of every step; a right step that is not accepted raises RuntimeError: it proves nothing."""
    return anyio.run(_measure, quiet)


async def _measure(quiet: bool) -> Tally:
    validator, tally = default_validator(Settings()), Tally()
    await validator.warm_up()
    console = Console(stderr=True)
    shown = steps() if quiet or not console.is_terminal else track(steps(), description="mutants", console=console)
    for step in shown:
        result = await _judge(validator, step)
        if result.verdict is not Verdict.COMPLETE:
            raise RuntimeError(f"the right step {step.name} is not accepted: {result.reasoning}")
        for kind, mutant in mutants(step):
            tally.add(kind, step.name, await _judge(validator, mutant))
    return tally


async def _judge(validator: Validator, step: Step) -> ValidationResult:
    width, height = step.before.size
    payload = {"action_id": "m", "type": "click", "target_spec": {"by_text": step.expected}}
    report = Report(
        session_id="m",
        action_id="m",
        success=True,
        position=Point(step.at[0] / width, step.at[1] / height),
        position_given=True,
        screenshot_before=_encoded(step.before),
        screenshot_after=_encoded(step.after),
        captured=step.captured,
    )
    return await validator.validate(Action("m", "click", "m", "m", payload), report)


def _encoded(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


# The table


def rows(tally: Tally) -> list[dict[str, Any]]:
    """One for each kind and judge: how many, how many killed, the share and its interval, the floor."""
    judges = defaultdict(list)
    for kind, who in sorted(tally.mutants):
        judges[kind].append(who)
    return [
        {
            "kind": kind,
            "judge": who,
            "mutants": tally.mutants[kind, who],
            "killed": tally.killed[kind, who],
            "rate": tally.rate(kind, who),
            "interval": list(tally.interval(kind, who)),
            "floor": FLOORS[kind] if who == VALIDATOR else None,
        }
        for kind in FLOORS
        for who in judges[kind]
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where the Validator's rate is under a floor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    tally = measure(quiet=(asked := parser.parse_args(arguments)).json)
    found = rows(tally)
    if asked.json:
        print(json.dumps(found))
    else:
        _print(found, tally.survivors)
    low = [row for row in found if row["floor"] is not None and row["rate"] < row["floor"]]
    for row in low:
        print(f"{row['kind']}: {row['rate']:.1%} killed, the floor is {row['floor']:.0%}", file=sys.stderr)
    return 1 if low else 0


def _print(found: list[dict[str, Any]], survivors: list[str]) -> None:
    table = Table("mutants", "judged by", "of", "killed", "rate", "95 %", "floor")
    for row in found:
        low, high = row["interval"]
        floor = "" if row["floor"] is None else f"{row['floor']:.0%}"
        table.add_row(
            row["kind"],
            row["judge"],
            str(row["mutants"]),
            str(row["killed"]),
            f"{row['rate']:.1%}",
            f"{low:.1%} - {high:.1%}",
            floor,
        )
    Console().print(table)
    for survivor in survivors:
        print(f"survived: {survivor}")


if __name__ == "__main__":
    sys.exit(main())
