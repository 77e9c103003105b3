"""What the worker's loops need of a Kafka client. `librdkafka.py` is the adapter; another client is another adapter.

Clients answer through one listener, called from inside `poll` and `close` on the caller's thread, with plain values, so
that the hot path makes few objects. Offsets: -1 none. Codes: the client's own error numbers, 0 none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from chaoskafka.history.tape import Change
from chaoskafka.history.tape_layout import Integers


class Refused(Exception):
    """The client refused the call itself: nothing left it, and nothing will."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientError:
    """An error that belongs to the client, not to one operation."""

    code: int
    text: str
    fatal: bool  # the client says that it can do nothing more
    refused: bool = False  # a broker does not let it in, or does not allow it; or it does not trust the broker


class Deliveries(NamedTuple):
    """The final words on messages, column by column; the payload says which message it is."""

    payloads: Sequence[bytes]
    codes: Sequence[int] | None  # None: no message failed
    offsets: Sequence[int]
    latencies_ns: Sequence[int] | Integers  # -1: the client gave none


class ProducerListener(Protocol):
    """Who hears from a producer."""

    def delivered(self, deliveries: Deliveries) -> None:
        """At least one, all of them just now."""
        ...

    def failed_with(self, error: ClientError) -> None: ...


class ProducerClient(Protocol):
    """A producer of one topic."""

    def send(self, partition: int, payloads: Sequence[bytes]) -> Sequence[tuple[int, int]]:
        """Hand over messages in turn; never blocks. `delivered` follows once for each, at a poll.

        Returns those that the client refused, for which nothing follows: place in `payloads`, and code.
        """
        ...

    def poll(self) -> None:
        """Serve what happened since the last poll; never blocks."""
        ...

    def close(self) -> None:
        """Give up what is outstanding (with a last word where the client has one) and close. Blocks; may hang."""
        ...


class Received(NamedTuple):
    """One record that a consumer was given."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int
    payload: bytes | None


Position = tuple[str, int, int]  # topic, partition, next offset


class ConsumerListener(Protocol):
    """Who hears from a consumer."""

    def assignment(self, change: Change, partitions: Sequence[tuple[str, int]]) -> None:
        """Called before the change takes effect; commits made in it go out under the old generation."""
        ...

    def committed(self, results: Iterable[tuple[str, int, int, int]]) -> None:
        """The answer to one commit: (topic, partition, offset, code) each."""
        ...

    def failed_with(self, error: ClientError) -> None: ...


class ConsumerClient(Protocol):
    """A member of a consumer group, subscribed to one topic."""

    def poll(self, within_s: float) -> list[Received]:
        """What has arrived; waits at most `within_s` for a first record, not for more of them."""
        ...

    def commit(self, positions: Sequence[Position]) -> None:
        """Ask for a commit; does not block. `committed(…)` follows at a poll, or never. Raises Refused."""
        ...

    def close(self) -> None:
        """Leave the group and close. Blocks; may hang."""
        ...
