"""Desktops that no Debian package has, drawn in HTML after the real ones: bars, icons and windows of Windows and macOS.

Every part that is not the application is marked with `data-f` (which surface it is).
"""

from __future__ import annotations

import random

from benchmarks.rendered.pages import DATA, ICONS, PageStyle, page

STYLE = """<style>
.desk { position: fixed; inset: 0; font: %(size)spx '%(font)s'; overflow: hidden; }
.desk .at { position: absolute; display: flex; align-items: center; white-space: nowrap; }
.desk .glyph { display: inline-block; border-radius: 4px; flex: none; }
.desk .lights i { width: 12px; height: 12px; border-radius: 6px; display: inline-block; margin-right: 8px; }
.desk .window { position: absolute; display: flex; flex-direction: column; box-shadow: 0 4px 24px rgba(0,0,0,.4);
  overflow: hidden; }
.desk .inside { flex: 1; position: relative; overflow: hidden; transform: translate(0, 0); }
</style>"""
WALLPAPERS = (
    "linear-gradient(120deg,#0078d7,#003f7f)",
    "#3a6ea5",
    "radial-gradient(circle at 70%% 40%%,#4cc2ff,#0a3d91 60%%)",
    "linear-gradient(160deg,#f7b267,#7b2d8b 55%%,#1b1464)",
    "#1f1f1f",
    "linear-gradient(#e3f2e1,#6aa66a)",
)
COLOURS = ("#e34c26", "#0a84ff", "#30b35a", "#f5b301", "#8e44ad", "#2d3436", "#e17055", "#00a8a8")
DESKTOP_NAMES = {
    "fr": ("Ce PC", "Corbeille", "Microsoft Edge", "Documents", "Rapports 2026", "Planning.xlsx"),
    "en": ("This PC", "Recycle Bin", "Microsoft Edge", "Documents", "Reports 2026", "Planning.xlsx"),
}
MENUS = {
    "fr": ("Fichier", "Édition", "Présentation", "Historique", "Signets", "Fenêtre", "Aide"),
    "en": ("File", "Edit", "View", "History", "Bookmarks", "Window", "Help"),
}
SEARCH = {"fr": "Taper ici pour rechercher", "en": "Type here to search"}
RUNNING = {"fr": ("Imagerie", "Courriers", "Messages"), "en": ("Imaging", "Letters", "Messages")}


def desktop(rng: random.Random, style: PageStyle) -> tuple[str, str]:
    """A title and the HTML of a desktop with one window on it."""
    kind = rng.choice(("win10", "win10_left", "win11", "mac"))
    mac = kind == "mac"
    title, body = page(rng, style)
    bars = {"win10": _win10, "win10_left": _win10_left, "win11": _win11, "mac": _mac}[kind](rng, style)
    x0, y0 = (70, 0) if kind == "win10_left" else (0, 26) if mac else (0, 0)
    bottom = {"win10": 40, "win11": 48, "mac": 90}.get(kind, 0)
    place = f"left:{x0}px;top:{y0}px;right:0;bottom:{bottom}px"
    icons = ""
    if rng.random() < 0.6:
        place = (
            f"left:{x0 + 130}px;top:{y0 + rng.randint(10, 60)}px;right:{rng.randint(90, 140)}px;bottom:{bottom + 25}px"
        )
        icons = _icons(rng, style, right=mac, x=x0)
    frame = rng.choice((_safari, _chrome_mac) if mac else (_edge, _plain_window))
    window = frame(rng, style, title, f'<div class="inside">{body}</div>', place)
    sheet = STYLE % {"size": 12 if not mac else 13, "font": style.font}
    wall = rng.choice(WALLPAPERS).replace("%%", "%")
    return title, f'{sheet}<div class="desk" style="background:{wall}">{icons}{window}{bars}</div>'


def _tile(rng: random.Random, size: int, surface: str | None = None) -> str:
    """A square icon of one colour with a lighter sign on it."""
    mark = f' data-f="{surface}"' if surface else ""
    colour, sign = rng.choice(COLOURS), rng.choice(("50%", "3px"))
    half = size // 2
    return (
        f'<span class="glyph"{mark} style="width:{size}px;height:{size}px;background:{colour}">'
        f'<i style="display:block;margin:{size // 4}px;width:{half}px;height:{half}px;background:#fff;'
        f'border-radius:{sign}"></i></span>'
    )


def _clock(rng: random.Random, lang: str, *, two_lines: bool) -> str:
    hour, minute = rng.randint(0, 23), rng.randint(0, 59)
    time = f"{hour}:{minute:02}" if lang == "fr" else f"{(hour % 12) or 12}:{minute:02} {'AM' if hour < 12 else 'PM'}"
    date = "12/03/2026" if lang == "fr" else "3/12/2026"
    return f"{time}<br>{date}" if two_lines else time


def _tray(rng: random.Random, style: PageStyle, *, clock: bool = True, height: int = 40) -> str:
    marks = "".join(f'<span style="margin:0 5px">{ICONS[name]}</span>' for name in rng.sample(sorted(ICONS), 3))
    shown = (
        f'<div style="text-align:center;margin:0 14px">{_clock(rng, style.lang, two_lines=True)}</div>' if clock else ""
    )
    return (
        f'<div class="at" data-f="taskbar" style="right:8px;height:{height}px">{marks}'
        f"<span style='margin:0 6px'>{style.lang.upper()}</span>{shown}</div>"
    )


