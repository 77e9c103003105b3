"""Names and labels of everything that a run creates: a run id in, what finds it again out. Pure but for the owner.

Labels alone must suffice to find and remove a dead run, so each object says which run it belongs to and who started
it. Names follow from run and part, so that a removal can be registered before the thing exists.
"""

from __future__ import annotations

from enum import StrEnum

from chaoskafka.runtimes.owner import this_owner

RUN = "chaoskafka.run"
ROLE = "chaoskafka.role"
NODE = "chaoskafka.node"
OWNER = "chaoskafka.owner"
FACTS = "chaoskafka.facts"  # on a standing cluster's mark: what it was made from, as JSON


class Part(StrEnum):
    """What a created object is (label `chaoskafka.role`)."""

    NETWORK = "network"
    HOST = "host"  # owns a node's network namespace and address
    KAFKA = "kafka"
    DATA = "data"  # a node's disk
    CLIENT = "client"
    PATIENT = "patient"  # what the doctor tries things on
    STANDING = "standing"  # an empty volume: this cluster is to stay although no process of ours holds it


def labels(run_id: str, part: Part, node: str | None = None) -> dict[str, str]:
    """Labels of one object that this process creates."""
    found = {RUN: run_id, ROLE: part.value, OWNER: str(this_owner())}
    return {**found, NODE: node} if node is not None else found


def object_name(run_id: str, *parts: str) -> str:
    """The engine's name for one object of a run."""
    return "-".join(("chaoskafka", run_id, *parts))
