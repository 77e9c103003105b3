"""What a run waits for while its load is on: before a fault, after the last one, and at the end.

In: a session and its traffic. Out: the event `recovered`, or the error that says what did not come.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskafka.audit.settle import settle
from chaoskafka.clock import NS_PER_S
from chaoskafka.cluster import ready
from chaoskafka.errors import ClientEnded, WaitTimeout
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.tables import TopicPartition
from chaoskafka.session import Session
from chaoskafka.traffic import Traffic

GATE_S = 60.0  # for a whole cluster under steady load before a fault
# Times the limit of recovery: what the machine excuses must be known, not only that it was late. Above what starvation
# excuses at most (timing.starvation.SLOWER), or a cluster that never becomes whole could not fail on starved cores.
WATCHED = 3.5
TAIL_S = 3.0  # at least so long load goes on after recovery, so that progress after it can be judged
DRAIN_S = 60.0
SETTLE_S = 20.0


def gate(session: Session, traffic: Traffic) -> None:
    """The next fault starts only from a whole cluster under steady load that is being watched. Blocks.

    Raises WaitTimeout, and ClientEnded when a worker or the observer is gone.
    """
    ready.wait_recovered(session.views, session.cluster.spec, within_s=GATE_S, clock=session.clock)
    traffic.wait_steady(within_s=GATE_S, clock=session.clock)
    if gone := session.ended(traffic):
        raise ClientEnded("; ".join(gone))


def recover(session: Session, traffic: Traffic, *, limit_s: float) -> None:
    """Wait until the cluster is whole, write down whether it was so within `limit_s` of the healing. Blocks."""
    clock = session.clock
    healing_ns = session.healing_ns or clock.now_ns()
    left_s = max(1.0, WATCHED * limit_s - (clock.now_ns() - healing_ns) / NS_PER_S)
    seen = ready.watch_recovery(session.views, session.cluster.spec, within_s=left_s, clock=clock)
    waited_s = (seen.answered_ns - healing_ns) / NS_PER_S
    within_s = waited_s if seen.ready else None
    session.events.write(
        "recovered",
        whole=within_s is not None and within_s <= limit_s,
        within_s=within_s,
        waited_s=waited_s,
        limit_s=limit_s,
        unstarted=list(session.unstarted),
        missing=list(seen.missing) or [f"it was whole only after {waited_s:.1f} s"] * (waited_s > limit_s),
    )
    clock.pause(max(TAIL_S, traffic.breath_s))


def drain(session: Session, traffic: Traffic, topics: Sequence[TopicFacts]) -> None:
    """Stop producing, and let consumers read to the settled end of each partition. Blocks.

    Raises WaitTimeout, and ClientEnded when a worker or the observer ended unasked.
    """
    gone = session.ended(traffic)
    traffic.stop_producing(clock=session.clock)
    wanted = [(topic.name, number) for topic in topics for number in range(topic.partitions)]
    endings = settle(session.views, topics, wanted, within_s=SETTLE_S, clock=session.clock)
    ends = {TopicPartition(topic, number): ending.end for (topic, number), ending in endings.items()}
    try:
        traffic.drain(ends, within_s=DRAIN_S, clock=session.clock)
    except WaitTimeout as behind:
        if not gone:
            raise
        gone.append(str(behind))  # perhaps by who is gone
    if gone:  # told last: those that still live were stopped and drained as ever
        raise ClientEnded("; ".join(gone))
