"""What a checker is given and what it must answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.validation.report import Report
    from otel_validation.validation.verdict import Finding
    from otel_validation.vision.image import Frame


class Subject(Protocol):
    """One report under judgement. Frames are decoded once per report and shared by its checkers."""

    action: Action
    report: Report

    @property
    def before(self) -> Frame | None:
        """The screen before the action; None where none was sent. Raises ImageError where it cannot be read."""

    @property
    def after(self) -> Frame | None:
        """The screen after the action; None where none was sent. Raises ImageError where it cannot be read."""


class Checker(Protocol):
    """One check. `check` runs in a worker thread, may block, and is called from several threads at once."""

    name: str

    def applies(self, subject: Subject) -> bool:
        """Whether this report carries anything that this checker can judge (cheap, decodes nothing)."""

    def check(self, subject: Subject) -> Finding:
        """Judge; an exception is a CONTINUE with `verified=false`, counted as a crashed checker."""

    def warm_up(self) -> None:
        """Load what is slow to load; called once at start, in a worker thread."""
