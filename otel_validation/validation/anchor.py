"""The anchor image that an action may carry: what its target looked like when it was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from otel_validation.errors import ImageError
from otel_validation.vision.image import Frame, decode_base64, decode_frame

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action

MEMBERS = ("anchor_image_base64", "anchor_image", "by_image")
"""Where an action holds it, in `target_spec` or beside it: a base64 text or data URL, or an object with one of the
members of INNER."""
INNER = ("image_base64", "base64", "data")
BEGINS = ("iVBORw0KGgo", "/9j/", "data:image/")
"""How a PNG and a JPEG begin in base64. Nothing else is taken for an image: hosts hold paths and names there, too."""
PIXEL_BUDGET = 10_000_000
"""An anchor is a part of a screen, or one screen (3840 x 2160 are 8.3 million)."""
LONGEST = 24_000_000
"""Characters of base64 that are decoded."""


def anchor_text(action: Action) -> str | None:
    """The anchor image as the action carries it, not decoded; None where it carries none (a path is none)."""
    for candidate in _candidates(action):
        text = candidate.lstrip()
        if text.startswith(BEGINS):
            return text
    return None


def anchor_image(action: Action) -> Frame | None:
    """The anchor image; None where the action carries none.

    Raises ImageError where it cannot be used: no PNG or JPEG, more than PIXEL_BUDGET pixels, a text longer than
    LONGEST.
    """
    text = anchor_text(action)
    if text is None:
        return None
    if len(text) > LONGEST:
        raise ImageError("too_large", f"the anchor image is a text of more than {LONGEST} characters")
    return decode_frame(decode_base64(text), pixel_budget=PIXEL_BUDGET)


def _candidates(action: Action) -> Iterator[str]:
    spec = action.payload.get("target_spec")
    for source in (spec, action.payload):
        if not isinstance(source, Mapping):
            continue
        for name in MEMBERS:
            value = source.get(name)
            inner = [value.get(key) for key in INNER] if isinstance(value, Mapping) else [value]
            yield from (text for text in inner if isinstance(text, str))
