"""`recovered`: after everything was healed the cluster became whole again in time.

In: the event that the run writes when it has asked every broker, each over its own connection. Out: a verdict. What
whole means, and the limit computed from the settings, stand in that event.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoskafka.history.read import History
from chaoskafka.history.views import recovery
from chaoskafka.verdict import Evidence, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Every broker was back, caught up and in sync within the limit that the settings imply."""

    def check(self, history: History) -> Verdict:
        event = recovery(history)
        if event is None:
            return Verdict.unknown("the run never got as far as waiting for recovery")
        within_s, limit_s = event.fields.get("within_s"), event.fields.get("limit_s")
        if event.fields.get("whole") is not True and within_s is None:
            missing = [str(thing) for thing in event.fields.get("missing") or ["what was missing is not recorded"]]
            evidence: list[Evidence] = [{"missing": thing, "limit_s": limit_s} for thing in missing]
            text = f"not whole {_seconds(limit_s)} after the heal: {missing[0]}"
            return Verdict.failed(text, counted=1, found=len(missing), evidence=evidence)
        if within_s is None or limit_s is None:
            return Verdict.unknown("whole again, but how long it took or was allowed is not recorded", counted=1)
        if within_s > limit_s or event.fields.get("whole") is not True:
            late: Evidence = {"within_s": within_s, "limit_s": limit_s}
            text = f"whole again only after {_seconds(within_s)}, allowed were {_seconds(limit_s)}"
            return Verdict.failed(text, counted=1, found=1, evidence=[late])
        return Verdict.passed(f"whole again {_seconds(within_s)} after the heal, of {_seconds(limit_s)}", counted=1)


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value:.1f} s"
