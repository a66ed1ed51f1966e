"""The browser's own context menu, and the desktop's: a column of commands, one a row, all beginning at one x.

It stands anywhere, often with no border that could be seen (white on white), so its rows are its structure. An
application draws such menus too, with the same "Copy" and "Print". Only commands that no page can offer tell the
browser's: its tools, and what it does with links and pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from otel_validation.vision.labels import split_line
from otel_validation.vision.region import RADIUS
from otel_validation.vision.text import ONE_EDIT_MIN, TWO_EDITS_MIN, compact, fold

if TYPE_CHECKING:
    from otel_validation.vision.image import Frame
    from otel_validation.vision.ocr.engine import OcrEngine, TextBox

OWN = """
inspect; inspect element; inspect accessibility properties; view page source; view frame source; save image as;
save link as; save video as; save audio as; save frame as; save page as; open image in new tab; open video in new tab;
open link in new tab; open link in new window; open link in split screen; open link as; copy image address;
copy image link; copy video address; copy link address; copy link location; copy email address; create qr code;
create qr code for this page; create qr code for this image; set image as desktop background; set as desktop background;
add to collections; take screenshot; web capture; web select; search image with google lens;
search with google lens; search the web for image; display settings; personalize; personalise; change background;
change desktop background;
inspecter; examiner l'element; inspecter les proprietes d'accessibilite; code source de la page;
afficher le code source de la page; code source du cadre; enregistrer l'image sous; enregistrer le lien sous;
enregistrer la cible du lien sous; enregistrer la video sous; enregistrer le cadre sous;
ouvrir l'image dans un nouvel onglet; ouvrir la video dans un nouvel onglet; ouvrir le lien dans un nouvel onglet;
ouvrir le lien dans une nouvelle fenetre; ouvrir le lien dans un ecran partage; copier l'adresse du lien;
copier l'adresse de l'image; copier le lien de l'image; copier l'adresse de la video; copier l'adresse e-mail;
creer un code qr; creer un code qr pour cette page; creer un code qr pour cette image; definir comme fond d'ecran;
definir l'image comme fond d'ecran; ajouter aux collections; effectuer une capture d'ecran; capture d'ecran;
capture web; rechercher cette image avec google lens; rechercher l'image sur le web; parametres d'affichage;
personnaliser; changer l'arriere-plan; modifier l'arriere-plan
"""
"""Commands that no page offers, in English and French: of Chromium and Edge, of Firefox, of desktops."""
OWN_PATTERNS = re.compile(
    r"openlinkin.*(window|tab)"
    r"|search(google|bing|yahoo|duckduckgo|ecosia|qwant|theweb)for.*"
    r"|ouvrirlelien.*(fenetre|onglet).*"
    r"|rechercher.*(sur|avec)(google|bing|yahoo|duckduckgo|ecosia|qwant|leweb)"
)
"""The same where a name stands in them, folded and without spaces."""
SHARED = """
back; forward; reload; refresh; save as; print; cast; copy; copy link; copy image; paste; paste as plain text; cut;
select all; undo; redo; emoji; bookmark page; bookmark link; share; email image; open in reading mode; read aloud;
visual search; translate to english; add to favorites; add to favourites; send to your devices; properties; sort by;
open in terminal; new folder;
retour; precedent; suivant; avancer; actualiser; enregistrer sous; imprimer; caster; copier; copier le lien;
copier l'image; coller; coller sans mise en forme; couper; tout selectionner; annuler; retablir; emojis; partager;
marque-page sur la page; marque-page sur le lien; envoyer l'image par e-mail; ouvrir en mode lecture;
lecture a voix haute; lire a haute voix; recherche visuelle; traduire en francais; ajouter aux favoris;
envoyer a vos appareils; proprietes; trier par; ouvrir dans un terminal; nouveau dossier
"""
"""Commands that an application's menu may have as well."""
LEAST_ROWS, LEAST_OWN = 3, 1
"""So many rows that hold a command make a menu, with so many of the browser's own among them."""
SHARE = 0.5
"""Of all rows of the menu, at least so many are known commands."""
BAND_STEP, MOST_BANDS = 72.0, 6
"""Pixels at 100 % from one band of rows to the next, and how many are read above and under the click: a browser's
longest context menu is 800 high.
"""
SAME_ROW = 12.0
BEFORE, BEHIND = 48.0, 320.0
"""How far left of its rows' beginning (their icons), and right of it, the column is read."""
ALIGNED = 8.0
"""The rows begin within so many pixels, as OCR places them."""
PITCH = 84.0
"""From one row to the next but one: rows are 24 to 33 high, 50 with a line across (Chromium, Edge, Firefox, Windows
11), and one with an icon before its text does not begin where the others do.
"""
MARGIN_LEFT = 64.0
"""The menu reaches so far over its texts, for its icons."""


def _phrases(text: str) -> list[str]:
    return [compact(fold(phrase)) for phrase in text.split(";")]


OWN_PHRASES, SHARED_PHRASES = _phrases(OWN), _phrases(SHARED)


