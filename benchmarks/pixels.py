"""How long comparing two screens takes, and how often it is right, on the demo's real screens."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from statistics import median

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.figures import Figure, Goal
from benchmarks.options import Options, one_core, percentile, progress
from otel_validation.vision.change import Kind, compare
from otel_validation.vision.image import Frame, decode_frame
from otel_validation.vision.likeness import match_at
from otel_validation.vision.loading import loading

NAME = "pixels"
SCALE = 1.5
"""The scale at which the recorded screens are drawn."""
COMPARED = Goal("<", 10.0)
NONE_FALSE, NEARLY_ALL = Goal("<=", 0.01), Goal(">=", 0.97)
SEED = 11
ROOM = 90
"""Half a side of the even place, in pixels, that something is drawn on."""


@dataclass(frozen=True, slots=True)
class Coding:
    """How a pair of screens is sent."""

    name: str
    before: int | None
    after: int | None

    def frames(self, before: Image.Image, after: Image.Image) -> tuple[Frame, Frame]:
        """The pair as a checker gets it."""
        return Frame(_coded(before, self.before)), Frame(_coded(after, self.after))


CODINGS = (Coding("PNG", None, None), Coding("JPEG", 80, 80), Coding("PNG, then JPEG 60", None, 60))
Drawing = Callable[[ImageDraw.ImageDraw, int, int], None]


def run(options: Options) -> list[Figure]:
    """Milliseconds a comparison, one core and one thread, and shares of right answers."""
    screens = _screens()
    threads = cv2.getNumThreads()
    try:
        with one_core():
            cv2.setNumThreads(1)
            return [*_speed(screens, options), *_answers(screens, options), *_anchors(screens, options)]
    finally:
        cv2.setNumThreads(threads)


def _speed(screens: list[Image.Image], options: Options) -> list[Figure]:
    rounds = options.rounds(12, 3)
    progress(f"{len(screens) - 1} pairs of screens, {rounds} rounds")
    clean = [(Frame(one), Frame(two)) for one, two in pairwise(screens)]
    noisy = [CODINGS[2].frames(one, two) for one, two in pairwise(screens)]
    same = [(Frame(one), Frame(one.copy())) for one in screens]
    packed = [_png(screen) for screen in screens]
    times: dict[str, list[float]] = {"clean": [], "noisy": [], "same": [], "judged": [], "decoded": []}
    for _ in range(rounds):
        for name, pairs in (("clean", clean), ("noisy", noisy), ("same", same)):
            times[name] += [_timed(lambda p=pair: compare(*p, click=(1280, 800), scale=SCALE)) for pair in pairs]
        times["judged"] += [_timed(lambda p=pair: _judged(*p)) for pair in clean]
        times["decoded"] += [_timed(lambda d=data: decode_frame(d)) for data in packed]
    of = {name: median(values) * 1e3 for name, values in times.items()}
    return [
        Figure(NAME, "comparing two screens, median", of["clean"], "ms", COMPARED),
        Figure(NAME, "comparing two screens, p95", percentile(times["clean"], 95) * 1e3, "ms"),
        Figure(NAME, "the same, and whether the page is loading", of["judged"], "ms"),
        Figure(NAME, "comparing a screen with itself", of["same"], "ms"),
        Figure(NAME, "comparing PNG with JPEG 60", of["noisy"], "ms"),
        Figure(NAME, "comparing / decoding both from PNG", of["clean"] / (2 * of["decoded"]), "x"),
    ]


def _answers(screens: list[Image.Image], options: Options) -> list[Figure]:
    """What happens on its own and is taken for a change, and what was changed and is not seen."""
    places = options.rounds(12, 2)
    progress(f"{places} places on each of {len(screens)} screens, {len(CODINGS)} codings")
    figures = []
    for kind, drawings in (("no change", QUIET), ("change", REAL)):
        total: dict[str, list[bool]] = {name: [] for name in drawings}
        for screen in screens:
            for x, y in _even_places(screen, places):
                for name, (first, then) in drawings.items():
                    total[name] += [_seen(screen, coding, (x, y), first, then) for coding in CODINGS]
        for name, seen in total.items():
            share, goal = float(np.mean(seen)), NONE_FALSE if kind == "no change" else NEARLY_ALL
            figures.append(Figure(NAME, f"{name}: taken for a change ({len(seen)} pairs)", share, "x", goal))
    return figures


def _anchors(screens: list[Image.Image], options: Options) -> list[Figure]:
    """Anchors cut out of a screen, looked for where they are on a compressed one, and where they are not."""
    rng = np.random.default_rng(SEED)
    here, there = [], []
    for screen in screens:
        frame, again = Frame(screen), Frame(_coded(screen, 70))
        places = _busy_places(screen, rng, options.rounds(20, 4))
        for (x, y), (other_x, other_y) in zip(places, [*places[1:], places[0]], strict=True):
            anchor = frame.crop((x - 20, y - 20, x + 20, y + 20))
            for found, frame_of, at in ((here, again, (x, y)), (there, frame, (other_x, other_y))):
                match = match_at(frame_of, anchor, at)
                found.append(0.0 if match is None else match.score)
    return [
        Figure(NAME, f"anchor where it is: 1st percentile of {len(here)}", percentile(here, 1), "r"),
        Figure(NAME, f"anchor where another part is: 90th percentile of {len(there)}", percentile(there, 90), "r"),
    ]


def _judged(before: Frame, after: Frame) -> object:
    return loading(compare(before, after, click=(1280, 800), scale=SCALE), scale=SCALE)


def _seen(
    screen: Image.Image, coding: Coding, place: tuple[int, int], first: Drawing | None, then: Drawing | None
) -> bool:
    images = []
    for drawing in (first, then):
        image = screen.copy()
        if drawing is not None:
            drawing(ImageDraw.Draw(image), *place)
        images.append(image)
    change = compare(*coding.frames(images[0], images[1]), click=(place[0], place[1] + 40), scale=SCALE)
    return bool(change.of(Kind.CHANGE, Kind.RING))


def _text(text: str, ink: tuple[int, int, int] = (40, 40, 44)) -> Drawing:
    return lambda draw, x, y: draw.text((x, y), text, fill=ink, font=ImageFont.load_default(14 * SCALE))


def _box(size: float, **options: object) -> Drawing:
    side = size * SCALE
    return lambda draw, x, y: draw.rectangle((x, y, x + side, y + side), **options)  # type: ignore[arg-type]


def _checkbox(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    _box(14, outline=(90, 90, 96))(draw, x, y)
    draw.line([(x + 5, y + 10), (x + 9, y + 15), (x + 17, y + 5)], fill=(40, 40, 44), width=2)


def _caret(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    draw.rectangle((x, y, x, y + 24), fill=(20, 20, 20))


def _pointer(draw: ImageDraw.ImageDraw, x: int, y: int) -> None:
    outline = ((0, 0), (0, 16), (4, 13), (7, 18), (9, 17), (7, 12), (11, 11))
    draw.polygon([(x + a * SCALE, y + b * SCALE) for a, b in outline], fill="white", outline="black")


QUIET: dict[str, tuple[Drawing | None, Drawing | None]] = {
    "nothing": (None, None),
    "a caret": (None, _caret),
    "a pointer": (None, _pointer),
}
REAL: dict[str, tuple[Drawing | None, Drawing | None]] = {
    "a letter replaced": (_text("Durand"), _text("Duraud")),
    "a digit replaced": (_text("17.3"), _text("17.8")),
    "a checkbox": (_box(14, outline=(90, 90, 96)), _checkbox),
    "a tint": (_box(60, fill=(232, 232, 232)), _box(60, fill=(223, 232, 248))),
    "a frame": (_box(50, outline=(190, 190, 196)), _box(50, outline=(26, 95, 200))),
}


def _even_places(screen: Image.Image, count: int) -> Iterator[tuple[int, int]]:
    """Places with nothing around them."""
    rng = np.random.default_rng(SEED)
    grey = np.asarray(screen.convert("L"))
    found = 0
    for _ in range(2_000):
        x, y = int(rng.integers(ROOM, screen.width - ROOM)), int(rng.integers(ROOM, screen.height - ROOM))
        around = grey[y - 20 : y + ROOM, x - 20 : x + ROOM]
        if int(around.max()) - int(around.min()) <= 2 and int(around.mean()) > 200:
            found += 1
            yield x, y
            if found == count:
                return


def _busy_places(screen: Image.Image, rng: np.random.Generator, count: int) -> list[tuple[int, int]]:
    """Places with something to recognise."""
    grey = np.asarray(screen.convert("L"))
    found: list[tuple[int, int]] = []
    while len(found) < count:
        x, y = int(rng.integers(20, screen.width - 20)), int(rng.integers(20, screen.height - 20))
        around = grey[y - 20 : y + 20, x - 20 : x + 20]
        if around.std() > 25 and around.std(axis=1).max() > 25 and around.std(axis=0).max() > 25:
            found.append((x, y))
    return found


def _screens() -> list[Image.Image]:
    folder = files("otel_validation.cli").joinpath("demo_data")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".png"))
    return [decode_frame(folder.joinpath(name).read_bytes()).rgb for name in names]


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _coded(image: Image.Image, quality: int | None) -> Image.Image:
    if quality is None:
        return image
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(io.BytesIO(buffer.getvalue())).convert("RGB")


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
