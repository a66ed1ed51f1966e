"""Texts taken for what they spell, where a schema says so: agents read numbers off a screen, as texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LAX = "x-lax"
"""With `true`, the keyword of a schema for a value that may also be spelled: "12", "12,5", "oui", "uhcd "."""

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,18}([.,]\d{1,18})?", re.ASCII)
_SPELLED = {"true": True, "yes": True, "vrai": True, "oui": True} | dict.fromkeys(("false", "no", "faux", "non"), False)


def loosened(schema: object, value: object) -> object:
    """The value with its texts read where the schema, or that of a property or an element, is lax.

    Only `properties` and `items` are followed: what stands behind a reference or an alternative stays strict.
    """
    if not isinstance(schema, dict):
        return value
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        return {name: loosened(properties.get(name), member) for name, member in value.items()}
    if isinstance(value, list):
        return [loosened(items, element) for element in value]
    return _read(schema, value) if isinstance(value, str) and schema.get(LAX) is True else value


def kinds(schema: Mapping[str, Any]) -> list[str]:
    """The types that a schema names; none where it names none."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def _read(schema: Mapping[str, Any], text: str) -> object:
    """What a text spells, of what the schema takes; the text itself where that is nothing."""
    word, wanted = text.strip().casefold(), kinds(schema)
    if "integer" in wanted and _INTEGER.fullmatch(word):
        return int(word)
    if "number" in wanted and _NUMBER.fullmatch(word):
        return float(word.replace(",", "."))
    if "boolean" in wanted and word in _SPELLED:
        return _SPELLED[word]
    choices = [choice for choice in schema.get("enum", ()) if isinstance(choice, str) and choice.casefold() == word]
    return choices[0] if len(choices) == 1 else text
