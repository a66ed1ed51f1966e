"""The listening socket."""

from __future__ import annotations

import asyncio
import socket

import pytest

from otel_validation.server.listen import listen


def test_a_free_port_is_taken_and_named_tcp():
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockname()[1] > 0
        assert listener.proto == socket.IPPROTO_TCP


def test_connections_of_it_do_not_wait_for_acknowledgements():
    async def nodelay() -> int:
        taken = asyncio.get_running_loop().create_future()

        class Seen(asyncio.Protocol):
            def connection_made(self, transport):
                found = transport.get_extra_info("socket")
                taken.set_result(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                transport.close()

        with listen("127.0.0.1", 0) as listener:
            server = await asyncio.get_running_loop().create_server(Seen, sock=listener)
            with socket.create_connection(listener.getsockname()):
                set_to = await taken
            server.close()
            await server.wait_closed()
        return set_to

    assert asyncio.run(nodelay()) != 0


def test_a_taken_port_is_an_error_and_leaves_nothing_open():
    with listen("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])
