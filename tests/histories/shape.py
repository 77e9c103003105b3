"""How much of everything a built history has, and who leads what when."""

from __future__ import annotations

from dataclasses import dataclass

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
