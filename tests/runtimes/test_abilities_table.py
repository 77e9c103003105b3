"""The table of abilities, and the one for people, say what the runtimes' own classes have, neither more nor less."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka import runtimes
from chaoskafka.cluster import abilities
from chaoskafka.runtimes.docker.node import DockerNode
from chaoskafka.runtimes.docker.open import DockerCluster
from chaoskafka.runtimes.fake.node import FakeNode
from chaoskafka.runtimes.fake.open import FakeCluster
from chaoskafka.runtimes.process.node import ProcessNode
from chaoskafka.runtimes.process.open import ProcessCluster
from chaoskafka.runtimes.process.plain import PlainNode

# A node's and a cluster's class of each runtime: where its abilities are.
CLASSES: dict[str, tuple[type, ...]] = {
    "docker": (DockerNode, DockerCluster),
    "process": (ProcessNode, ProcessCluster),
    "process-plain": (PlainNode, ProcessCluster),
    "fake": (FakeNode, FakeCluster),
}
ALL = tuple(ability for name, ability in vars(abilities).items() if name.startswith("Can"))


def acts(ability: type) -> set[str]:
    """The methods that an ability adds to a node."""
    return {name for name, value in vars(ability).items() if callable(value) and not name.startswith("_")}


def test_an_ability_adds_something_to_do() -> None:
    assert len(ALL) >= 2
    assert all(map(acts, ALL))


@pytest.mark.parametrize("runtime", runtimes.ABILITIES)
def test_the_table_is_what_the_classes_have(runtime: str) -> None:
    has = {a for a in ALL if any(all(hasattr(kind, act) for act in acts(a)) for kind in CLASSES[runtime])}
    assert set(runtimes.ABILITIES[runtime]) == has


def test_the_table_for_people_is_the_same() -> None:
    told = (Path(__file__).parents[2] / "docs" / "runtimes.md").read_text(encoding="utf-8")
    assert f"| ability | {' | '.join(runtimes.ABILITIES)} |" in told
    for ability in ALL:
        cells = ["yes" if ability in can else "no" for can in runtimes.ABILITIES.values()]
        assert f"| {ability.__name__} | {' | '.join(cells)} |" in told
