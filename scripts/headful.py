"""Programs on a virtual display: what the scripts that render screens share."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

from PIL import Image, ImageGrab

PATIENCE_S = 30.0
STILL_S = 0.4
"""A screen is recorded once it has not changed for this long."""


class RenderError(Exception):
    """Raised when a program or the screen is not what the recording needs."""


@contextlib.contextmanager
def running(
    command: Sequence[str], *, pass_fds: tuple[int, ...] = (), **added: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A program, with variables added to its environment, that is ended when the block is left."""
    quiet, environment = subprocess.DEVNULL, os.environ | added
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, pass_fds=pass_fds, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def virtual_screen(width: int, height: int) -> Iterator[str]:
    """A virtual display of this size, with nothing on it; yields its name."""
    read_end, write_end = os.pipe()
    command = ["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"]
    with running(command, pass_fds=(write_end,)), os.fdopen(read_end) as answer:
        os.close(write_end)
        number = answer.readline().strip()
        if not number:
            raise RenderError("Xvfb did not start")
        yield f":{number}"


def still_screen(display: str, *, patience_s: float = PATIENCE_S) -> Image.Image:
    """The screen once it stands still; raises RenderError where it never does."""
    deadline = time.monotonic() + patience_s
    image = ImageGrab.grab(xdisplay=display)
    while time.monotonic() < deadline:
        time.sleep(STILL_S)
        previous, image = image, ImageGrab.grab(xdisplay=display)
        if image.tobytes() == previous.tobytes():
            return image
    raise RenderError("the screen never stands still")


def xdotool(display: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run xdotool on the display and return what it prints."""
    done = subprocess.run(
        ["xdotool", *arguments],
        check=True,
        env=os.environ | {"DISPLAY": display} | dict(environment or {}),
        timeout=PATIENCE_S,
        stdout=subprocess.PIPE,
    )
    return done.stdout.decode()
