"""What surrounds the messages of a built history: header, events, what the observer saw, ends, workers' reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chaoskafka.history.header import FORMAT, RunHeader, TopicFacts, WorkloadFacts
from chaoskafka.history.tables import AuditedEnd, WorkerReport
from tests.histories.shape import BROKERS, CLOCK, GROUP, MS, T0_NS, TOPIC, VICTIM, S, Shape

SETTINGS = {
    "unclean.leader.election.enable": "false",
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.append.linger.ms": "5",
    "metadata.max.idle.interval.ms": "500",
    "replica.lag.time.max.ms": "6000",
}


def header_of(shape: Shape) -> RunHeader:
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
        broker_settings={str(b): SETTINGS for b in BROKERS},
        limits={"recovered_s": 30.0},
    )


def events_of(shape: Shape) -> Iterator[dict[str, Any]]:
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
        evidence={"leader": VICTIM, "active_controller": BROKERS[-1]},
        proof={"exit_code": 137, "knock": "refused"},
    )
    yield line(shape.healing_ns, "fault", **fault, state="healing")
    yield line(shape.healed_ns, "fault", **fault, state="healed", proof={"unfenced": True, "caught_up": True})
    yield line(shape.recovered_ns, "recovered", whole=True, within_s=shape.recover_s, limit_s=30.0, missing=[])
    yield line(shape.stopped_ns, "phase", number=10, name="stop", state="begin")


def observations_of(shape: Shape) -> Iterator[dict[str, Any]]:
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
    yield from log_of(shape)
    end_ns = shape.stopped_ns + S
    yield {"kind": "stopped", "lo_ns": end_ns, "hi_ns": end_ns}


def log_of(shape: Shape) -> Iterator[dict[str, Any]]:
    """The metadata log: formed, the victim fenced and its partitions moved in one batch, let in again, in sync."""
    survivors = tuple(broker for broker in BROKERS if broker != VICTIM)
    offset = 0

    def batch(at_ns: int, *rows: dict[str, Any]) -> Iterator[dict[str, Any]]:
        nonlocal offset
        last = offset + len(rows) - 1
        common = {"lo_ns": at_ns, "hi_ns": at_ns + 9 * MS, "last_offset": last, "quorum_epoch": 1, "by": BROKERS[-1]}
        for at, row in enumerate(rows, start=offset):
            yield {**row, "offset": at, **common}
        offset = last + 1
        yield {"kind": "log_committed", "lo_ns": at_ns, "hi_ns": at_ns + 12 * MS, "last_offset": last}
        for broker in BROKERS if at_ns < shape.acted_ns or at_ns > shape.healed_ns - 100 * MS else survivors:
            applied = {"lo_ns": at_ns + broker * 3 * MS, "hi_ns": at_ns + broker * 3 * MS + 12 * MS}
            yield {"kind": "epoch", **applied, "broker": broker, "offset": last}

    def registered(broker: int, *, fenced: bool) -> dict[str, Any]:
        return {"kind": "log_broker", "broker": broker, "broker_epoch": 5, "fenced": fenced, "stopping": False}

    def placed(partition: int, isr: tuple[int, ...], *, moved: bool) -> dict[str, Any]:
        return {
            "kind": "log_partition",
            "topic": TOPIC,
            "partition": partition,
            "leader": shape.new_leader(partition) if moved else shape.leader(partition),
            "epoch": shape.new_epoch(partition) if moved else shape.epoch(partition),
            "isr": list(isr),
            "replicas": list(BROKERS),
        }

    begin_ns, every = T0_NS - 3 * S, range(shape.partitions)
    yield from batch(begin_ns, {"kind": "log_leader", "controller": BROKERS[-1]})
    yield from batch(begin_ns + MS, *(registered(broker, fenced=False) for broker in BROKERS))
    yield from batch(begin_ns + 2 * MS, *(placed(number, BROKERS, moved=False) for number in every))
    moves = [placed(number, survivors, moved=True) for number in every]
    yield from batch(shape.elected_ns - 10 * MS, *moves, registered(VICTIM, fenced=True))
    back_ns = shape.healed_ns - 100 * MS  # it answers once it has caught up
    yield {"kind": "epoch", "lo_ns": back_ns - MS, "hi_ns": back_ns, "broker": VICTIM, "offset": offset - 1}
    yield from batch(shape.healed_ns - 50 * MS, registered(VICTIM, fenced=True), registered(VICTIM, fenced=False))
    yield from batch(shape.recovered_ns - 210 * MS, *(placed(number, BROKERS, moved=True) for number in every))
    for second in range(int((shape.stopped_ns - begin_ns) / S)):
        yield {"kind": "log_noop", "lo_ns": begin_ns + second * S, "hi_ns": begin_ns + second * S + 30 * MS}


def end_of(shape: Shape, partition: int, end: int) -> AuditedEnd:
    """The whole partition was read."""
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


def report_of(shape: Shape, worker: int, **counts: int) -> WorkerReport:
    """A worker that ended well. `counts`: of a producer; a consumer's are zeros."""
    nothing = dict.fromkeys(("offered", "refused", "accepted", "acknowledged", "indeterminate"), 0)
    produces = worker in shape.producer_ids
    return WorkerReport(
        worker=worker,
        incarnation=0,
        role="produce" if produces else "consume",
        group=None if produces else GROUP,
        topics=(TOPIC,),
        closed=True,
        **(nothing | counts if produces else nothing),
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
