"""Judge a run directory: the checks that it was to be judged by, the failover times, and the answer.

In: a run directory, and nothing else: no cluster, no client, no engine, no earlier result. Out: a `Result`, the same
for the same directory on every machine, which is also written there as `result.json`.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from chaoskafka import __version__
from chaoskafka.ahead import compute_ahead
from chaoskafka.attribution import causes
from chaoskafka.checks import Check
from chaoskafka.controls import WORD as CONTROL
from chaoskafka.controls import judge_control
from chaoskafka.errors import HistoryError
from chaoskafka.history.events import Event
from chaoskafka.history.read import History, open_history
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.scenario.bind import plain
from chaoskafka.scenario.catalogue import Kind, find
from chaoskafka.scenario.facts import checks_of, control_of
from chaoskafka.scenario.model import ALWAYS_ON, Named
from chaoskafka.timing.failover import failover
from chaoskafka.timing.phases import phases
from chaoskafka.timing.times import FaultTimes, PhaseTime
from chaoskafka.timing.written import log_troubles
from chaoskafka.verdict import EVIDENCE_MAX, Answer, Verdict

T = TypeVar("T")

TROUBLES_MAX = 50  # a run that reports more has one cause; the first ones name it
TEXT_MAX = 4000  # characters of one piece of evidence: a traceback fits, a dumped table does not
AUDIT_PHASE = 11  # what comes after the audit (stopping, gathering, removing) cannot change an answer
JUDGE_PHASE = 14  # from here on events are about the judging, which may happen again and must not change the result


def judge(run_dir: Path) -> Result:
    """Judge and write `result.json`. Blocks for seconds on a long run; touches nothing outside `run_dir`.

    Raises HistoryError when `run_dir` is no run directory of this format, OSError when the result cannot be written.
    """
    result = judged(open_history(run_dir))
    result.save(run_dir)
    return result


def judged(history: History) -> Result:
    """The result of a history; writes nothing.

    Raises HistoryError when its `expect`, or any file that a check asks for, cannot be read.
    """
    header = history.header
    asked = [item for item in checks_of(header.expect) if item.word != ALWAYS_ON]
    asked.append(Named(word=ALWAYS_ON, value=find(Kind.CHECK, ALWAYS_ON)()))
    compute_ahead(history)
    checks, unattributed = _attributed(history, asked, [_ask(item, history) for item in asked])
    checks += [_as_result("completed", {}, verdict) for verdict in _completion(history)]
    faults, steps, trouble = _times(history)
    control = control_of(header.scenario)
    if control is not None:
        checks, verdict = judge_control(control, checks, faults)
        checks.append(_as_result(CONTROL, plain(control), verdict))
    times_ns = [event.at_ns for event in _of_the_run(history)]
    return Result(
        judged_by=__version__,
        run_id=header.run_id,
        scenario=header.scenario_name,
        title=str(header.scenario.get("title") or header.scenario_name),
        question=str(header.scenario.get("question") or ""),
        seed=header.seed,
        replay=header.replay,
        started_at=next((str(event.fields["at"]) for event in history.events if "at" in event.fields), None),
        duration_s=(max(times_ns) - min(times_ns)) / 1e9 if times_ns else None,
        runtime=header.runtime,
        clients=header.clients,
        versions=header.versions,
        answer=Answer.worst(check.answer for check in checks if not check.expected),
        checks=tuple(checks),
        faults=faults,
        phases=steps,
        troubles=tuple([*_troubles(history), *unattributed, *trouble][:TROUBLES_MAX]),
    )


def _ask(item: Named[Check], history: History) -> CheckResult:
    try:
        verdict = item.value.check(history)
    except HistoryError:
        raise  # not the check's doing, and what other checks made of the rest of a damaged run is worth nothing
    except Exception as crash:  # noqa: BLE001 - the crash becomes the evidence of an unknown
        told = {"traceback": traceback.format_exc()[-TEXT_MAX:]}
        verdict = Verdict.unknown(f"the check crashed: {type(crash).__name__}: {crash}", evidence=[told])
    return _as_result(item.word, plain(item.value), verdict)


def _attributed(
    history: History, asked: Sequence[Named[Check]], checks: Sequence[CheckResult]
) -> tuple[list[CheckResult], list[str]]:
    """The results, those marked that another one explains; and what went wrong in looking for that."""
    failing = [i for i, check in enumerate(checks) if check.answer is Answer.FAIL]
    try:
        found = dict(zip(failing, causes(history, [(asked[i].word, asked[i].value) for i in failing]), strict=True))
    except Exception as crash:  # noqa: BLE001 - every failure stands all the same, only unexplained
        where = traceback.format_exc(limit=-3)[-TEXT_MAX:]
        return list(checks), [f"no attribution: {type(crash).__name__}: {crash}\n{where}"]
    return [replace(check, consequence_of=found.get(i)) for i, check in enumerate(checks)], []


def _as_result(word: str, parameters: Mapping[str, Any], verdict: Verdict) -> CheckResult:
    return CheckResult(
        word=word,
        parameters=parameters,
        answer=verdict.answer,
        summary=verdict.summary,
        counted=int(verdict.counted),
        found=int(verdict.found),
        evidence=tuple(
            {str(key): _as_json(value) for key, value in row.items()} for row in verdict.evidence[:EVIDENCE_MAX]
        ),
    )


def _as_json(value: object) -> Any:
    """What JSON can hold is kept; the rest (a timestamp, an infinity) is kept as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value[:TEXT_MAX]
    if isinstance(value, Mapping):
        return {str(key): _as_json(below) for key, below in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [_as_json(below) for below in value]
    return str(value)[:TEXT_MAX]


def _of_the_run(history: History) -> Iterator[Event]:
    for event in history.events:
        if event.event == "phase" and (event.fields.get("number") or 0) >= JUDGE_PHASE:
            return
        yield event


def _completion(history: History) -> Iterator[Verdict]:
    """Nothing for a history without numbered phases; else whether all of them up to the audit came to their end."""
    phases = [event.fields for event in history.events if event.event == "phase"]
    phases = [fields for fields in phases if (fields.get("number") or JUDGE_PHASE) <= AUDIT_PHASE]
    begun = {fields["number"]: str(fields.get("name")) for fields in phases if fields.get("state") == "begin"}
    ended = {fields["number"]: fields.get("error") for fields in phases if fields.get("state") == "end"}
    if not begun:
        return
    broken = [
        {"phase": number, "name": name, "error": ended.get(number) or "it never ended"}
        for number, name in sorted(begun.items())
        if number not in ended or ended[number]
    ]
    if AUDIT_PHASE not in begun:
        broken.append({"phase": AUDIT_PHASE, "name": "audit", "error": "the run never got so far"})
    if broken:
        first = broken[0]
        summary = f"phase {first['phase']} ({first['name']}): {first['error']}"
        yield Verdict.unknown(summary, counted=len(begun), evidence=broken)
    else:
        yield Verdict.passed("every phase up to the audit came to its end", counted=len(begun))


def _times(history: History) -> tuple[tuple[FaultTimes, ...], tuple[PhaseTime, ...], list[str]]:
    faults, trouble = _computed("failover times", lambda: failover(history))
    steps, more = ((), []) if trouble else _computed("phases", lambda: phases(history))
    differing, most = _computed("comparison of metadata logs", lambda: tuple(log_troubles(history)))
    return faults, steps, [*trouble, *more, *differing, *most]


def _computed(what: str, compute: Callable[[], tuple[T, ...]]) -> tuple[tuple[T, ...], list[str]]:
    """Times are a report: without them the run is judged all the same; what is judged by them is asked of its check."""
    try:
        return compute(), []
    except HistoryError:
        raise
    except Exception as crash:  # noqa: BLE001 - the crash becomes a trouble of the result
        where = traceback.format_exc(limit=-3)[-TEXT_MAX:]
        return (), [f"no {what}: {type(crash).__name__}: {crash}\n{where}"]


def _troubles(history: History) -> Iterator[str]:
    errors = [event.fields for event in _of_the_run(history) if event.event == "error"]
    for fields in errors:
        yield f"{fields.get('where', '?')}: {fields.get('type', '?')}: {fields.get('text', '?')}"[:TEXT_MAX]
    already = {f"{fields.get('type')}: {fields.get('text')}" for fields in errors}
    for window in history.faults:
        if window.failure and window.failure not in already:
            yield f"fault {window.index} ({window.word}): {window.failure}"[:TEXT_MAX]
