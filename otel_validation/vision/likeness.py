"""How alike two pictures are: perceptual hash, structural similarity, where one is found in another.

The hash and the index are written on OpenCV, which is here anyway: `imagehash` would bring 150 MB of scipy and
PyWavelets for one cosine transform, `scikit-image` 190 MB for four blurs. The tests hold both to the values that these
two libraries give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

if TYPE_CHECKING:
    from otel_validation.vision.difference import PixelBox
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import Pixels

Floats = npt.NDArray[np.float32]

HASH_SIDE, HASH_KEPT = 32, 8
"""Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions" (2010), section 3.2.1: the lowest 8 x 8
frequencies of a picture of 32 x 32."""
WINDOW, SIGMA, RIM = 11, 1.5, 5
STEADY_MEAN, STEADY_SPREAD = (0.01 * 255) ** 2, (0.03 * 255) ** 2
"""Wang et al., "Image quality assessment: from error visibility to structural similarity" (2004), section III.C."""
SCALES = (1.0, 0.8, 1.25, 2 / 3, 1.5, 0.5, 2.0)
"""Sizes at which an anchor is looked for, in parts of its own: it was recorded at one display scale, and is met at
another (100, 125, 150 and 200 % are what desktops offer)."""
GOOD_ENOUGH = 0.97
LEAST_SIDE = 8
"""An anchor smaller than this, in pixels, fits anywhere."""
LEAST_CONTRAST = 6.0
"""Standard deviation in levels under which a picture shows nothing."""
WORK_SIDE = 192
"""An anchor is matched at this size at most, pixels on its longer side."""
SEARCH_SIDE, SEARCH_STEPS = 12, 4
"""A whole screen is searched with the anchor reduced to this, on its shorter side, at most so many times smaller."""
CANDIDATES, PROMISING = 5, 0.6
COLOURFUL, COLOURFUL_SHARE, TINT_SLACK, OTHER_TINT = 32, 0.02, 24, 0.7
"""Levels of chroma (JPEG's Cb and Cr) from which a pixel has a colour of its own, share of the picture that has one,
how far it may be another, and what a score counts where it is: a green light is not the red one."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a picture was found in a screen: its box in pixels there, and how well it fits (correlation, 0..1)."""

    box: PixelBox
    score: float


def perceptual_hash(grey: Grey) -> int:
    """A hash of 64 bits: whether each of the picture's lowest frequencies is over their median, first one highest.

    The one that `imagehash.phash` gives; alike pictures differ in few bits.
    """
    reduced = Image.fromarray(grey).resize((HASH_SIDE, HASH_SIDE), Image.Resampling.LANCZOS)
    small = np.asarray(reduced).astype(np.float32)
    waves = np.asarray(cv2.dct(small))[:HASH_KEPT, :HASH_KEPT].copy()
    # OpenCV's transform is orthonormal; the hash is defined on the plain one, whose first row and column weigh more.
    waves[0] *= np.sqrt(2)
    waves[:, 0] *= np.sqrt(2)
    bits = (waves > np.median(waves)).ravel()
    return int("".join("1" if bit else "0" for bit in bits), 2)


def hash_distance(one: Grey, two: Grey) -> int:
    """Bits in which the hashes of two pictures differ, 0 (alike) to 64; unrelated pictures differ in about 32."""
    return (perceptual_hash(one) ^ perceptual_hash(two)).bit_count()


def structural_similarity(one: Grey, two: Grey) -> float:
    """The mean structural similarity of two pictures of one size, -1..1; 1.0 where they are equal.

    With the window, constants and border of the paper (`skimage.metrics.structural_similarity` with
    `gaussian_weights=True, sigma=1.5, use_sample_covariance=False`). Raises ValueError for two sizes, or for pictures
    smaller than the window (11 pixels).
    """
    if one.shape != two.shape or min(one.shape) < WINDOW:
        raise ValueError("two pictures of one size, of 11 pixels at least on a side, are compared")
    a, b = one.astype(np.float32), two.astype(np.float32)
    mean_a, mean_b = _blurred(a), _blurred(b)
    spread_a, spread_b = _blurred(a * a) - mean_a**2, _blurred(b * b) - mean_b**2
    shared = _blurred(a * b) - mean_a * mean_b
    index = ((2 * mean_a * mean_b + STEADY_MEAN) * (2 * shared + STEADY_SPREAD)) / (
        (mean_a**2 + mean_b**2 + STEADY_MEAN) * (spread_a + spread_b + STEADY_SPREAD)
    )
    return float(index[RIM:-RIM, RIM:-RIM].mean())


def shows_something(pixels: Pixels) -> bool:
    """Whether a picture can be found at all: it has contrast, and is not tiny."""
    return min(pixels.shape[:2]) >= LEAST_SIDE and float(pixels.std(axis=(0, 1)).max()) >= LEAST_CONTRAST


def match_at(frame: Frame, anchor: Pixels, click: tuple[int, int], *, slack: int = 4) -> Match | None:
    """The place of the anchor that fits best among those that hold the click, within `slack` pixels.

    Tried at several sizes; None where none of them fits on the screen. Colours count: a red dot is not a green one.
    """
    best: Match | None = None
    for scale in SCALES:
        sized = _resized(anchor, scale)
        if min(sized.shape[:2]) < LEAST_SIDE:
            continue
        reach_x, reach_y = sized.shape[1] + slack, sized.shape[0] + slack
        box = frame.clip((click[0] - reach_x, click[1] - reach_y, click[0] + reach_x, click[1] + reach_y))
        found = _best(frame.crop(box), sized, box)
        if found is not None and (best is None or found.score > best.score):
            best = found
        if best is not None and best.score >= GOOD_ENOUGH:
            break
    return best


def matches_on(frame: Frame, anchor: Pixels) -> list[Match]:
    """The places on the whole screen that look most like the anchor, the best first; at the anchor's own size.

    Found in grey on a reduced screen, then compared in colour at full size.
    """
    height, width = anchor.shape[:2]
    if width > frame.width or height > frame.height:
        return []
    step = max(1, min(SEARCH_STEPS, min(height, width) // SEARCH_SIDE))
    small = frame.grey((0, 0, frame.width, frame.height), step)
    sought = cv2.resize(cv2.cvtColor(anchor, cv2.COLOR_RGB2GRAY), None, fx=1 / step, fy=1 / step)
    if sought.shape[0] > small.shape[0] or sought.shape[1] > small.shape[1]:
        return []
    scores = _correlation(small, np.asarray(sought).astype(np.uint8))
    found = []
    for _ in range(CANDIDATES):
        y, x = np.unravel_index(int(scores.argmax()), scores.shape)
        if scores[y, x] < PROMISING:
            break
        rows, columns = sought.shape[0] // 2 + 1, sought.shape[1] // 2 + 1
        scores[max(0, int(y) - rows) : int(y) + rows, max(0, int(x) - columns) : int(x) + columns] = -1
        left, top, pad = int(x) * step, int(y) * step, 2 * step
        box = frame.clip((left - pad, top - pad, left + width + pad, top + height + pad))
        exact = _best(frame.crop(box), anchor, box)
        if exact is not None:
            found.append(exact)
    return sorted(found, key=lambda match: -match.score)


def fitted(grey: Grey, longest: int) -> Grey:
    """The picture reduced to `longest` pixels on its longer side at most."""
    factor = longest / max(grey.shape)
    if factor >= 1:
        return grey
    return cv2.resize(grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)


def _blurred(values: Floats) -> Floats:
    return np.asarray(cv2.GaussianBlur(values, (WINDOW, WINDOW), SIGMA), np.float32)


def _resized(pixels: Pixels, factor: float) -> Pixels:
    if factor == 1:
        return pixels
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR
    return cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=how).astype(np.uint8, copy=False)


def _best(region: Pixels, anchor: Pixels, box: PixelBox) -> Match | None:
    """Where the anchor fits best in `region`, whose place on the screen is `box`."""
    shrink = min(1.0, WORK_SIDE / max(anchor.shape[:2]))
    small, sought = _resized(region, shrink), _resized(anchor, shrink)
    if sought.shape[0] > small.shape[0] or sought.shape[1] > small.shape[1]:
        return None
    scores = _correlation(small, sought)
    y, x = np.unravel_index(int(scores.argmax()), scores.shape)
    left, top = box[0] + round(int(x) / shrink), box[1] + round(int(y) / shrink)
    height, width = anchor.shape[:2]
    score = float(scores[y, x])
    if not _tints_agree(sought, small[int(y) : int(y) + sought.shape[0], int(x) : int(x) + sought.shape[1]]):
        score *= OTHER_TINT
    return Match((left, top, left + width, top + height), round(score, 4))


def _tints_agree(sought: Pixels, found: Pixels) -> bool:
    """Whether what is colourful in one picture has that colour in the other: shapes alone are alike in any colour."""
    one, two = (
        np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2YCrCb)).astype(np.int16)[..., 1:] for pixels in (sought, found)
    )
    colourful = np.abs(one - 128).max(axis=2) >= COLOURFUL
    if colourful.mean() < COLOURFUL_SHARE:
        return True
    return float(np.abs(one - two)[colourful].mean(axis=0).max()) <= TINT_SLACK


