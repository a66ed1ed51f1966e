"""Window titles: does a title name the application that is expected?

A title is a row of parts, "document - application". An expected name is compared with whole parts, never with a piece
of one: "Edge" is not in "Knowledge base", and "DPI - Dossier patient" is in "DPI - Dossier patient - Google Chrome"
(DESIGN section 9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from otel_validation.vision.text import MatchKind, compact, fold, match

SEPARATOR = re.compile(r"\s+[-\u2010-\u2015|\u00b7\u2022]+\s*|\s*[-\u2010-\u2015|\u00b7\u2022]+\s+")
"""Between two parts. A space may be lost to OCR on one side; a dash with none is a hyphen."""
BADGE = re.compile(r"^(?:[*\u25cf\u2022]\s*|\(\d+\+?\)\s*)+")
"""What an application writes before its title: a document not saved, a count of messages."""
MORE_TABS = re.compile(r"\s+(?:and|et)\s+\d+\s+(?:other|more|autres?)\s+\w+$", re.IGNORECASE)
"""Edge: "DPI and 2 more pages - Microsoft Edge"."""
HUNG = re.compile(r"\s*\((?:not responding|ne r[e\u00e9]pond pas)\)\s*$", re.IGNORECASE)
"""What Windows adds to the title of a window that answers no events."""
VENDORS = frozenset({"microsoft", "google", "mozilla", "apache", "adobe", "libreoffice"})
"""First words that an application's name is as often given without."""
BROWSERS = frozenset(
    {"chrome", "chromium", "edge", "firefox", "internet explorer", "opera", "brave", "safari", "vivaldi"}
)
"""Names that say in what a page is shown, not which application it is."""
PROFILE = re.compile(r"^(?:profile?|person(?:al|nel)|work|travail|inprivate|incognito)(?:\s+\d+)?$")
"""Names of a browser's profiles, which Edge writes before its own."""
PROGRAMS = {
    "msedge": "edge",
    "iexplore": "internet explorer",
    "winword": "word",
    "powerpnt": "powerpoint",
    "soffice.bin": "libreoffice",
    "soffice": "libreoffice",
    "code": "visual studio code",
    "mstsc": "remote desktop connection",
}
"""Program files that bear another name than their application."""
ELLIPSIS = "\u2026"
ANY = "*"


class Agreement(StrEnum):
    """How a title stands to what is expected."""

    SAME = "same"
    """The expected parts are there, whole."""
    PART = "part"
    """Its first or last part is there, the rest is not: most often the same application on another document."""
    UNSURE = "unsure"
    """Too close, or too much cut off, to tell."""
    OTHER = "other"
    """Another application's title."""


def title_parts(title: str) -> list[str]:
    """The parts of a title, without what applications add to it (counts, marks, "Not responding")."""
    title = BADGE.sub("", HUNG.sub("", title.strip()))
    return [MORE_TABS.sub("", part) for part in _split(title)]


def is_hung(title: str) -> bool:
    """Whether Windows says that the window does not respond."""
    return HUNG.search(title) is not None


def agreement(expected: str, title: str, *, exact: bool, cut: bool = False) -> Agreement:
    """How `title` stands to `expected`; `*` in `expected` stands for any text.

    `exact` is for titles that the operating system told: only case, accents, spaces and punctuation are forgiven.
    Without it what OCR gets wrong is too. `cut` says that the end of the title could not be seen.
    """
    shown = [_bare(part) for part in title_parts(title)]
    want = [_bare(part) for part in _without_browser(_split(expected))]
    if not shown or not want:
        return Agreement.UNSURE
    joined = " - ".join(want)
    sizes = range(1, len(shown) + 1) if ANY in joined else range(max(1, len(want) - 1), len(want) + 2)
    kinds = {_kind(joined, run) for run in _neighbours(shown, sizes, cut=cut)}
    if any(_accepted(kind, exact=exact) for kind in kinds):
        return Agreement.SAME
    if cut or (MatchKind.UNSURE in kinds and not exact):
        return Agreement.UNSURE
    own = _without_browser(shown)
    ends = zip((want[0], want[-1]), (own[0], own[-1]), strict=True)
    agree = any(_accepted(_kind(a, b), exact=exact) for a, b in ends)
    return Agreement.PART if agree else Agreement.OTHER


