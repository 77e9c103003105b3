"""Every lie of the fake against every check: exactly one check owns each, others see it as a consequence or not at all.

Each row is a whole run, played, recorded and judged as on any runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chaoskafka import run, under_load
from chaoskafka.errors import ExitCode
from chaoskafka.faults import playing
from chaoskafka.report.result import Result
from chaoskafka.runtimes.fake.lies import Lie
from chaoskafka.verdict import Answer
from tests.histories.words import PASSED_BY_A_FAILOVER
from tests.rehearsals import SCENARIO, hurry, rehearse

LIMIT_S = 30.0  # of new_leader and unavailable, where a row is not about them: more than any busy machine takes
WORDS = tuple(word for word in PASSED_BY_A_FAILOVER if word != "took_effect")  # that one is in every run
NEVER_FAILS = {"took_effect"}  # a fault that was not seen to bite says nothing about Kafka


@dataclass(frozen=True, kw_only=True)
class Row:
    """`owner`: the check that names the cause; None: nobody fails. `also`: those that see it as a consequence."""

    owner: str | None
    also: frozenset[str] = frozenset()
    says: str = ""  # in the summary or evidence of the owner, or of anybody where there is none
    unknown: frozenset[str] = frozenset()  # checks that must not answer
    exit_code: ExitCode = ExitCode.FAIL
    settings: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)  # seconds: of new_leader, of unavailable
    patch: Callable[[pytest.MonkeyPatch], None] = lambda _: None


def give_up_on_recovery(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run, "recovery_limit_s", lambda *_: 0.2)
    patch.setattr(playing, "KNOCKS_S", 0.1)


def be_patient(patch: pytest.MonkeyPatch) -> None:
    """Where nothing may be unknown, load must run at every time that matters, on a busy machine too."""
    patch.setattr(under_load, "TAIL_S", 0.3)


def give_up_on_readers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(under_load, "DRAIN_S", 0.2)


KILL = "plan[0].kill"
LOST = "no_lost_acknowledged"

TABLE: Mapping[Lie, Row] = {
    Lie.LOSE_HEAD: Row(owner=LOST, says="'there_now': 'nothing'"),
    Lie.LOSE_MIDDLE: Row(owner=LOST, says="'there_now': 'nothing'"),
    Lie.LOSE_TAIL: Row(owner=LOST, says="truncated tail"),
    Lie.OVERWRITE: Row(owner=LOST, says="another record", also=frozenset({"offsets_agree"})),
    Lie.STORE_TWICE: Row(owner="no_duplicates", says="broker: one producer sequence stored twice"),
    Lie.SEND_TWICE: Row(owner="no_duplicates", says="client: sent again under another sequence"),
    Lie.REORDER: Row(owner="ordered", says="1 of"),
    Lie.CORRUPT: Row(owner="no_unexpected", says="broken checksum or size", also=frozenset({LOST})),
    Lie.MISPLACE_PARTITION: Row(owner="no_unexpected", says="sent to another topic", also=frozenset({LOST})),
    Lie.MISPLACE_TOPIC: Row(owner="no_unexpected", says="'partition': 'other/0'", also=frozenset({LOST})),
    Lie.MISNAME: Row(owner="offsets_agree", says="by acknowledgement"),
    Lie.STALL: Row(
        owner="progress",
        says="producers, no success after the recovery",
        also=frozenset({"clients_alive"}),
        settings=("workloads[0].produce.drain_s=1",),  # in which the other partition's messages are surely answered
    ),
    Lie.STARVE: Row(
        owner="progress",
        says="group readers, no success after the recovery",
        also=frozenset({"all_delivered"}),
        unknown=frozenset({"completed"}),
        patch=give_up_on_readers,
    ),
    Lie.ELECT_LATE: Row(
        owner="new_leader",
        says="orders/0",
        settings=(f"{KILL}.for_s=0.8",),
        limits={"new_leader": 0.1},  # far below the delay: a machine that stood still meanwhile takes some of it away
    ),
    Lie.SERVE_LATE: Row(owner="unavailable", says="orders/0", limits={"unavailable": 0.4}),
    Lie.STAY_BEHIND: Row(owner="recovered", says="isr", patch=give_up_on_recovery),
    Lie.SKIP: Row(owner="all_delivered", says="never delivered to their group"),
    Lie.REWIND: Row(
        owner=None,
        says="deliveries were repeats",
        exit_code=ExitCode.PASS,
        settings=(f"{KILL}.for_s=0.4",),
        patch=be_patient,
    ),
    Lie.CRASH: Row(owner="clients_alive", says="ended by signal 11", unknown=frozenset({"completed"})),
    Lie.FAIL: Row(owner="clients_alive", says="fatal client error", unknown=frozenset({"completed"})),
    Lie.HANG: Row(owner="clients_alive", says="hung in flush or close"),
    Lie.MISCOUNT: Row(owner="accounted", says="acknowledged, counted = on tape"),
    Lie.IGNORE_KILL: Row(
        owner=None,
        exit_code=ExitCode.UNKNOWN,
        unknown=frozenset({"took_effect", "completed", LOST}),
        settings=(f"{KILL}.settle_s=0.1",),
    ),
    Lie.IGNORE_STOP: Row(
        owner=None,
        exit_code=ExitCode.UNKNOWN,
        unknown=frozenset({"took_effect", "completed", LOST}),
        says="that is no stop",
        settings=("plan[0]={after_s: 0, stop: {target: leader of orders/0, for_s: 0.1, grace_s: 0.1}}",),
    ),
    Lie.IGNORE_START: Row(
        owner=None,
        exit_code=ExitCode.UNKNOWN,
        unknown=frozenset({"took_effect", "completed", "recovered"}),
        settings=(f"{KILL}.heal_s=0.1",),
        patch=give_up_on_recovery,
    ),
}


# Each row is a run of more than half a second. These differ little from a neighbour, which is tried at every change.
LATER = {Lie.LOSE_HEAD, Lie.MISPLACE_TOPIC, Lie.FAIL}


def expect(limits: Mapping[str, float]) -> str:
    asked = {"new_leader": "within_s", "unavailable": "at_most_s"}
    items = [f"{{{word}: {{{asked[word]}: {limits.get(word, LIMIT_S)}}}}}" if word in asked else word for word in WORDS]
    return f"expect: [{', '.join(items)}]\n"


def failing(result: Result) -> dict[str, str | None]:
    """Each check that failed, with what it is a consequence of."""
    return {check.word: check.consequence_of for check in result.checks if check.answer is Answer.FAIL}


@pytest.mark.parametrize(
    "lie", [pytest.param(lie, marks=[pytest.mark.nightly] * (lie in LATER), id=lie.name.lower()) for lie in TABLE]
)
def test_each_lie_has_one_owner(lie: Lie, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = TABLE[lie]
    hurry(monkeypatch)
    row.patch(monkeypatch)
    played = rehearse(tmp_path, lie, text=SCENARIO + expect(row.limits), settings=row.settings)
    assert played.told == {lie}
    result = played.result
    owned = {} if row.owner is None else {row.owner: None}
    assert failing(result) == owned | dict.fromkeys(row.also, row.owner), result.checks
    assert played.exit_code is row.exit_code
    unknown = {check.word for check in result.checks if check.answer is Answer.UNKNOWN}
    assert row.unknown <= unknown
    said = [check.summary + str(check.evidence) for check in result.checks if row.owner in (None, check.word)]
    assert any(row.says in text for text in said)


def test_an_honest_run_passes_every_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    be_patient(monkeypatch)
    played = rehearse(tmp_path, text=SCENARIO + expect({}), settings=(f"{KILL}.for_s=0.4",))
    assert {check.word: check.summary for check in played.result.checks if check.answer is not Answer.PASS} == {}
    assert {check.word for check in played.result.checks} == {*WORDS, "took_effect", "completed"}
    assert played.exit_code is ExitCode.PASS
    assert played.told == frozenset()
    assert played.result.runtime == "fake"
    assert played.result.clients == "thread"
    (fault,) = played.result.faults
    assert {p.new_leader is not None for p in fault.partitions if p.old_leader in fault.targets} == {True}


def test_every_lie_is_in_the_table_and_every_check_owns_one() -> None:
    assert set(TABLE) == set(Lie)
    owners = {row.owner for lie, row in TABLE.items() if lie not in LATER}
    assert owners - {None} == set(PASSED_BY_A_FAILOVER) - NEVER_FAILS


def test_the_table_for_people_is_this_one() -> None:
    """docs/checks.md: one line per lie, with its owner and those that see it as a consequence."""
    told = (Path(__file__).parents[3] / "docs" / "checks.md").read_text(encoding="utf-8")
    missing = [line for line in map(line_of, TABLE) if line not in told]
    assert missing == []


def line_of(lie: Lie) -> str:
    row = TABLE[lie]
    owner = row.owner or ("nobody: unknown" if row.exit_code is ExitCode.UNKNOWN else "nobody: permitted")
    return f"| {lie.value} | {owner} | {', '.join(sorted(row.also)) or '-'} |"
