"""Who led each partition, and who was in sync, as the observer was told: the newest metadata wins (KIP-320).

Brokers tell of it when asked; where the metadata log itself was read too, its records stand among their answers, and
are mostly first.

In: a History. Out: all that brokers told, and what of it was news. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from chaoskafka.history.kept import once
from chaoskafka.history.read import History
from chaoskafka.history.tables import TopicPartition

NOBODY = -1
THE_LOG = -1  # in place of a broker's id: a record of the metadata log says so
_KINDS = ("leadership", "log_partition")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one broker, or the metadata log, said of one partition from some instant in (lo_ns, hi_ns] on."""

    broker: int  # or THE_LOG
    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    lo_ns: int
    hi_ns: int

    @property
    def teller(self) -> str:
        return "the metadata log" if self.broker == THE_LOG else f"broker {self.broker}"

    @property
    def is_full(self) -> bool:
        return set(self.isr) >= set(self.replicas)


@once
def told(history: History) -> Mapping[TopicPartition, Sequence[Told]]:
    """Everything that any broker said, in the order of its becoming known. A line that lacks something is no answer."""
    columns = ("topic", "partition", "leader", "epoch", "isr", "replicas", "lo_ns", "hi_ns")
    said = history.observations.filter(pl.col("kind").is_in(_KINDS))
    unknown = (pl.col("kind") == "leadership") & pl.col("broker").is_null()
    rows = said.filter(~unknown).select(*columns, pl.col("broker").fill_null(THE_LOG)).drop_nulls()
    found: dict[TopicPartition, list[Told]] = {}
    for row in rows.sort("hi_ns", maintain_order=True).to_dicts():
        place = TopicPartition(row.pop("topic"), row.pop("partition"))
        isr, replicas = tuple(row.pop("isr")), tuple(row.pop("replicas"))
        found.setdefault(place, []).append(Told(**row, isr=tuple(sorted(isr)), replicas=replicas))
    return found


def news(history: History, partition: TopicPartition) -> list[Told]:
    """What changed what was known: a newer epoch, or within one another leader or other replicas in sync.

    A broker that repeats what was known before is late, not news.
    """
    found: list[Told] = []
    known: set[tuple[int, tuple[int, ...], int]] = set()  # what was said already since the epoch began, by whom
    for said in told(history).get(partition, ()):
        last = found[-1] if found else None
        if last is not None and (said.epoch < last.epoch or (said.leader, said.isr) == (last.leader, last.isr)):
            known.add((said.leader, said.isr, said.broker))
            continue
        if last is not None and said.epoch == last.epoch and _is_late(said, found, known):
            continue
        known = known if last is not None and said.epoch == last.epoch else set()
        known.add((said.leader, said.isr, said.broker))
        found.append(said)
    return found


def _is_late(said: Told, found: Sequence[Told], known: set[tuple[int, tuple[int, ...], int]]) -> bool:
    """Whether a broker says for the first time what others said before, and went on from since."""
    before = any((one.leader, one.isr) == (said.leader, said.isr) and one.epoch == said.epoch for one in found[:-1])
    return before and (said.leader, said.isr, said.broker) not in known


def at(history: History, partition: TopicPartition, at_ns: int) -> Told | None:
    """What was known at an instant, as far as it certainly had been told by then."""
    return next((said for said in reversed(news(history, partition)) if said.hi_ns <= at_ns), None)
