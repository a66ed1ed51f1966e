"""Screens drawn for the checkers' tests, and clicks on them."""

import base64
import io

from PIL import Image, ImageDraw, ImageFont

from otel_validation.delivery.action import Action, Point
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.window import WindowFacts

WHITE, BLACK, GREY = (255, 255, 255), (20, 20, 20), (240, 240, 240)


def font(size=14):
    return ImageFont.load_default(size)


def screen(*labels, size=(1280, 800), ground=WHITE, ink=BLACK, text_size=14):
    """A screen with labels at (x, y, text): x, y is the top left of the text."""
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    for x, y, text in labels:
        draw.text((x, y), text, fill=ink, font=font(text_size))
    return image


def encoded(image):
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return base64.b64encode(buffer.getvalue()).decode()


def subject(image, at, expected="Imagerie", *, before=None, aim=None, window=None, given=None):
    """A click at pixel `at` of `image` (None: no position reported)."""
    payload = {"action_id": "a1", "type": "click", "target_spec": {"by_text": expected}} | (aim or {})
    width, height = image.size
    report = Report(
        session_id="s1",
        action_id="a1",
        success=True,
        position=None if at is None else Point((at[0] + 0.5) / width, (at[1] + 0.5) / height),
        position_given=at is not None if given is None else given,
        screenshot_before=None if before is None else encoded(before),
        screenshot_after=encoded(image),
        window=WindowFacts.from_json(window),
    )
    action = Action.from_json(payload, session_id="s1", machine_id="m1")
    return ReportSubject(action, report)


def browser(url="https://dossier.example.org/patient/17", tab="Dossier patient", size=(1280, 800)):
    """A browser drawn the way browsers look: tab strip, toolbar with icons and field, page."""
    image = Image.new("RGB", size, WHITE)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0], 36), fill=(222, 225, 230))
    draw.rounded_rectangle((8, 6, 220, 44), 8, fill=GREY)
    draw.text((30, 14), tab, fill=BLACK, font=font(13))
    draw.rectangle((0, 36, size[0], 76), fill=GREY)
    for x in (22, 58, 94):
        draw.line((x - 6, 56, x + 6, 50), fill=BLACK, width=2)
        draw.line((x - 6, 56, x + 6, 62), fill=BLACK, width=2)
    draw.rounded_rectangle((130, 42, size[0] - 120, 70), 12, fill=WHITE, outline=(200, 203, 208))
    draw.text((160, 48), url, fill=BLACK, font=font(14))
    draw.line((0, 77, size[0], 77), fill=(200, 203, 208))
    for x, text in ((60, "Dossier"), (180, "Imagerie"), (310, "Biologie")):
        draw.text((x, 120), text, fill=BLACK, font=font(15))
    return image
