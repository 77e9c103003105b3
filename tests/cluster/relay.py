"""An engine's socket at a TCP address, as a remote engine is reached."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ADDRESS = "127.0.0.2"  # loopback, so nobody else gets at the engine; not 127.0.0.1, so it is not taken for a local one
_PIECE_BYTES = 1 << 16
_ENDS_WITHIN_S = 10.0


@contextmanager
def engine_at_tcp(unix_socket: Path) -> Iterator[str]:
    """Serve `unix_socket` at a free port; yields DOCKER_HOST. Leaving cuts all connections."""
    with socket.create_server((ADDRESS, 0)) as server:
        relay = _Relay(unix_socket, server)
        thread = threading.Thread(target=relay.serve, name="relay")
        thread.start()
        try:
            yield f"tcp://{ADDRESS}:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)  # ends the waiting for connections
            thread.join(_ENDS_WITHIN_S)
            relay.cut()


class _Relay:
    def __init__(self, unix_socket: Path, server: socket.socket) -> None:
        self._unix_socket, self._server = unix_socket, server
        self._ends: list[socket.socket] = []
        self._copiers: list[threading.Thread] = []

    def serve(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(str(self._unix_socket))
            self._ends += [near, far]
            for source, sink in ((near, far), (far, near)):
                copier = threading.Thread(target=_copy, args=(source, sink))
                copier.start()
                self._copiers.append(copier)

    def cut(self) -> None:
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for copier in self._copiers:
            copier.join(_ENDS_WITHIN_S)
        for end in self._ends:
            end.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until the source ends, which is passed on; the other direction may go on, as while output is followed."""
    with suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
