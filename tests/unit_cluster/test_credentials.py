"""Certificates of a run, used by both kinds of connection of ours against a server inside TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from scripted_broker import api_versions, body, scripted_broker

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.credentials import make_authority, make_credentials
from chaoskafka.cluster.security import PLAINTEXT, Protection, Security, User
from chaoskafka.cluster.wire.connection import connect
from chaoskafka.cluster.wire.stream import open_stream
from chaoskafka.errors import AccessRefused, NoAnswer

OURS, STRANGERS = make_authority(), make_authority()
NAMES = ("node-1", "172.18.0.5", "127.0.0.1", "localhost")


def trusting(pem: str) -> Security:
    return Security(protection=Protection.TLS, authority=pem)


def serving(tmp_path: Path, *names: str) -> ssl.SSLContext:
    path = tmp_path / "node.pem"
    path.write_bytes(OURS.keystore(names))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def script(key: int, version: int) -> bytes:
    return body(api_versions(41))


Way = Callable[..., int]


def blocking(address: Address, security: Security, within_s: float = 5.0) -> int:
    connection, versions = connect(address, within_s, security)
    connection.close()
    return int(versions.finalized_features_epoch)


def streaming(address: Address, security: Security, within_s: float = 5.0) -> int:
    async def main() -> int:
        stream = await open_stream(address, connect_s=within_s, answer_s=within_s, security=security)
        stream.close()
        return 41 if stream.offered else 0

    return asyncio.run(main())


BOTH = pytest.mark.parametrize("ask", [blocking, streaming])


def test_a_certificate_bears_every_name_and_serves_only() -> None:
    found = x509.load_pem_x509_certificates(OURS.keystore(NAMES))[0]
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["node-1", "localhost"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["172.18.0.5", "127.0.0.1"]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    found.verify_directly_issued_by(OURS.certificate)


@BOTH
def test_who_trusts_the_authority_gets_in(ask: Way, tmp_path: Path) -> None:
    with scripted_broker(script, context=serving(tmp_path, *NAMES)) as address:
        assert ask(address, trusting(OURS.pem)) == 41


@BOTH
def test_a_certificate_of_another_authority_is_refused(ask: Way, tmp_path: Path) -> None:
    with (
        scripted_broker(script, context=serving(tmp_path, *NAMES)) as address,
        pytest.raises(AccessRefused, match="its certificate is not to be trusted"),
    ):
        ask(address, trusting(STRANGERS.pem))


@BOTH
def test_a_certificate_for_another_host_is_refused(ask: Way, tmp_path: Path) -> None:
    with (
        scripted_broker(script, context=serving(tmp_path, "node-2")) as address,
        pytest.raises(AccessRefused, match="IP address mismatch"),
    ):
        ask(address, trusting(OURS.pem))


@BOTH
def test_a_broker_without_tls_is_no_answer(ask: Way) -> None:
    with scripted_broker(lambda key, version: None) as address, pytest.raises(NoAnswer, match="TLS: "):
        ask(address, trusting(OURS.pem), 0.2)


@BOTH
def test_a_connection_in_the_clear_is_told_that_tls_is_wanted(ask: Way) -> None:
    """These are the bytes that Kafka sends then; the TLS server of this test would just hang up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def alert() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(bytes.fromhex("15 0303 0002 0250"))

        thread = threading.Thread(target=alert)
        thread.start()
        try:
            with pytest.raises(AccessRefused, match="speaks TLS"):
                ask(Address(*server.getsockname()), PLAINTEXT)
        finally:
            thread.join(5)


@pytest.mark.parametrize("protection", Protection)
def test_each_user_gets_what_the_protection_needs(protection: Protection) -> None:
    made = make_credentials(protection)
    found = {user: made.security(user) for user in User}
    assert {security.protection for security in found.values()} == {protection}
    passwords = {security.password for security in found.values()}
    assert len(passwords - {""}) == (len(User) if protection is Protection.SASL_SCRAM else 0)
    assert not any(password and password in repr(made) for password in passwords)
    assert bool(found[User.ADMIN].authority) is (protection is not Protection.PLAINTEXT)


def test_no_two_runs_share_a_secret() -> None:
    first, second = (make_credentials(Protection.SASL_SCRAM) for _ in range(2))
    assert not set(first.passwords.values()) & set(second.passwords.values())
    assert first.security(User.ADMIN).authority != second.security(User.ADMIN).authority
