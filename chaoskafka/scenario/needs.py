"""What a scenario needs of a runtime: the abilities of its faults, and a place for its workloads.

In: a Scenario, and what a runtime can do. Out: what is missing, by the path of who needs it. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from chaoskafka.cluster.abilities import CanHostClients
from chaoskafka.errors import ScenarioError
from chaoskafka.scenario.model import Scenario
from chaoskafka.scenario.source import YamlPath, show


def lacking(scenario: Scenario, runtime: str, abilities: Collection[type]) -> Iterator[tuple[YamlPath, str]]:
    """Each fault and each workload that `runtime` cannot play, and why."""
    needs: list[tuple[YamlPath, str, tuple[type, ...]]] = [
        (("plan", i, step.word), step.word, step.fault.needs) for i, step in enumerate(scenario.plan)
    ]
    needs += [(("workloads", i, item.word), item.word, (CanHostClients,)) for i, item in enumerate(scenario.workloads)]
    for path, word, needed in needs:
        missing = [ability.__name__ for ability in needed if ability not in abilities]
        if missing:
            yield path, f"{word} needs {', '.join(missing)}, which runtime {runtime} lacks"


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
