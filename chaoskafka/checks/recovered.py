"""`recovered`: after everything was healed the cluster became whole again in time.

In: the event that the run writes when it has asked every broker, each over its own connection. Out: a verdict. What
whole means, and the limit computed from the settings, stand in that event.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoskafka.clock import NS_PER_S
from chaoskafka.history.doubt import Doubt, Reason, tell
from chaoskafka.history.read import History
from chaoskafka.history.views import recovery
from chaoskafka.timing.spans import Stalls
from chaoskafka.timing.starvation import starvation
from chaoskafka.verdict import Evidence, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Every broker was back, caught up and in sync within the limit that the settings imply."""

    def check(self, history: History) -> Verdict:
        event = recovery(history)
        if event is None:
            return Verdict.unknown("the run never got as far as waiting for recovery")
        within_s, limit_s, waited_s = (event.fields.get(key) for key in ("within_s", "limit_s", "waited_s"))
        if limit_s is None or (within_s is None and event.fields.get("whole") is True):
            return Verdict.unknown("whole again, but how long it took or was allowed is not recorded", counted=1)
        took_s = within_s if within_s is not None else waited_s if waited_s is not None else limit_s
        if within_s is not None and within_s <= limit_s and event.fields.get("whole") is True:
            return Verdict.passed(f"whole again {_seconds(within_s)} after the heal, of {_seconds(limit_s)}", counted=1)
        if unstarted := event.fields.get("unstarted"):
            doubt = Doubt(Reason.NOT_HEALED, ", ".join(map(str, unstarted)), "nobody started it again")
            return Verdict.unknown(tell([doubt]), counted=1, evidence=[doubt.evidence])
        missing = [str(thing) for thing in event.fields.get("missing") or ["what was missing is not recorded"]]
        if within_s is not None:
            text = f"whole again only after {_seconds(within_s)}, allowed were {_seconds(limit_s)}"
        else:
            text = f"not whole {_seconds(took_s)} after the heal, allowed were {_seconds(limit_s)}: {missing[0]}"
        began_ns = event.at_ns - int(took_s * NS_PER_S)
        stalled_s = Stalls.of(history).within_ns(began_ns, event.at_ns) / NS_PER_S
        why = starvation(history, began_ns, event.at_ns, limit_s=limit_s)
        # A stall of the machine only makes things later: without those that were seen it may have been in time.
        if stalled_s > 0 and took_s - stalled_s <= limit_s:
            why = f"the machine stood still for {_seconds(stalled_s)} of it"
        if why is not None:
            doubt = Doubt(Reason.IMPRECISE, "the cluster", f"{text}; {why}")
            return Verdict.unknown(tell([doubt]), counted=1, evidence=[doubt.evidence])
        evidence: list[Evidence] = [{"missing": thing, "took_s": took_s, "limit_s": limit_s} for thing in missing]
        return Verdict.failed(text, counted=1, found=len(missing), evidence=evidence)


def _seconds(value: float) -> str:
    return f"{value:.1f} s"
