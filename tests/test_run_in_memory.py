"""Whole runs in memory: whatever happens, all is restored, gathered and removed, told, and never called a pass."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from chaoskafka import machine, phases, run, traffic, under_load
from chaoskafka.audit import settle
from chaoskafka.cluster import ready
from chaoskafka.cluster.abilities import ExitStatus
from chaoskafka.cluster.rights import reading, writing
from chaoskafka.cluster.security import Protection, Security, User
from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.errors import (
    CommandFailed,
    EnvironmentFailure,
    ExitCode,
    FaultFailed,
    HarnessError,
    NoAnswer,
    WaitTimeout,
)
from chaoskafka.history.events import Event, read_events
from chaoskafka.history.header import RunHeader
from chaoskafka.judge import judge
from chaoskafka.phases import Phase
from chaoskafka.progress import Silent
from chaoskafka.report.result import RESULT_FILE
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.ledger import read_ledger
from chaoskafka.scenario.load import load_text
from chaoskafka.verdict import Answer
from tests.memory_cluster import Memory, MemoryCluster, Trouble

ONE_FAULT = """\
topics: {orders: {partitions: 2}}
workloads: [{produce: {topic: orders, processes: 2, rate_per_s: 2000}}, {consume: {topic: orders}}]
plan: [{after_s: 0, kill: {target: "leader of orders/0", for_s: 0.01}}]
expect: [recovered]
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Memory answers at once; what it never says need not be awaited for a minute. Ledgers are written apart."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(under_load, "TAIL_S", 0.0)
    monkeypatch.setattr(traffic, "STEADY_S", 0.02)
    monkeypatch.setattr(ready, "EVERY_S", 0.01)
    monkeypatch.setattr(settle, "READINGS_APART_S", 0.01)


class Watching(Silent):
    """Calls `at` when a phase begins, and remembers the notes."""

    def __init__(self, at: Callable[[Phase, Watching], None] = lambda *_: None) -> None:
        self.at, self.notes, self.noted = at, list[str](), threading.Event()

    def phase(self, number: int, name: str) -> None:
        self.at(Phase(number), self)

    def note(self, text: str) -> None:
        self.notes.append(text)
        if text.startswith("SIG"):
            self.noted.set()


def play(memory: Memory, out: Path, *, text: str = ONE_FAULT, progress: Watching | None = None) -> RunOutcome:
    options = RunOptions(
        seed=1, out=out, keep=False, timeout_s=3600, progress=progress or Watching(), replay="chaoskafka run case"
    )
    return run_scenario(load_text(text, name="case"), options=options, runtime=memory.runtime)


def events_of(outcome: RunOutcome) -> list[Event]:
    return read_events(outcome.run_dir / "events.jsonl")


def errors_of(outcome: RunOutcome) -> list[str]:
    return [event.fields["type"] for event in events_of(outcome) if event.event == "error"]


def broken_phases(outcome: RunOutcome) -> list[Phase]:
    return [Phase(e.fields["number"]) for e in events_of(outcome) if e.event == "phase" and e.fields.get("error")]


def raising(error: Exception) -> Trouble:
    """Raise at the first act of that name, and never again."""
    left = [error]

    def trouble(_: MemoryCluster) -> None:
        if left:
            raise left.pop()

    return trouble


def test_a_run_in_which_nothing_goes_wrong_passes_and_leaves_nothing(tmp_path: Path) -> None:
    memory = Memory()
    outcome = play(memory, tmp_path)
    assert errors_of(outcome) == []
    assert outcome.exit_code is ExitCode.PASS
    assert memory.acts == ["open", "restore", "stop_kafka", "gather_logs", "remove"]
    ended = [e.fields["number"] for e in events_of(outcome) if e.event == "phase" and e.fields["state"] == "end"]
    assert ended == [int(phase) for phase in Phase]


RESTORING = (Phase.RESTORE, Phase.GATHER, Phase.REMOVE)
SIGNALS = [
    (signal.SIGINT,),
    (signal.SIGTERM,),
    (signal.SIGHUP,),
    (signal.SIGINT, signal.SIGINT),
    (signal.SIGTERM, signal.SIGTERM),
]


