"""A node's port on loopback: open while its process lives, and nobody else's while it does not.

In: who answers a request. Out: a port at which connections are accepted, refused once it was shut, and reset if they
were open then: what clients see of a process that dies.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

from chaoskafka.cluster.wire.frames import LENGTH, length_of
from chaoskafka.errors import NoAnswer

HOST = "127.0.0.1"
BACKLOG = 64  # connections that may wait to be accepted: more than one run opens at once
JOIN_WITHIN_S = 5.0  # for threads whose sockets are shut
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close by RST, as the kernel does for a killed process


class Door:
    """Not for several threads at once."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._lock = threading.Lock()  # of the two below: who is in the set has an open socket
        self._guests: dict[socket.socket, threading.Thread] = {}
        self._listener: socket.socket | None = None
        self._acceptor: threading.Thread | None = None
        self._awake = threading.Event()
        self._awake.set()
        # Bound and not listening: the kernel refuses connections, and gives the port to nobody else.
        self._reserved = _bound(0)
        self.port: int = self._reserved.getsockname()[1]

    def open(self) -> None:
        """Harmless when it is open."""
        if self._listener is None:
            self._listener = _bound(self.port)
            self._listener.listen(BACKLOG)
            self._acceptor = self._started(self._accept, self._listener)

    def freeze(self) -> None:
        """Accept connections, as the kernel does for a process that stands still, and answer nothing."""
        self._awake.clear()

    def thaw(self) -> None:
        """Answer what has been asked meanwhile too. Harmless when it was not frozen."""
        self._awake.set()

    def shut(self) -> None:
        """Refuse and reset from now on. Harmless when it is shut."""
        listener, self._listener = self._listener, None
        self._awake.set()  # whoever waits sees that it is over
        if listener is None or self._acceptor is None:
            return
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self._acceptor.join(JOIN_WITHIN_S)
        listener.close()
        with self._lock:
            guests = dict(self._guests)
            for guest in guests:
                guest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                with suppress(OSError):
                    guest.shutdown(socket.SHUT_RD)  # wakes recv()
        for thread in guests.values():
            thread.join(JOIN_WITHIN_S)

    def close(self) -> None:
        """Shut it for good and give the port back."""
        self.shut()
        self._reserved.close()

    def _started(self, work: Callable[[socket.socket], None], on: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=work, args=(on,), name=f"port {self.port}", daemon=True)
        thread.start()
        return thread

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                guest, _ = listener.accept()
            except OSError:
                return
            guest.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._guests[guest] = self._started(self._serve, guest)

    def _serve(self, guest: socket.socket) -> None:
        """Answer one request after the other, until either side hangs up or asks what nobody understands."""
        with suppress(OSError, ValueError, NoAnswer):
            while (prefix := _receive(guest, LENGTH.size)) and (body := _receive(guest, length_of(prefix))):
                self._awake.wait()
                if self._listener is None:
                    break
                answer = self._answer(body)
                guest.sendall(LENGTH.pack(len(answer)) + answer)
        with self._lock:
            self._guests.pop(guest, None)
            guest.close()


def _bound(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.bind((HOST, port))
    return sock


def _receive(guest: socket.socket, size: int) -> bytes:
    """Empty when the other side hung up."""
    found = bytearray()
    while len(found) < size:
        piece = guest.recv(size - len(found))
        if not piece:
            return b""
        found += piece
    return bytes(found)
