"""What an OCR engine is given and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Pixels = npt.NDArray[np.uint8]
    """RGB, height x width x 3."""

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels, origin top left, x1 and y1 exclusive."""


@dataclass(frozen=True, slots=True)
class TextBox:
    """One line as an engine read it.

    `box` is in pixels of the image that was read, with the margin that detectors of text leave: about 1.3 font sizes
    high. `confidence` is in 0..1. `char_x` holds the centre of each character of `text`, in pixels of that image, from
    left to right; it is empty where the engine gives none.
    """

    text: str
    box: Box
    confidence: float
    char_x: tuple[float, ...] = ()

    @property
    def height(self) -> float:
        """Height of the line's box, in pixels."""
        return self.box[3] - self.box[1]

    def shifted(self, dx: float, dy: float, scale: float = 1.0) -> TextBox:
        """The same line in another frame: coordinates divided by `scale`, then moved by `dx`, `dy`."""
        x0, y0, x1, y1 = (value / scale for value in self.box)
        return TextBox(
            text=self.text,
            box=(x0 + dx, y0 + dy, x1 + dx, y1 + dy),
            confidence=self.confidence,
            char_x=tuple(x / scale + dx for x in self.char_x),
        )


class OcrEngine(Protocol):
    """Reads the lines of text of a small image. Every method may be called from several threads at once.

    An engine names this protocol as its base: what it does not write itself it then inherits.
    """

    name: str
    zooms: bool = False
    """Whether the `zoom` of `lines` changes what the engine does."""

    def read(
        self, image: Pixels, *, near: tuple[float, float] | None = None, limit: int | None = None
    ) -> list[TextBox]:
        """Read `image` (RGB, uint8); an image without text gives an empty list, never None.

        `near` (x, y in pixels) and `limit` are a hint: an engine that finds lines before it reads them may read
        only the `limit` lines nearest to that point. Raises OcrUnavailableError where the engine cannot be loaded.
        """

    def lines(
        self,
        image: Pixels,
        near: tuple[float, float],
        *,
        zoom: float | None = None,  # noqa: ARG002 - of no use to an engine that finds and reads at once
    ) -> Iterator[TextBox]:
        """The lines of `image`, the nearest to `near` (x, y in pixels) first; the centre line nearest to it among
        those that hold it.

        By default all are read at once. An engine that finds lines before it reads them reads each when it is asked
        for: the first line is most often the last one wanted. `zoom` is a hint for such an engine: the size, in
        parts of the image's, at which the lines' places are searched (by default that at which it finds most). The
        lines themselves are read in the image as it is.
        """
        yield from sorted(self.read(image, near=near), key=lambda line: nearness(line.box, near))

    def warm_up(self) -> None:
        """Load the weights and run once; raises OcrUnavailableError with what to install."""


def distance(box: Box, point: tuple[float, float]) -> float:
    """Distance in pixels from a point to a box; 0.0 inside it."""
    dx = max(box[0] - point[0], 0.0, point[0] - box[2])
    dy = max(box[1] - point[1], 0.0, point[1] - box[3])
    return float((dx * dx + dy * dy) ** 0.5)


def nearness(box: Box, point: tuple[float, float]) -> tuple[float, float]:
    """How near a line is to a point, to sort by: its distance in pixels, then that of its centre line."""
    return distance(box, point), abs((box[1] + box[3]) / 2 - point[1])


def nearest(lines: list[TextBox], near: tuple[float, float] | None, limit: int | None) -> list[TextBox]:
    """The first `limit` of `lines`, the nearest to `near` first; from top to bottom where `near` is None."""
    if near is None:
        return sorted(lines, key=lambda line: (line.box[1], line.box[0]))[:limit]
    return sorted(lines, key=lambda line: nearness(line.box, near))[:limit]


def upright(corners: Sequence[Sequence[float]]) -> Box:
    """The upright box around a quadrilateral, given as (x, y) of its corners."""
    xs, ys = zip(*((float(x), float(y)) for x, y in corners), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def char_centres(text: str, seen: Sequence[tuple[str, float]]) -> tuple[float, ...]:
    """`TextBox.char_x` of `text`, where an engine placed its characters and not the spaces between them.

    `seen` holds each character that is not a space, in order, with its centre's x in pixels; a space is put midway.
    Empty where `seen` does not spell `text`, or does not go from left to right.
    """
    xs = [x for _, x in seen]
    if "".join(char for char, _ in seen) != "".join(text.split()) or xs != sorted(xs):
        return ()
    placed: list[float] = []
    ahead = iter(xs)
    following = next(ahead, 0.0)
    for char in text:
        if not char.isspace():
            placed.append(following)
            following = next(ahead, following)
        else:
            placed.append((placed[-1] + following) / 2 if placed else following)
    return tuple(placed)
