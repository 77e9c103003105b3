"""From the command to the fault that is seen to bite, and from the heal to the fault that is seen to have gone.

On the docker and on the process runtime, in turn, each on one cluster of three with fast timeouts: every fault that
ends by itself or by us within seconds, so often, each from a whole cluster. What is timed is entering and leaving the
fault as a run does, proofs included: a kill is not seen to have gone before the broker answers again.
"""

from __future__ import annotations

import random
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from benchmarks.measure import Goal, Series, pairs_asked, report, say
from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster.abilities import Cluster
from chaoskafka.cluster.admin import make_topics
from chaoskafka.cluster.ready import wait_formed, wait_recovered
from chaoskafka.cluster.security import PLAINTEXT
from chaoskafka.cluster.spec import ClusterSpec, Timeouts, TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.faults import Fault
from chaoskafka.runtime import DOCKER, PROCESS, Runtime
from chaoskafka.scenario.load import load_fault
from chaoskafka.stage import TargetStage

SPEC = ClusterSpec(nodes=3, timeouts=Timeouts.FAST, config={"offsets.topic.num.partitions": "3"})
WITHIN_S = 180.0
FAULTS = {
    "kill": "kill: {target: any}",
    "pause": "pause: {target: any}",
    "isolate": "isolate: {target: any, reset_connections: true}",
    "cut_clients": "cut_clients: {target: any, reset_connections: true}",
    "partition": "partition: {target: any, planes: [replication], reset_connections: true}",
    "power_off": "power_off: {target: any}",
    "stop": "stop: {target: any}",
}
BITES_S_MAX = {"kill": 0.3, "pause": 0.3, "isolate": 0.5, "cut_clients": 0.5, "partition": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """Seconds."""

    bites_s: float
    heals_s: float


def main() -> int:
    """Returns the exit code. Takes about fifteen minutes on two cores."""
    times = pairs_asked(__doc__)
    took: dict[tuple[str, str], list[Took]] = {}
    for runtime in (DOCKER, PROCESS):
        with opened(runtime) as (cluster, views):
            for number in range(times):
                for name, text in FAULTS.items():
                    fault: Fault = load_fault(text, source=name).value
                    found = injected(cluster, views, fault, name, number)
                    took.setdefault((runtime.name, name), []).append(found)
                    say(f"  {runtime.name} {name}: bites {found.bites_s:.3f} s, heals {found.heals_s:.2f} s")
    return report("injecting", list(series(took)), list(goals(took)))


@contextmanager
def opened(runtime: Runtime) -> Iterator[tuple[Cluster, Views]]:
    """A cluster that has formed, with a topic to lead."""
    clock = MonotonicClock()
    opens = runtime.prepare(SPEC, say, clock)
    with opens(run_id=f"bench-{secrets.token_hex(3)}", clock=clock, keep=False) as cluster:
        views = runtime.views(cluster.host_addresses(), PLAINTEXT)
        wait_formed(views, SPEC, within_s=WITHIN_S, clock=clock)
        admin = runtime.admin(cluster.host_addresses().values(), PLAINTEXT)
        make_topics(admin, views, {"orders": TopicSpec()}, within_s=WITHIN_S, clock=clock)
        yield cluster, views


def injected(cluster: Cluster, views: Views, fault: Fault, word: str, number: int) -> Took:
    """One fault, from a whole cluster."""
    wait_recovered(views, cluster.spec, within_s=WITHIN_S, clock=MonotonicClock())
    stage = TargetStage(cluster, views, random.Random(number), fault=number, word=word)  # noqa: S311 - chance, not secrecy
    began_s = time.monotonic()
    with fault.inject(stage):
        bitten_s = time.monotonic()
        MonotonicClock().pause(1)
        healing_s = time.monotonic()
    return Took(bites_s=bitten_s - began_s, heals_s=time.monotonic() - healing_s)


def series(took: Mapping[tuple[str, str], list[Took]]) -> Iterator[Series]:
    for (runtime, word), found in took.items():
        yield Series(label=f"{runtime}: {word} bites", unit="s", samples=[each.bites_s for each in found])
        yield Series(label=f"{runtime}: {word} heals", unit="s", samples=[each.heals_s for each in found])


def goals(took: Mapping[tuple[str, str], list[Took]]) -> Iterator[Goal]:
    for (runtime, word), found in took.items():
        if word in BITES_S_MAX:
            value = median(each.bites_s for each in found)
            yield Goal(what=f"{runtime}: {word}, to seen to bite", value=value, unit="s", at_most=BITES_S_MAX[word])


if __name__ == "__main__":
    sys.exit(main())
