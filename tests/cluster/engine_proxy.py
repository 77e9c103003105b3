"""A Docker engine that is slow, or falls silent: a socket before the real one, for a harness's DOCKER_HOST.

In: the real engine's socket, a delay for every request, requests that are to hang. Out: the address of a socket. What
the engine answers passes unchanged.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import docker

_REQUEST = re.compile(rb"(GET|POST|PUT|DELETE|HEAD) (\S+) HTTP/1\.1\r\n")


class EngineProxy:
    """Passes on what it gets. `delay_s`: before each request. `hangs`: the first request that matches is swallowed."""

    def __init__(self, path: Path, *, delay_s: float = 0.0, hangs: str | None = None) -> None:
        self.address = f"unix://{path}"
        self._engine = _engine_socket()
        self.requests = 0
        self.swallowed: list[str] = []
        self._path, self._delay_s = path, delay_s
        self._hangs = re.compile(hangs) if hangs else None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    def serve(self) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._path))
            listener.listen(64)
            listener.settimeout(0.1)
            while not self._ended.is_set():
                with suppress(TimeoutError):
                    client, _ = listener.accept()
                    engine = socket.socket(socket.AF_UNIX)
                    engine.connect(self._engine)
                    self._sockets += [client, engine]
                    for act in (self._ask, self._answer):
                        threading.Thread(target=act, args=(client, engine), daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _ask(self, client: socket.socket, engine: socket.socket) -> None:
        with suppress(OSError):
            while received := client.recv(1 << 16):
                request = _REQUEST.match(received)
                if request is not None and self._is_swallowed(request[1].decode(), request[2].decode()):
                    return
                engine.sendall(received)
            engine.shutdown(socket.SHUT_WR)

    def _is_swallowed(self, method: str, path: str) -> bool:
        self._ended.wait(self._delay_s)
        with self._lock:
            self.requests += 1
            if self._hangs is None or self.swallowed or not self._hangs.search(f"{method} {path}"):
                return False
            self.swallowed.append(f"{method} {path}")
            return True

    def _answer(self, client: socket.socket, engine: socket.socket) -> None:
        with suppress(OSError):
            while received := engine.recv(1 << 16):
                client.sendall(received)
            client.shutdown(socket.SHUT_WR)


@contextmanager
def engine_proxy(path: Path, *, delay_s: float = 0.0, hangs: str | None = None) -> Iterator[EngineProxy]:
    """A proxy that listens while the block lasts."""
    proxy = EngineProxy(path, delay_s=delay_s, hangs=hangs)
    server = threading.Thread(target=proxy.serve)
    server.start()
    try:
        yield proxy
    finally:
        proxy.close()
        server.join()


def _engine_socket() -> str:
    client = docker.from_env()
    try:
        base = str(client.api.base_url)
        # The SDK writes a socket's path as a host: http+docker://localhost for every unix socket.
        adapter = client.api.get_adapter(base)
        return str(adapter.socket_path)
    finally:
        client.close()
