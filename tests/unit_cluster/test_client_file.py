"""Client settings from a file: what gets us in, and each way in which the file can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.cluster.client_file import read_security
from chaoskafka.cluster.credentials import make_credentials
from chaoskafka.cluster.security import PLAINTEXT, Protection, Security
from chaoskafka.errors import UsageError

credentials = make_credentials(Protection.TLS)
assert credentials.authority is not None
AUTHORITY = credentials.authority.pem
SCRAM = """\
# as librdkafka takes it
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username = alice
sasl.password = a=b
ssl.ca.location=ca.pem
"""


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "ca.pem").write_text(AUTHORITY)
    (tmp_path / "empty.pem").write_text("")
    (tmp_path / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")
    path = tmp_path / "client.properties"
    path.write_text(text)
    return path


def test_each_protocol_is_a_way_in(tmp_path: Path) -> None:
    assert read_security(written(tmp_path, "")) == PLAINTEXT
    assert read_security(written(tmp_path, SCRAM)) == Security(
        protection=Protection.SASL_SCRAM, authority=AUTHORITY, user="alice", password="a=b"
    )
    tls = read_security(written(tmp_path, "security.protocol=SSL\nssl.ca.location=ca.pem"))
    assert (tls.protection, tls.user) == (Protection.TLS, "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("security.protocol=SASL_PLAINTEXT", "'SASL_PLAINTEXT' is not one of PLAINTEXT, SSL, SASL_SSL"),
        ("security.protocol=SSL", r"takes ssl\.ca\.location too"),
        ("security.protocol=SASL_SSL\nsasl.username=a", r"takes ssl\.ca\.location, sasl\.password too"),
        (SCRAM.replace("512", "256"), "only SCRAM-SHA-512"),
        (SCRAM.replace("ca.pem", "none.pem"), r"none\.pem: No such file"),
        (SCRAM.replace("ca.pem", "empty.pem"), "empty.pem holds no certificate in PEM form"),
        (SCRAM.replace("ca.pem", "broken.pem"), "ssl.ca.location: .*broken.pem: "),
        ("ssl.ca.location=ca.pem", r"PLAINTEXT does not heed ssl\.ca\.location"),
        ("security.protocol=SSL\nssl.ca.location=ca.pem\nsasl.username=a", r"SSL does not heed sasl\.username"),
        ("acks=all", r"client\.properties:1: expected KEY=VALUE with one of security\.protocol"),
        ("\n\nsecurity.protocol", r"client\.properties:3: expected"),
    ],
)
def test_what_would_not_be_heeded_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as refused:
        read_security(written(tmp_path, text))
    assert "a=b" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.properties: No such file"):
        read_security(tmp_path / "none.properties")
