"""Who a target is now: its phrases, matched with what every broker said a moment ago.

In: a `Target`, and a `Situation` made of the brokers' answers. Out: node ids, with the evidence for choosing them.
Pure: asking the brokers is the caller's work, and so is the random generator.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from chaoskafka.cluster import sights
from chaoskafka.cluster.sights import NO_LEADER, BrokerView, Partition, PartitionView
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.targets import Kind, Phrase, Target
from chaoskafka.errors import NoTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known right now about who does what."""

    brokers: tuple[int, ...]  # members of the cluster, whether they answer or not
    nodes: tuple[int, ...]  # brokers and controllers
    answering: frozenset[int]  # brokers that answered
    controller: int | None
    leadership: Mapping[Partition, PartitionView]
    internal: frozenset[str] = frozenset()  # topics that Kafka itself made
    coordinators: Mapping[str, int] = field(default_factory=dict)  # group -> node; absent: not known
    transactions: Mapping[str, int] = field(default_factory=dict)  # transactional id -> node; absent: not known
    asked_ns: int = 0
    answered_ns: int = 0

    @classmethod
    def of(
        cls,
        spec: ClusterSpec,
        views: Sequence[BrokerView],
        coordinators: Mapping[str, int | None] | None = None,
        transactions: Mapping[str, int | None] | None = None,
    ) -> Self:
        """Merge what the brokers said; `coordinators` from `Views.coordinator`, for `Target.groups`, and
        `transactions` from `Views.transaction_coordinator`, for `Target.transactions`."""
        return cls(
            brokers=spec.broker_ids,
            nodes=tuple(node.node_id for node in spec.members),
            answering=frozenset(view.broker for view in sights.reachable(views)),
            controller=sights.active_controller(views),
            leadership=sights.leadership(views),
            internal=frozenset().union(*(view.internal for view in views)),
            coordinators=_known(coordinators),
            transactions=_known(transactions),
            asked_ns=min((view.asked_ns for view in views), default=0),
            answered_ns=max((view.answered_ns for view in views), default=0),
        )