def _bar_colours(rng: random.Random, style: PageStyle) -> tuple[str, str]:
    if style.dark or rng.random() < 0.5:
        return rng.choice(("#101010", "#1f2430", "#202020", "#0b2545")), "#f0f0f0"
    return rng.choice(("#eef3f9", "#e4e4e4", "#f3f3f3")), "#1b1b1b"


def _win10(rng: random.Random, style: PageStyle) -> str:
    ground, ink = _bar_colours(rng, style)
    icons = "".join(f'<span style="margin:0 12px">{_tile(rng, 22, "taskbar")}</span>' for _ in range(rng.randint(3, 7)))
    running = (
        f'<span data-f="taskbar" style="border-bottom:2px solid #4aa3ff;padding:11px 20px">{name}</span>'
        for name in rng.sample(RUNNING[style.lang], 2)
    )
    box = "#ffffff;color:#444" if rng.random() < 0.5 else f"{ground};border:1px solid #888"
    return (
        f'<div class="at" style="left:0;right:0;bottom:0;height:40px;background:{ground};color:{ink}">'
        f'<span data-f="taskbar" style="padding:10px 14px">{_tile(rng, 18)}</span>'
        f'<span data-f="taskbar" style="width:300px;line-height:38px;padding-left:40px;background:{box}">'
        f"{SEARCH[style.lang]}</span>{icons}{''.join(running)}{_tray(rng, style, clock=rng.random() < 0.7)}</div>"
    )


def _win10_left(rng: random.Random, style: PageStyle) -> str:
    ground, ink = _bar_colours(rng, style)
    icons = "".join(f'<div style="margin:14px 0">{_tile(rng, 24, "taskbar")}</div>' for _ in range(rng.randint(5, 9)))
    clock = _clock(rng, style.lang, two_lines=True)
    return (
        '<div class="at" style="left:0;top:0;bottom:0;width:70px;flex-direction:column;'
        f'background:{ground};color:{ink}">'
        f'{icons}<div data-f="taskbar" style="margin:auto 0 10px;text-align:center">{clock}</div></div>'
    )


def _win11(rng: random.Random, style: PageStyle) -> str:
    ground, ink = _bar_colours(rng, style)
    icons = "".join(f'<span style="margin:0 11px">{_tile(rng, 24, "taskbar")}</span>' for _ in range(rng.randint(5, 9)))
    return (
        f'<div class="at" style="left:0;right:0;bottom:0;height:48px;background:{ground};color:{ink};'
        f'border-top:1px solid rgba(128,128,128,.35);justify-content:center">{icons}'
        f"{_tray(rng, style, clock=rng.random() < 0.6, height=48)}</div>"
    )


def _mac(rng: random.Random, style: PageStyle) -> str:
    ground, ink = ("#2a2630", "#ffffff") if style.dark else (rng.choice(("#f2f0f3", "#d9e4ee")), "#000000")
    menus = "".join(f'<span data-f="menu_bar" style="margin-left:20px">{name}</span>' for name in MENUS[style.lang])
    marks = "".join(f'<span style="margin:0 7px">{ICONS[name]}</span>' for name in rng.sample(sorted(ICONS), 4))
    clock = (
        f'<span style="margin:0 12px">{_clock(rng, style.lang, two_lines=False)}</span>' if rng.random() < 0.6 else ""
    )
    icons = "".join(f'<span style="margin:0 5px">{_tile(rng, 52, "dock")}</span>' for _ in range(rng.randint(8, 15)))
    dock = (
        '<div class="at" style="bottom:6px;left:50%;transform:translate(-50%,0);padding:7px 10px;border-radius:18px;'
        f'background:rgba(200,200,210,.35);border:1px solid rgba(255,255,255,.3)">{icons}</div>'
    )
    bar = (
        f'<div class="at" style="left:0;right:0;top:0;height:26px;background:{ground};color:{ink};padding-left:18px">'
        f'{_tile(rng, 14)}<b data-f="menu_bar" style="margin-left:20px">Safari</b>{menus}'
        f'<span class="at" data-f="menu_bar" style="right:0;height:26px">{marks}{clock}</span></div>'
    )
    return bar + dock


def _icons(rng: random.Random, style: PageStyle, *, right: bool, x: int) -> str:
    names = DESKTOP_NAMES[style.lang][: rng.randint(3, 6)]
    side = "right:14px" if right else f"left:{x + 14}px"
    made = (
        f'<div style="margin-bottom:22px;text-align:center">{_tile(rng, 48)}<br>'
        f'<span data-f="desktop" style="text-shadow:0 1px 2px #000">{name}</span></div>'
        for name in names
    )
    return f'<div class="at" style="{side};top:40px;width:96px;color:#fff;flex-direction:column">{"".join(made)}</div>'


