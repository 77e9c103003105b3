"""A file of client settings, as librdkafka reads them, becomes a `Security`.

In: a path. Out: how to get in. Only the keys that say that are taken; any other would not be heeded, and is refused.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from chaoskafka.cluster.security import MECHANISM, PLAINTEXT, Protection, Security
from chaoskafka.errors import UsageError
from chaoskafka.files import Unreadable, read_regular

MAX_BYTES = 1 << 20
_TLS = ("ssl.ca.location",)
_SCRAM = (*_TLS, "sasl.username", "sasl.password")
PROTOCOLS: Mapping[str, tuple[Protection, tuple[str, ...]]] = {  # security.protocol, and what it takes beside
    "PLAINTEXT": (Protection.PLAINTEXT, ()),
    "SSL": (Protection.TLS, _TLS),
    "SASL_SSL": (Protection.SASL_SCRAM, _SCRAM),
}
KEYS = ("security.protocol", "sasl.mechanism", *_SCRAM)


def read_security(path: Path) -> Security:
    """Raises UsageError: file, key, what is allowed. Never repeats a password."""
    given = _settings(path)
    written = given.get("security.protocol", "PLAINTEXT")
    if written not in PROTOCOLS:
        raise UsageError(f"{path}: security.protocol: {written!r} is not one of {', '.join(PROTOCOLS)}")
    protection, needed = PROTOCOLS[written]
    if missing := [key for key in needed if not given.get(key)]:
        raise UsageError(f"{path}: security.protocol {written} takes {', '.join(missing)} too")
    optional = ("sasl.mechanism",) if protection is Protection.SASL_SCRAM else ()
    if unheeded := sorted(given.keys() - {"security.protocol", *needed, *optional}):
        raise UsageError(f"{path}: security.protocol {written} does not heed {', '.join(unheeded)}")
    if protection is Protection.SASL_SCRAM and given.get("sasl.mechanism", MECHANISM) != MECHANISM:
        raise UsageError(f"{path}: sasl.mechanism: only {MECHANISM} is spoken here")
    if protection is Protection.PLAINTEXT:
        return PLAINTEXT
    authority = path.parent / given["ssl.ca.location"]
    security = Security(
        protection=protection,
        authority=_read(authority).decode("ascii", "replace"),
        user=given.get("sasl.username", ""),
        password=given.get("sasl.password", ""),
    )
    if "BEGIN CERTIFICATE" not in security.authority:  # of an empty text Python would trust the machine's own
        raise UsageError(f"{path}: ssl.ca.location: {authority} holds no certificate in PEM form")
    try:
        security.tls()
    except (ssl.SSLError, ValueError) as broken:
        raise UsageError(f"{path}: ssl.ca.location: {authority}: {broken}") from broken
    return security


def _settings(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(_read(path).decode("utf-8", "replace").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or key not in KEYS:
            raise UsageError(f"{path}:{number}: expected KEY=VALUE with one of {', '.join(KEYS)}")
        found[key] = value
    return found


def _read(path: Path) -> bytes:
    try:
        return read_regular(path, max_bytes=MAX_BYTES)
    except Unreadable as why:
        raise UsageError(f"{path}: {why}") from why