def _correlation(picture: npt.NDArray[np.uint8], sought: npt.NDArray[np.uint8]) -> Floats:
    """How well `sought` fits at each place, as it is or inverted; 0 where the picture is too even to be compared."""
    scores = np.asarray(cv2.matchTemplate(picture, sought, cv2.TM_CCOEFF_NORMED), np.float32)
    # Over one colour the coefficient is 0 / 0, and what OpenCV gives for it may be 1.
    scores[~np.isfinite(scores) | (np.abs(scores) > 1.001)] = 0
    scores[_local_spread(picture, sought.shape[:2]) < 1] = 0
    # Light on dark is the same shape as dark on light: a selected row, another theme.
    return np.maximum(scores, -scores)


def _local_spread(picture: npt.NDArray[np.uint8], size: tuple[int, int]) -> Floats:
    """The standard deviation of the picture under each place of a window of `size` (height, width)."""
    grey = picture if picture.ndim == 2 else np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY))
    total, squared = (np.asarray(table) for table in cv2.integral2(grey))
    height, width = size

    def windows(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(
            table[height:, width:] - table[:-height, width:] - table[height:, :-width] + table[:-height, :-width]
        )

    count = height * width
    mean = windows(total.astype(np.float64)) / count
    return np.sqrt(np.maximum(windows(squared.astype(np.float64)) / count - mean**2, 0)).astype(np.float32)
