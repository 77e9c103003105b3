"""Client settings of a workload, computed purely: the profile or the user's own, and what the harness insists on.

In: profile name or mapping. Out: librdkafka settings as text, without addresses, as the run header shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

Value = str | int | float | bool
Client = str | Mapping[str, Value]

HARNESS, LIBRDKAFKA_DEFAULT = "harness", "librdkafka_default"

# A client that shows the cluster's failover instead of its own timers: reconnects and retries quickly, gives up a
# silent broker after 6 s (default 60 s). Measured: first acknowledgement 0.1-1.2 s after the election.
_QUICK = {
    "socket.timeout.ms": "6000",
    "socket.connection.setup.timeout.ms": "2000",
    "reconnect.backoff.ms": "50",
    "reconnect.backoff.max.ms": "500",
    "retry.backoff.max.ms": "200",
}
_HARNESS_PRODUCER = {
    **_QUICK,
    "linger.ms": "5",
    # One request in flight: with more, librdkafka 2.16 spins at 1-2 cores while its leader is silent; and without
    # idempotence a retry may overtake the request after it.
    "max.in.flight.requests.per.connection": "1",
    "message.timeout.ms": "120000",  # longer than any failover that is looked for, so that no message is given up early
}
_OWN = frozenset({"bootstrap.servers", "metadata.broker.list", "client.id"})
_OWN_BY_SECURITY = ("security.protocol", "sasl.", "ssl.ca.", "ssl.key", "ssl.certificate.")
_OWN_PRODUCER = _OWN | {"acks", "request.required.acks"}
_OWN_CONSUMER = _OWN | {"group.id", "group.protocol", "enable.auto.commit", "enable.auto.offset.store"}


def producer_settings(client: Client, acks: str) -> dict[str, str]:
    """Raises ValueError, naming the field, for settings that contradict the workload's own fields."""
    settings = _profile(client, _HARNESS_PRODUCER, _OWN_PRODUCER)
    if client == HARNESS and acks == "all":
        settings["enable.idempotence"] = "true"
    if settings.get("enable.idempotence") == "true" and acks != "all":
        raise ValueError(f"client: enable.idempotence needs acks: all, not {acks}")
    settings["acks"] = acks
    return settings


def consumer_settings(client: Client, group: str, protocol: str) -> dict[str, str]:
    """Offsets are committed by hand after the tape is written, whatever the profile.

    Raises ValueError, naming the field, for settings that contradict the workload's own fields.
    """
    settings = _profile(client, _QUICK, _OWN_CONSUMER)
    settings.setdefault("auto.offset.reset", "earliest")
    settings |= {
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
    }
    return settings


def profile_name(client: Client) -> str:
    """How captions name the client."""
    return client if isinstance(client, str) else "own settings"


def _profile(client: Client, harness: Mapping[str, str], own: frozenset[str]) -> dict[str, str]:
    if isinstance(client, str):
        if client == HARNESS:
            return dict(harness)
        if client == LIBRDKAFKA_DEFAULT:
            return {}
        raise ValueError(f"client: {client!r} is not {HARNESS}, {LIBRDKAFKA_DEFAULT} or a mapping of settings")
    if refused := sorted(own & client.keys()):
        raise ValueError(f"client: {', '.join(refused)} cannot be set here; the workload's own fields say it")
    if refused := sorted(name for name in client if name.startswith(_OWN_BY_SECURITY)):
        raise ValueError(f"client: {', '.join(refused)} cannot be set here; cluster.security says it")
    return {name: _text(value) for name, value in client.items()}


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
