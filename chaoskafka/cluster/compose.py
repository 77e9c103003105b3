"""A cluster as a Compose file: the same settings that a run gives its nodes, for whoever starts them by hand. Pure.

In: a ClusterSpec. Out: the document as plain values. Each node is one container; its disk is a named volume, so it
lives on over `restart` and `up`. What chaoskafka itself starts is more: see architecture.md on nodes and hosts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chaoskafka.cluster import config
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.security import Protection
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.errors import UsageError

PORT_MAX = 65535
GRACE_S = 60  # for a controlled shutdown: 2-5 s, with thousands of partitions more; Compose's own 10 s end in a kill


def compose(spec: ClusterSpec, *, name: str, first_port: int) -> dict[str, Any]:
    """`name`: of the cluster, by which its id is made. It is not in the file: docker-compose 1.29, which Debian 12 has,
    refuses the key; the project is named where Compose is called. Clients on the host reach broker N at
    localhost:`first_port` + N - 1.

    Raises UsageError: protected listeners need certificates, which a file cannot hold; or ports beyond the last one.
    """
    if spec.security is not Protection.PLAINTEXT:
        raise UsageError(f"cluster.security: {spec.security}: a Compose file can hold no certificates; only plaintext")
    if first_port + len(spec.broker_ids) - 1 > PORT_MAX:
        raise UsageError(
            f"--first-port {first_port}: {len(spec.broker_ids)} brokers need as many ports up to {PORT_MAX}"
        )
    return {
        "services": {node.name: _service(spec, node, name, first_port) for node in spec.members},
        "networks": {"kafka": {}},
        "volumes": {f"{node.name}-data": {} for node in spec.members},
    }


def _service(spec: ClusterSpec, node: NodeSpec, name: str, first_port: int) -> dict[str, Any]:
    port = first_port + node.node_id - 1
    address = Address("localhost", port) if node.is_broker else None
    service: dict[str, Any] = {
        "image": f"${{KAFKA_IMAGE:-apache/kafka:{spec.release}}}",
        "hostname": node.name,
        "environment": _escaped(config.environment(spec, node, address, cluster_id=config.cluster_id(name))),
        "networks": ["kafka"],
        "volumes": [f"{node.name}-data:{config.DATA_MOUNT}"],
        "mem_limit": f"{spec.memory_mib}m",
        "memswap_limit": f"{spec.memory_mib}m",  # equal: no swap, which would make a broker slow instead of dead
        "stop_grace_period": f"{GRACE_S}s",
    }
    if node.is_broker:
        # On loopback only: there is no password on it.
        service["ports"] = [f"127.0.0.1:{port}:{Plane.HOST.port}"]
    return service


def _escaped(environment: Mapping[str, str]) -> dict[str, str]:
    """Compose would replace `$X` in values."""
    return {key: value.replace("$", "$$") for key, value in sorted(environment.items())}
