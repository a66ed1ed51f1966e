"""Did the screen change where the action went, by more than a caret, a clock, a pointer and compression?"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from otel_validation.errors import UnplacedError
from otel_validation.validation.matrix import kind_of
from otel_validation.validation.place import guess_scale, place_of
from otel_validation.validation.screens import Unusable, screens_of
from otel_validation.validation.verdict import Conclusion, FailureCategory, Finding, Verdict
from otel_validation.vision.change import Change, Kind, compare
from otel_validation.vision.loading import Loading, loading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_validation.delivery.action import Action
    from otel_validation.validation.checker import Subject
    from otel_validation.vision.image import Frame

LOCAL, ANYWHERE = 0.6, 0.5
"""A change is little proof: the wrong button changes the screen too. Near the click it is a little more."""
IDENTICAL, QUIET, NOTIFIED = 0.9, 0.8, 0.6
"""That nothing happened is proved by equal pixels; it is less sure with a clock or compression to explain away, and
less so with a notification, which may be the action's."""
LOADING, DISTURBED = 0.7, 0.7
SETTLED = 0.6
FILLING = frozenset({"type", "type_secret", "paste_and_execute"})
"""Actions that fill the field they are aimed at: a change elsewhere is not theirs."""
SHOWN = 20
"""Regions listed in the evidence at most; all are counted."""


class Expected(StrEnum):
    """What an action does to the screen: `expected_change` in its JSON."""

    SOME = "some"
    NONE = "none"
    ANY = "any"


DEFAULTS: dict[str, Expected] = {"verify_screen": Expected.NONE, "wait": Expected.ANY}
"""What a type of action does to the screen unless the action says so; every other type changes it."""


class PixelDiffChecker:
    """COMPLETE where the screen did what the action does to it (`expected_change`: `some` by default, `none`, `any`).

    With `some`: COMPLETE on a real change, CONTINUE with `no_visual_change` where there is none, or only a
    notification in a corner. With `none` (the default of `verify_screen`): COMPLETE where nothing but a caret, a
    clock, the pointer or compression differs; CONTINUE with `unexpected_dialog` for a notification. With `any` (the
    default of `wait`): COMPLETE where the page has settled. In all cases a page still on its way is CONTINUE with
    `ui_loading`. Typing is judged near its field; its text is never read, nor kept.

    A change is not proof that the right thing was clicked, so its confidence stays under that of a read label.

    Evidence: `expected_change`, `identical` (bool), `counts` (regions by kind), `regions` (up to 20 of {kind, box:
    [x0, y0, x1, y1] px, near}), `changed_share` and `local_share` (0..1), `loading` (str or None), `click_px` ([x, y]
    or None). Boxes and numbers only.
    """

    name = "pixel_diff"

    def warm_up(self) -> None:
        """Nothing to load."""

    def applies(self, subject: Subject) -> bool:
        """Whether there is a screen before and one after."""
        return subject.report.screenshot_before is not None and subject.report.screenshot_after is not None

    def check(self, subject: Subject) -> Finding:
        """Judge one action; see the class for the rules and the evidence."""
        expected = expected_change(subject.action)
        evidence: dict[str, Any] = {"expected_change": expected.value}
        screens = screens_of(subject)
        if isinstance(screens, Unusable):
            return screens.finding(self.name, evidence)
        if screens.before is None or screens.after is None:
            return _nothing_to_compare(subject).finding(self.name, evidence)
        try:
            click, scale = _click(subject, screens.after)
        except UnplacedError as error:
            return Unusable(FailureCategory.UNKNOWN, error.reason).finding(self.name, evidence)
        # Where nothing should change, no place is far enough from the click for a digit to be a clock's.
        place = None if expected is Expected.NONE else click
        change = compare(screens.before, screens.after, click=place, scale=scale)
        waiting = loading(change, scale=scale)
        conclusion = _judge(change, waiting, expected, fills=kind_of(subject.action) in FILLING and click is not None)
        return conclusion.finding(self.name, {**evidence, **_evidence(change, waiting, click)})


