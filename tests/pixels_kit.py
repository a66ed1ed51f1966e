"""Pairs of screens drawn for the checkers of pixels: a form with a taskbar, and what may happen on it."""

import base64
import io

from PIL import Image, ImageDraw, ImageFont
from screen_kit import WHITE, font

from otel_validation.delivery.action import Action, Point
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.vision.image import Frame

INK, LINE, BAR, BLUE = (32, 33, 36), (190, 194, 200), (232, 232, 232), (26, 95, 200)
SIZE = (1920, 1080)
BUTTON, CHECKBOX, FIELD, TAB = (640, 610), (407, 527), (600, 424), (690, 160)
"""Where the button, the checkbox, the field and the tab "Imagerie" are clicked, at scale 1."""


class Desk:
    """A page of an application over a taskbar, drawn at `scale`; each method draws one thing that may happen."""

    def __init__(self, size=SIZE, scale=1.0, *, dark=False):
        self.scale = scale
        self.paper, self.ink = ((30, 30, 34), (225, 226, 230)) if dark else (WHITE, INK)
        self.bar = (52, 53, 58) if dark else BAR
        self.image = Image.new("RGB", size, self.paper)
        self.size = size
        self._page()

    @property
    def frame(self):
        return Frame(self.image)

    def at(self, point):
        """The pixel of a point given at scale 1."""
        return round(point[0] * self.scale), round(point[1] * self.scale)

    def box(self, *values, fill=None, outline=None):
        self._draw.rectangle([round(v * self.scale) for v in values], fill=fill, outline=outline)

    def text(self, x, y, text, size=15, ink=None):
        self._draw.text((x * self.scale, y * self.scale), text, fill=ink or self.ink, font=font(size * self.scale))

    def _page(self):
        width, height = (v / self.scale for v in self.size)
        self.box(0, 0, width, 40, fill=self.bar)
        self.text(20, 11, "Dossier patient 2605-17")
        self.tab()
        for row, label in enumerate(("Nom", "Prénom", "Motif", "Service", "Médecin")):
            self.text(280, 336 + 40 * row, label)
            self.box(390, 328 + 40 * row, 800, 358 + 40 * row, outline=LINE)
        for row in range(8):
            self.text(980, 330 + 26 * row, f"2{row}/11/2025  Compte rendu {row}  Urgences  Dr Martin")
        self.field("Durand")
        self.checkbox(ticked=False)
        self.text(424, 519, "Patient prévenu")
        self.button()
        self.box(0, height - 44, width, height, fill=self.bar)
        self.clock("14:32")

    def tab(self, ground=None):
        for i, label in enumerate(("Synthèse", "Notes", "Imagerie", "Biologie")):
            x = 400 + 120 * i
            self.box(x, 142, x + 118, 178, fill=ground if ground and label == "Imagerie" else self.bar)
            self.text(x + 28, 152, label)

    def field(self, text):
        self.box(390, 408, 800, 438, fill=self.paper, outline=LINE)
        self.text(398, 415, text)

    def checkbox(self, *, ticked):
        self.box(400, 520, 413, 533, fill=self.paper, outline=self.ink)
        if ticked:
            x, y = 400, 520
            points = [((x + dx) * self.scale, (y + dy) * self.scale) for dx, dy in ((3, 7), (6, 10), (11, 3))]
            self._draw.line(points, fill=self.ink, width=round(2 * self.scale))

    def button(self, ground=BLUE):
        self.box(590, 596, 690, 624, fill=ground)
        self.text(614, 602, "Valider", ink=WHITE)

    def caret(self, x=1100, y=700):
        """One pixel wide at any scale below 2, 16 high."""
        x, y = self.at((x, y))
        width, height = max(1, int(self.scale)), round(16 * self.scale)
        self._draw.rectangle((x, y, x + width - 1, y + height - 1), fill=self.ink)

    def clock(self, text):
        width, height = (v / self.scale for v in self.size)
        self.box(width - 90, height - 44, width, height, fill=self.bar)
        self.text(width - 70, height - 30, text, 13)

    def pointer(self, x, y, shape="windows"):
        tip = self.at((x, y))
        outline = {
            "windows": ((0, 0), (0, 16), (4, 13), (7, 18), (9, 17), (7, 12), (11, 11)),
            "triangle": ((0, 0), (0, 16), (11, 11)),
        }[shape]
        points = [(tip[0] + dx * self.scale, tip[1] + dy * self.scale) for dx, dy in outline]
        self._draw.polygon(points, fill="white", outline="black")

    def beam(self, x, y):
        for bar in ((-3, 0, 3, 1), (0, 0, 1, 17), (-3, 16, 3, 17)):
            self.box(x + bar[0], y + bar[1], x + bar[2], y + bar[3], fill=self.ink)

    def toast(self, text="Mise à jour disponible"):
        width, height = (v / self.scale for v in self.size)
        self.box(width - 360, height - 150, width - 16, height - 60, fill=(250, 250, 245), outline=LINE)
        self.text(width - 340, height - 120, text, ink=INK)

    def spinner(self, x, y, radius=20, *, kind="arc", turn=0):
        x, y = self.at((x, y))
        r = radius * self.scale
        if kind == "arc":
            box = (x - r, y - r, x + r, y + r)
            self._draw.arc(box, 30 + turn, 300 + turn, fill=BLUE, width=round(4 * self.scale))
        else:
            import math

            for i in range(8):
                angle = math.radians(45 * i + turn)
                cx, cy, d = x + r * math.cos(angle), y + r * math.sin(angle), 3 * self.scale
                self._draw.ellipse((cx - d, cy - d, cx + d, cy + d), fill=(90, 90 + 12 * i, 90))

    def page(self, *labels, ground=None):
        """Everything between title bar and taskbar replaced by labels (x, y, text)."""
        width, height = (v / self.scale for v in self.size)
        self.box(0, 41, width, height - 45, fill=ground or self.paper)
        for x, y, text in labels:
            self.text(x, y, text)

    @property
    def _draw(self):
        return ImageDraw.Draw(self.image)


