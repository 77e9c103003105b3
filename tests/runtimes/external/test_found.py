"""Finding a cluster that is not ours: its brokers as they are advertised, and why there are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import PLAINTEXT
from chaoskafka.cluster.spec import ClusterSpec, FoundSpec
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.external import found
from chaoskafka.runtimes.external.found import Found, find
from chaoskafka.runtimes.fake.kafka import FakeKafka
from chaoskafka.runtimes.fake.open import open_cluster
from chaoskafka.runtimes.fake.timers import Timers

NOBODY = Address("127.0.0.1", 1)


def test_the_first_bootstrap_server_that_answers_names_every_broker() -> None:
    kafka = FakeKafka(ClusterSpec(nodes=3), timers=Timers(), lies=frozenset())
    with open_cluster(kafka, {}) as cluster:
        seen = find([NOBODY, cluster.host_addresses()[2]], PLAINTEXT)
    assert sorted(seen.brokers) == [1, 2, 3]
    assert FoundSpec(found=tuple(seen.brokers)).broker_ids == (1, 2, 3)


def test_when_none_answers_each_is_told() -> None:
    with pytest.raises(EnvironmentFailure, match=r"no bootstrap server answered: .*127\.0\.0\.1:1.*; .*127\.0\.0\.1:2"):
        find([NOBODY, replace(NOBODY, port=2)], PLAINTEXT)


def test_a_broker_whose_advertised_name_is_not_known_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Found(cluster_id="x", brokers={7: Address("node-7.invalid", 9092)}, versions={})
    monkeypatch.setattr(found, "_ask", lambda *_: inner)
    with pytest.raises(EnvironmentFailure, match=r"broker 7 is advertised as node-7\.invalid:9092") as told:
        find([NOBODY], PLAINTEXT)
    assert told.value.mend is not None
