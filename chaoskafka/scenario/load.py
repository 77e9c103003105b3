"""A scenario file becomes a Scenario. In: a path (or text) and overrides. Out: frozen values, or every problem at once.

Read (`source`), override (`overrides`), bind section by section (`bind`), then what no section can see alone (`rules`).
Imports no client and no engine; starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from chaoskafka.checks import Check
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.errors import ScenarioError
from chaoskafka.faults import Fault
from chaoskafka.files import Unreadable, read_regular
from chaoskafka.runtimes import ABILITIES, DEFAULT_RUNTIME, PROTECTIONS
from chaoskafka.scenario.bind import BindError, bind, shown, unquoted
from chaoskafka.scenario.catalogue import Kind, UnknownWord, did_you_mean, find
from chaoskafka.scenario.control import Control
from chaoskafka.scenario.model import ALWAYS_ON, DEFAULT_EXPECT, Named, PlanItem, Scenario
from chaoskafka.scenario.needs import lacking, lacks, unprotected
from chaoskafka.scenario.overrides import VARIABLE, override
from chaoskafka.scenario.rules import NAME, NAME_RULE, broken_rules, too_long
from chaoskafka.scenario.source import SCENARIO_MAX_BYTES, Tree, YamlPath, read_tree
from chaoskafka.scenario.steps import StepReader

T = TypeVar("T")

KEYS = ("title", "cluster", "topics", "workloads", "plan", "expect", "control", "seed", "timeout_s")
FOREIGN_SHOWN = 5  # keys of a file that is no scenario
ITEMS_MAX = 1000  # of each list: a soak of a day with a fault every two minutes has 720
PROBLEMS_MAX = 20  # shown for one file
PROBLEMS_SOUGHT_MAX = 200  # of parts that do not fit each other: one wrong name breaks a rule wherever it is used
TITLE_MAX = 200  # characters: a line for reports


def load_scenario(
    path: Path, *, settings: Sequence[str] = (), variable: Sequence[str] = (), runtime: str = DEFAULT_RUNTIME
) -> Scenario:
    """Read and check a scenario file; `settings` are `PATH=VALUE` texts that win over the file.

    `variable`: those of $CHAOSKAFKA_SET, which win over the file too, and over which `settings` win. `runtime`: what
    is to play it, and must be able to.

    Raises ScenarioError for the first problem in the file, with the others as its notes.
    """
    try:
        raw = read_regular(path, max_bytes=SCENARIO_MAX_BYTES)
    except Unreadable as why:
        raise ScenarioError(str(path), "", f"cannot be read: {why}") from why
    return load_text(raw, name=path.stem, file=str(path), settings=settings, variable=variable, runtime=runtime)


def load_text(
    text: str | bytes,
    *,
    name: str,
    file: str | None = None,
    settings: Sequence[str] = (),
    variable: Sequence[str] = (),
    runtime: str = DEFAULT_RUNTIME,
) -> Scenario:
    """As `load_scenario`, from text."""
    tree = override(override(read_tree(text, file or name), variable, source=VARIABLE), settings)
    reading = _Reading(tree)
    scenario = reading.scenario(name, file)
    if scenario is not None and not reading.problems:
        broken = chain(
            broken_rules(scenario),
            lacking(scenario, runtime, ABILITIES[runtime]),
            unprotected(scenario, runtime, PROTECTIONS[runtime]),
        )
        for path, problem in islice(broken, PROBLEMS_SOUGHT_MAX):
            reading.add(path, problem)
    if reading.problems or scenario is None:
        raise _together(reading.problems)
    return scenario


def load_fault(text: str, *, source: str, runtime: str = DEFAULT_RUNTIME) -> Named[Fault]:
    """One fault as a plan writes it, e.g. `kill: {target: leader of orders/0}`; `source` is where a user wrote it.

    Raises ScenarioError.
    """
    reading = _Reading(read_tree(text, source))
    fault = reading.fault()
    if fault is not None:
        missing = [need.__name__ for need in fault.value.needs if need not in ABILITIES[runtime]]
        if missing:
            reading.add((fault.word,), lacks(fault.word, missing, runtime))
    if reading.problems or fault is None:
        raise _together(reading.problems)
    return fault


def _together(problems: Sequence[ScenarioError]) -> ScenarioError:
    """The first problem in the order of the file, the others as its notes."""
    first, *others = sorted(problems, key=lambda problem: (problem.line is None, problem.line or 0))
    for other in others[: PROBLEMS_MAX - 1]:
        first.add_note(str(other))
    if len(others) >= PROBLEMS_MAX:
        first.add_note(f"and {len(others) - PROBLEMS_MAX + 1} more")
    return first


class _Reading:
    """Binds the sections of one tree, and keeps every problem that it meets."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.problems: list[ScenarioError] = []

    def add(self, path: YamlPath, problem: str) -> None:
        self.problems.append(self._tree.error(path, problem))

    def scenario(self, name: str, file: str | None) -> Scenario | None:
        """None when a problem was found that leaves no scenario to speak of."""
        top = self._tree.value
        if not isinstance(top, Mapping):
            self.add((), f"expected a mapping, got {shown(top)}")
            return None
        if top and not any(key in KEYS for key in top):
            found = ", ".join(shown(key) for key in list(top)[:FOREIGN_SHOWN])
            self.add((), f"no scenario: none of its keys ({found}) is one of {', '.join(KEYS)}")
            return None
        for key in top:
            if key not in KEYS:
                self.add((key,), f"unknown key {shown(key)}{did_you_mean(key, KEYS)}")
        if not NAME.match(name):
            self.add((), f"the file's name {name!r} names the run's directory: {NAME_RULE}")
        title = self.bound(("title",), str | None)
        if title is not None and not 0 < len(title) <= TITLE_MAX:
            self.add(("title",), f"{shown(title)} has {len(title)} characters; a title has 1 to {TITLE_MAX}")
        seed, timeout_s = self.bound(("seed",), int | None), self.bound(("timeout_s",), float | None)
        cluster = self.bound(("cluster",), ClusterSpec) if "cluster" in top else ClusterSpec()
        topics, workloads = self._topics(top.get("topics")), self._workloads(top)
        plan, expect = self._plan(top), self._expect(top, workloads)
        control = self._control(top, expect)
        if self.problems or cluster is None:
            return None
        return Scenario(
            name=name,
            file=file,
            title=title or name,
            question=self._tree.question,
            cluster=cluster,
            topics=topics,
            workloads=workloads,
            plan=plan,
            expect=expect,
            control=control,
            seed=seed,
            timeout_s=timeout_s,
        )

    def fault(self) -> Named[Fault] | None:
        """The whole tree as one fault."""
        return self.named(Kind.FAULT, self._tree.value, ())

    def _topics(self, written: Any) -> dict[str, TopicSpec]:
        if not isinstance(written, Mapping) or not written:
            got = f"got {shown(written)}; " if "topics" in self._tree.value else ""
            self.add(("topics",), f"{got}at least one topic is needed: a mapping of names to partitions and the like")
            return {}
        bound = {name: self.bound(("topics", name), TopicSpec) for name in written}
        return {name: spec for name, spec in bound.items() if spec is not None}

    def _workloads(self, top: Mapping[str, Any]) -> tuple[Named[object], ...]:
        items = self.list_at(top.get("workloads"), ("workloads",))
        found = [self.named(Kind.WORKLOAD, item, ("workloads", i)) for i, item in enumerate(items)]
        return tuple(item for item in found if item is not None)

    def _plan(self, top: Mapping[str, Any]) -> tuple[PlanItem, ...]:
        return StepReader(self).items(top.get("plan"), ("plan",))

    def _expect(self, top: Mapping[str, Any], workloads: Sequence[Named[object]]) -> tuple[Named[Check], ...]:
        reads = any(getattr(item.value, "group", None) for item in workloads)
        if "expect" not in top:
            # Without a consumer nothing is delivered, and the check for it could never be anything but unknown.
            words = [word for word in DEFAULT_EXPECT if reads or word != "all_delivered"]
            return tuple(Named(word=word, value=find(Kind.CHECK, word)()) for word in words)
        items = self.list_at(top["expect"], ("expect",))
        found = [self.named(Kind.CHECK, item, ("expect", i)) for i, item in enumerate(items)]
        self._unfit([item.word if item is not None else None for item in found], reads=reads)
        return tuple(item for item in found if item is not None and item.word != ALWAYS_ON)

    def _control(self, top: Mapping[str, Any], expect: Sequence[Named[Check]]) -> Control | None:
        control: Control | None = self.bound(("control",), Control) if "control" in top else None
        asked = [item.word for item in expect]
        for word in () if control is None else control.fails:
            if word not in asked:
                problem = f"{shown(word)} is not in expect, so it cannot fail{did_you_mean(word, asked)}"
                self.add(("control", "fails", word), problem)
        return control

    def _unfit(self, words: Sequence[str | None], *, reads: bool) -> None:
        """Checks that each may be asked, but not together, or not of these workloads."""
        for i, word in enumerate(words):
            if word is not None and word in words[:i]:
                first = self._tree.origin(("expect", words.index(word), word)).line
                self.add(("expect", i, word), f"{word} is asked twice; first in line {first}")
        if "all_delivered" in words and not reads and not self.problems:
            self.add(("expect", words.index("all_delivered")), "all_delivered: nothing reads, so nothing is delivered")
        if set(words) == {ALWAYS_ON}:
            self.add(("expect",), f"{ALWAYS_ON} is judged in every run; ask for something else too")

    def list_at(self, written: Any, path: YamlPath) -> list[Any]:
        if not isinstance(written, list) or not written:
            ask = "leave it out for the usual checks" if path == ("expect",) else "at least one is needed"
            self.add(path, f"expected a list with something in it, got {shown(written)}; {ask}")
            return []
        if len(written) > ITEMS_MAX:
            self.add(path, f"{len(written)} items; at most {ITEMS_MAX}")
            return []
        return written

    def named(self, kind: Kind, item: Any, path: YamlPath) -> Named[Any] | None:
        """`word` alone, or `{word: parameters}`."""
        if isinstance(item, str):
            item = {item: {}}
        if not isinstance(item, Mapping) or len(item) != 1:
            self.add(path, f"expected one {kind.singular}, `word` or `word: {{…}}`, got {shown(item)}")
            return None
        word, parameters = next(iter(item.items()))
        try:
            member = find(kind, word)
        except UnknownWord as unknown:
            self.add((*path, word), str(unknown))
            return None
        value = self.bound((*path, word), member, {} if parameters is None and not fields(member) else parameters)
        if value is None:
            return None
        for field, problem in too_long(value):
            self.add((*path, word, field), problem)
        return Named(word=word, value=value)

    def bound(self, path: YamlPath, kind: Any, value: Any = ...) -> Any:
        """The value at `path`, or the given one, as a `kind`; None after a problem."""
        if value is ...:
            value = self._at(path)
        try:
            return bind(kind, value)
        except BindError as wrong:
            for problem in wrong.problems:
                at = (*path, *problem.path)
                written = self._tree.origin(at).written if problem.unquoted else None
                self.add(at, problem.text if written is None else unquoted(written))  # 4.10, where Python has 4.1
            return None

    def _at(self, path: YamlPath) -> Any:
        here = self._tree.value
        for step in path:
            here = here.get(step) if isinstance(step, str) else here[step]
        return here
