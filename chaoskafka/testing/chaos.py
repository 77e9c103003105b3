"""Chaos: plays faults on the cluster of a test, while its traffic flows. In: words and parameters. Out: hits.

Each fault of the catalogue is a method, see `fault_methods.py`; `fault` plays any, other people's too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from typing import Any

from chaoskafka.cluster.conditions import Condition
from chaoskafka.errors import EnvironmentFailure, UsageError
from chaoskafka.faults import Fault, Injected
from chaoskafka.hands import Look
from chaoskafka.runtime import Runtime
from chaoskafka.scenario.bind import BindError, bind
from chaoskafka.scenario.catalogue import Kind, UnknownWord, find
from chaoskafka.scenario.needs import REHEARSED, acts_outside
from chaoskafka.testing.fault_methods import FaultMethods
from chaoskafka.testing.trial import Trial
from chaoskafka.testing.who import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fault that bites. `targets`: who was hit."""

    targets: tuple[int, ...]
    _injected: Injected
    _look: Look
    _names: Names

    def wait_until(self, condition: str | dict[str, Any]) -> None:
        """Wait for what a plan may wait for: `fenced`, `leader_changed`, `{"isr_is": 1, "of": "orders/0"}` …

        Blocks. Raises WaitTimeout: the test is inconclusive. A limit of its own stands beside the word: `within_s`.
        """
        try:
            parsed = Condition.parse(condition)
        except ValueError as wrong:
            raise UsageError(f"wait_until: {wrong}") from wrong
        self._look.wait(self._names.condition(parsed), self._injected)

    def wait_for_new_leader(self) -> None:
        """Until every broker that was not hit names another leader for each partition that the hit nodes led."""
        self.wait_until("leader_changed")


class Chaos(FaultMethods):
    """Faults of one test. `trial`: the test's run; raises UsageError where no traffic flows."""

    def __init__(self, trial: Callable[[], Trial], names: Names, runtime: Runtime) -> None:
        self._trial, self._names, self._runtime = trial, names, runtime

    def fault(self, word: str, **parameters: Any) -> AbstractContextManager[Hit]:
        """Any fault by its word, with the keys that a scenario gives it.

        Entering returns once it was seen to bite, leaving once it was seen to heal; a fault with `for_s` lasts at least
        so long. Raises UsageError, NoTarget, FaultFailed, and WaitTimeout when there is no steady load to begin from.
        """
        return self._play(word, self._made(word, parameters))

    @contextmanager
    def _play(self, word: str, fault: Fault) -> Iterator[Hit]:
        trial = self._trial()
        look = trial.hands().look()
        with trial.fault(word, fault) as injected:
            yield Hit(targets=injected.targets, _injected=injected, _look=look, _names=self._names)

    def _made(self, word: str, parameters: dict[str, Any]) -> Fault:
        try:
            kind = find(Kind.FAULT, word)
            types = {field.name: str(field.type) for field in fields(kind)}
            given = {key: self._given(key, value, types.get(key, "")) for key, value in parameters.items()}
            fault: Fault = bind(kind, given)
        except (UnknownWord, BindError, ValueError) as wrong:
            raise UsageError(f"chaos.{word}: {wrong}") from wrong
        if lacking := [need.__name__ for need in fault.needs if need not in self._runtime.abilities]:
            raise EnvironmentFailure(
                f"chaos.{word} needs {', '.join(lacking)}, which runtime {self._runtime.name} lacks"
            )
        if self._runtime.name == REHEARSED and acts_outside(fault):
            raise UsageError(f"chaos.{word} acts outside of the cluster, and a rehearsal would do so for real")
        return fault

    def _given(self, key: str, value: Any, takes: str) -> Any:
        """As a scenario would write it, with Kafka's names."""
        if value is None:
            return None
        if "Target" in takes:
            return self._names.target(value).text
        if "Condition" in takes:
            return self._names.condition(Condition.parse(value)).facts
        return self._names.topic(str(value)) if key == "topic" else value
