"""The first words on a connection: which versions are spoken, and who we are. Questions only, no input or output.

In: a Security. Out: a generator of questions that is sent their answers, and returns the broker's ApiVersions. Used by
the blocking connection and by the observer's stream. SCRAM is RFC 5802 in SaslHandshake and SaslAuthenticate (KIP-152).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from scramp import ScramClient, ScramException

from chaoskafka.cluster.security import MECHANISM, Protection, Security
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.asks import ApiVersions, Ask
from chaoskafka.errors import AccessRefused, NoAnswer


def greet(security: Security) -> Generator[Ask[Any], Any, ApiVersions]:
    """ApiVersions first, since a broker answers it to strangers too; then who we are, where it wants to know.

    Raises NoAnswer, and AccessRefused when either side does not trust the other.
    """
    versions: ApiVersions = yield asks.api_versions()
    if versions.error_code:
        raise NoAnswer(f"ApiVersions: {versions.error_code.name}")
    if security.protection is Protection.SASL_SCRAM:
        yield from _introduce(security)
    return versions


def _introduce(security: Security) -> Generator[Ask[Any], Any, None]:
    chosen = yield asks.sasl_handshake(MECHANISM)
    if chosen.error_code:
        offered = ", ".join(chosen.mechanisms) or "none"
        raise AccessRefused(f"{MECHANISM}: {chosen.error_code.name}; the broker offers {offered}")
    client = ScramClient([MECHANISM], security.user, security.password)
    try:
        client.set_server_first((yield from _say(client.get_client_first(), security.user)))
        # Only who knows the password's hash can answer this: the broker proves itself too.
        client.set_server_final((yield from _say(client.get_client_final(), security.user)))
    except ScramException as wrong:
        raise AccessRefused(f"{MECHANISM} as user {security.user}: {wrong}") from wrong


def _say(message: str, user: str) -> Generator[Ask[Any], Any, str]:
    answer = yield asks.sasl_authenticate(message.encode())
    if answer.error_code:
        said = f": {answer.error_message}" if answer.error_message else ""
        raise AccessRefused(f"user {user}: {answer.error_code.name}{said}")
    return str(answer.auth_bytes, "utf-8", "replace")
