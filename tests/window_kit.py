"""Windows drawn for tests: a title bar with a title and a close mark along the upper edge, or a tab strip."""

from PIL import Image, ImageDraw
from screen_kit import BLACK, GREY, WHITE, encoded, font

from otel_validation.delivery.action import Action
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.window import WindowFacts


def window(title, size=(1280, 800)):
    """A maximised window: its title on the left, its close mark in the corner."""
    image = Image.new("RGB", size, WHITE)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, size[0], 32), fill=GREY)
    draw.text((12, 8), title, fill=BLACK, font=font(14))
    x, y, arm = size[0] - 24, 16, 5
    for slope in (1, -1):
        draw.line((x - arm, y - slope * arm, x + arm, y + slope * arm), fill=BLACK, width=1)
    return image


def tabs(*titles, size=(1280, 800)):
    """A browser's tab strip: several titles, none of which is known to be in front."""
    image = window("", size)
    draw = ImageDraw.Draw(image)
    for number, title in enumerate(titles):
        draw.text((40 + 260 * number, 8), title, fill=BLACK, font=font(14))
    return image


def subject(kind, *, before=None, after=None, facts=None, **payload):
    """A report of an action of type `kind` on these screens, with these window facts."""
    report = Report(
        session_id="s",
        action_id="a",
        success=True,
        screenshot_before=None if before is None else encoded(before),
        screenshot_after=None if after is None else encoded(after),
        window=WindowFacts.from_json(facts),
    )
    return ReportSubject(Action("a", kind, "s", "m", payload), report)
