"""The run's own lanes: its phases, each fault from the deed to the proof of healing, moves and conditions of the plan.

In: a History and an Axis. Out: a Section. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaoskafka.history.events import FaultWindow
from chaoskafka.history.read import History
from chaoskafka.report.timeline.axis import Axis
from chaoskafka.report.timeline.model import Bar, Lane, Mark, Section, State

FAULT_LANES_MAX = 40  # a plan with more (repetitions) is read in the table of its faults


def run_section(history: History, axis: Axis) -> Section:
    faults = [_fault(fault, axis) for fault in history.faults]
    hidden = len(faults) - FAULT_LANES_MAX
    lanes = [_phases(history, axis), *faults[:FAULT_LANES_MAX], *_others(history, axis)]
    note = f"{hidden} more faults are not drawn" if hidden > 0 else None
    return Section(name="the run", lanes=tuple(lane for lane in lanes if lane.bars or lane.marks), note=note)


def target_of(fault: FaultWindow) -> str:
    """Whom a fault hit, in words."""
    if not fault.targets:
        return "nobody"
    return f"node{'s' if len(fault.targets) > 1 else ''} {', '.join(map(str, fault.targets))}"


def _phases(history: History, axis: Axis) -> Lane:
    begun: dict[int, tuple[int, str]] = {}
    bars = []
    for event in history.events:
        if event.event != "phase" or event.fields.get("number") is None:
            continue
        number, name = event.fields["number"], str(event.fields.get("name"))
        if event.fields["state"] == "begin":
            begun[number] = event.at_ns, name
        elif number in begun and (span := axis.between(begun.pop(number)[0], event.at_ns)):
            bars.append(_phase_bar(span, number, name, event.fields.get("error")))
    for number, (begin_ns, name) in begun.items():
        if (span := axis.between(begin_ns, None)) and begin_ns <= axis.end_ns:
            bars.append(_phase_bar(span, number, name, "it never ended"))
    marks = [
        Mark(at_s=axis.at_s(e.at_ns), state=State.ERROR, told=f"{e.fields.get('where')}: {e.fields.get('text')}"[:400])
        for e in history.events
        if e.event == "error" and axis.has(e.at_ns)
    ]
    return Lane(name="phases", bars=tuple(bars), marks=tuple(marks))


def _phase_bar(span: tuple[float, float], number: int, name: str, error: object) -> Bar:
    failed = f": {error}" if error else ""
    return Bar(lo_s=span[0], hi_s=span[1], state=State.PHASE, label=name, told=f"phase {number}, {name}{failed}"[:400])


def _fault(fault: FaultWindow, axis: Axis) -> Lane:
    name = f"{fault.index} {fault.word}"
    what = f"fault {fault.index}: {fault.word} of {target_of(fault)}"
    if fault.acted_ns is None:
        mark = Mark(
            at_s=axis.at_s(fault.beginning_ns),
            state=State.ERROR,
            told=f"{what}: {fault.failure or 'never acted'}"[:400],
        )
        return Lane(name=name, marks=(mark,) if axis.has(fault.beginning_ns) else ())
    bars = []
    if in_force := axis.between(fault.acted_ns, fault.healing_ns or fault.healed_ns):
        told = f"{what}, {'in force' if fault.proof else 'never seen to bite'}"
        bars.append(Bar(lo_s=in_force[0], hi_s=in_force[1], state=State.FAULT, label=target_of(fault), told=told))
    if fault.healing_ns is not None and (healing := axis.between(fault.healing_ns, fault.healed_ns)):
        how = "until the healing was seen" if fault.healed_ns is not None else "never seen to heal"
        bars.append(Bar(lo_s=healing[0], hi_s=healing[1], state=State.HEALING, label="healing", told=f"{what}: {how}"))
    return Lane(name=name, bars=tuple(bars))


def _others(history: History, axis: Axis) -> Iterator[Lane]:
    """Moves of leadership and awaited conditions."""
    bars = []
    begun_ns: int | None = None
    for event in history.events:
        if event.event == "place":
            if event.fields.get("state") == "begin":
                begun_ns = event.at_ns
            elif span := axis.between(begun_ns if begun_ns is not None else event.at_ns, event.at_ns):
                told = f"leadership of {event.fields.get('leader_of')} put on {event.fields.get('on')}"
                bars.append(Bar(lo_s=span[0], hi_s=span[1], state=State.MOVING, label="place", told=told))
        elif event.event == "condition":
            waited_s = event.fields.get("waited_s") or 0
            if span := axis.between(event.at_ns - int(float(waited_s) * 1e9), event.at_ns):
                told = f"waited for {event.fields.get('condition')}: {event.fields.get('state')}"
                bars.append(Bar(lo_s=span[0], hi_s=span[1], state=State.WAITING, label="", told=told))
    if bars:
        yield Lane(name="plan", bars=tuple(bars))
    recovered = [e for e in history.events if e.event == "recovered" and axis.has(e.at_ns)]
    marks = tuple(
        Mark(
            at_s=axis.at_s(e.at_ns),
            state=State.UP if e.fields.get("whole") else State.ERROR,
            told="whole again" if e.fields.get("whole") else "not whole again in time",
        )
        for e in recovered
    )
    if marks:
        yield Lane(name="recovery", marks=marks)
