"""The pages' server: hands out one page after the other and takes what each says of itself: where its labels are."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

SCRIPT = files("benchmarks.rendered").joinpath("report.js").read_text("utf-8")


@dataclass
class Desk:
    """What the server's threads and the one that renders share."""

    pages: dict[int, tuple[str, str]] = field(default_factory=dict)
    seen: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    pointer: queue.Queue[dict[str, Any]] = field(default_factory=queue.Queue)
    turns: queue.Queue[str] = field(default_factory=queue.Queue)

    def show(self, number: int, path: str) -> None:
        """Let the page that is shown go to the page `number`, under `path`."""
        path, hash_, fragment = path.partition("#")
        self.turns.put(f"{path}{'&' if '?' in path else '?'}n={number}{hash_}{fragment}")


class Handler(BaseHTTPRequestHandler):
    """Answers the browser."""

    desk: Desk

    def do_GET(self) -> None:
        if self.path.startswith("/next"):
            self._answer("application/json", json.dumps({"path": self.desk.turns.get()}))
            return
        if "favicon" in self.path:
            self.send_error(404)
            return
        if self.path.endswith("/other"):
            self._answer("text/html", "<!doctype html><meta charset=utf-8><title>Messages</title>")
            return
        number = int(self.path.rpartition("n=")[2]) if "n=" in self.path else 0
        title, body = self.desk.pages[number]
        script = f"<script>{SCRIPT.replace('NUMBER', str(number))}</script>"
        head = f"<meta charset=utf-8><title>{title}</title>"
        self._answer("text/html", f"<!doctype html><html><head>{head}</head><body>{body}{script}</body></html>")

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        queues = {"/seen": self.desk.seen, "/pointer": self.desk.pointer}
        if self.path not in queues:  # the browser's own errands
            self.send_error(404)
            return
        queues[self.path].put(json.loads(sent))
        self._answer("application/json", "{}")

    def _answer(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay quiet."""


@contextlib.contextmanager
def serving(desk: Desk) -> Iterator[int]:
    """The server on a free loopback port."""
    handler = type("BoundHandler", (Handler,), {"desk": desk})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
