"""Writes a complete small run directory in the real format: a leader is killed, a clean failover, no anomaly.

In: a Shape. Out: a directory that every check passes. It stands in where no recorded run is at hand, and gives
generated tests any number of clean histories. All of it follows from the shape: no clock, no chance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from chaoskafka.history import tables
from chaoskafka.history.header import FORMAT, RunHeader, TopicFacts, WorkloadFacts
from chaoskafka.history.identity import PayloadState
from chaoskafka.history.tables import AuditedEnd, TopicPartition, WorkerReport
from chaoskafka.history.tape import Change, Outcome

MS, S = 1_000_000, 1_000_000_000
T0_NS = 5_000 * S  # a machine that has been up for a while
CLOCK = "CLOCK_MONOTONIC:0f1e2d3c-recorded-boot"
TOPIC, GROUP = "orders", "readers"
BROKERS = (1, 2, 3)
VICTIM = 1


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How much of everything; seconds and milliseconds as named."""

    partitions: int = 3
    producers: int = 2
    consumers: int = 2
    every_ms: int = 60  # each producer sends so often to each partition
    before_s: float = 4.0  # load before the kill
    elect_s: float = 2.0  # from the kill to the new leader
    down_s: float = 4.0  # from the kill to the restart
    heal_s: float = 1.0  # from the restart to its proof
    recover_s: float = 0.5  # from that proof to a whole cluster
    after_s: float = 2.5  # load after that
    batch: int = 2  # messages per record batch
    idempotent: bool = True
    refused: tuple[int, ...] = (7,)  # sequences of the first producer on every partition that were refused
    vanished: tuple[int, ...] = (11,)  # of unknown outcome and not stored
    unconfirmed: tuple[int, ...] = (13,)  # of unknown outcome and stored
    without_offset: tuple[int, ...] = (17,)  # acknowledged without an offset
    redelivered: tuple[int, ...] = (5,)  # offsets delivered twice

    @property
    def acted_ns(self) -> int:
        return T0_NS + int(self.before_s * S)

    @property
    def elected_ns(self) -> int:
        return self.acted_ns + int(self.elect_s * S)

    @property
    def healing_ns(self) -> int:
        return self.acted_ns + int(self.down_s * S)

    @property
    def healed_ns(self) -> int:
        return self.healing_ns + int(self.heal_s * S)

    @property
    def recovered_ns(self) -> int:
        return self.healed_ns + int(self.recover_s * S)

    @property
    def stopped_ns(self) -> int:
        return self.recovered_ns + int(self.after_s * S)

    @property
    def producer_ids(self) -> tuple[int, ...]:
        return tuple(range(1, self.producers + 1))

    @property
    def consumer_ids(self) -> tuple[int, ...]:
        return tuple(range(self.producers + 1, self.producers + self.consumers + 1))

    def leader(self, partition: int) -> int:
        return BROKERS[partition % len(BROKERS)]

    def new_leader(self, partition: int) -> int:
        return BROKERS[1] if self.leader(partition) == VICTIM else self.leader(partition)

    def epoch(self, partition: int) -> int:
        return 3 + partition

    def new_epoch(self, partition: int) -> int:
        return self.epoch(partition) + (self.leader(partition) == VICTIM)

    def reader(self, partition: int) -> int:
        return self.consumer_ids[partition % self.consumers]


def build(run_dir: Path, shape: Shape | None = None) -> Path:
    """Write the run and return its directory, which must not exist."""
    shape = shape or Shape()
    for folder in ("ops/send", "ops/read", "audit/record", "audit/batch"):
        (run_dir / folder).mkdir(parents=True)
    _header(shape).save(run_dir)
    _lines(run_dir / "events.jsonl", _events(shape))
    _lines(run_dir / "observations.jsonl", _observations(shape))
    sends: list[dict[str, Any]] = []
    polls: list[dict[str, Any]] = []
    ends = []
    for number in range(shape.partitions):
        partition = TopicPartition(TOPIC, number)
        rows = list(_sends(shape, number))
        log = _log(shape, number, rows)
        reads = list(_reads(shape, number, log, polls))
        sends += rows
        ends.append(_end(shape, number, len(log)))
        _write(run_dir / "ops/send" / partition.file, [_send(row) for row in rows], tables.SEND, tables.SEND_ORDER)
        _write(run_dir / "ops/read" / partition.file, reads, tables.READ, tables.READ_ORDER)
        _write(run_dir / "audit/record" / partition.file, [_record(row) for row in log], tables.RECORD, ("offset",))
        _write(run_dir / "audit/batch" / partition.file, list(_batches(log)), tables.BATCH, ("base_offset",))
    _json(run_dir / "audit/ends.json", [asdict(end) for end in ends])
    _json(run_dir / "ops/workers.json", [asdict(report) for report in _reports(shape, sends)])
    _write(run_dir / "ops/poll.parquet", polls, tables.POLL, ("consumer", "consumer_incarnation", "poll"))
    _write(run_dir / "ops/assignment.parquet", list(_assignments(shape)), tables.ASSIGNMENT, ("consumer", "ordinal"))
    _write(run_dir / "ops/commit.parquet", [], tables.COMMIT, ("consumer", "ordinal"))
    _write(run_dir / "ops/error.parquet", [], tables.ERROR, ("worker", "ordinal"))
    _write(run_dir / "ops/transaction.parquet", [], tables.TRANSACTION, ("producer", "txn"))
    return run_dir


