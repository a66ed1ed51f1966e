"""`otel-validation check`: judge clicks on screenshots on disk, one or a batch."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from anyio.from_thread import start_blocking_portal
from PIL import Image, ImageDraw
from rich.console import Console
from rich.progress import track
from rich.table import Table

from otel_validation.cli.serve import settings_or_fail
from otel_validation.clock import stopwatch
from otel_validation.delivery.action import Point, finite
from otel_validation.errors import ImageError, OtelValidationError, UnusableExpectationError
from otel_validation.plugin import default_validator
from otel_validation.validation.expectation import expected_text
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import NOTHING, FailureCategory, Verdict
from otel_validation.vision.ocr.registry import DEFAULT, ENGINES

if TYPE_CHECKING:
    from otel_validation.settings import Settings
    from otel_validation.validation.checker import Subject
    from otel_validation.validation.verdict import Finding, ValidationResult

FINE, NOT_COMPLETE, USAGE, ENVIRONMENT = 0, 1, 2, 3
OCR_ROI = "ocr_roi"
PROGRESS_FROM = 20
"""Cases from which a batch shows its progress (a case takes about 0.1 s, decoding included)."""

EXAMPLES = """Judge whether a click landed on the label it was aimed at.

```
otel-validation check screen.png --at 0.265,0.295 --expect Imagerie
otel-validation check after.png --before before.png --at 509,236 --expect Imagerie --annotate judged.png
otel-validation check after.png --at 509,236 --expect Save --expect Enregistrer
otel-validation check after.png --at 509,236 --expect-pattern 'Dossier n° [0-9]+'
otel-validation check screen.png --at 0.265,0.295 --expect Imagerie --engine tesseract
otel-validation check --batch cases.json --images screens/ --out verdicts.jsonl
```

A case of a batch is {"case", "image", "x_pct", "y_pct", "expected_text", "expected_pattern", "action_type"}
(`expected_text` may be a list, of which one suffices); a line of the output is {"case", "verdict",
"failure_category", "confidence", "elapsed_ms"} (decoding the image is not in elapsed_ms).

Exit codes: 0 complete (batch: every case was judged), 1 the verdict is not complete, 2 usage, 3 environment
(a file that cannot be read, an OCR engine that is not installed).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One click of a batch. It may expect no text and no pattern: then there is nothing to judge."""

    name: str
    image: str
    at: Point | None
    expected_text: str | list[str] | None
    action_type: str
    expected_pattern: str | None = None

    @classmethod
    def from_json(cls, value: object) -> Case | None:
        """Read a case; None where it is not an object, or names no image or no case."""
        if not isinstance(value, Mapping):
            return None
        name, image = value.get("case"), value.get("image")
        if not isinstance(name, str) or not isinstance(image, str):
            return None
        expected, pattern, kind = (value.get(key) for key in ("expected_text", "expected_pattern", "action_type"))
        return cls(
            name=name,
            image=image,
            at=Point.from_json(value),
            expected_text=expected if isinstance(expected, str | list) else None,
            expected_pattern=pattern if isinstance(pattern, str) else None,
            action_type=kind if isinstance(kind, str) and kind else "click",
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, and the milliseconds that it took with the weights loaded and the images decoded."""

    result: ValidationResult
    elapsed_ms: float

    @property
    def reading(self) -> Mapping[str, Any]:
        """What was read at the click: the evidence of `ocr_roi`, empty where it had no say."""
        return next((finding.evidence for finding in self.result.findings if finding.checker == OCR_ROI), NOTHING)


class Judge:
    """The Validator of a server with these settings, on its own event loop: where this command meets the checkers. It
    has no time budget: nothing waits for the verdict, and some OCR engines take seconds.

    Use it by `with`. Raises OcrUnavailableError where the OCR engine, or its weights, are not there.
    """

    def __init__(self, settings: Settings) -> None:
        self._validator = default_validator(settings, budgeted=False)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._portal = self._stack.enter_context(start_blocking_portal())
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def judge(self, subject: Subject) -> Judged:
        """The verdict on one subject."""
        if not self._validator.warm:
            self._portal.call(self._validator.warm_up)
        began = stopwatch()
        result = self._portal.call(self._validator.judge, subject)
        return Judged(result, round((stopwatch() - began) * 1e3, 2))


