"""A TCP server that speaks Kafka's frames by script: what no real broker can be told to do (silence, torn answers)."""

from __future__ import annotations

import io
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from kio.schema.api_versions.v4 import ApiVersionsResponse
from kio.schema.api_versions.v4.response import ApiVersion
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.primitive import i16, i32, i32Timedelta, i64

from chaoskafka.cluster.abilities import Address

Answer = bytes | None  # None: say nothing
Script = Callable[[int, int], Answer]  # API key and version -> the answer's body, header included, without its length

OFFERED = {18: (0, 4), 3: (0, 13), 60: (0, 2), 55: (0, 2), 10: (0, 6), 2: (1, 11), 23: (2, 4), 1: (4, 17)}


def body(answer: Any, correlation_id: int = 1) -> bytes:
    """A kio answer as a frame's body."""
    out = io.BytesIO()
    entity_writer(answer.__header_schema__)(out, answer.__header_schema__(correlation_id=i32(correlation_id)))
    entity_writer(type(answer))(out, answer)
    return out.getvalue()


def api_versions(epoch: int, offered: dict[int, tuple[int, int]] | None = None) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=ErrorCode.none,
        api_keys=tuple(
            ApiVersion(api_key=i16(key), min_version=i16(low), max_version=i16(high))
            for key, (low, high) in (offered or OFFERED).items()
        ),
        throttle_time=i32Timedelta.parse(timedelta(0)),
        finalized_features_epoch=i64(epoch),
    )


class _Server:
    """Accepts and serves until stopped; a thread per connection."""

    def __init__(self, script: Script, context: ssl.SSLContext | None) -> None:
        self.script, self.context = script, context
        self.stop = threading.Event()
        self.threads: list[threading.Thread] = []

    def accept(self, server: socket.socket) -> None:
        server.settimeout(0.05)
        while not self.stop.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            self.threads.append(threading.Thread(target=self.serve, args=(connection,)))
            self.threads[-1].start()

    def serve(self, connection: socket.socket) -> None:
        buffer = b""
        if self.context is not None:
            connection.settimeout(5.0)
            try:
                connection = self.context.wrap_socket(connection, server_side=True)
            except OSError:  # a client that does not trust us, or speaks no TLS
                connection.close()
                return
        with connection:
            connection.settimeout(0.05)
            while not self.stop.is_set():
                try:
                    got = connection.recv(65536)
                    if not got:
                        return
                    buffer = self.answer(connection, buffer + got)
                except TimeoutError:
                    continue
                except OSError:
                    return

    def answer(self, connection: socket.socket, buffer: bytes) -> bytes:
        """Answer every whole request in the buffer; returns what is left of it."""
        while len(buffer) >= 4 and len(buffer) >= 4 + struct.unpack(">i", buffer[:4])[0]:
            (length,) = struct.unpack(">i", buffer[:4])
            request, buffer = buffer[4 : 4 + length], buffer[4 + length :]
            key, version, correlation_id = struct.unpack(">hhi", request[:8])
            answer = self.script(key, version)
            if answer is not None:
                answer = struct.pack(">i", correlation_id) + answer[4:]
                connection.sendall(struct.pack(">i", len(answer)) + answer)
        return buffer


@contextmanager
def scripted_broker(script: Script, port: int = 0, context: ssl.SSLContext | None = None) -> Iterator[Address]:
    """Listens until left, inside TLS if a context is given.

    Each answer gets the correlation id of its request. A script that raises OSError hangs up.
    """
    running = _Server(script, context)
    with socket.create_server(("127.0.0.1", port)) as server:
        acceptor = threading.Thread(target=running.accept, args=(server,))
        acceptor.start()
        try:
            yield Address(*server.getsockname())
        finally:
            running.stop.set()
            acceptor.join(5)
            for thread in running.threads:
                thread.join(5)