def _known(told: Mapping[str, int | None] | None) -> dict[str, int]:
    return {key: node for key, node in (told or {}).items() if node is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Who a target is, and why. `evidence` holds JSON values."""

    nodes: tuple[int, ...]
    evidence: Mapping[str, object]


def resolve(target: Target, now: Situation, rng: random.Random) -> Resolved:
    """Who `target` is now. Pure but for `rng`, which `any`, `majority` and several followers draw from.

    Raises NoTarget, saying who was considered and why each was excluded, when nobody fits or when what a filter asks
    about is not known.
    """
    who, *filters = target.phrases
    candidates = _candidates(who, now, target)
    excluded: dict[int, str] = {}
    if who.kind in (Kind.FOLLOWER, Kind.LAST_IN_SYNC):  # one that is down already cannot be hit
        excluded = {node: "does not answer" for node in candidates if node not in now.answering}
    for phrase in filters:
        named = _named(phrase, now, target)
        for node in candidates:
            if (node in named) == phrase.negated and node not in excluded:
                excluded[node] = f"is {phrase.plain}" if phrase.negated else f"is not {phrase}"
    left = [node for node in candidates if node not in excluded]
    chosen = _choose(who, left, now, rng)
    if not chosen:
        why = "; ".join(f"node {node} {reason}" for node, reason in excluded.items()) or "there is no candidate"
        raise NoTarget(f"{target.text!r} fits nobody: considered {candidates}; {why}")
    return Resolved(nodes=chosen, evidence=_evidence(target, now, candidates, excluded, chosen))


def _candidates(who: Phrase, now: Situation, target: Target) -> list[int]:
    if who.kind is Kind.ALL:
        return list(now.brokers)
    if who.kind in (Kind.ANY, Kind.MAJORITY):
        return [node for node in now.brokers if node in now.answering]
    named = _named(who, now, target)
    if who.partition is not None and not named:
        in_sync = list(now.leadership[who.partition].isr)
        raise NoTarget(f"{target.text!r}: none is the last one: the isr of {sights.show(who.partition)} is {in_sync}")
    return sorted(named)


def _choose(who: Phrase, left: Sequence[int], now: Situation, rng: random.Random) -> tuple[int, ...]:
    """One of several, unless the target asks for more; a majority is more than half of *all* brokers."""
    if who.kind is Kind.ALL:
        return tuple(left)
    wanted = len(now.brokers) // 2 + 1 if who.kind is Kind.MAJORITY else 1
    return tuple(sorted(rng.sample(left, wanted))) if len(left) >= wanted else ()


def _named(phrase: Phrase, now: Situation, target: Target) -> frozenset[int]:
    """The nodes that a phrase names, its `not` left aside. Raises NoTarget when that is not known."""
    if phrase.partition is not None:
        return _of_partition(phrase, phrase.partition, now, target)
    if phrase.group is not None:
        if phrase.group not in now.coordinators:
            raise NoTarget(f"{target.text!r}: no broker knows the coordinator of group {phrase.group!r}")
        return frozenset({now.coordinators[phrase.group]})
    if phrase.transaction is not None:
        if phrase.transaction not in now.transactions:
            raise NoTarget(
                f"{target.text!r}: no broker knows the coordinator of transactions of {phrase.transaction!r}"
            )
        return frozenset({now.transactions[phrase.transaction]})
    if phrase.kind is Kind.CONTROLLER:
        if now.controller is None:
            raise NoTarget(f"{target.text!r}: no broker knows the active controller; {_who_answered(now)}")
        return frozenset({now.controller})
    members = now.brokers if phrase.kind is Kind.BROKER else now.nodes
    if phrase.number not in members:
        raise NoTarget(f"{target.text!r}: there is no {phrase.plain}; there are {list(members)}")
    return frozenset({phrase.number})


def _of_partition(phrase: Phrase, partition: Partition, now: Situation, target: Target) -> frozenset[int]:
    seen = now.leadership.get(partition)
    if seen is None:
        raise NoTarget(f"{target.text!r}: no broker knows {sights.show(partition)}; {_who_answered(now)}")
    if phrase.kind is Kind.LAST_IN_SYNC:  # whether it leads or not: with nobody else in sync it may be dead
        return frozenset(seen.isr if len(seen.isr) == 1 else ())
    if seen.leader == NO_LEADER:
        raise NoTarget(
            f"{target.text!r}: {sights.show(partition)} has no leader in epoch {seen.leader_epoch};"
            f" isr {list(seen.isr)}"
        )
    if phrase.kind is Kind.LEADER:
        return frozenset({seen.leader})
    return frozenset(seen.replicas) - {seen.leader}


def _who_answered(now: Situation) -> str:
    return f"answered: {sorted(now.answering)} of {list(now.brokers)}"


def _evidence(
    target: Target,
    now: Situation,
    candidates: Sequence[int],
    excluded: Mapping[int, str],
    chosen: tuple[int, ...],
) -> dict[str, object]:
    led = [p for p, seen in now.leadership.items() if seen.leader in chosen]
    return {
        "target": target.text,
        "chosen": list(chosen),
        "candidates": list(candidates),
        "excluded": {str(node): reason for node, reason in excluded.items()},
        "active_controller": now.controller,
        "hits_active_controller": None if now.controller is None else now.controller in chosen,
        "partitions": {
            sights.show(p): {
                "leader": v.leader,
                "epoch": v.leader_epoch,
                "isr": list(v.isr),
                "replicas": list(v.replicas),
            }
            for p in target.partitions
            if (v := now.leadership.get(p)) is not None
        },
        "leads": [sights.show(p) for p in led if p[0] not in now.internal],
        "leads_internal": sum(p[0] in now.internal for p in led),
        "coordinators": {group: now.coordinators[group] for group in target.groups if group in now.coordinators},
        "transactions": {key: now.transactions[key] for key in target.transactions if key in now.transactions},
        "answered": sorted(now.answering),
        "asked_ns": now.asked_ns,
        "answered_ns": now.answered_ns,
    }
