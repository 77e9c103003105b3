"""A blocking connection to one broker: one question at a time, each within a deadline.

In: an address, and how to get in. Out: answers, or NoAnswer. The versions are negotiated when it is opened, and
ApiVersions' answer is kept: it also says how far the broker has applied the metadata log.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeVar

from chaoskafka.clock import UNSTOPPABLE, Deadline
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.cluster.wire import asks, frames
from chaoskafka.cluster.wire.asks import ApiVersions, Ask
from chaoskafka.cluster.wire.greeting import greet
from chaoskafka.errors import AccessRefused, NoAnswer

R = TypeVar("R")

_FIRST_ANSWER_VERSION = asks.API_VERSIONS.versions[-1]  # every broker from Kafka 4.0 on speaks it


class Connection:
    """An open connection; a context manager. Not to be shared between threads. Made by `connect`."""

    def __init__(self, address: Address, sock: socket.socket, timeout_s: float) -> None:
        self.address = address
        self._sock = sock
        self._timeout_s = timeout_s
        self._correlation_id = 0
        self._offered: Mapping[int, tuple[int, int]] = {asks.API_VERSIONS.key: (0, _FIRST_ANSWER_VERSION)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Harmless when it is closed already."""
        self._sock.close()

    def negotiate(self, security: Security) -> ApiVersions:
        """Ask which versions the broker speaks, speak those, and say who we are. Blocks.

        Raises NoAnswer, and AccessRefused when the broker does not let us in.
        """
        greeting = greet(security)
        question = next(greeting)
        while True:
            answer = self.ask(question)
            if question.api is asks.API_VERSIONS:
                self._offered = asks.offered(answer)
            try:
                question = greeting.send(answer)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            except NoAnswer as refused:
                raise type(refused)(f"{self.address}: {refused}") from refused

    def ask(self, question: Ask[R], *, timeout_s: float | None = None) -> R:
        """The broker's answer, within `timeout_s` (absent: the connection's own). Blocks.

        Raises NoAnswer; the connection is of no use after that.
        """
        version = asks.choose(question.api, self._offered)
        self._correlation_id += 1
        frame = frames.encode(question.request(version), self._correlation_id)
        deadline = Deadline.after(self._timeout_s if timeout_s is None else timeout_s)
        try:
            self._sock.settimeout(self._left_s(deadline))
            self._sock.sendall(frame)
            length = frames.length_of(self._receive(frames.LENGTH.size, deadline))
            body = self._receive(length, deadline)
        except OSError as lost:
            self._sock.close()
            raise NoAnswer(f"{self.address}: {question.api.module}: {_say(lost)}") from lost
        except NoAnswer as foreign:
            raise type(foreign)(f"{self.address}: {question.api.module}: {foreign}") from foreign
        return frames.decode(question.answer_type(version), body, self._correlation_id)

    def _left_s(self, deadline: Deadline) -> float:
        # A timeout of 0 would mean: do not block. One that has run out must still raise TimeoutError.
        return max(deadline.left_s(UNSTOPPABLE), 0.001)

    def _receive(self, size: int, deadline: Deadline) -> bytes:
        buffer = bytearray(size)
        view, got = memoryview(buffer), 0
        while got < size:
            self._sock.settimeout(self._left_s(deadline))
            count = self._sock.recv_into(view[got:])
            if count == 0:
                raise ConnectionResetError("closed by the broker")
            got += count
        return bytes(buffer)


def connect(address: Address, timeout_s: float, security: Security = PLAINTEXT) -> tuple[Connection, ApiVersions]:
    """Open a connection, negotiate versions, say who we are; each step within `timeout_s`. Blocks.

    The one place where connections of the main process are made. Raises NoAnswer, and AccessRefused when the broker
    does not let us in or its certificate is not the one to trust.
    """
    try:
        sock = socket.create_connection((address.host, address.port), timeout=timeout_s)
    except OSError as refused:
        raise NoAnswer(f"{address}: connect: {_say(refused)}") from refused
    except UnicodeError as unnamed:  # a label that is empty or too long
        raise NoAnswer(f"{address}: no host can have such a name") from unnamed
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or small requests wait 40 ms for an ACK
        sock = _encrypted(sock, address, security)
        connection = Connection(address, sock, timeout_s)
        return connection, connection.negotiate(security)
    except (NoAnswer, OSError):
        sock.close()
        raise


def _encrypted(sock: socket.socket, address: Address, security: Security) -> socket.socket:
    context = security.tls()
    if context is None:
        return sock
    try:
        return context.wrap_socket(sock, server_hostname=address.host)
    except ssl.SSLCertVerificationError as stranger:
        raise AccessRefused(f"{address}: its certificate is not to be trusted: {stranger.verify_message}") from stranger
    except OSError as refused:
        raise NoAnswer(f"{address}: TLS: {_say(refused)}") from refused


def _say(lost: OSError) -> str:
    return "no answer in time" if isinstance(lost, TimeoutError) else (lost.strerror or str(lost))
