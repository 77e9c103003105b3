"""Frames: a request as bytes, and an answer from bytes. Pure.

Frame = int32 length, header, body (https://kafka.apache.org/protocol). kio 0.6.5: writers take a stream, readers
(buffer, offset) and return (entity, bytes used).
"""

from __future__ import annotations

import io
import struct
from typing import Any, TypeVar

from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

from chaoskafka.errors import AccessRefused, NoAnswer

R = TypeVar("R")

LENGTH = struct.Struct(">i")
CLIENT_ID = "chaoskafka"
_TLS_ALERT = b"\x15\x03"
ANSWER_BYTES_MAX = 128 * 1024 * 1024  # beyond any fetch that we ask for: whoever says more does not speak Kafka


def encode(request: Any, correlation_id: int) -> bytes:
    """The whole frame of a kio request, length included."""
    header_type = request.__header_schema__
    header = header_type(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(correlation_id),
        client_id=CLIENT_ID,
    )
    out = io.BytesIO()
    entity_writer(header_type)(out, header)
    entity_writer(type(request))(out, request)
    body = out.getvalue()
    return LENGTH.pack(len(body)) + body


def decode(answer_type: type[R], body: bytes, correlation_id: int) -> R:
    """The answer in a frame's body (without its length). Raises NoAnswer when it is not that answer, to the last byte.

    What begins otherwise than an answer to us is not given to kio: its native reader reserves room for as many entries
    as a length claims, and where there is not so much memory it ends the process.
    """
    if len(body) < LENGTH.size:
        raise NoAnswer(f"cannot read {len(body)} bytes as {answer_type.__name__}")
    if (told := LENGTH.unpack_from(body)[0]) != correlation_id:
        raise NoAnswer(f"answer to request {told}, expected {correlation_id}")
    try:
        _, at = entity_reader(answer_type.__header_schema__)(body, 0)  # type: ignore[attr-defined]
        answer, used = entity_reader(answer_type)(body, at)  # type: ignore[type-var]
    except Exception as broken:  # kio's native reader raises many types; all mean: not this answer
        raise NoAnswer(f"cannot read {len(body)} bytes as {answer_type.__name__}: {broken!r}") from broken
    if at + used != len(body):
        raise NoAnswer(f"{len(body) - at - used} bytes left unread after {answer_type.__name__}")
    return answer


def length_of(prefix: bytes) -> int:
    """The body length that a frame's first 4 bytes announce.

    Raises NoAnswer when no Kafka broker would say so, and AccessRefused when it begins an alert of TLS (RFC 8446, 5.1).
    """
    if prefix.startswith(_TLS_ALERT):
        raise AccessRefused("the broker speaks TLS here, and this connection is in the clear")
    (length,) = LENGTH.unpack(prefix)
    if not 4 <= length <= ANSWER_BYTES_MAX:
        raise NoAnswer(f"a frame of {length} bytes is not Kafka's")
    return int(length)
