"""A result with everything in it that a report has to show, and whole runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.report.result import CheckResult, Result
from chaoskafka.timing.times import BrokerSight, ClientSight, FaultTimes, Gap, Interval, PartitionTimes, PhaseTime
from chaoskafka.verdict import Answer
from tests.histories.copy import Copy
from tests.histories.shape import Shape
from tests.report.runs import judged, whole


def span(lo_s: float, hi_s: float) -> Interval:
    return Interval(lo_s=lo_s, hi_s=hi_s)


MOVED = PartitionTimes(
    topic="orders",
    partition=0,
    old_leader=1,
    new_leader=2,
    old_epoch=3,
    new_epoch=4,
    seen_by=(BrokerSight(broker=2, seen=span(9.114, 9.131)), BrokerSight(broker=3, seen=span(9.1201, 9.1202))),
    first_ack=(
        ClientSight(client="producer 0", first=span(9.2, 9.21)),
        ClientSight(client="producer 1", first=span(9.8, 9.9)),
    ),
    first_read=(ClientSight(client="group readers", first=span(9.85, 9.95)),),
    unavailable=(
        Gap(client="producer 1", length=span(9.85, 9.91), starts_s=-0.01, resolution_s=0.05, open=False),
        Gap(client="group readers", length=span(9.9, 10.02), starts_s=-0.02, resolution_s=0.05, open=False),
    ),
    in_sync=span(17.4, 17.52),
)
STAYED = replace(
    MOVED, partition=1, old_leader=3, new_leader=None, new_epoch=None, seen_by=(), first_ack=(), first_read=()
)


@pytest.fixture
def result() -> Result:
    return Result(
        judged_by="0.1.0",
        run_id="20260101t000000-abcdef",
        scenario="leader-killed",
        title="Leader killed",
        question="Does a killed partition leader cost an acknowledged message?",
        seed=7,
        replay="chaoskafka run leader-killed --seed 7",
        started_at="2026-01-01T00:00:00.000+00:00",
        duration_s=81.25,
        runtime="docker",
        clients="client_container",
        versions={"kafka": "4.2.0"},
        answer=Answer.FAIL,
        checks=(
            CheckResult(
                word="no_lost_acknowledged",
                parameters={"allow": "none"},
                answer=Answer.FAIL,
                summary="8 acknowledged messages are nowhere in the log",
                counted=14021,
                found=8,
                evidence=tuple({"partition": f"orders/{i}", "sequence": i, "offset": None} for i in range(8)),
            ),
            CheckResult(
                word="all_delivered",
                parameters={},
                answer=Answer.UNKNOWN,
                summary="the check crashed: KeyError: 'x'",
                counted=0,
                found=0,
                evidence=({"traceback": "Traceback (most recent call last):\n  File x\nKeyError: 'x'"},),
            ),
            CheckResult(
                word="took_effect",
                parameters={},
                answer=Answer.PASS,
                summary="1 faults were seen to bite and to heal",
                counted=1,
                found=0,
                evidence=(),
            ),
        ),
        faults=(
            FaultTimes(index=0, word="kill", targets=(1,), window_s=15.31, partitions=(STAYED, MOVED)),
            FaultTimes(index=1, word="kill", targets=(), window_s=None, partitions=()),
        ),
        phases=(
            PhaseTime(
                fault=0,
                scope="broker",
                subject="broker 1",
                phase="detect",
                since="deed",
                until="the controller puts it out",
                took=Interval(lo_s=8.6, hi_s=8.63),
                at=Interval(lo_s=8.6, hi_s=8.63),
                bound=Interval(lo_s=7.0, hi_s=10.125),
                dominated_by="broker.session.timeout.ms",
            ),
            PhaseTime(
                fault=0,
                scope="quorum",
                subject="quorum",
                phase="controller",
                since="deed",
                until="a new controller is active",
                took=None,
                at=None,
                note="it was not seen",
            ),
            PhaseTime(
                fault=0,
                scope="partition",
                subject="orders/0",
                phase="commit",
                since="elect",
                until="below the high watermark",
                took=Interval(lo_s=0.0, hi_s=0.03),
                at=Interval(lo_s=8.6, hi_s=8.66),
            ),
        ),
        troubles=("audit: WaitTimeout: waited 20.0 s for the settled end of orders/3",),
    )


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A run that every check passes. Made once; nobody alters this one."""
    run_dir = whole(tmp_path_factory.mktemp("good") / "run", Shape(partitions=2))
    return Copy.at(judged(Copy.at(run_dir)))


@pytest.fixture
def run(good: Copy, tmp_path: Path) -> Copy:
    """The same, to be altered."""
    return good.into(tmp_path / "run")