def names_application(name: str, title: str, *, exact: bool, cut: bool = False) -> Agreement:
    """Whether `title` names the application `name`, as one whole part or several: "Edge" is in "X - Microsoft Edge".

    As `agreement`, but never PART.
    """
    found = agreement(name, title, exact=exact, cut=cut)
    return Agreement.OTHER if found is Agreement.PART else found


def in_front(
    *,
    title: str | None,
    application: str | None,
    shown: str | None,
    process: str | None,
    exact: bool,
    cut: bool = False,
) -> Agreement:
    """How the window in front, of which the title `shown` and the program `process` are known as far as not None,
    stands to the expected `title` and `application` (as far as not None).

    The application goes first: where it is the expected one, another title is another document of it (PART). A browser
    tells nothing by its own program: the page's title does.
    """
    if application is not None:
        found = _runs(application, shown, process, exact=exact, cut=cut)
        if title is None or found is not Agreement.SAME:
            return found
        document = Agreement.UNSURE if shown is None else agreement(title, shown, exact=exact, cut=cut)
        return Agreement.PART if document is Agreement.OTHER else document
    if title is None or shown is None:
        return Agreement.UNSURE
    return agreement(title, shown, exact=exact, cut=cut)


def runs_application(name: str, process: str) -> bool:
    """Whether the program file `process` ("msedge.exe") is that of the application `name` ("Edge", "msedge.exe")."""
    wanted, running = (_program(text) for text in (name, process))
    return bool(wanted) and wanted == running


def is_browser(process: str) -> bool:
    """Whether the program shows pages: then its name does not tell which application is in it."""
    return _program(process) in {compact(name) for name in BROWSERS}


def best(found: Iterable[Agreement]) -> Agreement:
    """The best of several: SAME, PART, UNSURE, then OTHER; OTHER where there is none."""
    order = list(Agreement)
    return min(found, key=order.index, default=Agreement.OTHER)


def _runs(application: str, shown: str | None, process: str | None, *, exact: bool, cut: bool) -> Agreement:
    if process is not None and runs_application(application, process):
        return Agreement.SAME
    if shown is not None:
        return names_application(application, shown, exact=exact, cut=cut)
    return Agreement.UNSURE if process is None or is_browser(process) else Agreement.OTHER


def _program(name: str) -> str:
    stem = re.sub(r"\.(exe|bin|app)$", "", fold(name))
    return compact(_bare(PROGRAMS.get(stem, stem)))


def _bare(part: str) -> str:
    """A name without the vendor before it."""
    first, _, rest = part.partition(" ")
    return rest.strip() if rest.strip() and fold(first) in VENDORS else part


def _without_browser(parts: list[str]) -> list[str]:
    """The parts without those that name a browser or its profile, unless there are no others."""
    own = [part for part in parts if fold(_bare(part)) not in BROWSERS and not PROFILE.match(fold(part))]
    return own or parts


def _split(title: str) -> list[str]:
    return [part.strip() for part in SEPARATOR.split(title) if any(char.isalnum() for char in part)]


def _neighbours(parts: list[str], sizes: range, *, cut: bool) -> Iterator[str]:
    """Neighbouring parts together, so many of them: OCR may lose or add a separator."""
    for size in {min(size, len(parts)) for size in sizes} if cut else sizes:
        for first in range(len(parts) - size + 1):
            run = " - ".join(parts[first : first + size])
            yield run + ELLIPSIS if cut and first + size == len(parts) else run


def _kind(want: str, run: str) -> MatchKind:
    if ANY not in want:
        return match(want, run).kind
    pieces = [compact(fold(piece)) for piece in want.split(ANY)]
    found = re.fullmatch(".*".join(map(re.escape, pieces)), compact(fold(run)))
    return MatchKind.EXACT if found and any(pieces) else MatchKind.NONE


def _accepted(kind: MatchKind, *, exact: bool) -> bool:
    if exact:
        return kind in {MatchKind.EXACT, MatchKind.SPACELESS}
    return kind not in {MatchKind.NONE, MatchKind.UNSURE}
