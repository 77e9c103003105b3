"""Traffic: the workers of a run, from launch to the tapes they leave.

In: a host for clients, the workers' arguments. Out: processes started, watched by their status lines, stopped in order
(producers first, consumers when they have read to the end), and their directories under `ops/tapes/`.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from chaoskafka.clock import NS_PER_S, UNSTOPPABLE, Clock, wait_until
from chaoskafka.cluster.abilities import CanHostClients, ClientProcess, ExitStatus
from chaoskafka.errors import EnvironmentFailure, WaitTimeout
from chaoskafka.history.events import EventLog
from chaoskafka.history.tables import TopicPartition
from chaoskafka.runtimes.removal import in_parallel
from chaoskafka.workloads.worker.arguments import CONSUME, PRODUCE, WorkerArguments

FLOW_S = 60.0  # first acks and reads: client containers start, the group forms
STEADY_S = 1.0  # load is steady when each producer had an acknowledgement of each partition this recently …
STEADY_MESSAGES = 3  # … or, at low rates, within the time of so many messages
EVERY_S = 0.1  # between looks at the workers' status lines, which come every half second
LEAVE_S = 10.0  # beyond a worker's own bounds for draining and closing, for a busy machine
HURRY_S = 15.0  # for all workers, when nobody will judge what they did: enough to end, not to wait for a dead cluster


class Traffic:
    """The workers of one run. `stop` and `collect` are safe to call more than once."""

    def __init__(self, workers: Sequence[WorkerArguments], events: EventLog) -> None:
        self.workers = tuple(workers)
        self._events = events
        self._processes: dict[str, ClientProcess] = {}
        self._asked: set[str] = set()  # to end, by SIGTERM
        self._killed: set[str] = set()
        self._exits: dict[str, ExitStatus] = {}

    def start(self, host: CanHostClients) -> None:
        """Launch every worker, all at once. Blocks until each place exists or was refused, not until load flows.

        Raises the first worker's error, with those of others as notes; who was launched beside it is stopped with all.
        """
        in_parallel("launching", partial(self._launch, host), self.workers)

    def _launch(self, host: CanHostClients, worker: WorkerArguments) -> None:
        self._processes[worker.name] = host.launch(worker.name, worker.argv, worker.environment)
        self._events.write("worker", worker=worker.worker, incarnation=worker.incarnation, state="started")

    def wait_flowing(self, *, within_s: float, clock: Clock) -> None:
        """Until every producer had an acknowledgement, and every group a read, of every partition.

        Raises WaitTimeout (what is missing) and EnvironmentFailure when a worker ends before that.
        """
        wait_until(
            "load on every partition",
            read=lambda: self._none_ended() or self._not_flowing(),
            good=lambda missing: not missing,
            within_s=within_s,
            every_s=EVERY_S,
            clock=clock,
            describe=lambda missing: "; ".join(missing[:6]) or "all there",
        )

    def wait_steady(self, *, within_s: float, clock: Clock) -> None:
        """Until every producer is being acknowledged on every partition right now. Raises WaitTimeout.

        A producer's instants are its own clock's, which need not be ours; only our own tell how old its last word is.
        """
        heard = {worker.name: _Heard(self._said(worker)) for worker in self.workers if worker.role == PRODUCE}
        wait_until(
            "steady load",
            read=lambda: self._not_steady(heard, clock.now_ns()),
            good=lambda missing: not missing,
            within_s=within_s,
            every_s=EVERY_S,
            clock=clock,
            describe=lambda missing: "; ".join(missing[:6]) or "all there",
        )

    def on_another_clock(self, clock: str) -> list[str]:
        """Workers that named a clock other than this one: their instants and ours cannot be compared."""
        return [worker.name for worker in self.workers if self._said(worker).get("clock", clock) != clock]

    @property
    def breath_s(self) -> float:
        """How long the slowest producer may go without an acknowledgement of one partition, and still be steady."""
        return max((_breath_s(worker) for worker in self.workers if worker.role == PRODUCE), default=STEADY_S)

    def ended(self) -> list[str]:
        """Workers that have ended although nobody asked them to, and how. Blocks for a question to each."""
        waited_for = [worker for worker in self.workers if worker.name not in self._asked]
        seen = [(worker.name, self._processes[worker.name].exited()) for worker in waited_for]
        return [f"{name} ended: {status}" for name, status in seen if status is not None]

    def summary(self) -> str:
        """One line for a person: what was sent, acknowledged and read so far."""
        said = [_numbers(self._said(worker)) for worker in self.workers]
        sent, acked, read = (sum(of.get(key, 0) for of in said) for key in ("offered", "acknowledged", "read"))
        return f"sent {sent:,}, acknowledged {acked:,}, read {read:,}"

    def stop_producing(self, *, clock: Clock) -> None:
        """Ask producers to end, and wait for them within their own bounds. A worker that hangs is killed."""
        self._stop([w for w in self.workers if w.role == PRODUCE], clock)

    def drain(self, ends: Mapping[TopicPartition, int], *, within_s: float, clock: Clock) -> None:
        """Wait until every group has read to `ends` (exclusive offsets). Raises WaitTimeout (who is behind where)."""
        wait_until(
            "consumers to read to the end",
            read=lambda: self._behind(ends),
            good=lambda behind: not behind,
            within_s=within_s,
            every_s=EVERY_S,
            clock=clock,
            describe=lambda behind: "; ".join(behind[:6]) or "all there",
        )

    def stop(self, *, within_s: float | None = None) -> None:
        """End whatever still runs; no stop event cuts it short. `within_s` None: within the workers' own bounds."""
        self._stop(self.workers, UNSTOPPABLE, within_s)

    def collect(self, tapes: Path) -> None:
        """Copy every worker's directory to `tapes`/<name>, with `exit.json`: how it ended."""
        with ExitStack() as every_one:
            for worker in self.workers:
                if worker.name in self._processes:
                    every_one.callback(self._collect_one, worker, tapes / worker.name)

    def _collect_one(self, worker: WorkerArguments, into: Path) -> None:
        into.mkdir(parents=True, exist_ok=True)
        with ExitStack() as after:
            after.callback(self._write_exit, worker, into)  # also when its own files cannot be had
            self._processes[worker.name].collect(into)

    def _write_exit(self, worker: WorkerArguments, into: Path) -> None:
        status = self._exits.get(worker.name) or self._processes[worker.name].exited()
        ended = asdict(status) if status else {"code": None, "signal": None, "out_of_memory": False}
        # A worker that is still starting has no handler yet, and dies of the SIGTERM that asks it to end.
        by_asking = worker.name in self._asked and status is not None and status.signal == signal.SIGTERM
        ended["killed_by_us"] = worker.name in self._killed or by_asking
        (into / "exit.json").write_text(json.dumps(ended) + "\n")

    def _stop(self, workers: Iterable[WorkerArguments], clock: Clock, within_s: float | None = None) -> None:
        """Ask all, wait for all at once, kill those that are late: one that hangs holds up nobody else."""
        running = [w for w in workers if w.name in self._processes and w.name not in self._exits]
        for worker in running:
            self._asked.add(worker.name)
            self._processes[worker.name].terminate()
        if within_s is None:
            within_s = max((worker.drain_s + worker.close_s for worker in running), default=0.0) + LEAVE_S
        try:
            wait_until(
                "workers to end",
                read=lambda: self._still_running(running),
                good=lambda left: not left,
                within_s=within_s,
                clock=clock,
            )
        except WaitTimeout:
            self._kill(self._still_running(running), within_s)

    def _still_running(self, workers: Iterable[WorkerArguments]) -> list[WorkerArguments]:
        """Those that have not ended; the end of each other one is written down once."""
        left = []
        for worker in workers:
            if worker.name in self._exits:
                continue
            status = self._processes[worker.name].exited()
            if status is None:
                left.append(worker)
            else:
                self._note_exit(worker, status)
        return left

    def _kill(self, late: Sequence[WorkerArguments], within_s: float) -> None:
        for worker in late:
            text = f"waited {within_s:.1f} s for {worker.name} to end; it is killed"
            self._events.write("error", where=worker.name, type="WaitTimeout", text=text)
            self._killed.add(worker.name)
            self._processes[worker.name].kill()
        for worker in late:
            self._note_exit(worker, self._processes[worker.name].wait(within_s=LEAVE_S))

    def _note_exit(self, worker: WorkerArguments, status: ExitStatus) -> None:
        self._exits[worker.name] = status
        ended = {"code": status.code, "signal": status.signal}
        self._events.write("worker", worker=worker.worker, incarnation=worker.incarnation, state="exited", **ended)

    def _said(self, worker: WorkerArguments) -> Mapping[str, object]:
        process = self._processes.get(worker.name)
        return (process.latest() or {}) if process else {}

    def _none_ended(self) -> list[str]:
        """Nothing is missing. Raises EnvironmentFailure: before the plan begins no worker may end, or be refused."""
        for worker in self.workers:
            if isinstance(refusal := self._said(worker).get("refusal"), str):
                raise EnvironmentFailure(f"before load flowed, {worker.name} was refused: {refusal}")
        if gone := self.ended():
            raise EnvironmentFailure(f"before load flowed, {'; '.join(gone)}")
        return []

    def _not_flowing(self) -> list[str]:
        missing = []
        for worker in self.workers:
            if worker.role == PRODUCE:
                acked = _numbers(self._said(worker).get("acked_per_partition"))
                missing += [
                    f"{worker.name}: no acknowledgement of {worker.topic}/{p}"
                    for p in range(worker.partitions)
                    if not acked.get(f"{worker.topic}/{p}")
                ]
        for group, position in self._positions().items():
            missing += [f"group {group}: nothing read of {partition}" for partition, at in position.items() if at <= 0]
        return missing

    def _not_steady(self, heard: Mapping[str, _Heard], now_ns: int) -> list[str]:
        missing = []
        for worker in self.workers:
            if worker.role != PRODUCE:
                continue
            said = self._said(worker)
            said_ns = heard[worker.name].brought_up_to(said, now_ns)
            if said_ns is None:
                missing.append(f"{worker.name}: no word of it since the wait began")
                continue
            last = _numbers(said.get("last_ack_ns"))
            for number in range(worker.partitions):
                partition = f"{worker.topic}/{number}"
                silent_s = (said_ns - last.get(partition, 0)) / NS_PER_S
                if silent_s > _breath_s(worker):
                    missing.append(f"{worker.name}: no acknowledgement of {partition} for {silent_s:.1f} s")
        return missing

    def _positions(self) -> dict[str, dict[str, int]]:
        """Per group and partition, how far any member got; 0 where nobody read."""
        groups: dict[str, dict[str, int]] = {}
        for worker in self.workers:
            if worker.role != CONSUME or worker.group is None:
                continue
            position = groups.setdefault(worker.group, {})
            said = _numbers(self._said(worker).get("positions"))
            for number in range(worker.partitions):
                partition = f"{worker.topic}/{number}"
                position[partition] = max(position.get(partition, 0), said.get(partition, 0))
        return groups

    def _behind(self, ends: Mapping[TopicPartition, int]) -> list[str]:
        wanted = {str(partition): end for partition, end in ends.items()}
        return [
            f"group {group} at {at} of {wanted[partition]} in {partition}"
            for group, position in self._positions().items()
            for partition, at in position.items()
            if at < wanted.get(partition, 0)
        ]


class _Heard:
    """When a producer was last heard, by our clock, so that its own instants can be carried on to now."""

    def __init__(self, said: Mapping[str, object]) -> None:
        self._at_ns = said.get("at_ns")  # how old this word is nobody knows, so only a newer one counts
        self._heard_ns: int | None = None

    def brought_up_to(self, said: Mapping[str, object], now_ns: int) -> int | None:
        """The instant `now_ns` on the producer's clock, at the latest; None before its first new word."""
        at_ns = said.get("at_ns")
        if not isinstance(at_ns, int):
            return None
        if at_ns != self._at_ns:
            self._at_ns, self._heard_ns = at_ns, now_ns
        return None if self._heard_ns is None else at_ns + now_ns - self._heard_ns


def _breath_s(worker: WorkerArguments) -> float:
    return max(STEADY_S, STEADY_MESSAGES * worker.partitions / worker.rate_per_s)


def _numbers(said: object) -> Mapping[str, int]:
    """A mapping out of a status line; anything else counts as nothing said."""
    if not isinstance(said, dict):
        return {}
    return {str(key): value for key, value in said.items() if isinstance(value, int)}
