"""A report's value as JSON: how large it may be, and where in it something does not fit, without quoting it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

DEEPEST = 32
"""Levels of objects and lists."""
MOST_VALUES = 50_000
"""Members and elements, on all levels together."""
LONGEST_TEXT = 1_000_000
"""Characters, of all texts and names together."""
LONGEST_NAME = 64
"""Characters shown of a declared name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One place in a report that does not fit, and what is expected there. Neither says what was sent."""

    path: str
    expected: str


def path(root: str, steps: Iterable[str | int], names: frozenset[str]) -> str:
    """`value.rows[3].age`. A name that no schema declares is the sender's, and is shown as `*`."""
    shown = (
        f"[{step}]" if isinstance(step, int) else f".{step[:LONGEST_NAME] if step in names else '*'}" for step in steps
    )
    return root + "".join(shown)


def beyond_limits(value: object, *, deepest: int = DEEPEST) -> str | None:
    """What a value must be and is not: bounded, and with numbers that JSON can carry; None where it is.

    Does not recurse: the value may be as deep as it likes.
    """
    count = characters = 0
    layer = [value]
    for _ in range(deepest + 1):
        inner: list[object] = []
        for item in layer:
            count += 1
            if isinstance(item, str):
                characters += len(item)
            elif isinstance(item, float) and not math.isfinite(item):
                return "finite numbers"
            elif isinstance(item, dict):
                characters += sum(len(name) for name in item)
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if count + len(inner) > MOST_VALUES:
            return f"at most {MOST_VALUES:,} values"
        if characters > LONGEST_TEXT:
            return f"at most {LONGEST_TEXT:,} characters"
        if not inner:
            return None
        layer = inner
    return f"at most {deepest} levels"


def read_json(text: str) -> object:
    """A JSON text as a value; raises ValueError where it is none, holds a name twice in one object, or is too deep."""
    if len(text) > LONGEST_TEXT:
        raise ValueError("too long")
    try:
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deep") from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return members


def _refuse(name: str) -> float:
    raise ValueError(f"JSON has no {name}")
