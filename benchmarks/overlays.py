"""Pages with things drawn over them, the way applications draw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from PIL import Image, ImageDraw, ImageFilter, ImageFont

LIGHT = {"ground": "#eef1f4", "card": "#ffffff", "ink": "#202020", "line": "#d5dae0", "bar": "#0b5566"}
DARK = {"ground": "#16181c", "card": "#22252b", "ink": "#e6e6e6", "line": "#3a3f47", "bar": "#0d0f12"}
ROWS = ("Hémoglobine", "Leucocytes", "Plaquettes", "Créatinine", "Potassium", "Sodium", "Troponine", "Glycémie")
TARGET = (300, 66)
"""The middle of the tab "Imagerie", in pixels at 100 %."""
At = tuple[float, float]
Box = tuple[float, float, float, float]
Theme = dict[str, str]


class Canvas:
    """Draws at a scale: every length is in pixels at 100 %."""

    def __init__(self, scale: float = 1, theme: Theme = LIGHT, size: tuple[int, int] = (1280, 800)) -> None:
        self.scale, self.theme = scale, theme
        self.image = Image.new("RGB", (round(size[0] * scale), round(size[1] * scale)), theme["ground"])

    @classmethod
    def over(cls, image: Image.Image, scale: float) -> Self:
        """One that draws over a copy of `image`, a screen at that scale."""
        canvas = cls(scale, size=(1, 1))
        canvas.image = image.copy()
        return canvas

    @property
    def size(self) -> tuple[float, float]:
        """Width and height at 100 %."""
        return self.image.width / self.scale, self.image.height / self.scale

    def _all(self, values: Sequence[float]) -> list[float]:
        return [round(value * self.scale) for value in values]

    def box(self, box: Box, fill: str, outline: str | None = None, radius: float = 0) -> None:
        """A filled box."""
        draw = ImageDraw.Draw(self.image)
        width = max(1, round(self.scale)) if outline else 0
        draw.rounded_rectangle(self._all(box), radius * self.scale, fill, outline, width)

    def text(self, at: At, text: str, fill: str | None = None, size: float = 14) -> None:
        """A text whose upper left corner is at `at`."""
        draw = ImageDraw.Draw(self.image)
        x, y = self._all(at)
        draw.text((x, y), text, fill or self.theme["ink"], ImageFont.load_default(size * self.scale))

    def cross(self, x: float, y: float, side: float = 10, fill: str | None = None) -> None:
        """A close mark."""
        draw = ImageDraw.Draw(self.image)
        for line in ((x, y, x + side, y + side), (x, y + side, x + side, y)):
            draw.line(self._all(line), fill or self.theme["ink"], max(1, round(2 * self.scale)))

    def button(
        self, box: Box, text: str, fill: str = "#0b6fb8", ink: str = "white", outline: str | None = None
    ) -> None:
        """A button with its text in the middle."""
        self.box(box, fill, outline, radius=4)
        draw = ImageDraw.Draw(self.image)
        x, y = self._all(((box[0] + box[2]) / 2, (box[1] + box[3]) / 2))
        draw.text((x, y), text, ink, ImageFont.load_default(14 * self.scale), anchor="mm")

    def shadow(self, box: Box, blur: float = 14, strength: int = 110) -> None:
        """The shadow of a box."""
        shade = Image.new("L", self.image.size, 0)
        ImageDraw.Draw(shade).rectangle(self._all(box), strength)
        black = Image.new("RGB", self.image.size, "black")
        self.image.paste(black, mask=shade.filter(ImageFilter.GaussianBlur(blur * self.scale)))

    def dim(self, strength: float = 0.5) -> None:
        """The layer that darkens all that is there."""
        self.image = Image.blend(self.image, Image.new("RGB", self.image.size, "black"), strength)


def page(scale: float = 1, theme: Theme = LIGHT, size: tuple[int, int] = (1280, 800)) -> Canvas:
    """A medical record: header, tabs, a card with a table, a card with a form."""
    canvas = Canvas(scale, theme, size)
    canvas.box((0, 0, size[0], 44), theme["bar"])
    canvas.text((18, 14), "Dossier Patient", "white", 15)
    for x, text in ((40, "Synthèse"), (140, "Notes"), (270, "Imagerie"), (390, "Biologie")):
        canvas.text((x, 58), text)
    canvas.box((0, 84, size[0], 85), theme["line"])
    canvas.box((20, 100, 820, 470), theme["card"], theme["line"], radius=6)
    for index in range(9):
        y = 116 + 38 * index
        for x, text in (
            (40, ROWS[index % len(ROWS)]),
            (300, f"{12 + index},{index}"),
            (430, "g/dL"),
            (560, "Dr Lefèvre"),
        ):
            canvas.text((x, y), text)
        canvas.box((40, y + 27, 800, y + 28), theme["line"])
    canvas.box((850, 100, 1260, 470), theme["card"], theme["line"], radius=6)
    canvas.text((870, 116), "Nouvelle note", size=16)
    canvas.box((870, 150, 1240, 300), theme["card"], theme["line"])
    canvas.text((880, 160), "Douleur 2/10. Stable.")
    canvas.button((870, 420, 960, 452), "Valider")
    canvas.button((980, 420, 1070, 452), "Imprimer", theme["card"], theme["ink"], theme["line"])
    canvas.box((20, 490, 1260, 780), theme["card"], theme["line"], radius=6)
    for index in range(6):
        canvas.text(
            (40, 510 + 42 * index), f"08 h {10 + index}   {ROWS[index]} : résultat validé par le service de biologie"
        )
    return canvas


def session_expired(canvas: Canvas, at: At = (390, 240)) -> Box:
    """An in-page modal over a dimmed page."""
    x, y = at
    canvas.dim(0.5)
    canvas.box((x, y, x + 500, y + 190), canvas.theme["card"], radius=6)
    canvas.text((x + 18, y + 16), "Session expirée", size=17)
    canvas.cross(x + 472, y + 18)
    canvas.text((x + 18, y + 70), "Votre session a expiré. Veuillez vous reconnecter.")
    canvas.button((x + 340, y + 138, x + 482, y + 172), "Se reconnecter")
    return (x, y, x + 500, y + 190)


def uac(canvas: Canvas, at: At = (410, 250)) -> Box:
    """Windows' elevation prompt on its secure desktop."""
    x, y = at
    canvas.dim(0.65)
    canvas.box((x, y, x + 456, y + 100), "#7ab8e8")
    canvas.box((x, y + 100, x + 456, y + 300), "white")
    canvas.text((x + 16, y + 8), "Contrôle de compte d'utilisateur", "black", 12)
    canvas.cross(x + 430, y + 10, fill="black")
    canvas.text((x + 16, y + 40), "Voulez-vous autoriser cette application ?", "black", 19)
    canvas.text((x + 16, y + 130), "Éditeur du Registre", "black", 16)
    canvas.button((x + 16, y + 240, x + 220, y + 276), "Oui", "#cccccc", "black")
    canvas.button((x + 236, y + 240, x + 440, y + 276), "Non", "#cccccc", "black", "#333333")
    return (x, y, x + 456, y + 300)


