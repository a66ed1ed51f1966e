"""Render the demo's recorded replay: real screenshots of examples/dossier in Chromium on a virtual display.

Every click is a real mouse click on the X display, every screenshot is the whole screen, and every coordinate comes
from the page's own rectangles and the window's geometry. Installs nothing: a missing program is named with its
Debian package and the script exits with 3.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from headful import PATIENCE_S, RenderError, running, still_screen, virtual_screen, xdotool

if TYPE_CHECKING:
    from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
APPLICATION = ROOT / "examples" / "dossier"
DEMO_DATA = ROOT / "otel_validation" / "cli" / "demo_data"

WIDTH, HEIGHT = 2560, 1600
SCALE = 1.5
"""Device pixels per CSS pixel: body text is then 21 to 24 px high on the screen."""
HOST = "dossier.hopital.example"
URL = f"http://{HOST}/urgences/sejour/2605-DEMO-17/dossier.html"

PROGRAMS = {"chromium": "chromium", "Xvfb": "xvfb", "openbox": "openbox", "xdotool": "xdotool"}
"""Program -> the Debian package that has it."""
FILES = {
    Path("/usr/lib/chromium/locales/fr.pak"): "chromium-l10n",
    Path("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf"): "fonts-liberation",
    Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"): "fonts-dejavu-core",
}

FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts/truetype/liberation</dir>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <cachedir>{cache}</cachedir>
  <match><edit name="family" mode="append_last"><string>Liberation Sans</string></edit></match>
</fontconfig>
"""
"""The only fonts used, whatever else the machine has: its screens are then the same everywhere."""

