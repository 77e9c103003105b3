"""Alterations of the plan and of the recovery.

In: a Copy. Out: nothing; the copy is changed.
"""

from __future__ import annotations

import json

from chaoskafka.clock import NS_PER_S
from chaoskafka.under_load import WATCHED
from tests.histories.alterations.gaps import never_play
from tests.histories.copy import Copy


def without_a_plan(copy: Copy) -> None:
    never_play(copy)
    copy.header(plan=[])


def plan_one_more(copy: Copy) -> None:
    copy.json("run.json", lambda header: {**header, "plan": header["plan"] * 2})


def recover_at_the_end(copy: Copy) -> None:
    """The load ended before the cluster was seen whole again."""
    copy.event("recovered", at_ns=_last_instant_ns(copy) + 1)


def _last_instant_ns(copy: Copy) -> int:
    return max(event.at_ns for event in copy.history.events) + 3_600_000_000_000


def stay_broken(copy: Copy) -> None:
    copy.event("recovered", whole=False, within_s=None, waited_s=300.0, missing=["broker 1 is fenced"])


def stay_broken_as_long_as_watched(copy: Copy) -> None:
    """Never whole, and the run waited for it no longer than it does."""
    waited_s = WATCHED * 30.0
    copy.event("recovered", whole=False, within_s=None, waited_s=waited_s, missing=["broker 1 is fenced"], limit_s=30.0)


def leave_unstarted(copy: Copy) -> None:
    """As broken, and nobody had started the node again."""
    copy.event("recovered", whole=False, within_s=None, waited_s=300.0, unstarted=["node-1"])


def recover_late(copy: Copy) -> None:
    copy.event("recovered", whole=False, within_s=300.0, waited_s=300.0, limit_s=30.0)


def recover_a_little_late(copy: Copy) -> None:
    copy.event("recovered", whole=False, within_s=45.0, waited_s=45.0, limit_s=30.0)


def recover_late_on_a_starved_machine(copy: Copy) -> None:
    """Late by less than the machine stood still."""
    recovered = next(event for event in copy.history.events if event.event == "recovered")
    copy.event("recovered", whole=False, within_s=31.5, waited_s=31.5, limit_s=30.0)
    stall = {"kind": "stall", "lo_ns": recovered.at_ns - 5 * NS_PER_S, "hi_ns": recovered.at_ns, "gap_ns": 2 * NS_PER_S}
    with (copy.run_dir / "observations.jsonl").open("a") as file:
        file.write(json.dumps(stall) + "\n")


def recover_untimed(copy: Copy) -> None:
    copy.event("recovered", within_s=None)


def never_wait_for_recovery(copy: Copy) -> None:
    copy.without_event("recovered")