@dataclass
class Interrupting:
    """Sends a signal when `phase` begins, and those that remain when restoring does, or at once if nothing is to be."""

    phase: Phase
    signals: list[signal.Signals]
    sent_in: list[Phase] = field(default_factory=list)

    def __call__(self, begun: Phase, progress: Watching) -> None:
        if begun is self.phase or (self.sent_in and begun in RESTORING):
            self.send(begun, progress)
        while self.sent_in and self.phase not in range(Phase.FORM, Phase.REMOVE) and self.signals:
            self.send(begun, progress)

    def send(self, begun: Phase, progress: Watching) -> None:
        if self.signals:
            progress.noted.clear()
            os.kill(os.getpid(), self.signals.pop(0))
            assert progress.noted.wait(10)
            self.sent_in.append(begun)


def signal_params() -> Iterator[ParameterSet]:
    """For every change Ctrl-C in each phase, and one of the others in turn; at night all of them in each."""
    for place, phase in enumerate(Phase):
        for turn, signals in enumerate(SIGNALS):
            often = turn in (0, 1 + place % (len(SIGNALS) - 1))
            name = "-".join([phase.name.lower(), *(each.name for each in signals)])
            yield pytest.param(phase, signals, id=name, marks=[] if often else [pytest.mark.nightly])


@pytest.mark.parametrize(("phase", "signals"), list(signal_params()))
def test_a_signal_in_each_phase_exits_130_and_leaves_nothing(
    phase: Phase, signals: tuple[signal.Signals, ...], tmp_path: Path
) -> None:
    memory = Memory()
    interrupting = Interrupting(phase, list(signals))
    progress = Watching(interrupting)
    outcome = play(memory, tmp_path, progress=progress)
    assert interrupting.sent_in[0] is phase
    assert [note.split(":")[0] for note in progress.notes if note.startswith("SIG")] == [each.name for each in signals]
    assert outcome.exit_code is ExitCode.INTERRUPTED
    opened = phase > Phase.OPEN
    assert memory.acts == (["open", "restore", "stop_kafka", "gather_logs", "remove"] if opened else [])
    assert all(node.running for node in (memory.cluster.nodes.values() if memory.cluster else ()))
    assert list(locks.runs_directory().iterdir()) == []


def test_a_run_whose_time_is_up_while_the_cluster_opens_is_cut_short(
    tmp_path: Path, time_is_up: threading.Event
) -> None:
    memory = Memory(trouble={"open": lambda _: time_is_up.set()})
    outcome = play(memory, tmp_path)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert broken_phases(outcome) == [Phase.OPEN]
    assert errors_of(outcome) == ["RunTimeout"]


def test_what_is_owed_stays_on_disk_while_a_node_is_down(tmp_path: Path) -> None:
    def look(cluster: MemoryCluster) -> None:
        if cluster.times("kill") == 1 and not seen:
            (path,) = locks.runs_directory().glob("*.ledger")
            seen.append(read_ledger(path).owed)

    seen: list[tuple[Owed, ...]] = []
    outcome = play(Memory(trouble={"knock": look}), tmp_path)
    assert outcome.exit_code is ExitCode.PASS
    assert seen == [(Owed(fault=0, word="kill", node="node-1", undo=Undo.START),)]
    assert list(locks.runs_directory().iterdir()) == []


def test_what_a_restoration_could_not_take_back_is_still_owed_if_the_removal_fails_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_load, "WATCHED", 0)  # it never becomes whole
    memory = Memory(
        trouble={
            "start": lambda _: (_ for _ in ()).throw(WaitTimeout("no new process")),
            "remove": raising(EnvironmentFailure("in use")),
        }
    )
    play(memory, tmp_path, text=ONE_FAULT.replace("for_s: 0.01", "for_s: 0.01, heal_s: 0.1"))
    (path,) = locks.runs_directory().iterdir()
    assert [owed.node for owed in read_ledger(path).owed] == ["node-1"]
    assert not locks.is_alive(path.stem)