@dataclass(frozen=True, slots=True)
class _Row:
    """The text of a row, folded and without spaces, and where it begins, at 100 % scale."""

    x: float
    y: float
    own: bool
    known: bool

    @classmethod
    def of(cls, label: TextBox, scale: float) -> _Row:
        text = compact(fold(label.text))
        own = _is_one_of(OWN_PHRASES, text) or OWN_PATTERNS.fullmatch(text) is not None
        x0, y0, _, y1 = label.box
        return cls(x0 / scale, (y0 + y1) / 2 / scale, own, own or _is_one_of(SHARED_PHRASES, text))


class ContextMenu:
    """Tells whether a click is in the context menu of the browser or of the desktop."""

    def __init__(self, engine: OcrEngine) -> None:
        self._engine = engine

    def holds(self, frame: Frame, click: tuple[int, int], scale: float, near: Sequence[TextBox]) -> bool:
        """Whether `click` (pixels) is in such a menu, on a screen drawn at `scale`.

        `near` are the labels that were read around it, in pixels. More of a column is read only where they look like
        such commands, and as far as they go on.
        """
        rows = _rows(near, scale)
        return any(
            self._is_menu(frame, (x, click[1] / scale), scale, [row for row in rows if abs(row.x - x) <= ALIGNED])
            for x in _columns(rows)
            if -MARGIN_LEFT <= click[0] / scale - x <= BEHIND
        )

    def _is_menu(self, frame: Frame, at: tuple[float, float], scale: float, rows: list[_Row]) -> bool:
        """Whether the rows around `at` (where they begin, and the click's row) and those that follow make a menu."""
        x, y = at
        for step in (-BAND_STEP, BAND_STEP):
            for band in range(MOST_BANDS + 1):
                if band:
                    rows = _merged(rows, self._band(frame, (x, y + band * step), scale))
                run = _around(rows, y)
                if _is_known(run):
                    return True
                if not run or abs((run[0] if step < 0 else run[-1]).y - y - band * step) > PITCH:
                    break
        return False

    def _band(self, frame: Frame, at: tuple[float, float], scale: float) -> list[_Row]:
        """The rows that begin at a column, around a row (both at 100 %)."""
        x, y = at
        left, top, right, bottom = x - BEFORE, y - RADIUS, x + BEHIND, y + RADIUS
        x0, y0, x1, y1 = frame.clip((left * scale, top * scale, right * scale, bottom * scale))
        if x1 <= x0 or y1 <= y0:
            return []
        pixels = frame.crop((x0, y0, x1, y1))
        labels = [label for line in self._engine.read(pixels) for label in split_line(line, pixels)]
        return [row for row in _rows((label.shifted(x0, y0) for label in labels), scale) if abs(row.x - x) <= ALIGNED]


def _rows(labels: Iterable[TextBox], scale: float) -> list[_Row]:
    return sorted((_Row.of(label, scale) for label in labels), key=lambda row: row.y)


def _columns(rows: list[_Row]) -> list[float]:
    """Where a command of the browser's own begins, or two that others have, too."""
    found: list[float] = []
    for row in rows:
        if row.known and all(abs(row.x - x) > ALIGNED for x in found):
            column = [other for other in rows if abs(other.x - row.x) <= ALIGNED]
            if any(other.own for other in column) or sum(other.known for other in column) > 1:
                found.append(row.x)
    return found


def _is_one_of(phrases: list[str], text: str) -> bool:
    """Whether the text is one of them, as OCR reads it."""
    allowed = 2 if len(text) >= TWO_EDITS_MIN else 1 if len(text) >= ONE_EDIT_MIN else 0
    return process.extractOne(text, phrases, scorer=Levenshtein.distance, score_cutoff=allowed) is not None


def _merged(rows: list[_Row], more: list[_Row]) -> list[_Row]:
    """Both, each row once: what is cut by the edge of one band is whole in the next."""
    known = [row for row in (*rows, *more) if row.known]
    others = [row for row in (*rows, *more) if not row.known]
    kept: list[_Row] = []
    for row in (*known, *others):
        if all(abs(row.y - other.y) >= SAME_ROW for other in kept):
            kept.append(row)
    return sorted(kept, key=lambda row: row.y)


def _around(rows: list[_Row], y: float) -> list[_Row]:
    """The rows that follow each other around row `y`, from top to bottom."""
    above = _run([row for row in reversed(rows) if row.y <= y], y)
    return [*reversed(above), *_run([row for row in rows if row.y > y], y)]


def _is_known(rows: list[_Row]) -> bool:
    """Whether rows that follow each other are enough of the browser's or the desktop's menu."""
    known, own = sum(row.known for row in rows), sum(row.own for row in rows)
    return known >= LEAST_ROWS and own >= LEAST_OWN and known >= SHARE * len(rows)


def _run(rows: list[_Row], y: float) -> list[_Row]:
    """The rows from `y` on, as far as each is the next one's neighbour."""
    run: list[_Row] = []
    for row in rows:
        if abs(row.y - y) > PITCH:
            break
        run.append(row)
        y = row.y
    return run
