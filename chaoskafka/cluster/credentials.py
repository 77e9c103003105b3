"""Credentials of one run's cluster: an authority, a certificate for each node, a password for each user.

In: the protection that a scenario asks for. Out: keystores for nodes, `Security` values for clients. All of it lives in
memory until it is put into containers, and is worth nothing once they are removed.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from chaoskafka.clock import utc_now
from chaoskafka.cluster.security import PLAINTEXT, Protection, Security, User

VALID_DAYS = 366  # longer than any soak; the key is gone when the run is
SKEW = dt.timedelta(days=1)  # clocks of other machines may be behind ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A certificate authority of one run. Its key signs and never leaves this process."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def keystore(self, names: Sequence[str]) -> bytes:
        """Key and certificate chain of a server that is called by `names` (host names, addresses), in one PEM.

        Kafka reads it as `ssl.keystore.location` with type PEM (KIP-651), Python's ssl as a certificate chain.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        signed = (
            _draft(names[0], self.certificate.subject, key)
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(authority_id, critical=False)
            .add_extension(usage, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        plain = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return plain + signed.public_bytes(serialization.Encoding.PEM) + self.pem.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What one cluster is protected with. Made by `make_credentials`."""

    protection: Protection
    authority: Authority | None
    passwords: Mapping[User, str] = field(repr=False)

    def security(self, user: User) -> Security:
        """How `user` connects."""
        if self.authority is None:
            return PLAINTEXT
        if self.protection is Protection.TLS:
            return Security(protection=self.protection, authority=self.authority.pem)
        return Security(
            protection=self.protection,
            authority=self.authority.pem,
            user=user.value,
            password=self.passwords[user],
        )


def make_authority() -> Authority:
    """A new one. Elliptic curves: a key takes under a millisecond, an RSA key of the same strength a second."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "chaoskafka run")])
    draft = _draft("chaoskafka run", name, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    usage = dict.fromkeys(
        (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    draft = draft.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
    return Authority(certificate=draft.sign(key, hashes.SHA256()), key=key)


def make_credentials(protection: Protection) -> Credentials:
    """New ones for one run; for a plaintext cluster there is nothing to make."""
    return Credentials(
        protection=protection,
        authority=None if protection is Protection.PLAINTEXT else make_authority(),
        passwords={user: secrets.token_urlsafe(24) for user in User} if protection is Protection.SASL_SCRAM else {},
    )


def _draft(name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = utc_now()
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + dt.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
