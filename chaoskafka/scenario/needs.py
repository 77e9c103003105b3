"""What a scenario needs of a runtime: its faults' abilities, a place for its workloads, protection of its clients.

In: a Scenario, and what a runtime can do. Out: what is missing, by the path of who needs it. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from chaoskafka.cluster.abilities import CanHostClients
from chaoskafka.cluster.security import Protection
from chaoskafka.errors import ScenarioError
from chaoskafka.runtimes import INSTEAD
from chaoskafka.scenario.model import Scenario, steps_of
from chaoskafka.scenario.source import YamlPath, show

REHEARSED = "fake"  # the runtime on which nothing is real


def unprotected(
    scenario: Scenario, runtime: str, protections: Collection[Protection]
) -> Iterator[tuple[YamlPath, str]]:
    """Whether `runtime` cannot protect its cluster as the scenario wants it."""
    wanted = scenario.cluster.security
    if wanted not in protections:
        offered = ", ".join(protections)
        yield ("cluster", "security"), f"runtime {runtime} lacks {wanted}; it offers {offered}"


def lacking(scenario: Scenario, runtime: str, abilities: Collection[type]) -> Iterator[tuple[YamlPath, str]]:
    """Each fault and each workload that `runtime` cannot play, and why."""
    for step in steps_of(scenario.plan):
        if runtime == REHEARSED and acts_outside(step.fault):
            yield step.path, f"{step.word} acts outside of the cluster, and a rehearsal would do so for real"
    needs: list[tuple[YamlPath, str, tuple[type, ...]]] = [
        (step.path, step.word, step.fault.needs) for step in steps_of(scenario.plan)
    ]
    needs += [(("workloads", i, item.word), item.word, (CanHostClients,)) for i, item in enumerate(scenario.workloads)]
    for path, word, needed in needs:
        missing = [ability.__name__ for ability in needed if ability not in abilities]
        if missing:
            yield path, lacks(word, missing, runtime)


def acts_outside(fault: object) -> bool:
    """Whether what it does is done to more than the runtime's own cluster."""
    return bool(getattr(fault, "acts_outside", False))


def lacks(word: str, missing: Collection[str], runtime: str) -> str:
    """What is told of a fault or workload whose needs a runtime lacks."""
    instead = f"; {INSTEAD[runtime]}" if runtime in INSTEAD else ""
    return f"{word} needs {', '.join(missing)}, which runtime {runtime} lacks{instead}"


def refuse_lacking(scenario: Scenario, runtime: str, abilities: Collection[type]) -> None:
    """Raises ScenarioError when the runtime cannot play the scenario, with further reasons as its notes."""
    problems = [
        ScenarioError(scenario.file or scenario.name, show(path), problem)
        for path, problem in lacking(scenario, runtime, abilities)
    ]
    if problems:
        for other in problems[1:]:
            problems[0].add_note(str(other))
        raise problems[0]
