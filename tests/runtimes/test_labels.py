"""Labels: everything that a run creates says whose it is."""

from chaoskafka.runtimes.docker import labels
from chaoskafka.runtimes.docker.labels import Part
from chaoskafka.runtimes.owner import this_owner


def test_labels_of_a_node() -> None:
    found = labels.labels("r1", Part.KAFKA, "node-1")
    assert found == {
        "chaoskafka.run": "r1",
        "chaoskafka.role": "kafka",
        "chaoskafka.node": "node-1",
        "chaoskafka.owner": str(this_owner()),
    }
    assert "chaoskafka.node" not in labels.labels("r1", Part.NETWORK)
