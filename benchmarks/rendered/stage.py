"""A virtual desktop (window manager, panel, icons) and a browser on it, as a look says."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.rendered.desktops import DESKTOP_NAMES
from benchmarks.rendered.pages import DATA
from scripts.headful import RenderError, running, virtual_screen, xdotool

if TYPE_CHECKING:
    from benchmarks.rendered.looks import Look

PACKAGES = {
    "Xvfb": "xvfb", "chromium": "chromium", "firefox": "firefox-esr", "xdotool": "xdotool", "openbox": "openbox",
    "wmctrl": "wmctrl",
    "xfwm4": "xfwm4", "icewm": "icewm", "metacity": "metacity", "marco": "marco", "jwm": "jwm", "lxpanel": "lxpanel",
    "tint2": "tint2", "xfce4-panel": "xfce4-panel", "plank": "plank", "mate-panel": "mate-panel", "pcmanfm": "pcmanfm",
    "xwininfo": "x11-utils", "xsetroot": "x11-xserver-utils", "dbus-run-session": "dbus", "fc-list": "fontconfig",
}  # fmt: skip
"""Program -> the Debian package that has it."""
ALSO = (
    "chromium-l10n", "firefox-esr-l10n-fr", "fonts-liberation", "fonts-dejavu-core", "fonts-roboto", "fonts-noto-core",
    "fonts-open-sans", "fonts-lato", "fonts-inter", "fonts-cantarell", "fonts-freefont-ttf", "arc-theme",
    "materia-gtk-theme", "numix-gtk-theme", "greybird-gtk-theme", "adwaita-icon-theme",
)  # fmt: skip
SETTLE_S = 1.5
PANEL_CLASSES = {
    "lxpanel": r'"panel" "lxpanel"', "tint2": r'"tint2" "Tint2"', "xfce4-panel": r'"xfce4-panel" "Xfce4-panel"',
    "mate-panel": r'"mate-panel" "Mate-panel"', "icewm": r'"icewm-?[a-z]*" "[iI]ce',
    "jwm": r'"JWM" "JWM"',
}  # fmt: skip
"""Of those whose window is their bar: plank's is as wide as the screen, and see-through beside its launchers."""
FIREFOX_LIGHT, FIREFOX_DARK = "firefox-compact-light@mozilla.org", "firefox-compact-dark@mozilla.org"


@dataclass(frozen=True, slots=True)
class Stage:
    """A running desktop: its display, its look and the environment of programs on it."""

    display: str
    look: Look
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What programs on the stage are started with."""
        lang = {"fr": "fr", "en": "en"}[self.look.lang]
        return {
            "DISPLAY": self.display,
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "GTK_THEME": self.look.gtk_theme,
            "LANGUAGE": lang,
            "NO_AT_BRIDGE": "1",
        }

    def panels(self) -> list[tuple[int, int, int, int]]:
        """x, y, width and height of the panel's windows, on the screen."""
        pattern = PANEL_CLASSES.get(self.look.panel) or PANEL_CLASSES.get(self.look.manager)
        if pattern is None:
            return []
        tree = subprocess.run(
            ["xwininfo", "-root", "-tree"], check=True, capture_output=True, text=True, env=self.environment | _PATH
        ).stdout
        found = []
        for line in tree.splitlines():
            size = re.search(r"(\d+)x(\d+)\+-?\d+\+-?\d+\s+\+(-?\d+)\+(-?\d+)$", line)
            if re.search(pattern, line) and size:
                width, height, x, y = map(int, size.groups())
                if min(width, height) >= 20 and max(width, height) >= 100 and height < 200:
                    found.append((x, y, width, height))
        return found


_PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def missing_packages() -> list[str]:
    """The Debian packages of programs that this machine lacks; with any, all that the set needs."""
    lacking = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    return sorted({*lacking, *ALSO}) if lacking else []


@contextlib.contextmanager
def stage(look: Look, home: Path) -> Iterator[Stage]:
    """The desktop of a look, without the browser."""
    _write_home(look, home)
    with virtual_screen(*look.screen) as display, contextlib.ExitStack() as running_now:
        made = Stage(display, look, home)
        colour = random_colour(look.seed)
        subprocess.run(["xsetroot", "-solid", colour], check=False, env=made.environment | _PATH)
        commands = [] if look.kind in {"mock", "page"} else _desktop_commands(look)
        for command in commands or [["openbox"]]:
            # each in a message bus of its own, so that no panel of another stage is spoken to
            running_now.enter_context(running(["dbus-run-session", "--", *command], **made.environment))
            time.sleep(0.4)
        time.sleep(SETTLE_S if commands else 0.3)
        yield made


def random_colour(seed: int) -> str:
    """The desktop's colour."""
    return ("#3a6ea5", "#1f2933", "#2e7d5b", "#5b4b8a", "#d0d4d8")[seed % 5]


def _desktop_commands(look: Look) -> list[list[str]]:
    manager = look.manager.partition(":")[0]
    commands = [[manager, "--compositor=off"] if manager == "xfwm4" else [manager]]
    if look.desktop_icons:
        commands.append(["pcmanfm", "--desktop"])
    if look.panel != "none" and manager not in {"icewm", "jwm"}:
        commands.append([look.panel])
    return commands