def check(
    image: Annotated[Path | None, typer.Argument(help="The screenshot after the action (PNG or JPEG).")] = None,
    *,
    at: Annotated[
        str | None, typer.Option(metavar="X,Y", help="The click: fractions of the screen, or pixels (values above 1).")
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="The label the click was aimed at; repeated: one of several."),
    ] = None,
    expect_pattern: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="A regular expression that the whole label must match.")
    ] = None,
    before: Annotated[Path | None, typer.Option(help="The screenshot before the action.")] = None,
    action_type: Annotated[str, typer.Option(help="The type of the action.")] = "click",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    annotate: Annotated[Path | None, typer.Option(help="Write the screenshot with what was seen drawn on it.")] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", envvar="RPA_OCR_ENGINE", help=f"The OCR engine: {', '.join(ENGINES)}.")
    ] = DEFAULT,
    model_dir: Annotated[
        Path | None, typer.Option(envvar="RPA_OCR_MODEL_DIR", help="A folder with weights of your own for the engine.")
    ] = None,
    batch: Annotated[Path | None, typer.Option(metavar="CASES.json", help="Judge every case of this file.")] = None,
    images: Annotated[Path, typer.Option(help="The folder of the batch's images.")] = Path(),
    out: Annotated[Path | None, typer.Option(metavar="VERDICTS.jsonl", help="Where a batch's verdicts go.")] = None,
) -> None:
    """Judge whether a click landed on the label it was aimed at."""
    engine = engine.strip().lower()  # as in the settings
    if engine not in ENGINES:
        raise typer.BadParameter(f"{engine!r} is not one of: {', '.join(ENGINES)}", param_hint="--engine")
    try:
        with Judge(settings_or_fail(ocr_engine=engine, ocr_model_dir=model_dir)) as judge:
            if batch is not None:
                code = _batch(judge, batch, images, out)
            else:
                subject = _subject(
                    image, at, texts=expect, pattern=expect_pattern, before=before, action_type=action_type
                )
                code = _single(judge, subject, as_json=as_json, annotate=annotate)
    except (OSError, OtelValidationError) as error:
        Console(stderr=True).print(f"error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        code = ENVIRONMENT
    raise typer.Exit(code)


check.__doc__ = EXAMPLES


def _subject(
    image: Path | None,
    at: str | None,
    *,
    texts: list[str] | None,
    pattern: str | None,
    before: Path | None,
    action_type: str,
) -> ReportSubject:
    if image is None:
        raise typer.BadParameter("name a screenshot, or a batch with --batch", param_hint="IMAGE")
    if at is None:
        raise typer.BadParameter("a click needs --at X,Y", param_hint="--at")
    numbers = _numbers(at)
    size = _require(ReportSubject.from_image(image, at=None, before=before))
    subject = ReportSubject.from_image(
        image,
        at=_point(numbers, size),
        expected_text=texts,
        expected_pattern=pattern,
        before=before,
        action_type=action_type,
    )
    try:
        expected_text(subject.action)
    except UnusableExpectationError as error:
        raise typer.BadParameter(error.reason, param_hint="--expect / --expect-pattern") from None
    return subject


def _single(judge: Judge, subject: ReportSubject, *, as_json: bool, annotate: Path | None) -> int:
    _require(subject)
    judged = judge.judge(subject)
    if as_json:
        typer.echo(json.dumps(_as_json(judged), ensure_ascii=False))
    else:
        _print(judged)
    if annotate is not None:
        _annotate(subject, judged, annotate)
    return FINE if judged.result.verdict is Verdict.COMPLETE else NOT_COMPLETE


def _batch(judge: Judge, batch: Path, images: Path, out: Path | None) -> int:
    if out is None:
        raise typer.BadParameter("a batch needs --out VERDICTS.jsonl", param_hint="--out")
    cases = _cases(batch)
    unreadable: list[str] = []
    with out.open("w", encoding="utf-8") as sheet:
        for case in _with_progress(cases):
            sheet.write(json.dumps(_judged(judge, case, images, unreadable), ensure_ascii=False) + "\n")
    for problem in unreadable:
        typer.echo(f"not judged: {problem}", err=True)
    typer.echo(f"{len(cases) - len(unreadable)} of {len(cases)} cases judged: {out}")
    return ENVIRONMENT if unreadable else FINE


def _cases(batch: Path) -> list[Case]:
    try:
        values = json.loads(batch.read_text("utf-8"))
    except ValueError as error:
        raise typer.BadParameter(f"{batch} is not JSON: {error}", param_hint="--batch") from error
    read = [Case.from_json(value) for value in values] if isinstance(values, list) else [None]
    cases = [case for case in read if case is not None]
    if len(cases) < len(read):
        raise typer.BadParameter(f"{batch} must be a list of cases with a `case` and an `image`", param_hint="--batch")
    return cases


def _judged(judge: Judge, case: Case, images: Path, unreadable: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"case": case.name}
    try:
        subject = ReportSubject.from_image(
            images / case.image,
            at=case.at,
            expected_text=case.expected_text,
            expected_pattern=case.expected_pattern,
            action_type=case.action_type,
        )
        _require(subject)
    except (OSError, ImageError) as error:
        unreadable.append(f"{case.name}: {error}")
        invalid = FailureCategory.IMAGE_INVALID.value
        return row | {"verdict": "continue", "failure_category": invalid, "confidence": 0.0, "elapsed_ms": None}
    judged = judge.judge(subject)
    return row | {**_conclusion(judged.result), "elapsed_ms": judged.elapsed_ms}


def _with_progress(cases: list[Case]) -> Iterator[Case] | Iterable[Case]:
    console = Console(stderr=True)
    if len(cases) < PROGRESS_FROM or not console.is_terminal:
        return cases
    return track(cases, description="judging", console=console)


def _require(subject: Subject) -> tuple[int, int]:
    """Decode what was given, so that a file which is not an image is an error of the environment."""
    _ = subject.before
    frame = subject.after
    if frame is None:  # pragma: no cover - from_image always sets it
        raise ImageError("empty", "no screenshot")
    return frame.size


def _numbers(at: str) -> tuple[float, float]:
    try:
        x, y = (finite(float(part)) for part in at.split(","))
    except ValueError:
        x = y = None
    if x is None or y is None:
        raise typer.BadParameter(f"{at!r} is not X,Y (0.265,0.295 or 509,236)", param_hint="--at")
    return x, y


def _point(numbers: tuple[float, float], size: tuple[int, int]) -> Point:
    """Fractions as they are; where either value is above 1 both are pixels, at the middle of that pixel."""
    x, y = numbers
    if max(x, y) <= 1:
        return Point(x, y)
    return Point((x + 0.5) / size[0], (y + 0.5) / size[1])


def _conclusion(of: ValidationResult | Finding) -> dict[str, Any]:
    return {
        "verdict": of.verdict.value,
        "failure_category": None if of.category is None else of.category.value,
        "confidence": round(of.confidence, 4),
    }


def _as_json(judged: Judged) -> dict[str, Any]:
    result = judged.result
    checks = (
        {
            "checker": finding.checker,
            **_conclusion(finding),
            "verified": finding.verified,
            "reasoning": finding.reasoning,
            "evidence": dict(finding.evidence),
        }
        for finding in result.findings
    )
    return {
        **_conclusion(result),
        "verified": result.verified,
        "reasoning": result.reasoning,
        "elapsed_ms": judged.elapsed_ms,
        "evidence": dict(judged.reading),
        "checks": list(checks),
    }


def _print(judged: Judged) -> None:
    console, result, reading = Console(), judged.result, judged.reading
    colour = {Verdict.COMPLETE: "green", Verdict.CONTINUE: "yellow", Verdict.TERMINATE: "red"}[result.verdict]
    console.print(result.verdict.value, style=f"bold {colour}")
    facts = {
        "category": "-" if result.category is None else result.category.value,
        "confidence": f"{result.confidence:.2f}" + ("" if result.verified else " (not verified)"),
        "under the click": reading.get("text_under_click") or "-",
        "surface": reading.get("surface") or "-",
        "reasoning": result.reasoning,
        "took": f"{judged.elapsed_ms:.0f} ms",
    }
    for name, value in facts.items():
        console.print(f"{name:16} {value}", highlight=False, markup=False)
    _print_checks(console, result)
    boxes = reading.get("boxes") or []
    if boxes:
        table = Table("text", "box (px)", "confidence")
        for box in boxes:
            table.add_row(box["text"].replace("[", r"\["), ", ".join(map(str, box["box"])), f"{box['confidence']:.2f}")
        console.print(table)


def _print_checks(console: Console, result: ValidationResult) -> None:
    table = Table("checker", "verdict", "category", "confidence", "reasoning")
    for finding in result.findings:
        category = "-" if finding.category is None else finding.category.value
        sure = f"{finding.confidence:.2f}" + ("" if finding.verified else " (not verified)")
        table.add_row(finding.checker, finding.verdict.value, category, sure, finding.reasoning.replace("[", r"\["))
    if result.findings:
        console.print(table)


def _annotate(subject: Subject, judged: Judged, target: Path) -> None:
    """Draw the region, the boxes and the click on the frame that was read."""
    reading = judged.reading
    frame = subject.before if reading.get("frame") == "before" else subject.after
    if frame is None or "roi" not in reading:
        raise ImageError("not_judged", "nothing to draw: " + judged.result.reasoning)
    picture = Image.fromarray(frame.crop((0, 0, frame.width, frame.height)).copy())
    draw = ImageDraw.Draw(picture)
    width = max(1, round(frame.width / 1280))
    draw.rectangle(reading["roi"], outline=(0, 90, 200), width=width)
    for box in reading["boxes"]:
        draw.rectangle(box["box"], outline=(0, 140, 60), width=width)
    x, y = reading["click_px"]
    for reach, colour in ((9, (255, 255, 255)), (8, (200, 30, 30))):
        draw.ellipse((x - reach * width, y - reach * width, x + reach * width, y + reach * width), outline=colour)
    picture.save(target, "PNG")