NOTHING_THERE = (WIDTH // 2, HEIGHT - 40)
"""A place low in the page that reacts to no click."""
MISSING = 3


@dataclass(frozen=True)
class Step:
    """One recorded step: what was asked for, what was really clicked, what the validation must answer."""

    name: str
    story: str
    tab: str
    """The tab shown before the step."""
    expects: str
    """The label the action is aimed at."""
    clicks: str | None
    """The label really clicked; None for the browser's address bar."""
    after: str
    """Name of the screen that the step leads to."""
    verdict: str = "complete"
    failure_category: str | None = None


STEPS = (
    Step("notes", "a click on the tab Notes médicales", "synthese", "Notes médicales", "Notes médicales", "notes"),
    Step("imagerie", "a click on the tab Imagerie", "notes", "Imagerie", "Imagerie", "imagerie"),
    Step("biologie", "a click on the tab Biologie", "imagerie", "Biologie", "Biologie", "biologie"),
    Step("valider", "a click on the button Valider", "biologie", "Valider", "Valider", "biologie-validee"),
    Step(
        "barre-adresse",
        "the click lands in the address bar, above the tab Imagerie",
        "notes",
        "Imagerie",
        None,
        "barre-adresse",
        verdict="terminate",
        failure_category="wrong_application",
    ),
    Step(
        "onglet-voisin",
        "the click lands on Biologie, the tab beside Imagerie",
        "notes",
        "Imagerie",
        "Biologie",
        "biologie",
        verdict="terminate",
        failure_category="wrong_target",
    ),
    Step(
        "prescriptions", "a click on the tab Prescriptions", "notes", "Prescriptions", "Prescriptions", "prescriptions"
    ),
)


@dataclass(frozen=True)
class Box:
    """A rectangle in screen pixels, right and bottom excluded."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def centre(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2


class Handler(SimpleHTTPRequestHandler):
    """Serves the application under any path, as an application with clean addresses does."""

    def translate_path(self, path: str) -> str:
        name = path.partition("?")[0].rpartition("/")[2]
        return str(APPLICATION / (name if (APPLICATION / name).is_file() else "index.html"))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it so
        """Stay quiet."""


@contextlib.contextmanager
def application() -> Iterator[int]:
    """The demo application on a free loopback port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def display() -> Iterator[str]:
    """A virtual display with a window manager, which gives the browser's window the focus; yields its name."""
    with virtual_screen(WIDTH, HEIGHT) as name, running(["openbox"], DISPLAY=name):
        yield name


@dataclass
class Browser:
    """The DevTools protocol over a pair of pipes (`--remote-debugging-pipe`): JSON ended by a NUL byte."""

    requests: IO[bytes]
    answers: IO[bytes]
    session: str | None = None
    sent: int = 0
    unread: bytes = b""

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Send one command and wait for its answer; events in between are passed over."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        self.requests.write(json.dumps(message).encode() + b"\0")
        self.requests.flush()
        while (answer := self._receive()).get("id") != self.sent:
            pass
        if "error" in answer:
            raise RenderError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self.unread:
            chunk = os.read(self.answers.fileno(), 1 << 16)
            if not chunk:
                raise RenderError("the browser ended")
            self.unread += chunk
        message, _, self.unread = self.unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def attach(self) -> None:
        """Talk to the first page from now on."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            targets = self.call("Target.getTargets")["targetInfos"]
            pages = [target["targetId"] for target in targets if target["type"] == "page"]
            if pages:
                self.session = self.call("Target.attachToTarget", targetId=pages[0], flatten=True)["sessionId"]
                return
            time.sleep(0.1)
        raise RenderError("the browser opened no page")

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 -- whatever JSON the page answers
        """The value of a JavaScript expression in the page, awaited where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RenderError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until the expression is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise RenderError(f"never true: {expression}")
            time.sleep(0.05)


def chromium_command(profile: str, port: int) -> list[str]:
    """Chromium as a normal window, in French, that reaches nothing but the application."""
    return [
        "chromium",
        "--no-sandbox",
        "--test-type",  # no bar that warns of --no-sandbox
        "--disable-gpu",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-quic",
        "--disable-features=Translate,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,MediaRouter",
        "--password-store=basic",
        "--disable-lcd-text",
        "--lang=fr",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
        f"--force-device-scale-factor={SCALE}",
        "--window-position=0,0",
        f"--window-size={round(WIDTH / SCALE)},{round(HEIGHT / SCALE)}",
        "--start-maximized",
        f"--host-resolver-rules=MAP {HOST} 127.0.0.1:{port}, MAP * ~NOTFOUND",
        URL,
    ]


@contextlib.contextmanager
def browser(display_name: str, port: int) -> Iterator[Browser]:
    """Chromium on the display, its page loaded, with the protocol attached to it."""
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    with tempfile.TemporaryDirectory(prefix="render-screens-", ignore_cleanup_errors=True) as profile:
        # Chromium reads its commands from descriptor 3 and answers on 4; only a shell renumbers them safely.
        renumber = f'exec "$@" 3<&{their_input} 4>&{their_output}'
        command = ["bash", "-c", renumber, "bash", *chromium_command(profile, port)]
        fonts = Path(profile, "fonts.conf")
        fonts.write_text(FONTS.format(cache=profile), encoding="utf-8")
        own = {"DISPLAY": display_name, "LANGUAGE": "fr", "HOME": profile, "FONTCONFIG_FILE": str(fonts)}
        with (
            running(command, pass_fds=(their_input, their_output), **own),
            os.fdopen(our_output, "wb") as requests,
            os.fdopen(our_input, "rb") as answers,
        ):
            os.close(their_input)
            os.close(their_output)
            connection = Browser(requests, answers)
            connection.attach()
            connection.wait_for(f"location.host === '{HOST}' && document.readyState === 'complete'")
            yield connection


TEXT_BOX = """
(() => {
  const shown = [...document.querySelectorAll("button")].filter((b) => b.offsetParent && b.textContent === %s);
  if (shown.length !== 1) throw new Error(`${shown.length} buttons`);
  const text = document.createRange();
  text.selectNodeContents(shown[0]);
  const {left, top, right, bottom} = text.getBoundingClientRect();
  return [left, top, right, bottom];
})()
"""
WINDOW = "[screenX, screenY, outerWidth, outerHeight, innerWidth, innerHeight, devicePixelRatio]"
REMEMBER_CLICKS = """
window.clicked = null;
addEventListener("click", (event) => { window.clicked = event.target.textContent; }, true);
"""


@dataclass
class Screen:
    """The whole display: what it shows, where things are on it, and a mouse."""

    page: Browser
    display_name: str

    def label_box(self, label: str) -> Box:
        """Where the text of the one visible button with this label is on the screen."""
        left, top, right, bottom = self.page.evaluate(TEXT_BOX % json.dumps(label))
        x, y, _, outer_height, _, inner_height, ratio = self.page.evaluate(WINDOW)
        down = y + outer_height - inner_height
        box = ((left + x) * ratio, (top + down) * ratio, (right + x) * ratio, (bottom + down) * ratio)
        return Box(*(round(edge) for edge in box))

    def address_bar_y(self) -> int:
        """The middle of the toolbar row, which with the tab strip makes up what is above the page."""
        _, y, _, outer_height, _, inner_height, ratio = self.page.evaluate(WINDOW)
        middle: float = (y + (outer_height - inner_height) * 0.75) * ratio
        return round(middle)

    def grab(self) -> Image.Image:
        """The screen once it stands still."""
        return still_screen(self.display_name)

    def click(self, x: int, y: int) -> None:
        """A real click of the left button."""
        xdotool(self.display_name, "mousemove", "--sync", str(x), str(y), "click", "1")

    def open(self, tab: str) -> None:
        """Load the page afresh with this tab shown, the focus in the page and the mouse on nothing."""
        self.click(*NOTHING_THERE)
        self.page.evaluate(f"window.stale = true; history.replaceState(null, '', '#{tab}'); location.reload()")
        self.page.wait_for(f"!window.stale && location.hash === '#{tab}' && document.readyState === 'complete'")
        if self.page.evaluate("document.documentElement.scrollHeight > innerHeight"):
            raise RenderError(f"the tab {tab} is too long for the screen")
        self.page.evaluate(REMEMBER_CLICKS)


@dataclass
class Album:
    """The screens of the recording, each kept once under a numbered name."""

    screens: dict[str, Image.Image] = field(default_factory=dict)

    def keep(self, image: Image.Image, name: str) -> str:
        """The file name of this screen; raises RenderError where the same name already shows something else."""
        for file, kept in self.screens.items():
            if file.partition("-")[2] == f"{name}.png":
                if kept.tobytes() != image.tobytes():
                    raise RenderError(f"two different screens are named {name}")
                return file
        file = f"{len(self.screens) + 1:02}-{name}.png"
        self.screens[file] = image
        return file

    def save(self, directory: Path) -> int:
        """Write the screens, without loss; return the bytes written."""
        for file, image in self.screens.items():
            image.save(directory / file, optimize=True)
        return sum((directory / file).stat().st_size for file in self.screens)


def fractions(x: int, y: int) -> dict[str, float]:
    return {"x_pct": round(x / WIDTH, 6), "y_pct": round(y / HEIGHT, 6)}


def play(screen: Screen, album: Album, number: int, step: Step) -> dict[str, Any]:
    """Play one step on the screen and return its record."""
    screen.open(step.tab)
    before = album.keep(screen.grab(), step.tab)
    expected = screen.label_box(step.expects)
    x, y = expected.centre
    if step.clicks is None:
        y = screen.address_bar_y()
    else:
        x, y = screen.label_box(step.clicks).centre
    screen.click(x, y)
    image = screen.grab()
    hit, focused = screen.page.evaluate("[window.clicked, document.hasFocus()]")
    if hit != step.clicks or focused != (step.clicks is not None):
        raise RenderError(f"step {step.name}: the click reached {hit!r}, not {step.clicks!r}")
    return {
        "name": step.name,
        "story": step.story,
        "action": {
            "action_id": f"act_{number}",
            "type": "click",
            **fractions(*expected.centre),
            "target_spec": {"by_text": step.expects},
        },
        "label_box": list(asdict(expected).values()),
        "before": before,
        "after": album.keep(image, step.after),
        "actual_position": fractions(x, y),
        "clicked_text": step.clicks,
        "success": True,
        "expected": {"verdict": step.verdict, "failure_category": step.failure_category},
    }


def record() -> tuple[Album, dict[str, Any]]:
    """Play every step in a fresh browser."""
    album = Album()
    with application() as port, display() as name, browser(name, port) as page:
        screen = Screen(page, name)
        steps = [play(screen, album, number, step) for number, step in enumerate(STEPS, start=1)]
    replay = {
        "version": 1,
        "workflow": "dossier-urgences",
        "screen": {"width": WIDTH, "height": HEIGHT, "scale": SCALE},
        "url": URL,
        "steps": steps,
    }
    return album, replay


def missing_packages() -> list[str]:
    """The Debian packages of what this machine lacks."""
    programs = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    return programs + [package for file, package in FILES.items() if not file.exists()]


def main() -> int:
    """Render into `--out`; the exit code is 0, 1 for a recording that failed, or 3 for a missing package."""
    parser = argparse.ArgumentParser(description="Render the demo's screenshots and replay.json again.")
    parser.add_argument("--out", type=Path, default=DEMO_DATA, help="directory to write to (default: %(default)s)")
    directory: Path = parser.parse_args().out
    if packages := missing_packages():
        print(f"Missing Debian packages; install them with: apt-get install {' '.join(packages)}", file=sys.stderr)
        return MISSING
    started = time.monotonic()
    try:
        album, replay = record()
    except RenderError as error:
        print(f"Not rendered: {error}", file=sys.stderr)
        return 1
    directory.mkdir(parents=True, exist_ok=True)
    size = album.save(directory)
    text = json.dumps(replay, ensure_ascii=False, indent=2)
    (directory / "replay.json").write_text(text + "\n", encoding="utf-8")
    print(
        f"{len(album.screens)} screens, {len(replay['steps'])} steps, {size / 1e6:.2f} MB "
        f"in {time.monotonic() - started:.0f} s: {directory}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