def _sends(shape: Shape, partition: int) -> Iterator[dict[str, Any]]:
    """What each producer offered to one partition; with acks=all nothing is acknowledged from the kill to the ISR's
    shrinking, wherever the leader is."""
    for producer in shape.producer_ids:
        first = producer == shape.producer_ids[0]
        load_ms = int((shape.stopped_ns - T0_NS) / MS)
        for sequence, at_ms in enumerate(range(producer, load_ms, shape.every_ms)):
            invoked_ns = T0_NS + at_ms * MS
            served_again_ns = shape.elected_ns + 40 * MS
            stalled = shape.acted_ns - 2 * MS <= invoked_ns < served_again_ns
            # What waited is served in the order of sending, 1 us apart.
            answered_ns = served_again_ns + sequence * 1_000 if stalled else invoked_ns + 4 * MS
            fate = _fate(shape, sequence) if first else "acknowledged"
            stored = fate in ("acknowledged", "unconfirmed", "without offset")
            yield {
                "producer": producer,
                "sequence": sequence,
                "invoked_ns": invoked_ns,
                "answered_ns": answered_ns,
                "fate": fate,
                "stored": stored,
                "partition": partition,
                "offset": None,
            }


def _fate(shape: Shape, sequence: int) -> str:
    for fate, chosen in {
        "refused": shape.refused,
        "vanished": shape.vanished,
        "unconfirmed": shape.unconfirmed,
        "without offset": shape.without_offset,
    }.items():
        if sequence in chosen:
            return fate
    return "acknowledged"


