"""Which checkers judge which action type: the seeds' matrices, as data (validator seeds, sections 4 and 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action

JUDGE = "llm_judge"
"""The checker that is a language model; no other costs seconds or leaves the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """How one action type is judged.

    Every one of `checks` that has a say is run. Where they leave it open, those of `then` are asked one after the
    other until one decides. `budget_s` and `then_budget_s` bound the time that each of the two may take in all; a
    checker past it gives CONTINUE, not verified.
    """

    checks: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    budget_s: float = 3.0
    then_budget_s: float = 15.0

    def unhurried(self) -> Row:
        """The same row with no bound on its time."""
        return replace(self, budget_s=math.inf, then_budget_s=math.inf)

    @property
    def checkers(self) -> tuple[str, ...]:
        """Every checker named."""
        return (*self.checks, *self.then)


_REPORTED = "json_schema"
"""Judges every type: what the host declared of the report, where it did. It costs nothing where it did not."""
_ON_SCREEN = ("dialog_presence", "pixel_diff")
_SCHEMA = Row(checks=(_REPORTED,), then=(JUDGE,), budget_s=1.0)
_STORED = Row(checks=(_REPORTED,), budget_s=1.0)

UNKNOWN_TYPE = _STORED
"""A type without a row: nothing on the screen is judged, so the agent's word stands unless the host declared more."""

MATRIX: Mapping[str, Row] = MappingProxyType(
    {
        "click": Row(checks=(_REPORTED, "ocr_roi", "window_focus", *_ON_SCREEN), then=("similarity", JUDGE)),
        "double_click": Row(checks=(_REPORTED, "title_bar", "ocr_roi", *_ON_SCREEN), then=("similarity", JUDGE)),
        "right_click": Row(checks=(_REPORTED, "ocr_roi", *_ON_SCREEN), then=(JUDGE,)),
        "type": Row(checks=(_REPORTED, "window_focus", *_ON_SCREEN), then=("ocr_roi", JUDGE)),
        "type_secret": Row(checks=(_REPORTED, "pixel_diff"), budget_s=1.0),
        "key_combo": Row(checks=(_REPORTED, "title_bar", "window_focus", "dialog_presence"), then=(JUDGE,)),
        "scroll": Row(checks=(_REPORTED, "similarity"), then=("pixel_diff",), budget_s=1.0),
        "wait": Row(checks=(_REPORTED, "ocr_roi", *_ON_SCREEN), then=(JUDGE,), budget_s=5.0),
        "verify_screen": Row(checks=(_REPORTED, "ocr_roi", *_ON_SCREEN), then=(JUDGE,), budget_s=5.0),
        "extract_text": _SCHEMA,
        "extract_text_scroll": _SCHEMA,
        "extract_table": _SCHEMA,
        "screenshot_evidence": Row(checks=(_REPORTED, "window_focus", "title_bar"), budget_s=1.0),
        "t2a_decision": _STORED,
        "pause_for_human": _STORED,
        "paste_and_execute": Row(checks=(_REPORTED, "window_focus", *_ON_SCREEN), then=("ocr_roi", JUDGE)),
        "db_save_data": _STORED,
        "db_read_data": _STORED,
        "import_excel": _STORED,
        "visual_condition": Row(checks=(_REPORTED,), then=(JUDGE,)),
        "ai_*": _SCHEMA,
    }
)
"""Rows by action type; a name that ends in `*` stands for every type that begins so and has no row of its own."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "click_anchor": "click",
        "double_click_anchor": "double_click",
        "right_click_anchor": "right_click",
        "type_text": "type",
        "keyboard_shortcut": "key_combo",
        "scroll_to_anchor": "scroll",
        "wait_for_anchor": "wait",
    }
)
"""The workflow editor's names of the agents' types (validator seed, section 5)."""

BUTTONS: Mapping[str, str] = MappingProxyType({"double": "double_click", "right": "right_click"})
"""A click whose `button` says so is one of these (validator seed, section 5)."""


def kind_of(action: Action) -> str:
    """The type that `action` is judged as: its own, what that is an alias of, or for a plain click what its `button`
    says (`double`, `right`).
    """
    kind = ALIASES.get(action.type, action.type)
    button = action.payload.get("button")
    return BUTTONS.get(button, kind) if kind == "click" and isinstance(button, str) else kind


def row_of(action: Action, matrix: Mapping[str, Row] = MATRIX) -> Row:
    """The row that judges `action`: of its own alias, else of what it is judged as (`kind_of`), else of a `*` that
    fits.
    """
    kind = action.type if action.type in ALIASES and action.type in matrix else kind_of(action)
    if kind in matrix:
        return matrix[kind]
    fits = (name for name in matrix if name.endswith("*") and fnmatchcase(kind, name))
    longest = max(fits, key=len, default=None)
    return UNKNOWN_TYPE if longest is None else matrix[longest]