def jpeg(image, quality, subsampling=2):
    """The image as JPEG gives it back; subsampling 2 is 4:2:0, 0 none."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, subsampling=subsampling)
    return Image.open(io.BytesIO(buffer.getvalue())).convert("RGB")


def encoded(image, form="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **({"compress_level": 1} if form == "PNG" else {}), **options)
    return base64.b64encode(buffer.getvalue()).decode()


def subject(before, after, at=None, *, kind="click", payload=None, given=None, **report):
    """A report on an action of that type at pixel `at`; `before` and `after` are images or texts as sent."""
    before, after = (encoded(image) if isinstance(image, Image.Image) else image for image in (before, after))
    size = SIZE
    if after is not None:
        size = Image.open(io.BytesIO(base64.b64decode(after))).size
    point = None if at is None else Point((at[0] + 0.5) / size[0], (at[1] + 0.5) / size[1])
    action = Action.from_json({"action_id": "a1", "type": kind, **(payload or {})}, session_id="s1", machine_id="m1")
    return ReportSubject(
        action,
        Report(
            session_id="s1",
            action_id="a1",
            success=True,
            position=point,
            position_given=point is not None if given is None else given,
            screenshot_before=before,
            screenshot_after=after,
            **report,
        ),
    )


def desks(screen, things, first=()):
    """The desk before and after `things` were done to it; `screen` is its size, scale and whether it is dark."""
    size, scale, dark = screen
    before, after = Desk(size, scale, dark=dark), Desk(size, scale, dark=dark)
    for thing in first:
        thing(before)
    for thing in things:
        thing(after)
    return before, after


def large_font(size):
    return ImageFont.load_default(size)