def _log(shape: Shape, partition: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stored messages in the order of the log, with their offsets and batches; offsets are told to the rows."""
    stored = sorted((row for row in rows if row["stored"]), key=lambda row: (row["answered_ns"], row["producer"]))
    numbers = dict.fromkeys(shape.producer_ids, 0)  # the broker's sequence per producer id: what was stored, densely
    base = base_number = 0
    before: dict[str, Any] | None = None
    for offset, row in enumerate(stored):
        epoch = shape.new_epoch(partition) if row["answered_ns"] >= shape.elected_ns else shape.epoch(partition)
        number = numbers[row["producer"]]
        numbers[row["producer"]] += 1
        same_batch = (
            before is not None
            and before["producer"] == row["producer"]
            and before["epoch"] == epoch
            and offset - base < shape.batch
        )
        if not same_batch:
            base, base_number = offset, number
        row |= {"offset": offset, "base_offset": base, "base_sequence": base_number, "epoch": epoch}
        row["idempotent"] = shape.idempotent
        before = row
    return stored


def _send(row: dict[str, Any]) -> dict[str, Any]:
    fate = row["fate"]
    outcome = {"refused": Outcome.REJECTED, "vanished": Outcome.INDETERMINATE, "unconfirmed": Outcome.INDETERMINATE}
    acked = fate in ("acknowledged", "without offset")
    completed = fate != "unconfirmed"  # that one never heard back
    return {
        "producer": row["producer"],
        "incarnation": 0,
        "sequence": row["sequence"],
        "outcome": outcome.get(fate, Outcome.ACKNOWLEDGED),
        "completed": completed,
        "offset": row["offset"] if fate == "acknowledged" else None,
        "invoked_ns": row["invoked_ns"],
        "completed_ns": row["answered_ns"] if completed else None,
        "latency_ns": row["answered_ns"] - row["invoked_ns"] - MS if acked else None,
        "code": {"refused": -184, "vanished": -192}.get(fate, 0),  # librdkafka: queue full, message timed out
        "txn": None,
    }


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "offset": row["offset"],
        "base_offset": row["base_offset"],
        "timestamp_ms": row["invoked_ns"] // MS,
        "state": PayloadState.OURS,
        "producer": row["producer"],
        "incarnation": 0,
        "sequence": row["sequence"],
        "sent_topic": 0,
        "sent_partition": row["partition"],
    }


def _batches(log: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for base in sorted({row["base_offset"] for row in log}):
        inside = [row for row in log if row["base_offset"] == base]
        first = inside[0]
        yield {
            "base_offset": base,
            "last_offset": inside[-1]["offset"],
            "leader_epoch": first["epoch"],
            "producer_id": 1000 + first["producer"] if first["idempotent"] else -1,
            "producer_epoch": 0 if first["idempotent"] else -1,
            "base_sequence": first["base_sequence"] if first["idempotent"] else -1,
            "count": len(inside),
            "max_timestamp_ms": max(row["invoked_ns"] for row in inside) // MS,
            "transactional": False,
            "control": None,
        }


def _reads(
    shape: Shape, partition: int, log: list[dict[str, Any]], polls: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Each record once, a little after it was answered; the chosen ones twice. One poll per record."""
    consumer = shape.reader(partition)
    mine = sum(1 for poll in polls if poll["consumer"] == consumer)
    given = [row for row in log for _ in range(2 if row["offset"] in shape.redelivered else 1)]
    for ordinal, row in enumerate(given, start=mine):
        read_ns = row["answered_ns"] + 10 * MS
        polls.append(
            {
                "consumer": consumer,
                "consumer_incarnation": 0,
                "poll": ordinal,
                "begin_ns": read_ns - 3 * MS,
                "end_ns": read_ns,
                "count": 1,
                "code": 0,
            }
        )
        yield {
            "consumer": consumer,
            "consumer_incarnation": 0,
            "ordinal": ordinal,
            "poll": ordinal,
            "read_ns": read_ns,
            "offset": row["offset"],
            "leader_epoch": row["epoch"],
            "state": PayloadState.OURS,
            "producer": row["producer"],
            "incarnation": 0,
            "sequence": row["sequence"],
            "sent_topic": 0,
            "sent_partition": partition,
        }


def _end(shape: Shape, partition: int, end: int) -> AuditedEnd:
    return AuditedEnd(
        topic=TOPIC,
        partition=partition,
        log_start=0,
        end=end,
        read_to=end,
        settled=True,
        reason="",
        leader=shape.new_leader(partition),
        leader_epoch=shape.new_epoch(partition),
    )


def _reports(shape: Shape, sends: list[dict[str, Any]]) -> Iterator[WorkerReport]:
    nothing = dict.fromkeys(("offered", "refused", "accepted", "acknowledged", "indeterminate"), 0)
    for worker in (*shape.producer_ids, *shape.consumer_ids):
        fates = [row["fate"] for row in sends if row["producer"] == worker]
        refused = fates.count("refused")
        indeterminate = fates.count("vanished") + fates.count("unconfirmed")
        counts = {
            "offered": len(fates),
            "refused": refused,
            "accepted": len(fates) - refused,
            "acknowledged": len(fates) - refused - indeterminate,
            "indeterminate": indeterminate,
        }
        produces = worker in shape.producer_ids
        yield WorkerReport(
            worker=worker,
            incarnation=0,
            role="produce" if produces else "consume",
            group=None if produces else GROUP,
            topics=(TOPIC,),
            closed=True,
            **(counts if produces else nothing),
            lag_max_ms=8.0,
            lag_p99_ms=1.0,
            drained=True,
            fatal=(),
            crash=None,
            exit_code=0,
            exit_signal=None,
            killed_by_us=False,
            out_of_memory=False,
            tape_whole=True,
            clock=CLOCK,
        )


def _assignments(shape: Shape) -> Iterator[dict[str, Any]]:
    for partition in range(shape.partitions):
        yield {
            "consumer": shape.reader(partition),
            "consumer_incarnation": 0,
            "ordinal": partition,
            "change": Change.ASSIGNED,
            "topic": TOPIC,
            "partition": partition,
            "at_ns": T0_NS - 500 * MS,
        }


def _header(shape: Shape) -> RunHeader:
    produce = WorkloadFacts(
        word="produce",
        topic=TOPIC,
        group=None,
        workers=shape.producer_ids,
        acks="all",
        idempotent=shape.idempotent,
        rate_per_s=1000 / shape.every_ms * shape.partitions * shape.producers,
        client="harness",
        settings={"enable.idempotence": str(shape.idempotent).lower()},
    )
    consume = WorkloadFacts(
        word="consume",
        topic=TOPIC,
        group=GROUP,
        workers=shape.consumer_ids,
        acks=None,
        idempotent=None,
        rate_per_s=None,
        client="harness",
        settings={"auto.offset.reset": "earliest"},
    )
    return RunHeader(
        format=FORMAT,
        run_id="built-1",
        scenario_name="built",
        scenario_file=None,
        scenario={"title": "Leader killed", "topics": {TOPIC: {"config": {}}}},
        seed=1,
        plan=({"word": "kill", "after_s": shape.before_s, "target": f"leader of {TOPIC}/0", "for_s": shape.down_s},),
        expect=({"no_lost_acknowledged": {}},),
        versions={"kafka": "4.2.0"},
        replay="chaoskafka run built.yaml --seed 1",
        runtime="docker",
        clients="client_container",
        clock=CLOCK,
        wall_minus_monotonic_ns=1_700_000_000 * S,
        nodes={str(broker): ("broker", "controller") for broker in BROKERS},
        topics=(
            TopicFacts(
                name=TOPIC,
                index=0,
                topic_id="b6Gk0w4pQjGk5v2c7h1x9A",
                partitions=shape.partitions,
                replication_factor=3,
                min_insync_replicas=2,
            ),
        ),
        workloads=(produce, consume),
        broker_settings={str(b): {"unclean.leader.election.enable": "false"} for b in BROKERS},
        limits={"recovered_s": 30.0},
    )


def _events(shape: Shape) -> Iterator[dict[str, Any]]:
    def line(at_ns: int, event: str, **fields: Any) -> dict[str, Any]:
        return {"at_ns": at_ns, "at": "2026-01-01T00:00:00.000+00:00", "event": event, **fields}

    fault = {"fault": 0, "word": "kill"}
    yield line(T0_NS - 3 * S, "phase", number=6, name="warm up", state="begin")
    yield line(T0_NS, "phase", number=7, name="play", state="begin")
    yield line(shape.acted_ns - 300 * MS, "fault", **fault, state="beginning")
    yield line(
        shape.acted_ns + 60 * MS,
        "fault",
        **fault,
        state="active",
        targets=[VICTIM],
        acted_ns=shape.acted_ns,
        evidence={"leader": VICTIM},
        proof={"exit_code": 137, "knock": "refused"},
    )
    yield line(shape.healing_ns, "fault", **fault, state="healing")
    yield line(shape.healed_ns, "fault", **fault, state="healed", proof={"unfenced": True, "caught_up": True})
    yield line(shape.recovered_ns, "recovered", whole=True, within_s=shape.recover_s, limit_s=30.0, missing=[])
    yield line(shape.stopped_ns, "phase", number=10, name="stop", state="begin")


def _observations(shape: Shape) -> Iterator[dict[str, Any]]:
    def told(at_ns: int, partition: int, broker: int, isr: tuple[int, ...]) -> dict[str, Any]:
        later = at_ns > shape.acted_ns
        return {
            "kind": "leadership",
            "lo_ns": at_ns + broker * 3 * MS,
            "hi_ns": at_ns + broker * 3 * MS + 12 * MS,
            "broker": broker,
            "topic": TOPIC,
            "partition": partition,
            "leader": shape.new_leader(partition) if later else shape.leader(partition),
            "epoch": shape.new_epoch(partition) if later else shape.epoch(partition),
            "isr": list(isr),
            "replicas": list(BROKERS),
        }

    begin_ns = T0_NS - 2 * S
    survivors = tuple(broker for broker in BROKERS if broker != VICTIM)
    yield {"kind": "started", "lo_ns": begin_ns, "hi_ns": begin_ns, "clock": CLOCK}
    for broker in BROKERS:
        yield {"kind": "reachable", "lo_ns": begin_ns, "hi_ns": begin_ns + 2 * MS, "broker": broker, "up": True}
        for partition in range(shape.partitions):
            yield told(begin_ns, partition, broker, BROKERS)
    gone_ns = shape.acted_ns + MS
    yield {"kind": "reachable", "lo_ns": gone_ns, "hi_ns": gone_ns + 9 * MS, "broker": VICTIM, "up": False}
    for broker in survivors:
        for partition in range(shape.partitions):
            yield told(shape.elected_ns, partition, broker, survivors)
    back_ns = shape.healed_ns - 100 * MS
    yield {"kind": "reachable", "lo_ns": back_ns, "hi_ns": back_ns + 9 * MS, "broker": VICTIM, "up": True}
    for broker in BROKERS:
        for partition in range(shape.partitions):
            yield told(shape.recovered_ns - 200 * MS, partition, broker, BROKERS)
    end_ns = shape.stopped_ns + S
    yield {"kind": "stopped", "lo_ns": end_ns, "hi_ns": end_ns}


def _write(path: Path, rows: list[dict[str, Any]], schema: pl.Schema, order: tuple[str, ...]) -> None:
    pl.DataFrame(rows, schema=schema).sort(order).write_parquet(path)


def _json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows, indent=1) + "\n")


def _lines(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
