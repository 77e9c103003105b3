"""The first words on a connection, played without one: questions out, answers of a broker by hand in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.sasl_authenticate.v2 import SaslAuthenticateResponse
from kio.schema.sasl_handshake.v1 import SaslHandshakeResponse
from kio.static.primitive import i64Timedelta
from scramp import ScramException, ScramMechanism
from scripted_broker import api_versions

from chaoskafka.cluster.security import PLAINTEXT, Protection, Security
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.greeting import greet
from chaoskafka.errors import AccessRefused, NoAnswer

ADA = Security(protection=Protection.SASL_SCRAM, authority="", user="ada", password="lovelace")
TLS = Security(protection=Protection.TLS, authority="")
NEVER = i64Timedelta.parse(timedelta(0))


class Broker:
    """Knows one user, by the hash of a password as Kafka stores it; `twist` changes what it says at the end."""

    def __init__(self, password: str = ADA.password, twist: Callable[[str], str] = str) -> None:
        mechanism = ScramMechanism("SCRAM-SHA-512")
        self._server = mechanism.make_server(lambda user: mechanism.make_auth_info(password, iteration_count=4096))
        self._twist, self._first = twist, True
        self.asked: list[str] = []

    def answer(self, question: asks.Ask[Any]) -> Any:
        self.asked.append(question.api.module)
        request = question.request(question.api.versions[-1])
        if question.api is asks.API_VERSIONS:
            return api_versions(7)
        if question.api is asks.SASL_HANDSHAKE:
            return SaslHandshakeResponse(error_code=ErrorCode.none, mechanisms=(request.mechanism,))
        try:
            return self._authenticate(request.auth_bytes.decode())
        except ScramException:
            return SaslAuthenticateResponse(
                error_code=ErrorCode.sasl_authentication_failed,
                error_message="invalid credentials",
                auth_bytes=b"",
                session_lifetime=NEVER,
            )

    def _authenticate(self, said: str) -> SaslAuthenticateResponse:
        if self._first:
            self._first = False
            self._server.set_client_first(said)
            text = self._server.get_server_first()
        else:
            self._server.set_client_final(said)
            text = self._twist(self._server.get_server_final())
        return SaslAuthenticateResponse(
            error_code=ErrorCode.none, error_message=None, auth_bytes=text.encode(), session_lifetime=NEVER
        )


def play(security: Security, answer: Callable[[asks.Ask[Any]], Any]) -> asks.ApiVersions:
    greeting = greet(security)
    question = next(greeting)
    while True:
        try:
            question = greeting.send(answer(question))
        except StopIteration as done:
            return done.value


@pytest.mark.parametrize("security", [PLAINTEXT, TLS])
def test_a_stranger_asks_for_versions_only(security: Security) -> None:
    broker = Broker()
    assert play(security, broker.answer).finalized_features_epoch == 7
    assert broker.asked == ["api_versions"]


def test_a_user_logs_in_with_scram() -> None:
    broker = Broker()
    assert play(ADA, broker.answer).finalized_features_epoch == 7
    assert broker.asked == ["api_versions", "sasl_handshake", "sasl_authenticate", "sasl_authenticate"]


def test_a_wrong_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(AccessRefused, match="user ada: sasl_authentication_failed: invalid credentials") as refused:
        play(replace(ADA, password="byron"), Broker().answer)
    assert "byron" not in str(refused.value)


def test_a_broker_that_does_not_know_the_password_is_refused() -> None:
    liar = Broker(twist=lambda said: "v=" + "A" * (len(said) - 3) + "=")
    with pytest.raises(AccessRefused, match="SCRAM-SHA-512 as user ada"):
        play(ADA, liar.answer)


def test_a_mechanism_that_the_broker_does_not_offer_is_refused() -> None:
    def answer(question: asks.Ask[Any]) -> Any:
        if question.api is asks.SASL_HANDSHAKE:
            return SaslHandshakeResponse(error_code=ErrorCode.unsupported_sasl_mechanism, mechanisms=("PLAIN",))
        return Broker().answer(question)

    with pytest.raises(AccessRefused, match="the broker offers PLAIN"):
        play(ADA, answer)


def test_a_broker_without_common_versions_is_no_answer() -> None:
    refused = replace(api_versions(7), error_code=ErrorCode.unsupported_version)
    with pytest.raises(NoAnswer, match="ApiVersions: unsupported_version"):
        play(ADA, lambda _: refused)
