"""Does the examinations one after the other. In: a visit, somebody to tell. Out: findings; nothing is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from chaoskafka.doctor.examination import Examination, Finding, State, Visit
from chaoskafka.errors import ChaosKafkaError, EnvironmentFailure, Interrupted

GROUPS = ("here", "engine", "patient", "wires", "processes")  # modules, in this order: later ones need packages
FOR_ALL = ("packages", "state", "run_directory")  # words of what every runtime needs
FOR_PROCESSES = ("java", "jars")  # and of what must be ok for one on processes
TEXT_MAX = 400  # characters of one finding: a refusal of an engine is rarely longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All findings, and the words of what could not be examined for want of something else."""

    findings: tuple[Finding, ...]
    not_examined: tuple[str, ...]

    @property
    def can_run_on(self) -> tuple[str, ...]:
        """The runtimes on which a run can work."""
        good = {finding.word for finding in self.findings if finding.state is not State.MISSING}
        sound = {finding.word for finding in self.findings if finding.state is State.OK}
        on_processes = good.issuperset(FOR_ALL) and sound.issuperset(FOR_PROCESSES)
        can = {
            "docker": not self.missing,
            "process": on_processes and "namespaces" in sound,
            "process-plain": on_processes,
        }
        return tuple(name for name, it_can in can.items() if it_can)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(finding.word for finding in self.findings if finding.state is State.MISSING)


def all_examinations() -> tuple[Examination, ...]:
    """Every row there is. Raises ImportError where a package is missing."""
    return tuple(row for group in GROUPS for row in _rows(group))


def examine(visit: Visit, told: Callable[[Finding], None], stop: threading.Event) -> Diagnosis:
    """Blocks for about ten seconds. Tells each finding at once. Raises Interrupted when a stop was asked for.

    Leave `visit.life` afterwards, however this ends: it holds what was made.
    """
    findings: list[Finding] = []
    not_examined: list[str] = []
    unusable: set[str] = set()
    for group in GROUPS:
        try:
            rows = _rows(group)
        except ImportError:  # told by the examination of packages, which needs none
            not_examined.append(group)
            continue
        for row in rows:
            if stop.is_set():
                raise Interrupted("interrupted; what was made is removed")
            if unusable.intersection(row.after):
                not_examined.append(row.word)
                unusable.add(row.word)
                continue
            finding, worked = _examined(row, visit)
            findings.append(finding)
            told(finding)
            if not worked:
                unusable.add(row.word)
    return Diagnosis(findings=tuple(findings), not_examined=tuple(not_examined))


def _rows(group: str) -> tuple[Examination, ...]:
    rows: tuple[Examination, ...] = import_module(f"chaoskafka.doctor.{group}").EXAMINATIONS
    return rows


def _examined(row: Examination, visit: Visit) -> tuple[Finding, bool]:
    """The finding, and whether others may build on it."""
    try:
        seen = row.act(visit)
    except ChaosKafkaError as failed:
        text = failed.problem if isinstance(failed, EnvironmentFailure) else str(failed)
        mend = getattr(failed, "mend", None) or row.mend
        return _finding(row, row.otherwise, text, mend), False
    return _finding(row, seen.state, seen.text, seen.mend or row.mend), seen.state is not State.MISSING


def _finding(row: Examination, state: State, text: str, mend: str) -> Finding:
    line = " ".join(text.split())[:TEXT_MAX]
    if state is State.OK:
        return Finding(word=row.word, state=state, text=line)
    return Finding(word=row.word, state=state, text=line, means=row.means, mend=mend)