# What goes wrong where; the exit code; the phase that the events blame.
FAILURES: list[tuple[str, Exception, ExitCode, Phase]] = [
    ("prepare", EnvironmentFailure("no engine"), ExitCode.ENVIRONMENT, Phase.PREFLIGHT),
    ("prepare", RuntimeError("bug"), ExitCode.INTERNAL, Phase.PREFLIGHT),
    ("open", EnvironmentFailure("no memory"), ExitCode.ENVIRONMENT, Phase.OPEN),
    ("open", WaitTimeout("late"), ExitCode.ENVIRONMENT, Phase.OPEN),
    ("ask_all", RuntimeError("bug"), ExitCode.INTERNAL, Phase.FORM),
    ("create_topics", EnvironmentFailure("refused"), ExitCode.ENVIRONMENT, Phase.TOPICS),
    ("create_topics", NoAnswer("silence"), ExitCode.ENVIRONMENT, Phase.TOPICS),
    ("launch", EnvironmentFailure("no room"), ExitCode.ENVIRONMENT, Phase.LOAD),
    ("launch", HarnessError("promise"), ExitCode.INTERNAL, Phase.LOAD),
    ("kill", FaultFailed("no bite"), ExitCode.UNKNOWN, Phase.PLAY),
    ("kill", EnvironmentFailure("engine died"), ExitCode.UNKNOWN, Phase.PLAY),
    ("kill", RuntimeError("bug"), ExitCode.INTERNAL, Phase.PLAY),
    ("restore", WaitTimeout("late"), ExitCode.UNKNOWN, Phase.RESTORE),
    ("restore", CommandFailed("start", 1, "disk error"), ExitCode.UNKNOWN, Phase.RESTORE),
    ("restore", RuntimeError("bug"), ExitCode.INTERNAL, Phase.RESTORE),
    ("terminate", EnvironmentFailure("engine died"), ExitCode.UNKNOWN, Phase.DRAIN),
    ("collect", WaitTimeout("no whole copy"), ExitCode.UNKNOWN, Phase.DRAIN),
    ("connect", RuntimeError("bug"), ExitCode.INTERNAL, Phase.DRAIN),
    ("stop_kafka", EnvironmentFailure("engine died"), ExitCode.ENVIRONMENT, Phase.GATHER),
    ("stop_kafka", RuntimeError("bug"), ExitCode.INTERNAL, Phase.GATHER),
    ("gather_logs", OSError("read-only"), ExitCode.INTERNAL, Phase.GATHER),
    ("remove", EnvironmentFailure("in use"), ExitCode.ENVIRONMENT, Phase.REMOVE),
    ("remove", WaitTimeout("in use"), ExitCode.ENVIRONMENT, Phase.REMOVE),
]


@pytest.mark.parametrize(
    ("where", "error", "code", "phase"), FAILURES, ids=[f"{where}-{type(e).__name__}" for where, e, _, _ in FAILURES]
)
def test_a_failure_anywhere_is_told_counted_and_cleaned_up(
    where: str, error: Exception, code: ExitCode, phase: Phase, tmp_path: Path
) -> None:
    memory = Memory(trouble={where: raising(error)})
    progress = Watching()
    outcome = play(memory, tmp_path, progress=progress)
    assert outcome.exit_code is code
    assert broken_phases(outcome) == [phase]
    assert type(error).__name__ in errors_of(outcome)
    assert any(phase.title in note and str(error) in note for note in progress.notes)
    if phase > Phase.OPEN:
        assert memory.acts == ["open", "restore", "stop_kafka", "gather_logs", "remove"]
        assert memory.cluster is not None
        assert all(node.running for node in memory.cluster.nodes.values()) or where == "restore"
        assert all(client.end is not None for client in memory.cluster.clients.values()) or where == "terminate"
    assert (outcome.run_dir / "traceback.txt").exists() == (code is ExitCode.INTERNAL)


