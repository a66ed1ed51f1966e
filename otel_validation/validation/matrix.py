"""Which checkers judge which action type (the seeds' matrices, as data)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MATRIX: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "click": ("ocr_roi",),
        "double_click": ("ocr_roi",),
        "right_click": ("ocr_roi",),
    }
)
"""Checkers by action type, in order. A type that is not here has nothing to judge it: the agent's word stands."""

BUDGETS_S: Mapping[str, float] = MappingProxyType({"click": 3.0, "double_click": 3.0, "right_click": 3.0})
"""The longest one checker may take, by action type; one past it gives CONTINUE, not verified."""

DEFAULT_BUDGET_S = 5.0
