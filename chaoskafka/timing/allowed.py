"""How long the effective settings allow something to take over a fault: what `within: bound` stands for.

In: a History and a fault. Out: seconds after the deed, or why there is no such figure. Pure.
"""

from __future__ import annotations

from chaoskafka.history.read import History
from chaoskafka.timing import bounds
from chaoskafka.timing.phases import scene_of
from chaoskafka.timing.times import FaultTimes

# Beyond what the settings say: for processes to get their turn on a busy machine. Its real stalls widen the intervals
# that are judged, so this need not cover them.
SLACK_S = 0.25


def new_leader_s(history: History, times: FaultTimes) -> tuple[float | None, str]:
    """Until every live broker knows a new leader, and what dominates it; None: why the settings do not say."""
    scene = scene_of(history, times)
    if scene is None:
        return None, "the fault was not seen to bite"
    decided = bounds.detection(scene.hit, scene.timers)
    spread = bounds.propagation(scene.timers)
    if decided.whole is None or spread.whole is None:
        return None, decided.why or spread.why or ""
    return decided.whole.hi_s + spread.whole.hi_s + SLACK_S, str(decided.dominated_by)
