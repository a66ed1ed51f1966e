"""A listening socket."""

from __future__ import annotations

import socket

BACKLOG = 2048
"""Connections that wait to be accepted: uvicorn's own default."""


def listen(host: str, port: int) -> socket.socket:
    """Listen on `host` (a name or an address) and `port` (0 takes a free one). Raises OSError where that fails.

    The protocol is named: asyncio turns Nagle's algorithm off only for sockets that say TCP, and with it on a small
    answer waits about 40 ms for the client's acknowledgement.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
