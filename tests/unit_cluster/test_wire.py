"""The protocol: frames by literal bytes, negotiation by table, connections against a scripted broker."""

from __future__ import annotations

import dataclasses
import socket
import struct
import uuid
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from scripted_broker import OFFERED, api_versions, body, scripted_broker

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.wire import asks, frames
from chaoskafka.cluster.wire.connection import connect
from chaoskafka.errors import NoAnswer


def test_an_api_versions_request_byte_for_byte() -> None:
    frame = frames.encode(asks.api_versions().request(4), 7)
    assert frame == bytes.fromhex(
        "00000023"  # length
        "0012 0004 00000007"  # ApiVersions, v4, correlation id
        "000a 6368616f736b61666b61 00"  # client id "chaoskafka", no tags
        "0b 6368616f736b61666b61"  # software name
        "02 31 00"  # version "1", no tags
    )


def test_a_metadata_request_byte_for_byte() -> None:
    frame = frames.encode(asks.metadata(["orders"]).request(12), 1)
    assert frame == bytes.fromhex(
        "00000031"
        "0003 000c 00000001"
        "000a 6368616f736b61666b61 00"
        "02"  # one topic
        "00000000000000000000000000000000"  # its id is not asked by
        "07 6f7264657273 00"
        "00 00 00"  # no auto creation, no operations, no tags
    )


def test_metadata_of_all_topics_is_a_null_list() -> None:
    assert frames.encode(asks.metadata(None).request(12), 1)[-4:] == bytes.fromhex("00 00 00 00")


def test_an_api_versions_answer_from_bytes() -> None:
    answer = frames.decode(
        asks.api_versions().answer_type(4),
        bytes.fromhex(
            "00000007"  # correlation id; this answer's header never has tags (KIP-511)
            "0000"  # no error
            "02 0012 0000 0004 00"  # one API: 18, v0 to v4
            "00000000"  # throttle
            "01"  # one tag:
            "01 08 0000000000000539"  # finalized features epoch 1337
        ),
        7,
    )
    assert (answer.finalized_features_epoch, asks.offered(answer)) == (1337, {18: (0, 4)})


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 20])
def test_a_torn_answer_is_no_answer(cut: int) -> None:
    whole = body(api_versions(5))
    with pytest.raises(NoAnswer):
        frames.decode(asks.api_versions().answer_type(4), whole[:-cut], 1)


def test_bytes_left_over_are_no_answer() -> None:
    with pytest.raises(NoAnswer, match="2 bytes left unread"):
        frames.decode(asks.api_versions().answer_type(4), body(api_versions(5)) + b"xx", 1)


def test_an_answer_to_another_question_is_no_answer() -> None:
    with pytest.raises(NoAnswer, match="answer to request 1, expected 2"):
        frames.decode(asks.api_versions().answer_type(4), body(api_versions(5)), 2)


@given(st.binary(max_size=200))
def test_garbage_is_no_answer_and_never_reaches_kio(garbage: bytes) -> None:
    """An array of a billion entries, claimed by two bytes, would end the process that reads it."""
    begins = struct.unpack(">i", garbage[:4].ljust(4, b"\0"))[0]
    for question in (asks.api_versions(), asks.metadata(None), asks.describe_cluster()):
        with patch.object(frames, "entity_reader") as reader, pytest.raises(NoAnswer):
            frames.decode(question.answer_type(question.api.versions[-1]), garbage, begins ^ 1)
        reader.assert_not_called()


@pytest.mark.parametrize("length", [-1, 0, 3, frames.ANSWER_BYTES_MAX + 1, 0x48545450])
def test_lengths_that_are_not_kafkas(length: int) -> None:
    with pytest.raises(NoAnswer, match="not Kafka's"):
        frames.length_of(struct.pack(">i", length))


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [((0, 13), 13), ((0, 99), 13), ((0, 12), 12), ((13, 14), 13), ((0, 11), None), ((14, 20), None)],
)
def test_the_highest_version_that_both_know(offered: tuple[int, int], chosen: int | None) -> None:
    if chosen is not None:
        assert asks.choose(asks.METADATA, {3: offered}) == chosen
        return
    with pytest.raises(NoAnswer, match="we know"):
        asks.choose(asks.METADATA, {3: offered})


