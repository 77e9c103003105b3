"""An asyncio connection for the observer: prebuilt frames out, raw answers in, with instants of sending and receipt.

In: an address, how to get in, and bytes. Out: an `Exchange`, or NoAnswer. Decoding is left to the caller, who compares
bytes first. A protocol of its own rather than asyncio's streams: half the work per poll, and the stamp of receipt is
taken when the last byte arrives, not when a task gets its turn.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.cluster.wire import asks, frames
from chaoskafka.cluster.wire.greeting import greet
from chaoskafka.errors import AccessRefused, NoAnswer

CORRELATION_ID = 1  # one request at a time on a connection: all may carry the same


@dataclass(frozen=True, slots=True)
class Exchange:
    """One answer: `body` begins with the 4 bytes of the correlation id. Instants are monotonic ns."""

    sent_ns: int
    received_ns: int
    body: bytes


class Stream(asyncio.Protocol):
    """An open connection to one broker; one exchange at a time. Made by `open_stream`."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._waiter: asyncio.Future[tuple[int, bytes]] | None = None
        self._lost: NoAnswer | None = None
        self.offered: Mapping[int, tuple[int, int]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # a TCP connection has a full transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) < frames.LENGTH.size:
            return
        try:
            end = frames.LENGTH.size + frames.length_of(bytes(self._buffer[: frames.LENGTH.size]))
        except NoAnswer as wrong:
            self._fail(wrong)
            return
        if len(self._buffer) < end:
            return
        received_ns = time.monotonic_ns()
        body = bytes(self._buffer[frames.LENGTH.size : end])
        del self._buffer[:end]
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result((received_ns, body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(NoAnswer(f"connection lost: {exc}" if exc else "closed by the broker"))

    async def encrypt(self, context: ssl.SSLContext, host: str, timeout_s: float) -> None:
        """Put TLS between us and the broker, and check that it is `host`. Raises NoAnswer and AccessRefused."""
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                self._transport = await loop.start_tls(self._transport, self, context, server_hostname=host)
        except ssl.SSLCertVerificationError as stranger:
            raise AccessRefused(f"its certificate is not to be trusted: {stranger.verify_message}") from stranger
        except TimeoutError:
            raise NoAnswer(f"TLS: no answer within {timeout_s:g} s") from None
        except OSError as refused:
            raise NoAnswer(f"TLS: {refused.strerror or refused}") from refused
        if self._transport is None:
            raise self._lost or NoAnswer("TLS: closed by the broker")

    async def greet(self, security: Security, timeout_s: float) -> None:
        """Negotiate versions and say who we are, each step within `timeout_s`. Raises NoAnswer and AccessRefused."""
        greeting = greet(security)
        question = next(greeting)
        self.offered = {asks.API_VERSIONS.key: (0, asks.API_VERSIONS.versions[-1])}
        while True:
            frame, answer_type = prepare(question, self.offered)
            found = await self.exchange(frame, timeout_s)
            answer = frames.decode(answer_type, found.body, CORRELATION_ID)
            if question.api is asks.API_VERSIONS:
                self.offered = asks.offered(answer)
            try:
                question = greeting.send(answer)
            except StopIteration:
                return

    def close(self) -> None:
        """Harmless when it is closed already."""
        if self._transport is not None:
            self._transport.abort()

    async def exchange(self, frame: bytes, timeout_s: float) -> Exchange:
        """Send a frame, wait for its answer. Raises NoAnswer; the stream is closed then."""
        if self._lost is not None or self._transport is None:
            raise self._lost or NoAnswer("not connected")
        self._waiter = asyncio.get_running_loop().create_future()
        sent_ns = time.monotonic_ns()
        self._transport.write(frame)
        try:
            async with asyncio.timeout(timeout_s):
                received_ns, body = await self._waiter
        except TimeoutError:
            self.close()
            raise NoAnswer(f"no answer within {timeout_s:g} s") from None
        return Exchange(sent_ns, received_ns, body)

    def _fail(self, why: NoAnswer) -> None:
        self._lost = self._lost or why
        self.close()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(self._lost)


async def open_stream(
    address: Address, *, connect_s: float, answer_s: float, security: Security = PLAINTEXT, name: str | None = None
) -> Stream:
    """Connect, negotiate versions, say who we are. The one place where the observer's connections are made.

    `name`: what a broker's certificate must bear, where the address is only what a name was resolved to.

    Raises NoAnswer, and AccessRefused when the broker does not let us in or its certificate is not the one to trust.
    """
    try:
        async with asyncio.timeout(connect_s):
            _, stream = await asyncio.get_running_loop().create_connection(Stream, address.host, address.port)
    except TimeoutError:
        raise NoAnswer(f"connect: no answer within {connect_s:g} s") from None
    except OSError as refused:
        raise NoAnswer(f"connect: {refused.strerror or refused}") from refused
    try:
        if (context := security.tls()) is not None:
            await stream.encrypt(context, name or address.host, answer_s)
        await stream.greet(security, answer_s)
    except BaseException:
        stream.close()
        raise
    return stream


def prepare(question: asks.Ask[Any], offered: Mapping[int, tuple[int, int]]) -> tuple[bytes, type[Any]]:
    """The frame to send again and again, and the type of its answers. Raises NoAnswer."""
    version = asks.choose(question.api, offered)
    return frames.encode(question.request(version), CORRELATION_ID), question.answer_type(version)