def cookie_banner(canvas: Canvas, height: float = 110) -> Box:
    """A consent banner along the page's end."""
    width, bottom = canvas.size
    top = bottom - height
    canvas.box((0, top, width, bottom), canvas.theme["card"], canvas.theme["line"])
    canvas.text((40, top + 20), "Nous respectons votre vie privée", size=16)
    canvas.text((40, top + 56), "Nous utilisons des cookies pour mesurer l'audience de ce site.")
    canvas.button(
        (width - 320, top + 38, width - 200, top + 74), "Refuser", canvas.theme["card"], canvas.theme["ink"], "#888888"
    )
    canvas.button((width - 180, top + 38, width - 60, top + 74), "Accepter")
    return (0, top, width, bottom)


def chat_widget(canvas: Canvas, at: At = (900, 380)) -> Box:
    """A chat window in a lower corner."""
    x, y = at
    box = (x, y, x + 350, y + 400)
    canvas.shadow(box)
    canvas.box(box, canvas.theme["card"])
    canvas.box((x, y, x + 350, y + 48), "#0b6fb8")
    canvas.text((x + 14, y + 15), "Assistance", "white", 16)
    canvas.cross(x + 322, y + 19, fill="white")
    canvas.box((x + 14, y + 64, x + 290, y + 100), canvas.theme["line"], radius=10)
    canvas.text((x + 24, y + 73), "Bonjour ! Comment puis-je vous aider ?")
    canvas.box((x + 14, y + 350, x + 336, y + 386), canvas.theme["card"], "#888888")
    return box


def save_prompt(canvas: Canvas, at: At = (430, 300), *, cross: bool = True) -> Box:
    """A save prompt of the desktop; without a cross, as macOS and GTK have it."""
    x, y = at
    box = (x, y, x + 430, y + 170)
    canvas.shadow(box)
    canvas.box(box, "#fdfdfd", "#8a8a8a", radius=0 if cross else 10)
    canvas.text((x + 14, y + 10), "Bloc-notes", "black", 13)
    if cross:
        canvas.cross(x + 406, y + 12, fill="black")
    canvas.text((x + 18, y + 60), "Enregistrer les modifications ?", "#003399", 18)
    for left, right, text in ((18, 138, "Enregistrer"), (150, 300, "Ne pas enregistrer"), (312, 412, "Annuler")):
        canvas.button((x + left, y + 122, x + right, y + 152), text, "#e1e1e1", "black", "#adadad")
    return box


def menu(
    canvas: Canvas, at: At, texts: Sequence[str] = ("Copier", "Couper", "Coller", "Rechercher", "Imprimer", "Inspecter")
) -> Box:
    """A context menu or the list of a select."""
    x, y = at
    box = (x, y, x + 220, y + 12 + 30 * len(texts))
    canvas.shadow(box, blur=6, strength=70)
    canvas.box(box, canvas.theme["card"], canvas.theme["line"])
    for index, text in enumerate(texts):
        canvas.text((x + 16, y + 12 + 30 * index), text)
    return box
