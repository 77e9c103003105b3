"""`took_effect`: every fault of the plan was seen to bite and seen to heal.

In: the header's plan and the fault events. Out: pass or unknown, never fail: a fault that was not seen to bite says
nothing about Kafka. Always judged, and it cannot be left out of a scenario.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoskafka.history.doubt import Doubt, Reason, fault_doubts, tell
from chaoskafka.history.read import History
from chaoskafka.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TookEffect:
    """Every planned fault has a proof that it bit and a proof that it healed."""

    def check(self, history: History) -> Verdict:
        planned, played = history.header.faults_planned, len(history.faults)
        if not planned:
            return Verdict.unknown("the plan holds no fault")
        doubts = fault_doubts(history)
        unproven = {doubt.where for doubt in doubts}
        doubts += [
            Doubt(Reason.NOT_HEALED, f"fault {fault.index}", fault.failure or "its healing was not seen")
            for fault in history.faults
            if f"fault {fault.index}" not in unproven and (fault.healed_ns is None or not fault.heal_proof)
        ]
        if played > planned:
            doubts.append(Doubt(Reason.FAULT_NOT_PROVEN, "the plan", f"{planned} faults planned, {played} played"))
        if doubts:
            return Verdict.unknown(tell(doubts), counted=played, evidence=[doubt.evidence for doubt in doubts])
        return Verdict.passed(f"{planned} faults were seen to bite and to heal", counted=planned)
