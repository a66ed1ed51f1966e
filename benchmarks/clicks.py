"""Labelled clicks to compare OCR engines on: screens drawn here, and real ones beside the repository."""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from otel_validation.delivery.action import Action, Point
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict
from otel_validation.validation.window import WindowFacts

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
WORDS = (
    "Dossier", "Imagerie", "Biologie", "Prescriptions", "Synthèse", "Compte rendu", "Opératoire", "Enregistrer",
    "Annuler", "Valider", "Supprimer", "Rechercher", "Nouveau patient", "Agenda", "Résultats", "Médicaments",
    "Settings", "Orders", "Discharge", "Save as draft", "Print", "Lab results", "Allergies", "Vital signs", "Close",
)  # fmt: skip
FONTS = ("DejaVuSans.ttf", "DejaVuSerif.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf")
SIZE = (1280, 720)
RIGHT = {
    "complete": lambda f: f.verdict is Verdict.COMPLETE,
    "wrong_target": lambda f: f.category is FailureCategory.WRONG_TARGET,
    "wrong_application": lambda f: f.category in {FailureCategory.WRONG_APPLICATION, FailureCategory.UNEXPECTED_DIALOG},
    "nothing": lambda f: f.verdict is Verdict.CONTINUE,
}
"""What a finding has to be, by the truth of a click (as the corpus' own scoring has it)."""


@dataclass(frozen=True, slots=True)
class Click:
    """A click whose truth is known."""

    subject: ReportSubject
    truth: str

    def right(self, finding: Finding) -> bool:
        """Whether the finding agrees with the truth."""
        return RIGHT[self.truth](finding)


def drawn(screens: int) -> list[Click]:
    """Three clicks on each of so many screens: on the label, on its neighbour, on nothing.

    French and English, scales 1 to 2, light and dark, letters of 11 to 20 px; always the same.
    """
    chance = random.Random(20)
    return [click for _ in range(screens) for click in _screen(chance)]


def _screen(chance: random.Random) -> Iterator[Click]:
    scale = chance.choice((1.0, 1.25, 1.5, 2.0))
    ground, ink = chance.choice((("white", "#222222"), ("#f3f4f6", "#1a3a6b"), ("#1e1e1e", "#e6e6e6")))
    size = round(chance.randint(11, 20) * scale)
    image = Image.new("RGB", (round(SIZE[0] * scale), round(SIZE[1] * scale)), ground)
    draw, font = ImageDraw.Draw(image), font_of(chance.choice(FONTS), size)
    x, y, gap = round(40 * scale), round(chance.randint(150, 500) * scale), size * chance.uniform(1.2, 3)
    places: list[tuple[str, float, float]] = []
    for word in chance.sample(WORDS, 4):
        left, top, right, bottom = draw.textbbox((x, y), word, font=font)
        draw.text((x, y), word, fill=ink, font=font)
        places.append((word, (left + right) / 2, (top + bottom) / 2))
        x = right + gap
    index = chance.randrange(3)
    (word, *at), (_, *beside) = places[index], places[index + 1]
    shown = _encoded(image)
    for truth, where in (("complete", at), ("wrong_target", beside), ("nothing", (at[0], at[1] + 6 * size))):
        yield Click(_subject(shown, Point(where[0] / image.width, where[1] / image.height), word, scale), truth)


def font_of(name: str, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font of that file, else the built-in one."""
    try:
        return ImageFont.truetype(name, size)
    except OSError:
        return ImageFont.load_default(size)


def _encoded(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _subject(shown: str, at: Point, expected: str, scale: float) -> ReportSubject:
    payload = {"action_id": "bench", "type": "click", "target_spec": {"by_text": expected}}
    action = Action(action_id="bench", type="click", session_id="bench", machine_id="bench", payload=payload)
    report = Report(
        session_id="bench",
        action_id="bench",
        success=True,
        position=at,
        position_given=True,
        screenshot_before=None,
        screenshot_after=shown,
        window=WindowFacts(dpi_scale=scale),
    )
    return ReportSubject(action, report)


def real(every: int) -> list[Click]:
    """The clicks on every so manyth image of the corpus; none where it is not there."""
    if not CORPUS.is_dir():
        return []
    images = sorted(path.name for path in (CORPUS / "images").iterdir())[::every]
    cases = json.loads((CORPUS / "cases.json").read_text("utf-8"))
    return [_real(case) for case in cases if case["image"] in images and "policy" not in case["tags"]]


def _real(case: dict[str, str]) -> Click:
    subject = ReportSubject.from_image(
        CORPUS / "images" / case["image"], at=Point.from_json(case), expected_text=case["expected_text"]
    )
    return Click(subject, case["truth"])
