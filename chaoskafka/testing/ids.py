"""Who a message is, as an application under test reads it. In: a payload or a client's message. Out: an id.

Imported by applications, in client places too: no table library, no client library.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chaoskafka.history.identity import HEAD, MAGIC, Identity, PayloadState, decode

HEADER = "chaoskafka-identity"
"""The record header in which an application may hand a message's first 44 bytes on, where it makes another payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A message as an application was given it. `whole` None: only a header told who it is, so no checksum could."""

    id: str
    whole: bool | None


def id_of(run: int, who: Identity) -> str:
    """`5f1c9a03/0.0/0/2/17`: run, producer and incarnation, topic index, partition, sequence."""
    return f"{run >> 32:08x}/{who.producer}.{who.incarnation}/{who.topic}/{who.partition}/{who.sequence}"


def identity(record: object) -> Seen | None:
    """Who a message is: its id, and whether its checksum holds. None: it is none of ours.

    `record`: the payload; or a message of confluent-kafka or kafka-python, whose header `chaoskafka-identity` wins.
    """
    for name, value in _headers(record):
        if name == HEADER and isinstance(value, bytes) and len(value) >= HEAD.size and value[:4] == MAGIC:
            return Seen(id=_id_in(value), whole=None)
    payload = _payload(record)
    if payload is None or len(payload) < HEAD.size or payload[:4] != MAGIC:
        return None
    state, _ = decode(HEAD.unpack_from(payload)[3], payload)
    return Seen(id=_id_in(payload), whole=state is PayloadState.OURS)


def _id_in(head: bytes) -> str:
    _, _, _, run, producer, incarnation, topic, partition, sequence, _ = HEAD.unpack_from(head)
    return id_of(run, Identity(producer, incarnation, topic, partition, sequence))


def _payload(record: object) -> bytes | None:
    if isinstance(record, bytes | bytearray | memoryview):
        return bytes(record)
    value = getattr(record, "value", None)
    value = value() if callable(value) else value
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def _headers(record: object) -> Iterable[tuple[str, object]]:
    headers = getattr(record, "headers", None)
    headers = headers() if callable(headers) else headers
    return headers or ()
