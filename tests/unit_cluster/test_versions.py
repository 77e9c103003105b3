"""Supported versions."""

import pytest

from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.versions import SUPPORTED, kafka_version
from chaoskafka.errors import UsageError


def test_the_default_version_is_supported() -> None:
    assert kafka_version(ClusterSpec().kafka).eligible_leader_replicas


def test_an_unknown_version_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=next(iter(SUPPORTED))):
        kafka_version("3.9.0")
