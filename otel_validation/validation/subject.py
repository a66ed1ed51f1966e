"""One report under judgement, its screenshots decoded once and shared by the checkers."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from otel_validation.delivery.action import Action, Point
from otel_validation.errors import ImageError
from otel_validation.validation.expectation import is_secret
from otel_validation.validation.report import Report
from otel_validation.vision.image import PIXEL_BUDGET, Frame, decode_base64, decode_frame


class LazyFrame:
    """A frame decoded on first use, once, whichever thread asks; an error is kept and raised again."""

    def __init__(self, decode: Callable[[], Frame]) -> None:
        self._decode = decode
        self._lock = threading.Lock()
        self._outcome: Frame | ImageError | None = None

    def get(self) -> Frame:
        """The frame; raises the ImageError of its first decoding."""
        with self._lock:
            if self._outcome is None:
                try:
                    self._outcome = self._decode()
                except ImageError as error:
                    self._outcome = error
        if isinstance(self._outcome, ImageError):
            raise self._outcome.with_traceback(None)
        return self._outcome


class ReportSubject:
    """A Subject made of an action and its report. `pixel_budget` bounds each screenshot, in pixels.

    What the report of a secret carries is dropped here: no checker ever sees it.
    """

    def __init__(self, action: Action, report: Report, *, pixel_budget: int = PIXEL_BUDGET) -> None:
        self.action = action
        self.report = report.without_contents() if is_secret(action) else report
        self._before = _lazy(report.screenshot_before, pixel_budget)
        self._after = _lazy(report.screenshot_after, pixel_budget)

    @property
    def before(self) -> Frame | None:
        """The screen before the action; None where none was sent. Raises ImageError where it cannot be read."""
        return None if self._before is None else self._before.get()

    @property
    def after(self) -> Frame | None:
        """The screen after the action; None where none was sent. Raises ImageError where it cannot be read."""
        return None if self._after is None else self._after.get()

    @classmethod
    def from_image(
        cls,
        image: Path,
        *,
        at: Point | None,
        expected_text: str | Sequence[str] | None = None,
        expected_pattern: str | None = None,
        before: Path | None = None,
        action_type: str = "click",
        pixel_budget: int = PIXEL_BUDGET,
    ) -> ReportSubject:
        """A subject for screenshots on the operator's own disk: what the command line judges.

        `image` is the screen after the action, `at` the click as fractions of it; `expected_text` (one of several)
        and `expected_pattern` are what `expectation.expected_text` reads. Raises OSError where a file
        cannot be read; a file that is not an image raises ImageError when its frame is asked for.
        """
        spec = {"by_text": expected_text, "by_text_pattern": expected_pattern}
        payload: dict[str, Any] = {"action_id": "check", "type": action_type, "target_spec": spec}
        action = Action(action_id="check", type=action_type, session_id="check", machine_id="check", payload=payload)
        report = Report(
            session_id="check",
            action_id="check",
            success=True,
            position=at,
            position_given=at is not None,
            screenshot_before=None if before is None else _on_disk(before),
            screenshot_after=_on_disk(image),
        )
        return cls(action, report, pixel_budget=pixel_budget)


def _on_disk(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode("ascii")


def _lazy(text: str | None, pixel_budget: int) -> LazyFrame | None:
    if text is None:
        return None
    return LazyFrame(lambda: decode_frame(decode_base64(text), pixel_budget=pixel_budget))
