"""How long a scenario takes, as far as its text tells. In: a Scenario. Out: seconds. Pure.

For `list`, and for shards of equal length: the figure must be the same on every machine, so nothing here is measured on
this one. Recorded runs on two cores took as long, and beside other work up to twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskafka.cluster.spec import Timeouts
from chaoskafka.scenario.model import PlanItem, PlanStep, Scenario
from chaoskafka.scenario.nodes import Flap, Random, Repeat, Together

# From the phases of recorded runs on two cores; of each the shortest, as other work went on beside them.
START_S, START_NODE_S = 10.0, 2.5  # images are there; a node more is a JVM more for the same cores
END_S = 10.0  # recovered, drained, audited, removed, judged
GATE_S = 1.0  # to see that the cluster is whole and the load steady
CONDITION_S = 15.0  # a fault until a condition holds: most wait for the lease of a broker
LEASE_S = {Timeouts.DEFAULT: 9.0, Timeouts.FAST: 3.0}  # broker.session.timeout.ms
START_KAFKA_S = 8.0  # a JVM, and what it has to recover of its log
# From the beginning of the heal until the cluster is whole again; of the others, connections are found anew.
_RESTARTS = {"kill", "stop", "power_off", "restart", "rolling_restart", "crash_loop"}
RECONNECT_S = 5.0


def expected_s(scenario: Scenario) -> float:
    """Seconds from the start of the run to its report."""
    start_s = START_S + START_NODE_S * len(scenario.cluster.members)
    return start_s + _items_s(scenario, scenario.plan) + END_S


def _items_s(scenario: Scenario, items: Sequence[PlanItem]) -> float:
    return sum(_item_s(scenario, item) for item in items)


def _item_s(scenario: Scenario, item: PlanItem) -> float:
    if isinstance(item, PlanStep):
        return item.after_s + GATE_S + _fault_s(scenario, item)
    below = [_item_s(scenario, step) for step in item.items]
    match item.keys:
        case Repeat(times=times):
            return times * sum(below)
        case Random(times=times):  # each fault stands there once for each of its targets
            return times * (item.after_s + sum(below) / max(1, len(below)))
        case Flap(times=times, up_s=up_s):
            return item.after_s + times * (sum(below) + up_s)
        case Together():
            return item.after_s + GATE_S + max(below, default=0.0)
    return item.after_s + sum(below)


def _fault_s(scenario: Scenario, step: PlanStep) -> float:
    lasts_s = CONDITION_S if step.until is not None else float(getattr(step.fault, "for_s", None) or 0.0)
    if step.word not in _RESTARTS:
        return lasts_s + RECONNECT_S
    back_s = START_KAFKA_S + LEASE_S[scenario.cluster.timeouts] / 2  # on average half a lease is left
    match step.word:
        case "rolling_restart":
            return back_s * len(scenario.cluster.broker_ids)
        case "crash_loop":
            return back_s + float(getattr(step.fault, "times", 0)) * (float(getattr(step.fault, "up_s", 0.0)) + 1.0)
    return lasts_s + back_s