def test_an_api_that_the_broker_does_not_offer() -> None:
    with pytest.raises(NoAnswer, match="offers describe_cluster"):
        asks.choose(asks.DESCRIBE_CLUSTER, {3: (0, 13)})


PLACE = asks.FetchFrom(topic_id=uuid.UUID(int=1), partition=2, leader_epoch=3, offset=4, bytes_max=5)
EVERY_ASK = [
    asks.api_versions(),
    asks.metadata(None),
    asks.metadata(["a", "b"]),
    asks.describe_cluster(),
    asks.describe_quorum(),
    asks.find_coordinator("readers"),
    asks.find_coordinator("tx-1", asks.TRANSACTION),
    asks.list_offsets("orders", {0: 1, 5: -1}, asks.LATEST),
    asks.offset_for_leader_epoch("orders", {0: 1}),
    asks.fetch(PLACE),
]


@pytest.mark.parametrize("question", EVERY_ASK, ids=lambda question: question.api.module)
def test_every_question_reads_back_in_every_version_that_we_know(question: asks.Ask[object]) -> None:
    for version in question.api.versions:
        request = question.request(version)
        assert (request.__api_key__, request.__version__) == (question.api.key, version)
        frame = frames.encode(request, 9)
        header, used = entity_reader(request.__header_schema__)(frame, 4)
        at = 4 + used
        assert (header.request_api_key, header.request_api_version) == (question.api.key, version)
        again, used = entity_reader(type(request))(frame, at)
        assert again == request
        assert at + used == len(frame)
        assert question.answer_type(version).__version__ == version


def test_a_connection_negotiates_then_asks() -> None:
    asked = []

    def script(key: int, version: int) -> bytes:
        asked.append((key, version))
        return body(api_versions(41, {18: (0, 3)}))

    with scripted_broker(script) as address:
        connection, versions = connect(address, 5.0)
        with connection:
            assert versions.finalized_features_epoch == 41
            connection.ask(asks.api_versions())
            with pytest.raises(NoAnswer, match="offers metadata"):
                connection.ask(asks.metadata(None))
    assert asked == [(18, 4), (18, 3)]


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NoAnswer, match=f"127.0.0.1:{port}: connect: Connection refused"):
        connect(Address("127.0.0.1", port), 1.0)


def test_silence_is_noticed() -> None:
    with scripted_broker(lambda key, version: None) as address, pytest.raises(NoAnswer, match="no answer in time"):
        connect(address, 0.2)


def test_a_connection_that_is_cut_is_noticed_and_of_no_more_use() -> None:
    def script(key: int, version: int) -> bytes:
        if key != 18:
            raise ConnectionAbortedError
        return body(api_versions(1))

    with scripted_broker(script) as address:
        connection, _ = connect(address, 5.0)
        with connection:
            for _ in range(2):
                with pytest.raises(NoAnswer, match="metadata"):
                    connection.ask(asks.metadata(None))


def test_a_broker_that_refuses_our_versions_says_so() -> None:
    refused = dataclasses.replace(api_versions(1), error_code=ErrorCode.unsupported_version)
    with scripted_broker(lambda key, version: body(refused)) as address, pytest.raises(NoAnswer, match="unsupported"):
        connect(address, 5.0)


def test_our_ranges_are_those_of_kio() -> None:
    for key, versions in ((api.key, api.versions) for api in (asks.METADATA, asks.FETCH, asks.LIST_OFFSETS)):
        low, high = OFFERED[key]
        assert low <= versions[0] <= versions[-1] <= high