def test_a_node_that_dies_before_the_cluster_has_formed_is_named_at_once_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(cluster: MemoryCluster) -> None:
        node = cluster.nodes[2]
        node.running, node.log = False, "INFO starting\nERROR Invalid value -5\n\tat a.B.c(D.java:1)\nINFO bye\n"

    monkeypatch.setattr(run, "FORM_S", 3600)
    memory, progress = Memory(trouble={"open": die}), Watching()
    text = "cluster: {config: {log.segment.bytes: '-5'}}\n" + ONE_FAULT
    outcome = play(memory, tmp_path, text=text, progress=progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert errors_of(outcome) == ["EnvironmentFailure"]
    (told,) = [note for note in progress.notes if "EnvironmentFailure" in note]
    assert "Kafka on node-2 ended: exit code 137" in told
    assert "from the log of node-2:\n  ERROR Invalid value -5\n  INFO bye\n  to mend it:" in told
    assert "to mend it: correct cluster.config, if one of these is meant: log.segment.bytes" in told
    assert memory.acts == ["open", "restore", "stop_kafka", "gather_logs", "remove"]


def test_a_node_that_never_registers_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "FORM_S", 0.2)

    def fence(cluster: MemoryCluster) -> None:
        cluster.fenced, cluster.nodes[3].log = {3}, "INFO starting\nERROR no route to the controller\n"

    progress = Watching()
    outcome = play(Memory(trouble={"open": fence}), tmp_path, progress=progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert errors_of(outcome) == ["WaitTimeout"]
    (told,) = [note for note in progress.notes if "WaitTimeout" in note]
    assert "broker 3 is fenced, says broker 1" in told
    assert "from the log of node-3:\n  ERROR no route to the controller" in told
    assert "node-1:" not in told


def test_topics_that_are_refused_are_told_with_the_node_that_died(tmp_path: Path) -> None:
    def die(cluster: MemoryCluster) -> None:
        cluster.nodes[1].running = False
        raise NoAnswer("silence")

    progress = Watching()
    outcome = play(Memory(trouble={"create_topics": die}), tmp_path, progress=progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert any("silence\nKafka on node-1 ended: exit code 137" in note for note in progress.notes)


def test_a_disk_without_room_for_a_history_is_told_before_anything_is_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RUN_DISK_MIB", 1 << 40)
    memory, progress = Memory(), Watching()
    outcome = play(memory, tmp_path, progress=progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert broken_phases(outcome) == [Phase.PREFLIGHT]
    assert any("MiB left" in note and "--out DIR" in note for note in progress.notes)
    assert memory.cluster is None


def test_starved_cores_are_noted_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "STARVED_PERCENT", 0.0)
    outcome = play(Memory(), tmp_path)
    assert outcome.exit_code is ExitCode.PASS
    notes = [str(event.fields["text"]) for event in events_of(outcome) if event.event == "note"]
    assert any("cores are starved" in note for note in notes)


def test_a_removal_that_fails_in_the_wake_of_another_error_is_told_too(tmp_path: Path) -> None:
    memory = Memory(
        trouble={"create_topics": raising(NoAnswer("silence")), "remove": raising(EnvironmentFailure("in use"))}
    )
    progress = Watching()
    outcome = play(memory, tmp_path, progress=progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert errors_of(outcome) == ["NoAnswer", "EnvironmentFailure"]
    assert "chaoskafka heal" in progress.notes[-1]


def test_a_gathering_that_fails_does_not_turn_an_early_failure_into_an_answer(tmp_path: Path) -> None:
    memory = Memory(
        trouble={"create_topics": raising(NoAnswer("silence")), "stop_kafka": raising(WaitTimeout("still stopping"))}
    )
    assert play(memory, tmp_path).exit_code is ExitCode.ENVIRONMENT


def test_what_was_found_is_not_taken_back_by_a_removal_that_fails(tmp_path: Path) -> None:
    """No consumer of this run left a tape, so no_lost_acknowledged cannot be judged; the removal is told beside it."""
    memory = Memory(trouble={"remove": raising(EnvironmentFailure("in use"))})
    outcome = play(memory, tmp_path, text=ONE_FAULT.replace("[recovered]", "[recovered, no_lost_acknowledged]"))
    assert (outcome.run_dir / RESULT_FILE).exists()
    assert outcome.exit_code is ExitCode.UNKNOWN


def test_a_disk_that_fills_up_does_not_keep_the_cluster(tmp_path: Path) -> None:
    def fill(begun: Phase, _: Watching) -> None:
        if begun is Phase.AUDIT:
            for link in Path("/proc/self/fd").iterdir():
                with suppress(OSError):
                    if link.readlink().name == "events.jsonl":
                        with Path("/dev/full").open("wb") as full:
                            os.dup2(full.fileno(), int(link.name))

    memory = Memory()
    progress = Watching(fill)
    outcome = play(memory, tmp_path, progress=progress)
    assert outcome.exit_code is ExitCode.UNKNOWN
    assert memory.acts[-1] == "remove"
    assert any("events.jsonl: cannot be written: No space left" in note for note in progress.notes)
    assert events_of(outcome)  # what was there before can be read


@pytest.fixture
def time_is_up(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set it, and the time of the whole run is up."""
    up = threading.Event()

    class UpOnDemand:
        @classmethod
        def after(cls, seconds: float) -> UpOnDemand:
            return cls()

        def left_s(self) -> float:
            return 0.0 if up.is_set() else 1.0

    monkeypatch.setattr(phases, "Deadline", UpOnDemand)
    return up


def up_in(last: Phase, time_is_up: threading.Event) -> Watching:
    return Watching(lambda phase, _: time_is_up.set() if phase is last else None)


def test_time_that_is_up_before_the_plan_is_an_environment_at_fault(
    tmp_path: Path, time_is_up: threading.Event
) -> None:
    outcome = play(Memory(), tmp_path, progress=up_in(Phase.FORM, time_is_up))
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert not (outcome.run_dir / RESULT_FILE).exists()


@pytest.mark.parametrize("phase", [Phase.PLAY, Phase.RECOVER, Phase.DRAIN, Phase.AUDIT], ids=lambda p: p.name.lower())
def test_time_that_is_up_later_heals_gathers_and_judges(
    phase: Phase, tmp_path: Path, time_is_up: threading.Event
) -> None:
    """Nothing is blamed for it: a cluster that had time left did not fail to recover, and no worker hung."""
    everything = ONE_FAULT.replace("expect: [recovered]\n", "")
    if phase is Phase.PLAY:
        memory = Memory(trouble={"kill": lambda _: time_is_up.set()})
        outcome = play(memory, tmp_path, text=everything.replace("0.05", "3600"))
    else:
        memory = Memory()
        outcome = play(memory, tmp_path, text=everything, progress=up_in(phase, time_is_up))
    assert outcome.exit_code is ExitCode.UNKNOWN
    answers = {check.word: check.answer for check in judge(outcome.run_dir).checks}
    assert Answer.FAIL not in answers.values()
    assert answers["completed"] is Answer.UNKNOWN
    assert answers["took_effect"] is Answer.PASS
    assert memory.acts == ["open", "restore", "stop_kafka", "gather_logs", "remove"]
    assert memory.cluster is not None
    assert all(client.signals and "KILL" not in client.signals for client in memory.cluster.clients.values())


@pytest.mark.parametrize("name", ["observer", "produce-1", "consume-2"])
def test_a_client_that_dies_in_the_middle_is_noticed(name: str, tmp_path: Path) -> None:
    def die(cluster: MemoryCluster) -> None:
        cluster.clients[name].end = ExitStatus(code=None, signal=11)

    progress = Watching()
    outcome = play(Memory(trouble={"kill": die}), tmp_path, progress=progress)
    assert outcome.exit_code is ExitCode.UNKNOWN
    assert errors_of(outcome) == ["ClientEnded"]
    assert any(f"{name} ended" in note and "signal=11" in note for note in progress.notes)


def test_a_group_that_does_not_read_to_the_end_leaves_tables_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(cluster: MemoryCluster) -> None:
        cluster.log_end = 9

    monkeypatch.setattr(under_load, "DRAIN_S", 0.2)
    monkeypatch.setattr(run, "AUDIT_S", 0.5)
    outcome = play(Memory(trouble={"kill": fill}), tmp_path)
    assert broken_phases(outcome) == [Phase.DRAIN]
    assert (outcome.run_dir / "ops" / "workers.json").exists()
    assert outcome.exit_code is ExitCode.UNKNOWN


def test_a_second_fault_that_never_ran_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_load, "GATE_S", 0.5)

    def fall_silent(cluster: MemoryCluster) -> None:
        cluster.clients["produce-1"].silent = True

    twice = ONE_FAULT.replace("plan: [", "plan: [{after_s: 0, kill: {target: any, for_s: 0.01}}, ")
    memory = Memory(trouble={"kill": fall_silent})
    outcome = play(memory, tmp_path, text=twice)
    assert outcome.exit_code is ExitCode.UNKNOWN
    (check,) = [check for check in judge(outcome.run_dir).checks if check.word == "took_effect"]
    assert check.answer is Answer.UNKNOWN
    assert "never played" in check.summary
    assert memory.cluster is not None
    assert memory.cluster.times("kill") == 1


def test_an_earlier_result_changes_nothing(tmp_path: Path) -> None:
    outcome = play(Memory(trouble={"kill": raising(FaultFailed("no bite"))}), tmp_path)
    first = judge(outcome.run_dir)
    (outcome.run_dir / RESULT_FILE).write_text('{"answer": "pass"}')
    assert judge(outcome.run_dir) == first
    (outcome.run_dir / RESULT_FILE).unlink()
    assert judge(outcome.run_dir) == first


def test_in_a_protected_run_everybody_gets_in_and_no_secret_is_kept(tmp_path: Path) -> None:
    memory = Memory()
    outcome = play(memory, tmp_path, text=f"cluster: {{security: sasl_scram}}\n{ONE_FAULT}")
    assert outcome.exit_code is ExitCode.PASS
    cluster = memory.cluster
    assert cluster is not None
    order = [act for act in cluster.acts if act in ("users", "allow worker", "create_topics")]
    assert order == ["users", "allow worker", "create_topics"]
    assert tuple(cluster.allowed[User.WORKER]) == (*writing("orders"), *reading("orders", "readers"))
    assert {name: Security.given(told).user for name, told in cluster.told.items() if name != "users"} == {
        "observer": "observer", "produce-0": "worker", "produce-1": "worker", "consume-2": "worker",
    }  # fmt: skip
    kept = [path.read_bytes() for path in outcome.run_dir.rglob("*") if path.is_file()]
    secrets = [b"PRIVATE KEY", *(password.encode() for password in cluster.credentials.passwords.values())]
    assert len(secrets) == 1 + len(User)
    assert not [secret for secret in secrets if any(secret in content for content in kept)]
    header = RunHeader.load(outcome.run_dir)
    assert {facts.settings["sasl.password"] for facts in header.workloads} == {"***"}


def test_users_that_cannot_be_made_are_an_environment_at_fault(tmp_path: Path) -> None:
    def refuse(cluster: MemoryCluster) -> None:
        cluster.clients["users"].end = ExitStatus(code=1, signal=None)

    memory = Memory({"users": refuse})
    outcome = play(memory, tmp_path, text=f"cluster: {{security: sasl_scram}}\n{ONE_FAULT}")
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert broken_phases(outcome) == [Phase.FORM]
    assert memory.acts[-1] == "remove"


def test_a_cluster_over_tls_alone_has_no_users(tmp_path: Path) -> None:
    memory = Memory()
    assert play(memory, tmp_path, text=f"cluster: {{security: tls}}\n{ONE_FAULT}").exit_code is ExitCode.PASS
    assert memory.cluster is not None
    assert "users" not in memory.cluster.clients
    assert Security.given(memory.cluster.told["produce-0"]).protection is Protection.TLS
