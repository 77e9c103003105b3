"""Effective settings of a run: those of brokers, controllers and clients, what is equal told once.

In: a RunHeader. Out: a table. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaoskafka.history.header import RunHeader

# What decides how a cluster fails over and what it promises; everything else is in the full list.
_TELLING = (
    "broker.session.timeout.ms",
    "broker.heartbeat.interval.ms",
    "replica.lag.time.max.ms",
    "unclean.leader.election.enable",
    "min.insync.replicas",
    "default.replication.factor",
    "controlled.shutdown.enable",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.timeout.ms",
    "auto.leader.rebalance.enable",
    "log.flush.interval.messages",
    "group.consumer.session.timeout.ms",
    "group.min.session.timeout.ms",
    "offsets.topic.replication.factor",
    "transaction.state.log.min.isr",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTable:
    """Rows of (setting, value); `differ` holds per setting what each node says."""

    telling: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]
    differ: tuple[tuple[str, str], ...]
    topics: tuple[tuple[str, str], ...]
    clients: tuple[tuple[str, str], ...]
    scenario: str


def settings_table(header: RunHeader) -> SettingsTable:
    by_node = header.broker_settings
    names = sorted({name for settings in by_node.values() for name in settings})
    same: dict[str, str] = {}
    differ: list[tuple[str, str]] = []
    for name in names:
        values = {node: settings[name] for node, settings in by_node.items() if name in settings}
        if len(set(values.values())) == 1:
            same[name] = next(iter(values.values()))
        else:
            differ.append((name, ", ".join(f"{node}: {value}" for node, value in sorted(values.items()))))
    return SettingsTable(
        telling=tuple((name, same[name]) for name in _TELLING if name in same),
        others=tuple((name, value) for name, value in same.items() if name not in _TELLING),
        differ=tuple(differ),
        topics=tuple((topic.name, _topic(header, topic.name)) for topic in header.topics),
        clients=tuple(
            (f"{work.word} {work.topic}, clients {_ids(work.workers)}", _listed(work.settings))
            for work in header.workloads
        ),
        scenario=json.dumps(header.scenario, indent=1, ensure_ascii=False),
    )


def _topic(header: RunHeader, name: str) -> str:
    facts = header.topic(name)
    return (
        f"{facts.partitions} partitions, replication factor {facts.replication_factor}, "
        f"min.insync.replicas {facts.min_insync_replicas}"
    )


def _ids(workers: tuple[int, ...]) -> str:
    return ", ".join(map(str, workers))


def _listed(settings: Mapping[str, Any]) -> str:
    return "\n".join(f"{name} = {value}" for name, value in sorted(settings.items()))
