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
    close_mark(draw, size[0] - 24, 16)
    return image


def close_mark(draw, x, y, arm=5):
    """A cross whose middle is at x, y."""
    for slope in (1, -1):
        draw.line((x - arm, y - slope * arm, x + arm, y + slope * arm), fill=BLACK, width=1)


def window_over(behind, title, box=(200, 120, 1000, 640)):
    """A window of its own over `behind`, not maximised."""
    image = behind.copy()
    draw, (x0, y0, x1, _) = ImageDraw.Draw(image), box
    draw.rectangle(box, fill=WHITE, outline="#8a8a8a")
    draw.rectangle((x0, y0, x1, y0 + 30), fill="#e9e9ee", outline="#8a8a8a")
    draw.text((x0 + 12, y0 + 7), title, fill=BLACK, font=font(14))
    close_mark(draw, x1 - 20, y0 + 15)
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
