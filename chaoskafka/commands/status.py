"""`chaoskafka status`: what a cluster that stands looks like now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from chaoskafka import by_hand
from chaoskafka.cluster import sights
from chaoskafka.cluster.abilities import NodeState
from chaoskafka.commands.output import say
from chaoskafka.errors import ExitCode


def main(cluster: str | None, *, as_json: bool) -> ExitCode:
    """Blocks up to some seconds for nodes that are silent. Raises UsageError, EnvironmentFailure."""
    facts = facts_of(by_hand.status(by_hand.find(cluster)))
    say(json.dumps(facts) if as_json else as_text(facts))
    return ExitCode.PASS


def facts_of(status: by_hand.Status) -> Mapping[str, Any]:
    """A status as JSON holds it."""
    answering = {view.broker: view for view in status.views}
    fenced = {broker: is_fenced for view in sights.reachable(status.views) for broker, is_fenced in view.fenced.items()}
    nodes = []
    for member in status.cluster.spec.members:
        view = answering.get(member.node_id)
        nodes.append(
            {
                "node": member.node_id,
                "roles": sorted(member.roles),
                "process": _process(status.states[member.name]),
                "answers": view.reachable if view else None,  # a dedicated controller is not asked
                "fenced": fenced.get(member.node_id),
            }
        )
    return {
        "cluster": status.cluster.run_id,
        "kafka": status.cluster.spec.release,
        "bootstrap_servers": list(status.bootstrap),
        "active_controller": sights.active_controller(status.views),
        "nodes": nodes,
        "partitions": [
            {"partition": sights.show(partition), "leader": seen.leader, "isr": seen.isr, "replicas": seen.replicas}
            for partition, seen in sorted(sights.leadership(status.views).items())
            if not partition[0].startswith("__")
        ],
        "fault_goes_on": status.held,
        "to_undo": [asdict(owed) for owed in status.owed],
    }


def as_text(facts: Mapping[str, Any]) -> str:
    """For people; one line each for nodes, partitions, and what is left to undo."""
    lines = [f"cluster {facts['cluster']}: Kafka {facts['kafka']}, active controller {facts['active_controller']}"]
    lines.append(f"bootstrap.servers={','.join(facts['bootstrap_servers'])}")
    for node in facts["nodes"]:
        answers = {True: "answers", False: "does not answer", None: "not asked"}[node["answers"]]
        fence = {True: "fenced", False: "in service", None: ""}[node["fenced"]]
        said = ", ".join(part for part in (node["process"], answers, fence) if part)
        lines.append(f"  node {node['node']} ({'+'.join(node['roles'])}): {said}")
    for each in facts["partitions"]:
        behind = sorted(set(each["replicas"]) - set(each["isr"]))
        late = f"; not in sync: {', '.join(map(str, behind))}" if behind else ""
        lines.append(f"  {each['partition']}: leader {each['leader']}, in sync {list(each['isr'])}{late}")
    for owed in facts["to_undo"]:
        by = "a process is at it" if facts["fault_goes_on"] else "chaoskafka heal"
        lines.append(f"  to undo: {owed['word']} of {owed['node']} ({owed['undo']}): {by}")
    return "\n".join(lines)


def _process(state: NodeState) -> str:
    if not state.running:
        return f"ended with {state.exit_code}"
    return "frozen" if state.frozen else "running"
