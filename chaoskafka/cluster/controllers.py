"""What dedicated controllers say of themselves: `controller_settings` for the harness, and the process that it starts.

    python -m chaoskafka.cluster.controllers '{"101": ["node-101", 9093], …}'

In: addresses. Out: each controller's effective settings, asked over its own listener (KIP-919): no client library asks
a controller, and a broker knows only itself. That listener is plaintext and published nowhere, hence the client place.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from chaoskafka.clock import Clock, wait_until
from chaoskafka.cluster.abilities import Address, CanHostClients, Cluster
from chaoskafka.cluster.wire import asks
from chaoskafka.cluster.wire.connection import connect
from chaoskafka.errors import EnvironmentFailure, NoAnswer

ANSWER_S = 10.0  # milliseconds on an idle machine; nothing is timed by it


def controller_settings(cluster: Cluster, *, within_s: float, clock: Clock) -> dict[int, dict[str, str]]:
    """The effective settings of every node that is a controller only, secrets left out. Blocks.

    Raises EnvironmentFailure, WaitTimeout, and Interrupted by the clock.
    """
    reached = cluster.controller_addresses()
    dedicated = {node.node_id: reached[node.node_id] for node in cluster.spec.members if not node.is_broker}
    if not dedicated or not isinstance(cluster, CanHostClients):
        return {}
    document = json.dumps({str(node): [at.host, at.port] for node, at in dedicated.items()})
    process = cluster.launch("controllers", ["python", "-m", "chaoskafka.cluster.controllers", document])
    wait_until(
        "the controllers' settings",
        read=process.exited,
        good=lambda seen: seen is not None,
        within_s=within_s,
        clock=clock,
    )
    end = process.wait(within_s=ANSWER_S)  # its last words are there too then
    said = process.latest() or {}
    if end.code != 0 or "settings" not in said:
        raise EnvironmentFailure(f"the controllers' settings were not told: {said or end}")
    return {int(node): settings for node, settings in said["settings"].items()}


def ask(addresses: Mapping[str, Address]) -> dict[str, dict[str, str]]:
    """Each controller's effective settings, defaults included. Blocks. Raises NoAnswer."""
    return {node: _settings_of(node, address) for node, address in addresses.items()}


def _settings_of(node: str, address: Address) -> dict[str, str]:
    with connect(address, ANSWER_S)[0] as connection:
        (result,) = connection.ask(asks.describe_node(node)).results
    if result.error_code:
        raise NoAnswer(f"controller {node}: {result.error_code.name}: {result.error_message}")
    return {str(each.name): str(each.value) for each in result.configs if each.value is not None}


def main(argv: Sequence[str]) -> int:
    """Tells the settings in one status line; 1 with a line that says why there are none."""
    addresses = {node: Address(host, port) for node, (host, port) in json.loads(argv[0]).items()}
    try:
        said: dict[str, object] = {"settings": ask(addresses)}
    except NoAnswer as silence:
        said = {"problem": str(silence)}
    sys.stdout.write(json.dumps(said) + "\n")
    return 0 if "settings" in said else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
