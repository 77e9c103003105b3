"""Is the cluster whole? Asked of every broker over its own connection, judged by pure functions.

In: what the brokers said. Out: a `Readiness` that lists what is missing; and waiters, which raise WaitTimeout with that
list. "Unfenced" is no proof of "caught up": after a cut a broker may be unfenced seconds before it applies the metadata
that demoted it, so the applied offset of every broker is compared with what the controllers had committed a round ago.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from chaoskafka.clock import Clock, wait_until
from chaoskafka.cluster import sights
from chaoskafka.cluster.sights import BrokerView, show
from chaoskafka.cluster.spec import ClusterSpec, TopicSpec
from chaoskafka.cluster.views import Views
from chaoskafka.errors import WaitTimeout

EVERY_S = 0.2  # a round is four requests to each broker; also the age of the mark that brokers must have passed
MISSING_SHOWN = 8  # enough to see what is wrong; the rest is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What is missing (nothing: ready), and the answers that say so. Instants as in the views."""

    missing: tuple[str, ...]
    views: tuple[BrokerView, ...]

    @property
    def ready(self) -> bool:
        return not self.missing

    @property
    def asked_ns(self) -> int:
        """When the first question of this round was sent."""
        return min((view.asked_ns for view in self.views), default=0)

    @property
    def answered_ns(self) -> int:
        """When the last answer of this round had come."""
        return max((view.answered_ns for view in self.views), default=0)

    def __str__(self) -> str:
        if self.ready:
            return "all there"
        more = len(self.missing) - MISSING_SHOWN
        return "; ".join(self.missing[:MISSING_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def formed(views: Sequence[BrokerView], spec: ClusterSpec, mark: int | None) -> Readiness:
    """Every broker answers, knows all as unfenced, names the same controller, and has applied all below `mark`.

    `mark`: an end (exclusive) of committed metadata from an *earlier* round; None: not known yet, so not ready.
    """
    return Readiness(missing=tuple(_formed(views, spec, mark)), views=tuple(views))


def recovered(views: Sequence[BrokerView], spec: ClusterSpec, mark: int | None) -> Readiness:
    """`formed`, and every partition of every topic, internal ones too, is led with full ISR, as all brokers agree."""
    missing = [*_formed(views, spec, mark), *(text for _, text in sights.disagreements(views)), *_not_in_sync(views)]
    return Readiness(missing=tuple(missing), views=tuple(views))


def topics_ready(views: Sequence[BrokerView], topics: Mapping[str, TopicSpec]) -> Readiness:
    """Each topic is known to every broker with all its partitions, led, with full ISR of the asked size."""
    missing = [f"broker {v.broker} does not answer: {v.error}" for v in views if not v.reachable]
    missing += [text for (topic, _), text in sights.disagreements(views) if topic in topics]
    current = sights.leadership(views)
    for name, spec in topics.items():
        for number in range(spec.partitions):
            seen = current.get((name, number))
            if seen is None:
                missing.append(f"{name}/{number} does not exist")
            elif not seen.has_full_isr or len(seen.replicas) != spec.replication_factor:
                missing.append(f"{name}/{number}: leader {seen.leader}, isr {list(seen.isr)} of {list(seen.replicas)}")
    return Readiness(missing=tuple(missing), views=tuple(views))


def _formed(views: Sequence[BrokerView], spec: ClusterSpec, mark: int | None) -> list[str]:
    missing = []
    answers = {view.broker: view for view in views}
    for broker in spec.broker_ids:
        view = answers.get(broker)
        if view is None or not view.reachable:
            missing.append(f"broker {broker} does not answer: {view.error if view else 'not asked'}")
            continue
        missing += _unknown_or_fenced(view, spec)
        if view.controller is None:
            missing.append(f"broker {broker} knows no active controller: {view.error}")
        if mark is not None and (view.applied_offset is None or view.applied_offset < mark - 1):
            missing.append(f"broker {broker} has applied metadata to {view.applied_offset}, committed is {mark - 1}")
    named = {(v.controller_epoch, v.controller) for v in sights.reachable(views) if v.controller is not None}
    if len(named) > 1:
        missing.append(f"brokers name different controllers (epoch, node): {sorted(named, key=str)}")
    if mark is None:
        missing.append("how far metadata is committed is not known yet")
    return missing


def _unknown_or_fenced(view: BrokerView, spec: ClusterSpec) -> list[str]:
    missing = [f"broker {view.broker} does not know broker {b}" for b in spec.broker_ids if b not in view.fenced]
    return missing + [
        f"broker {b} is fenced, says broker {view.broker}" for b, is_fenced in view.fenced.items() if is_fenced
    ]


def _not_in_sync(views: Sequence[BrokerView]) -> list[str]:
    """Each broker is asked: an ISR change does not raise the leader epoch, so one may lag another unseen."""
    missing = []
    for view in sights.reachable(views):
        for partition, seen in view.partitions.items():
            if not seen.has_full_isr:
                missing.append(
                    f"{show(partition)}: leader {seen.leader}, isr {list(seen.isr)} of {list(seen.replicas)},"
                    f" says broker {view.broker}"
                )
    return missing


def wait_formed(
    views: Views, spec: ClusterSpec, *, within_s: float, clock: Clock, after_each: Callable[[], None] = lambda: None
) -> Readiness:
    """Wait until the cluster has formed. Blocks. `after_each` is called after each round of questions.

    Raises WaitTimeout (what is missing), Interrupted by the clock, and what `after_each` raises.
    """

    def judge(seen: Sequence[BrokerView], mark: int | None) -> Readiness:
        after_each()
        return formed(seen, spec, mark)

    return _wait("the cluster to form", views, judge, within_s, clock)


def wait_recovered(views: Views, spec: ClusterSpec, *, within_s: float, clock: Clock) -> Readiness:
    """Wait until the cluster is whole again, internal topics included. Blocks. Raises as `wait_formed` does."""
    return _wait("the cluster to recover", views, lambda seen, mark: recovered(seen, spec, mark), within_s, clock)


def watch_recovery(views: Views, spec: ClusterSpec, *, within_s: float, clock: Clock) -> Readiness:
    """Like `wait_recovered`, but when time is up it returns the last reading, with what was missing. Blocks."""
    last = Readiness(missing=("never asked",), views=())

    def judge(seen: Sequence[BrokerView], mark: int | None) -> Readiness:
        nonlocal last
        last = recovered(seen, spec, mark)
        return last

    with suppress(WaitTimeout):
        _wait("the cluster to recover", views, judge, within_s, clock)
    return last


def wait_topics(views: Views, topics: Mapping[str, TopicSpec], *, within_s: float, clock: Clock) -> Readiness:
    """Wait until each topic is whole on every broker. Blocks. Raises as `wait_formed` does."""
    what = f"full ISR of {', '.join(topics)}"
    return _wait(what, views, lambda seen, _: topics_ready(seen, topics), within_s, clock)


def _wait(
    what: str,
    views: Views,
    judge: Callable[[Sequence[BrokerView], int | None], Readiness],
    within_s: float,
    clock: Clock,
) -> Readiness:
    mark: int | None = None

    def read() -> Readiness:
        nonlocal mark
        seen = views.ask_all()
        readiness = judge(seen, mark)
        mark = sights.high_watermark(seen)
        return readiness

    return wait_until(
        what, read=read, good=lambda r: r.ready, within_s=within_s, every_s=EVERY_S, clock=clock, describe=str
    )