def _write_home(look: Look, home: Path) -> None:
    theme = look.manager.partition(":")[2] or "Clearlooks"
    files = {
        ".config/openbox/rc.xml": '<?xml version="1.0"?><openbox_config xmlns="http://openbox.org/3.4/rc"><theme>'
        f"<name>{theme}</name></theme></openbox_config>",
        ".config/gtk-3.0/settings.ini": f"[Settings]\ngtk-theme-name={look.gtk_theme}\n",
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (home / "Desktop").mkdir(exist_ok=True)
    for name in DESKTOP_NAMES[look.lang] if look.desktop_icons else ():
        (home / "Desktop" / name).write_text("", encoding="utf-8")


@contextlib.contextmanager
def browser(on: Stage, port: int, host: str, *, tabs: int) -> Iterator[None]:
    """The look's browser with its first page loading, maximised or where the look places it."""
    hosts = [host, *(f"tab{i}.example.org" for i in range(tabs))]
    paths = ["", *["other"] * tabs]
    if on.look.kind == "firefox":
        command = _firefox(on, hosts, [f"http://{h}:{port}/{p}" for h, p in zip(hosts, paths, strict=True)])
    else:
        command = _chromium(on, port, [f"http://{h}/{p}" for h, p in zip(hosts, paths, strict=True)])
    with running(command, **on.environment):
        yield


def _window(look: Look) -> tuple[int, int, int, int]:
    x, y, w, h = look.place or (0, 0, 1, 1)
    wide, high = look.screen
    return round(x * wide), round(y * high), round(w * wide), round(h * high)


def _chromium(on: Stage, port: int, urls: list[str]) -> list[str]:
    look, profile = on.look, on.home / "chromium"
    (profile / "Default").mkdir(parents=True)
    settings = {
        "browser": {"custom_chrome_frame": not look.framed},
        "bookmark_bar": {"show_on_all_tabs": look.bookmarks},
        "extensions": {"theme": {"system_theme": 0}},
    }
    (profile / "Default" / "Preferences").write_text(json.dumps(settings), encoding="utf-8")
    (profile / "Default" / "Bookmarks").write_text(json.dumps(_bookmarks()), encoding="utf-8")
    x, y, w, h = (round(value / look.scale) for value in _window(look))
    alone = look.kind in {"mock", "page"}
    return [
        "chromium", "--no-sandbox", "--test-type", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-lcd-text",
        "--password-store=basic", "--disable-features=Translate,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
        f"--lang={look.lang}", f"--user-data-dir={profile}", f"--force-device-scale-factor={look.scale}",
        f"--window-position={x},{y}", f"--window-size={w},{h}",
        *(["--kiosk"] if alone else [] if look.place else ["--start-maximized"]),
        *(["--force-dark-mode"] if look.dark else []),
        f"--host-resolver-rules=MAP * 127.0.0.1:{port}",
        *(urls[:1] if alone else urls),
    ]  # fmt: skip


def _bookmarks() -> dict[str, object]:
    names = DATA["bookmarks"]
    children = [
        {"type": "url", "id": str(i + 10), "guid": f"00000000-0000-4000-a000-0000000000{i + 10}", "name": name,
         "url": f"http://b{i}.example.org/", "date_added": "0"}
        for i, name in enumerate(names)
    ]  # fmt: skip
    empty = {"type": "folder", "children": [], "date_added": "0"}
    return {
        "version": 1,
        "roots": {
            "bookmark_bar": {**empty, "id": "1", "name": "Bar", "children": children},
            "other": {**empty, "id": "2", "name": "Other"},
            "synced": {**empty, "id": "3", "name": "Mobile"},
        },
    }


def _firefox(on: Stage, hosts: list[str], urls: list[str]) -> list[str]:
    look, profile = on.look, on.home / "firefox"
    profile.mkdir()
    x, y, w, h = _window(look)
    preferences: dict[str, object] = {
        "network.dns.localDomains": ",".join(hosts),
        "browser.fixup.domainsuffixwhitelist.example": True,
        "browser.aboutwelcome.enabled": False,
        "browser.shell.checkDefaultBrowser": False,
        "datareporting.policy.dataSubmissionPolicyBypassNotification": True,
        "datareporting.policy.dataSubmissionEnabled": False,
        "browser.startup.homepage_override.mstone": "ignore",
        "startup.homepage_welcome_url": "",
        "termsofuse.bypassNotification": True,
        "browser.preonboarding.enabled": False,
        "trailhead.firstrun.didSeeAboutWelcome": True,
        "browser.tabs.warnOnClose": False,
        "browser.tabs.inTitlebar": 0 if look.framed else 1,
        "layout.css.devPixelsPerPx": str(look.scale),
        "intl.locale.requested": look.lang,
        "extensions.activeThemeID": FIREFOX_DARK if look.dark else FIREFOX_LIGHT,
        "browser.toolbars.bookmarks.visibility": "always" if look.bookmarks else "never",
        "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False,
        "dom.security.https_first": False,
        "geo.provider.network.url": "",
        "sidebar.revamp": False,
    }
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items())
    (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
    size = {"screenX": x, "screenY": y, "width": w, "height": h, "sizemode": "normal" if look.place else "maximized"}
    store = {"chrome://browser/content/browser.xhtml": {"main-window": {k: str(v) for k, v in size.items()}}}
    (profile / "xulstore.json").write_text(json.dumps(store), encoding="utf-8")
    return ["firefox", "--no-remote", "--new-instance", "--profile", str(profile), *urls]


def place_window(on: Stage) -> None:
    """Put the browser's window where the look has it; a maximised one is left to the browser."""
    found = xdotool(on.display, "search", "--onlyvisible", "--name", ".", environment=on.environment).split()
    if not found:
        raise RenderError("the browser shows no window")
    if on.look.place is None and on.look.kind == "firefox":
        # a fresh profile opens at its own size
        active = xdotool(on.display, "getactivewindow", environment=on.environment).strip()
        command = ["wmctrl", "-i", "-r", f"0x{int(active):x}", "-b", "add,maximized_vert,maximized_horz"]
        subprocess.run(command, check=True, env=on.environment | _PATH, timeout=20)