def expected_change(action: Action) -> Expected:
    """What the action does to the screen: its own word where it is one of the three, else its type's default."""
    said = action.payload.get("expected_change")
    if isinstance(said, str) and said.strip().lower() in set(Expected):
        return Expected(said.strip().lower())
    return DEFAULTS.get(kind_of(action), Expected.SOME)


def _nothing_to_compare(subject: Subject) -> Unusable:
    if subject.report.screenshot_before is None or subject.report.screenshot_after is None:
        return Unusable(FailureCategory.UNKNOWN, "there are no two screens to compare")
    return Unusable(FailureCategory.SCREEN_UNAVAILABLE, "the screen before the action is blank")


def _click(subject: Subject, frame: Frame) -> tuple[tuple[int, int] | None, float]:
    """Where the action went, and the display's scale; None for an action that has no place at all (a key, a wait).

    Raises UnplacedError for a place that cannot be used.
    """
    report = subject.report
    if not report.position_given and report.position is None and subject.action.aim is None:
        return None, guess_scale(frame.size)
    place = place_of(subject.action, report, frame.size)
    return (place.x, place.y), place.scale


def _judge(change: Change, waiting: Loading | None, expected: Expected, *, fills: bool) -> Conclusion:
    if waiting is not None:
        return Conclusion(Verdict.CONTINUE, LOADING, waiting.value, FailureCategory.UI_LOADING)
    if expected is Expected.ANY:
        return Conclusion(Verdict.COMPLETE, SETTLED, "the page has settled")
    changes, panels = change.of(Kind.CHANGE, Kind.RING), change.of(Kind.PANEL)
    if expected is Expected.NONE:
        return _nothing_expected(change, disturbed=bool(changes), notified=bool(panels))
    if changes:
        return _changed(near=any(region.near for region in changes), fills=fills)
    if panels:
        reason = "nothing changed but a notification in a corner of the screen"
        return Conclusion(Verdict.CONTINUE, NOTIFIED, reason, FailureCategory.NO_VISUAL_CHANGE)
    return Conclusion(Verdict.CONTINUE, _sure(change), _quiet(change), FailureCategory.NO_VISUAL_CHANGE)


def _changed(*, near: bool, fills: bool) -> Conclusion:
    if near:
        return Conclusion(Verdict.COMPLETE, LOCAL, "something changed near the click")
    if fills:
        reason = "something changed, but not in the field that was filled"
        return Conclusion(Verdict.CONTINUE, NOTIFIED, reason, FailureCategory.NO_VISUAL_CHANGE)
    return Conclusion(Verdict.COMPLETE, ANYWHERE, "something changed on the screen")


def _nothing_expected(change: Change, *, disturbed: bool, notified: bool) -> Conclusion:
    if disturbed:
        reason = "the screen changed, and nothing should have"
        return Conclusion(Verdict.CONTINUE, DISTURBED, reason, FailureCategory.UNKNOWN)
    if notified:
        reason = "an unexpected notification appeared in a corner of the screen"
        return Conclusion(Verdict.CONTINUE, DISTURBED, reason, FailureCategory.UNEXPECTED_DIALOG)
    return Conclusion(Verdict.COMPLETE, _sure(change), _quiet(change))


def _sure(change: Change) -> float:
    return IDENTICAL if change.identical else QUIET


def _quiet(change: Change) -> str:
    if change.identical:
        return "nothing changed on the screen"
    kinds = sorted({region.kind.value for region in change.regions}) or ["compression"]
    return f"nothing changed on the screen but: {', '.join(kinds)}"


def _evidence(change: Change, waiting: Loading | None, click: tuple[int, int] | None) -> Mapping[str, Any]:
    counts = Counter(region.kind.value for region in change.regions)
    return {
        "identical": change.identical,
        "counts": dict(sorted(counts.items())),
        "regions": [
            {"kind": region.kind.value, "box": list(region.box), "near": region.near}
            for region in change.regions[:SHOWN]
        ],
        "changed_share": round(change.share, 6),
        "local_share": round(change.local_share, 6),
        "loading": None if waiting is None else waiting.name.lower(),
        "click_px": None if click is None else list(click),
    }