def _window(place: str, ground: str, ink: str, body: str) -> str:
    return f'<div class="window" style="{place};background:{ground};color:{ink}">{body}</div>'


def _lights() -> str:
    return (
        '<span class="lights" data-f="title_bar"><i style="background:#ff5f57"></i><i style="background:#febc2e"></i>'
        '<i style="background:#28c840"></i></span>'
    )


def _controls(ink: str) -> str:
    cross = f'<path d="M1 1l9 9M10 1l-9 9" stroke="{ink}"/>'
    shapes = (
        f'<path d="M1 6h9" stroke="{ink}"/>',
        f'<path d="M1.500 1.500h8v8h-8z" fill="none" stroke="{ink}"/>',
        cross,
    )
    made = (f'<svg width="11" height="11" style="margin:0 17px">{shape}</svg>' for shape in shapes)
    return f'<span class="at" data-f="title_bar" style="right:0">{"".join(made)}</span>'


def _chrome_colours(style: PageStyle) -> dict[str, str]:
    if style.dark:
        return {"strip": "#1c1d20", "bar": "#2f3136", "field": "#1e1f22", "ink": "#e6e6e6", "off": "#888888"}
    return {"strip": "#dfe3e8", "bar": "#f7f8fa", "field": "#ffffff", "ink": "#202020", "off": "#a8a8a8"}


def _address(rng: random.Random) -> str:
    host, path = rng.choice(DATA["hosts"]), rng.choice(DATA["paths"])
    return rng.choice((f"https://{host}/{path}", f"{host}/{path}", host))


def _edge(rng: random.Random, style: PageStyle, title: str, inside: str, place: str) -> str:
    c = _chrome_colours(style)
    look = f"background:{c['bar']};padding:9px 14px;width:220px;margin-left:60px"
    tabs = f'<span data-f="tab_strip" style="{look}">{title}</span>'
    for name in rng.sample(RUNNING[style.lang], 2):
        tabs += f'<span data-f="tab_strip" style="padding:9px 14px;width:200px">{name}</span>'
    nav = "".join(
        f'<span data-f="address_bar" style="margin:0 9px">{ICONS[n]}</span>' for n in ("left", "loop", "home")
    )
    tools = "".join(
        f'<span data-f="address_bar" style="margin:0 9px">{ICONS[n]}</span>' for n in ("star", "lens", "dots")
    )
    field = (
        f'<span data-f="address_bar" style="flex:1;background:{c["field"]};border-radius:15px;padding:5px 14px;'
        f'margin:0 10px;font-size:14px">{ICONS["lens"]} &nbsp;{_address(rng)}</span>'
    )
    return _window(
        place,
        c["bar"],
        c["ink"],
        f'<div style="height:42px;background:{c["strip"]};display:flex;align-items:flex-end;position:relative">{tabs}'
        f'<span class="at" style="right:0;top:14px">{_controls(c["ink"])}</span></div>'
        f'<div style="height:42px;display:flex;align-items:center">{nav}{field}{tools}</div>{inside}',
    )


def _chrome_mac(rng: random.Random, style: PageStyle, title: str, inside: str, place: str) -> str:
    return _edge(rng, style, title, inside, place).replace("margin-left:60px", "margin-left:90px", 1).replace(
        '<div style="height:42px;background', f'<span class="at" style="left:14px;top:15px">{_lights()}</span>'
        '<div style="height:42px;background', 1
    )  # fmt: skip


def _safari(rng: random.Random, style: PageStyle, title: str, inside: str, place: str) -> str:  # noqa: ARG001
    c = _chrome_colours(style)
    nav = (
        f'<span style="margin:0 9px 0 30px">{ICONS["left"]}</span>'
        f'<span style="margin:0 9px;color:{c["off"]}">{ICONS["right"]}</span>'
    )
    field = (
        f'<span data-f="address_bar" style="position:absolute;left:31%;width:38%;background:{c["field"]};'
        'border-radius:7px;padding:6px 0;text-align:center;border:1px solid rgba(128,128,128,.25)">'
        f"{rng.choice(DATA['hosts'])}</span>"
    )
    tools = "".join(f'<span style="margin:0 10px">{ICONS[n]}</span>' for n in ("home", "loop", "dots"))
    return _window(
        place,
        c["bar"],
        c["ink"],
        f'<div style="height:52px;display:flex;align-items:center;padding-left:18px;position:relative">{_lights()}{nav}'
        f'{field}<span data-f="address_bar" style="margin-left:auto">{tools}</span></div>'
        f'<div style="height:1px;background:rgba(128,128,128,.4)"></div>{inside}',
    )


def _plain_window(rng: random.Random, style: PageStyle, title: str, inside: str, place: str) -> str:
    c = _chrome_colours(style)
    bar = rng.choice((c["bar"], c["strip"], "#2b579a"))
    ink = "#ffffff" if bar == "#2b579a" else c["ink"]
    return _window(
        place,
        c["bar"],
        c["ink"],
        f'<div style="height:31px;background:{bar};color:{ink};display:flex;align-items:center;position:relative;'
        f'padding-left:10px"><span data-f="title_bar">{title}</span>{_controls(ink)}</div>{inside}',
    )
