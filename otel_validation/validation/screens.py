"""The screens of a report, as far as they can be judged: the one rule that every checker of pixels follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import ImageChops

from otel_validation.errors import ImageError
from otel_validation.validation.verdict import NOTHING, FailureCategory, Finding, Verdict
from otel_validation.vision.availability import unavailable

if TYPE_CHECKING:
    from otel_validation.validation.checker import Subject
    from otel_validation.vision.image import Frame

STALE = "the screen after the action was captured before it"


@dataclass(frozen=True, slots=True)
class Screens:
    """Screens that show something, of one size. `before` is None where none was sent or it shows nothing."""

    before: Frame | None
    after: Frame | None


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why the screens of a report cannot be judged."""

    category: FailureCategory
    reason: str

    def finding(self, checker: str, evidence: Mapping[str, Any] = NOTHING) -> Finding:
        """CONTINUE, not verified: nothing was concluded."""
        return Finding(
            checker=checker,
            verdict=Verdict.CONTINUE,
            confidence=0.0,
            reasoning=self.reason,
            category=self.category,
            verified=False,
            evidence=evidence,
        )


def screens_of(subject: Subject) -> Screens | Unusable:
    """The screens of a report that show something.

    Unusable: an image that cannot be read (`image_invalid`); a screen after the action (without one: before it) that
    shows nothing, or that the report's own times prove stale (`screen_unavailable`); two screens of different sizes
    (`unknown`). Two equal screens alone are not stale: most often nothing changed.
    """
    try:
        before, after = subject.before, subject.after
    except ImageError as error:
        return Unusable(FailureCategory.IMAGE_INVALID, f"the screenshot cannot be read: {error.reason}")
    last = after if after is not None else before
    why = None if last is None else unavailable(last)
    if why is not None:
        return Unusable(FailureCategory.SCREEN_UNAVAILABLE, why.value)
    if before is not None and after is not None and before.size != after.size:
        return Unusable(FailureCategory.UNKNOWN, "the screens before and after differ in size")
    if after is not None and _is_stale(subject, before, after):
        return Unusable(FailureCategory.SCREEN_UNAVAILABLE, STALE)
    shown = before if before is None or before is last or unavailable(before) is None else None
    return Screens(shown, after)


def _is_stale(subject: Subject, before: Frame | None, after: Frame) -> bool:
    """Taken before the action by the agent's own clock; or the same picture at the same time, sent twice."""
    captured = subject.report.captured
    return captured.out_of_order or (captured.at_once and before is not None and _same(before, after))


def _same(before: Frame, after: Frame) -> bool:
    return ImageChops.difference(before.rgb, after.rgb).getbbox() is None
