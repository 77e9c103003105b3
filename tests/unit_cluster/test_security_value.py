"""How clients get in: what librdkafka, ssl and other processes are told, and what is never shown."""

from __future__ import annotations

import json

import pytest

from chaoskafka.cluster.security import PLAINTEXT, VARIABLE, Protection, Security
from chaoskafka.errors import UsageError

SECRET = "correct horse battery staple"
TLS = Security(protection=Protection.TLS, authority="PEM")
SCRAM = Security(protection=Protection.SASL_SCRAM, authority="PEM", user="worker", password=SECRET)


@pytest.mark.parametrize(
    ("security", "settings"),
    [
        (PLAINTEXT, {}),
        (TLS, {"security.protocol": "SSL", "ssl.ca.pem": "PEM"}),
        (
            SCRAM,
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "worker",
                "sasl.password": SECRET,
                "ssl.ca.pem": "PEM",
            },
        ),
    ],
)
def test_what_librdkafka_is_told(security: Security, settings: dict[str, str]) -> None:
    assert security.librdkafka() == settings


@pytest.mark.parametrize("security", [PLAINTEXT, TLS, SCRAM])
def test_what_another_process_is_told_comes_back_the_same(security: Security) -> None:
    assert Security.given({"PATH": "/bin", **security.environment()}) == security


def test_nothing_is_told_where_there_is_nothing_to_tell() -> None:
    assert PLAINTEXT.environment() == {}
    assert PLAINTEXT.tls() is None


def test_a_password_is_never_shown() -> None:
    assert SECRET not in repr(SCRAM)
    assert SECRET not in json.dumps(SCRAM.shown())
    assert SCRAM.shown()["sasl.password"] == "***"
    assert SCRAM.shown().keys() == SCRAM.librdkafka().keys()


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f'"{SECRET}"',
        f'{{"password": "{SECRET}"}}',
        f'{{"protection": "{SECRET}"}}',
        f'{{"protection": "tls", "{SECRET}": 1}}',
    ],
)
def test_what_is_not_ours_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match=VARIABLE) as refused:
        Security.given({VARIABLE: text})
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None
