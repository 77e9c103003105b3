"""How clients reach a cluster: in the clear, over TLS, or over TLS with a name and a password (SCRAM).

In: what a run's cluster was given (`credentials.py`). Out: one value, `Security`, which every client of ours takes, and
what librdkafka, Python's ssl and a process of its own make of it. Imported in client places: standard library only.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from typing import Self

from chaoskafka.errors import UsageError

VARIABLE = "CHAOSKAFKA_SECURITY"
"""Hands a Security to a process. The environment, since a command line can be read by every process of the machine."""

MECHANISM = "SCRAM-SHA-512"


class Protection(StrEnum):
    """`plaintext`: none. `tls`: encrypted, brokers prove who they are. `sasl_scram`: clients too, and ACLs rule."""

    PLAINTEXT = "plaintext"
    TLS = "tls"
    SASL_SCRAM = "sasl_scram"


class User(StrEnum):
    """Who connects to a cluster with users (`sasl_scram`)."""

    ADMIN = "admin"  # a super user: makes topics and ACLs
    WORKER = "worker"  # may only what the scenario's workloads need
    OBSERVER = "observer"  # may look at everything and change nothing: views, the observer, the audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """One client's way in. The defaults are a plaintext connection."""

    protection: Protection = Protection.PLAINTEXT
    authority: str = ""  # PEM: whose signature a broker's certificate must bear
    user: str = ""
    password: str = field(default="", repr=False)

    def librdkafka(self) -> dict[str, str]:
        """Client settings; none for a plaintext connection."""
        if self.protection is Protection.PLAINTEXT:
            return {}
        encrypted = {"ssl.ca.pem": self.authority}
        if self.protection is Protection.TLS:
            return {"security.protocol": "SSL", **encrypted}
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.username": self.user,
            "sasl.password": self.password,
            **encrypted,
        }

    def shown(self) -> dict[str, str]:
        """The same settings, fit to be kept: without the password, and without a certificate that is gone by then."""
        masked = {"sasl.password": "***", "ssl.ca.pem": "the run's own"}
        return {key: masked.get(key, value) for key, value in self.librdkafka().items()}

    def tls(self) -> ssl.SSLContext | None:
        """What Python's ssl needs; None for a plaintext connection. Certificate and host name are verified."""
        return None if self.protection is Protection.PLAINTEXT else _context(self.authority)

    def environment(self) -> dict[str, str]:
        """How a process of its own is told; nothing for a plaintext connection."""
        return {} if self.protection is Protection.PLAINTEXT else {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def given(cls, environment: Mapping[str, str]) -> Self:
        """The reverse of `environment`. Raises UsageError, which does not repeat what may be a secret."""
        if VARIABLE not in environment:
            return cls()
        try:
            raw = json.loads(environment[VARIABLE])
            return cls(**{**raw, "protection": Protection(raw["protection"])})
        except (ValueError, TypeError, KeyError) as wrong:
            raise UsageError(f"{VARIABLE}: not what chaoskafka puts there: {type(wrong).__name__}") from None


PLAINTEXT = Security()


@cache  # one authority per run, and every connection needs its context: reading it takes longer than a plain connect
def _context(authority: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # as Kafka's own default
    return context
