"""What a benchmark answers: figures, each with its goal where there is one."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

COMPARE = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound such as `<= 1.5`."""

    relation: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether `value` is within the bound."""
        return bool(COMPARE[self.relation](value, self.limit))


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; None where there was nothing to measure, which the name then says.

    `unit` is `x` for a ratio; `goal` is None where the value only explains another.
    """

    benchmark: str
    name: str
    value: float | None
    unit: str
    goal: Goal | None = None

    @property
    def held(self) -> bool | None:
        """Whether the goal is held; None where there is none."""
        return None if self.goal is None or self.value is None else self.goal.holds(self.value)

    @classmethod
    def from_json(cls, answered: dict[str, Any]) -> Figure:
        """The figure that `as_json` wrote."""
        goal = None if answered["goal"] is None else Goal(**answered["goal"])
        return cls(answered["benchmark"], answered["name"], answered["value"], answered["unit"], goal)

    def as_json(self) -> dict[str, object]:
        """The figure as a JSON object."""
        goal = None if self.goal is None else {"relation": self.goal.relation, "limit": self.goal.limit}
        return {
            "benchmark": self.benchmark,
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "goal": goal,
            "held": self.held,
        }


def table(figures: Sequence[Figure]) -> str:
    """Figure, value, goal, held; one line each."""
    rows = [("figure", "value", "goal", "held"), *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}".rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _row(figure: Figure) -> tuple[str, str, str, str]:
    goal = "" if figure.goal is None else f"{figure.goal.relation} {figure.goal.limit:g} {figure.unit}"
    held = {True: "yes", False: "NO", None: ""}[figure.held]
    return f"{figure.benchmark}: {figure.name}", f"{_short(figure.value)} {figure.unit}", goal, held


def _short(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
