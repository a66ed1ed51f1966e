"""The pages: business applications in HTML. Every label that may be clicked is marked with `data-t`."""

from __future__ import annotations

import html
import random
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from string import Template

DATA = tomllib.loads(files("benchmarks.rendered").joinpath("words.toml").read_text("utf-8"))
"""The words by language, addresses, and palettes."""

ARROW = (
    '<svg viewBox="0 0 16 16" width="1.15em" height="1.15em">'
    '<path d="{}" fill="none" stroke="currentColor" stroke-width="1.6"/></svg>'
)
ICONS = {
    "left": ARROW.format("M14 8H3M8 3 3 8l5 5"),
    "right": ARROW.format("M2 8h11M8 3l5 5-5 5"),
    "loop": ARROW.format("M13 8a5 5 0 1 1-1.5-3.6M12 1v4H8"),
    "home": ARROW.format("M2 8 8 2l6 6M4 7v7h8V7"),
    "star": ARROW.format("M8 2l2 4 4 .6-3 3 .7 4.2L8 12l-3.700 1.800.7-4.200-3-3 4-.6z"),
    "lens": ARROW.format("M10 10l4 4M7 11a4 4 0 1 1 0-8 4 4 0 0 1 0 8"),
    "dots": ARROW.format("M8 3v1M8 7.500v1M8 12v1"),
}

STYLE = Template(files("benchmarks.rendered").joinpath("page.css").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class PageStyle:
    """How a page is drawn; `size` is the body text's, in CSS pixels."""

    lang: str
    dark: bool
    font: str
    size: int


def page(rng: random.Random, style: PageStyle, *, kind: str | None = None) -> tuple[str, str]:
    """A page's title and its HTML body with a style sheet."""
    words = _Words(rng, style.lang)
    palette = rng.choice(DATA["dark" if style.dark else "light"])
    sheet = STYLE.substitute(
        **palette, size=style.size, font=style.font, gap=rng.choice((0.2, 0.6, 1.2)), radius=rng.choice((0, 3, 6, 14))
    )
    builder = KINDS[kind or rng.choice(sorted(KINDS))]
    return words.title, f"<style>{sheet}</style>{builder(rng, words)}"


class _Words:
    """Draws each word once, so that a label is on its page once (unless the page's kind says it twice)."""

    def __init__(self, rng: random.Random, lang: str) -> None:
        self._left = {kind: rng.sample(words, len(words)) for kind, words in DATA[lang].items()}
        self.title = self._left["title"][0]

    def next(self, kind: str, *, mark: bool = True) -> str:
        """The next word of its kind, marked as a label."""
        words = self._left[kind]
        text = words.pop() if len(words) > 1 else words[0]
        return f'<span data-t="{kind}">{html.escape(text)}</span>' if mark else html.escape(text)


def _header(rng: random.Random, words: _Words) -> str:
    mail = '<span style="margin-left:auto">martin.d@chu-lyon.fr</span>' if rng.random() < 0.5 else ""
    return f"<header><b style='font-size:1.3em'>{words.title}</b>{mail}</header>"


def _tabs(rng: random.Random, words: _Words) -> str:
    count = rng.randint(4, 7)
    return "<nav>" + "".join(_tab(words.next("tab"), on=i == 0) for i in range(count)) + "</nav>"


def _tab(label: str, *, on: bool) -> str:
    return f'<span class="{"on" if on else ""}">{label}</span>'


def _buttons(rng: random.Random, words: _Words, most: int = 5) -> str:
    keys = ["key", *[""] * most]
    made = (f'<button class="{keys[i]}">{words.next("button")}</button>' for i in range(rng.randint(3, most)))
    return "<p>" + "".join(made) + "</p>"


def _pairs(rng: random.Random, words: _Words) -> str:
    rows = (f"<p>{words.next('field')}<span>{words.next('value')}</span></p>" for _ in range(rng.randint(4, 8)))
    return f'<div class="rows">{"".join(rows)}</div>'


def _record(rng: random.Random, words: _Words) -> str:
    return (
        f"{_header(rng, words)}{_tabs(rng, words)}<main>{_pairs(rng, words)}</main><main>{_buttons(rng, words)}</main>"
    )


def _list(rng: random.Random, words: _Words) -> str:
    search = f'<span class="field wide">{words.next("placeholder", mark=False)}</span>'
    heads = "".join(f"<th>{words.next('field')}</th>" for _ in range(4))
    rows = ""
    for _ in range(4):
        cells = "".join(f"<td>{words.next('value')}</td>" for _ in range(3))
        rows += f"<tr>{cells}<td><a>{words.next('link')}</a></td></tr>"
    tools = f"<div class='bar'>{search}{_buttons(rng, words, 4)}</div>"
    return f"{_header(rng, words)}{tools}<main><table><tr>{heads}</tr>{rows}</table></main>"


def _sidebar(rng: random.Random, words: _Words) -> str:
    side = "".join(words.next("menu") for _ in range(rng.randint(6, 11)))
    cards = "".join(
        f"<div class='card'><b>{words.next('card')}</b><p>{words.next('value')}</p><a>{words.next('link')}</a></div>"
        for _ in range(2)
    )
    return (
        f"{_header(rng, words)}<div style='display:flex;height:100%'><aside>{side}</aside>"
        f"<div><main>{cards}</main><main>{_buttons(rng, words)}</main></div></div>"
    )


def _form(rng: random.Random, words: _Words) -> str:
    rows = "".join(
        f'<p>{words.next("field")}<span class="field">{words.next("value")}</span></p>'
        for _ in range(rng.randint(4, 7))
    )
    boxes = "".join(f'<p><input type="checkbox" style="width:auto">{words.next("menu")}</p>' for _ in range(3))
    return f"{_tabs(rng, words)}<main><div class='rows'>{rows}{boxes}{_buttons(rng, words)}</div></main>"


def _toolbar(rng: random.Random, words: _Words) -> str:
    """A page whose own bar resembles a browser's: arrows, a wide field, a row of links under it."""
    icons = "".join(ICONS[name] for name in rng.sample(sorted(ICONS), 3))
    field = f'<span class="field wide" style="flex:1">{words.next("placeholder", mark=False)}</span>'
    links = "".join(f"<a>{words.next('menu')}</a>" for _ in range(6))
    return (
        f"<div class='bar'>{icons}{field}{ICONS['star']}{ICONS['dots']}</div><div class='bar'>{links}</div>"
        f"<main>{_pairs(rng, words)}</main><main>{_buttons(rng, words)}</main>"
    )


KINDS = {"record": _record, "list": _list, "sidebar": _sidebar, "form": _form, "toolbar": _toolbar}
