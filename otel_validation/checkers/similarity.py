"""Does the screen look as it should: the recorded anchor where the click went, content that scrolled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from otel_validation.errors import ImageError, UnplacedError
from otel_validation.validation.anchor import anchor_image, anchor_text
from otel_validation.validation.matrix import kind_of
from otel_validation.validation.place import guess_scale, place_of
from otel_validation.validation.screens import Unusable, screens_of
from otel_validation.validation.verdict import Conclusion, FailureCategory, Finding, Verdict
from otel_validation.vision.change import Change, Kind, compare
from otel_validation.vision.likeness import (
    Match,
    fitted,
    hash_distance,
    match_at,
    matches_on,
    shows_something,
    structural_similarity,
)
from otel_validation.vision.loading import loading
from otel_validation.vision.region import box_around
from otel_validation.vision.scrolling import Shift, content_shift

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.checker import Subject
    from otel_validation.validation.screens import Screens
    from otel_validation.vision.difference import PixelBox
    from otel_validation.vision.encoder import Encoder
    from otel_validation.vision.image import Frame, Grey
    from otel_validation.vision.ocr.engine import Pixels

SCROLLING = frozenset({"scroll"})
WATCHING = frozenset({"wait", "verify_screen", "visual_condition"})
"""Actions whose anchor may be anywhere on the screen."""
SAME, OTHER, ELSEWHERE = 0.85, 0.80, 0.93
"""Correlations from which a place shows the anchor (recompressed: 0.91 and more; at another display scale: 0.87), under
which it shows something else (other icons of a toolbar reach 0.78), and from which a further place shows it."""
FOUND, COMMON = (0.75, 0.85), 0.6
"""Confidence of an anchor at the click, from SAME to a perfect fit; and of one that stands in other places as well."""
CLEARLY_OTHER = 0.6
MISPLACED, NOWHERE, UNSURE = (0.75, 0.85), 0.6, 0.4
MOVED, REPLACED, STILL, WAITING = 0.8, 0.5, 0.8, 0.7
ENCODED = 0.65
LIKE, AHEAD = 0.5, 0.1
"""An encoder says that the click's place shows the anchor where it finds them so alike, and so much more alike than the
places beside it: what encoders answer for unrelated pictures differs from one to the next."""
WHOLE = 0.6
"""An anchor over so much of the screen, both ways, is a picture of the screen."""
SCREEN_SIDE = 512
SCREEN_SAME, SCREEN_BITS = 0.85, 10
"""Structural similarity and differing bits of the hash within which two screens are one."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """The screens, the one that is judged, and where the action went on it (None: it has no place)."""

    before: Frame | None
    after: Frame | None
    judged: Frame
    click: tuple[int, int] | None
    scale: float


class SimilarityChecker:
    """Compares pictures: an anchor that the action carries, or for `scroll` the screens before and after.

    A click with an anchor (`target_spec.anchor_image_base64`, `anchor_image` or `by_image`: base64 of a PNG or JPEG,
    never a path): COMPLETE where the anchor is at the click, judged on the screen that the click met; TERMINATE with
    `wrong_target` where something else is there and the anchor is somewhere else; else CONTINUE. `wait`,
    `verify_screen`, `visual_condition` and actions without a place: COMPLETE where the anchor is on the screen, or the
    screen looks like it where the anchor is a picture of one. `scroll`: COMPLETE where the content moved as a whole,
    or the anchor is visible; CONTINUE with `no_visual_change` where nothing moved.

    `encoder` decides where the anchor neither fits nor fails for sure (a theme, a hover effect, another version).

    Evidence: `anchor` ({box: [x0, y0, x1, y1] px, score} or None), `elsewhere` (the same, of other places), `encoder`
    ({here, beside} or None), `moved` ([dx, dy] px or None), `roi` and `screen` ({ssim, hash_distance} between the
    screens before and after, or None), `click_px` ([x, y] or None). Numbers only.
    """

    name = "similarity"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder

    def warm_up(self) -> None:
        """Load the encoder, where there is one."""
        if self._encoder is not None:
            self._encoder.warm_up()

    def applies(self, subject: Subject) -> bool:
        """Whether there is an anchor and a screen, or a scroll and both screens."""
        report = subject.report
        if anchor_text(subject.action) is not None:
            return report.has_screenshot
        both = report.screenshot_before is not None and report.screenshot_after is not None
        return kind_of(subject.action) in SCROLLING and both

    def check(self, subject: Subject) -> Finding:
        """Judge one action; see the class for the rules and the evidence."""
        screens = screens_of(subject)
        if isinstance(screens, Unusable):
            return screens.finding(self.name)
        try:
            anchor = anchor_image(subject.action)
            scene = _scene(subject, screens)
        except ImageError as error:
            reason = f"the anchor image cannot be used: {error.reason}"
            return Unusable(FailureCategory.IMAGE_INVALID, reason).finding(self.name)
        except UnplacedError as error:
            return Unusable(FailureCategory.UNKNOWN, error.reason).finding(self.name)
        conclusion = None if scene is None else self._judge(subject.action, scene, anchor)
        if scene is None or conclusion is None:
            return Unusable(FailureCategory.UNKNOWN, "there is nothing to compare").finding(self.name)
        return conclusion.finding(self.name, _measures(scene))

    def _judge(self, action: Action, scene: _Scene, anchor: Frame | None) -> Conclusion | None:
        if anchor is not None and not shows_something(anchor.crop((0, 0, *anchor.size))):
            return None
        if kind_of(action) in SCROLLING:
            return _scrolled(scene, anchor)
        if anchor is None:
            return None
        if _is_whole(anchor, scene.judged):
            return _same_screen(scene.judged, anchor)
        pixels = anchor.crop((0, 0, *anchor.size))
        if scene.click is None or kind_of(action) in WATCHING:
            return _anywhere(scene.judged, pixels)
        return self._at_click(scene.judged, scene.click, pixels)

    def _at_click(self, frame: Frame, click: tuple[int, int], anchor: Pixels) -> Conclusion:
        here = match_at(frame, anchor, click)
        elsewhere = [match for match in matches_on(frame, anchor) if match.score >= ELSEWHERE and _apart(match, here)]
        evidence: dict[str, Any] = {
            "anchor": None if here is None else _shown(here),
            "elsewhere": [_shown(match) for match in elsewhere],
        }
        score = 0.0 if here is None else here.score
        if score >= SAME:
            confidence = COMMON if elsewhere else FOUND[0] + (FOUND[1] - FOUND[0]) * (score - SAME) / (1 - SAME)
            return Conclusion(Verdict.COMPLETE, confidence, "the anchor is where the click went", None, evidence)
        if elsewhere and score < OTHER:
            reason = "the anchor is somewhere else, and something else is where the click went"
            confidence = MISPLACED[score < CLEARLY_OTHER]
            return Conclusion(Verdict.TERMINATE, confidence, reason, FailureCategory.WRONG_TARGET, evidence)
        if here is not None and not elsewhere and self._encoder is not None:
            evidence["encoder"] = told = _encoded(self._encoder, frame, anchor, here)
            if told["here"] >= LIKE and told["here"] - told["beside"] >= AHEAD:
                reason = "the encoder finds the anchor where the click went"
                return Conclusion(Verdict.COMPLETE, ENCODED, reason, None, evidence)
        reason = "the anchor is not clearly where the click went"
        return Conclusion(Verdict.CONTINUE, UNSURE, reason, FailureCategory.UNKNOWN, evidence)


def _scene(subject: Subject, screens: Screens) -> _Scene | None:
    """The screen to judge: for a click the one that it met, for everything else the one after it."""
    first, last = screens.before or screens.after, screens.after or screens.before
    watching = kind_of(subject.action) in SCROLLING | WATCHING
    judged = last if watching else first
    if judged is None:
        return None
    report = subject.report
    if not report.position_given and report.position is None and subject.action.aim is None:
        return _Scene(screens.before, screens.after, judged, None, guess_scale(judged.size))
    try:
        place = place_of(subject.action, report, judged.size)
    except UnplacedError:
        if not watching:
            raise
        return _Scene(screens.before, screens.after, judged, None, guess_scale(judged.size))
    return _Scene(screens.before, screens.after, judged, (place.x, place.y), place.scale)


def _anywhere(frame: Frame, anchor: Pixels) -> Conclusion:
    found = matches_on(frame, anchor)
    best = found[0] if found else None
    evidence = {"anchor": None if best is None else _shown(best), "elsewhere": [_shown(match) for match in found[1:]]}
    if best is not None and best.score >= ELSEWHERE:
        return Conclusion(Verdict.COMPLETE, FOUND[1], "the anchor is on the screen", None, evidence)
    reason = "the anchor is nowhere on the screen"
    return Conclusion(Verdict.CONTINUE, NOWHERE, reason, FailureCategory.UNKNOWN, evidence)


def _same_screen(frame: Frame, anchor: Frame) -> Conclusion:
    """Whether the screen looks like a picture of a screen, at any size."""
    one, two = (fitted(_grey(screen), SCREEN_SIDE) for screen in (frame, anchor))
    height, width = min(one.shape[0], two.shape[0]), min(one.shape[1], two.shape[1])
    measures = _compared(one[:height, :width], two[:height, :width])
    if measures is None:
        return Conclusion(Verdict.CONTINUE, UNSURE, "the screen is too small to compare", FailureCategory.UNKNOWN)
    if measures["ssim"] >= SCREEN_SAME and measures["hash_distance"] <= SCREEN_BITS:
        return Conclusion(Verdict.COMPLETE, FOUND[1], "the screen looks like the anchor", None, {"reference": measures})
    reason = "the screen does not look like the anchor"
    return Conclusion(Verdict.CONTINUE, NOWHERE, reason, FailureCategory.UNKNOWN, {"reference": measures})


def _scrolled(scene: _Scene, anchor: Frame | None) -> Conclusion | None:
    if anchor is not None:
        visible = _anywhere(scene.judged, anchor.crop((0, 0, *anchor.size)))
        if visible.verdict is Verdict.COMPLETE:
            return visible
    if scene.before is None or scene.after is None:
        return None
    change = compare(scene.before, scene.after, click=scene.click, scale=scene.scale)
    waiting = loading(change, scale=scene.scale)
    if waiting is not None:
        return Conclusion(Verdict.CONTINUE, WAITING, waiting.value, FailureCategory.UI_LOADING)
    box = _changed_area(change)
    if box is None:
        return Conclusion(Verdict.CONTINUE, STILL, "nothing moved", FailureCategory.NO_VISUAL_CHANGE)
    moved = content_shift(scene.before, scene.after, box, scale=scene.scale)
    if moved is None:
        reason = "the content changed, and shares nothing with what was there"
        return Conclusion(Verdict.COMPLETE, REPLACED, reason)
    return _moved(moved, box, scene.click)


def _moved(moved: Shift, box: PixelBox, click: tuple[int, int] | None) -> Conclusion:
    evidence = {"moved": [moved.dx, moved.dy]}
    if click is not None and not (box[0] <= click[0] < box[2] and box[1] <= click[1] < box[3]):
        return Conclusion(Verdict.COMPLETE, REPLACED, "content moved, but not under the pointer", None, evidence)
    return Conclusion(Verdict.COMPLETE, MOVED, "the content moved", None, evidence)


def _changed_area(change: Change) -> PixelBox | None:
    """The box around everything that changed for a reason."""
    boxes = [region.box for region in change.of(Kind.CHANGE, Kind.RING)]
    if not boxes:
        return None
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def _is_whole(anchor: Frame, frame: Frame) -> bool:
    return anchor.width >= WHOLE * frame.width and anchor.height >= WHOLE * frame.height


def _encoded(encoder: Encoder, frame: Frame, anchor: Pixels, here: Match) -> dict[str, float]:
    """How alike the encoder finds the anchor and the place, and the anchor and the places beside it at most."""
    x0, y0, x1, y1 = here.box
    width, height = x1 - x0, y1 - y0
    beside = []
    for dx, dy in ((-width, 0), (width, 0), (0, -height), (0, height)):
        box = frame.clip((x0 + dx, y0 + dy, x1 + dx, y1 + dy))
        if box[2] - box[0] == width and box[3] - box[1] == height:
            beside.append(encoder.likeness(anchor, frame.crop(box)))
    return {
        "here": round(encoder.likeness(anchor, frame.crop(here.box)), 4),
        "beside": round(max(beside, default=-1.0), 4),
    }


def _measures(scene: _Scene) -> dict[str, Any]:
    """What every finding carries: how alike the screens are, around the place and as a whole."""
    measures: dict[str, Any] = {
        "anchor": None,
        "elsewhere": [],
        "encoder": None,
        "moved": None,
        "roi": None,
        "screen": None,
        "click_px": None if scene.click is None else list(scene.click),
    }
    if scene.before is None or scene.after is None:
        return measures
    measures["screen"] = _compared(*(fitted(_grey(frame), SCREEN_SIDE) for frame in (scene.before, scene.after)))
    if scene.click is not None:
        box = box_around(scene.click, scene.scale)
        measures["roi"] = _compared(scene.before.grey(box, scene.scale), scene.after.grey(box, scene.scale))
    return measures


def _grey(frame: Frame) -> Grey:
    """The whole screen in grey, halved as often as leaves it larger than it is compared at."""
    return frame.grey((0, 0, frame.width, frame.height), max(1.0, max(frame.size) / (2 * SCREEN_SIDE)))


def _compared(one: Grey, two: Grey) -> dict[str, float] | None:
    if one.shape != two.shape or min(one.shape) < 11:
        return None
    return {"ssim": round(structural_similarity(one, two), 4), "hash_distance": hash_distance(one, two)}


def _apart(match: Match, here: Match | None) -> bool:
    """Whether the match is another place than `here`."""
    if here is None:
        return True
    (x0, y0, x1, y1), (a0, b0, a1, b1) = match.box, here.box
    return min(x1, a1) <= max(x0, a0) or min(y1, b1) <= max(y0, b0)


def _shown(match: Match) -> dict[str, Any]:
    return {"box": list(match.box), "score": match.score}
