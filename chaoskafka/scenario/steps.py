"""What stands in a plan becomes steps and nodes. In: plain values and paths. Out: frozen ones; problems are told.

An item is a mapping of one word (a fault, or one that puts faults together) and of options: `after_s`, `when`,
`no_wait`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol, assert_never

from chaoskafka.cluster.conditions import Condition
from chaoskafka.faults import has_window
from chaoskafka.scenario.bind import shown
from chaoskafka.scenario.catalogue import Kind, did_you_mean, find, members
from chaoskafka.scenario.model import Named, PlanItem, PlanNode, PlanStep
from chaoskafka.scenario.nodes import LISTS, NODES, Flap, Keys, Place, Random, Repeat, Together
from chaoskafka.scenario.nodes import Sequence as SequenceOf
from chaoskafka.scenario.source import YamlPath
from chaoskafka.visible import cut

OPTIONS = ("after_s", "when", "no_wait")
_OWN_WORDS = {"repeat": "its steps have their own", "sequence": "its steps have their own"}
_AT_ONCE = "all of together strikes at once; say it of together itself"


class Reading(Protocol):
    """What reading a scenario offers to its sections. Each returns None, or nothing, after it has told a problem."""

    def add(self, path: YamlPath, problem: str) -> None: ...
    def list_at(self, written: Any, path: YamlPath) -> list[Any]: ...
    def named(self, kind: Kind, item: Any, path: YamlPath) -> Named[Any] | None: ...
    def bound(self, path: YamlPath, kind: Any, value: Any) -> Any: ...


class StepReader:
    """Reads the items of one plan."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def items(self, written: Any, path: YamlPath) -> tuple[PlanItem, ...]:
        """All of a list that can be read."""
        return tuple(item for item in self._items(self._reading.list_at(written, path), path) if item is not None)

    def _items(self, listed: Sequence[Any], path: YamlPath, *, at_once: bool = False) -> list[PlanItem | None]:
        """None for each that there is a problem with. `at_once`: what stands directly in `together`."""
        return [self._item(item, (*path, i), at_once=at_once) for i, item in enumerate(listed)]

    def _item(self, item: Any, path: YamlPath, *, at_once: bool) -> PlanItem | None:
        if not isinstance(item, Mapping):
            self._reading.add(path, f"expected after_s and one fault, got {shown(item)}")
            return None
        rest = {key: value for key, value in item.items() if key not in OPTIONS}
        if len(rest) != 1:
            self._reading.add(path, f"expected one fault, `word` or `word: {{…}}`, got {shown(rest)}")
            return None
        ((word, parameters),) = rest.items()
        if word not in NODES and word not in members(Kind.FAULT):
            known = [*members(Kind.FAULT), *NODES]
            self._reading.add((*path, word), f"no fault is called {cut(word)!r}{did_you_mean(word, known)}")
            return None
        options = self._options(item, path, word, at_once=at_once)
        made = self._node(word, parameters, path) if word in NODES else self._step(word, parameters, path)
        if made is None or options is None:
            return None
        if at_once and isinstance(made, PlanNode) and word != "sequence":
            self._reading.add((*path, word), f"{word} cannot stand in together; allowed: faults, and sequence")
            return None
        return _with(made, options)

    def _options(self, item: Mapping[str, Any], path: YamlPath, word: str, *, at_once: bool) -> dict[str, Any] | None:
        """None after a problem."""
        why = _OWN_WORDS.get(word) or (_AT_ONCE if at_once else None)
        if why is not None:
            for key in (key for key in OPTIONS if key in item):
                self._reading.add((*path, key), f"{word} takes none here: {why}")
            return {"after_s": 0.0}
        if "after_s" not in item and word != "place":
            self._reading.add(path, "after_s is missing: how many seconds of steady load come before the fault")
            return None
        found = {
            "after_s": self._reading.bound((*path, "after_s"), float, item.get("after_s", 0.0)),
            "no_wait": self._reading.bound((*path, "no_wait"), bool, item.get("no_wait", False)),
        }
        if "when" in item:
            found["when"] = self._condition(item["when"], (*path, "when"))
            if found["no_wait"]:
                self._reading.add((*path, "no_wait"), "either no_wait or when, not both")
        return None if None in found.values() else found

    def _condition(self, written: Any, path: YamlPath) -> Condition | None:
        try:
            return Condition.parse(written)
        except ValueError as wrong:
            key, colon, text = str(wrong).partition(": ")
            below = bool(colon) and isinstance(written, Mapping) and key in written
            self._reading.add((*path, key) if below else path, text if below else str(wrong))
            return None

    def _step(self, word: str, parameters: Any, path: YamlPath, **given: Any) -> PlanStep | None:
        """`given`: parameters that the node around it has said."""
        condition = None
        if isinstance(parameters, Mapping):
            if (
                "until" in parameters
                and (condition := self._condition(parameters["until"], (*path, word, "until"))) is None
            ):
                return None
            parameters = {key: value for key, value in parameters.items() if key != "until"} | given
        named = self._reading.named(Kind.FAULT, {word: parameters}, path)
        if named is None:
            return None
        if condition is not None and not has_window(named.value):
            self._reading.add((*path, word, "until"), f"{word} is an action, which is over once it is done")
        elif condition is not None and named.value.for_s is not None:
            self._reading.add((*path, word, "until"), "either for_s or until, not both")
        return PlanStep(after_s=0, word=word, fault=named.value, until=condition, path=(*path, word))

    def _node(self, word: str, parameters: Any, path: YamlPath) -> PlanNode | None:
        own, faults = parameters, {}
        if word == "flap" and isinstance(parameters, Mapping):
            names = [field.name for field in fields(Flap)]
            own = {key: value for key, value in parameters.items() if key in names}
            faults = {key: value for key, value in parameters.items() if key not in names}
        below = (*path, word)
        if word in LISTS:
            own = {"steps": self._reading.list_at(parameters, below)}
        keys = self._reading.bound(below, NODES[word], own)
        if keys is None:
            return None
        items = self._below(keys, faults, below)
        if None in items:
            return None
        return PlanNode(
            after_s=0, word=word, keys=keys, items=tuple(item for item in items if item is not None), path=below
        )

    def _below(self, keys: Keys, faults: Mapping[str, Any], path: YamlPath) -> Sequence[PlanItem | None]:
        """What stands below a word. `faults`: what stands beside the keys of a flap."""
        match keys:
            case Repeat():
                return self._items(self._reading.list_at(list(keys.steps), (*path, "steps")), (*path, "steps"))
            case SequenceOf():
                return self._items(keys.steps, path)
            case Together():
                if len(keys.steps) == 1:
                    self._reading.add(path, "one alone cannot strike together; at least two are needed")
                return self._items(keys.steps, path, at_once=True)
            case Flap():
                return [self._flapping(faults, keys, path)]
            case Random():
                return [step for k, fault in enumerate(keys.faults) for step in self._drawn(fault, k, keys, path)]
            case Place():
                return []
            case never:
                assert_never(never)

    def _flapping(self, faults: Mapping[str, Any], keys: Flap, path: YamlPath) -> PlanStep | None:
        word, parameters = self._one(faults, path) or ("", None)
        if not word:
            return None
        if not hasattr(find(Kind.FAULT, word), "for_s"):
            self._reading.add((*path, word), f"{word} is an action, which is never in force for a time")
            return None
        for key in ("for_s", "until"):
            if isinstance(parameters, Mapping) and key in parameters:
                self._reading.add((*path, word, key), f"{key} cannot stand here: down_s of flap says it")
                return None
        return self._step(word, parameters, path, for_s=keys.down_s)

    def _drawn(self, fault: Any, number: int, keys: Random, path: YamlPath) -> list[PlanStep | None]:
        """One fault, with each of the targets."""
        at = (*path, "faults", number)
        word, parameters = self._one(fault, at) or ("", None)
        if not word:
            return [None]
        aims = any(field.name == "target" for field in fields(find(Kind.FAULT, word)))
        if not aims or not keys.targets:
            return [self._step(word, parameters, at)]
        if isinstance(parameters, Mapping) and "target" in parameters:
            self._reading.add((*at, word, "target"), "target cannot stand here: targets of random says it")
            return [None]
        parameters = {} if parameters is None else parameters
        return [self._step(word, parameters, at, target=target.text) for target in keys.targets]

    def _one(self, faults: Any, path: YamlPath) -> tuple[str, Any] | None:
        """The one fault that stands there."""
        if not isinstance(faults, Mapping) or len(faults) != 1:
            self._reading.add(path, f"expected one fault, `word: {{…}}`, got {shown(faults)}")
            return None
        ((word, parameters),) = faults.items()
        if word not in members(Kind.FAULT):
            known = did_you_mean(word, members(Kind.FAULT))
            self._reading.add((*path, word), f"no fault is called {cut(word)!r}{known}")
            return None
        return word, parameters


def _with(made: PlanStep | PlanNode, options: Mapping[str, Any]) -> PlanStep | PlanNode:
    own = {field.name: getattr(made, field.name) for field in fields(made)}
    return type(made)(**{**own, **options})
