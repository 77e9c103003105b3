"""The nemesis' hands on a session under load: faults, gates, conditions, places.

In: a session, its traffic, and the header with the settings in force. Out: events; errors that say what did not come.
Whatever is waited for is asked of the brokers over connections of our own, none that a client uses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from chaoskafka import under_load
from chaoskafka.clock import NS_PER_S, wait_until
from chaoskafka.cluster import holding, ready, sights
from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.moving import moves, unmoved
from chaoskafka.cluster.resolution import Resolved
from chaoskafka.cluster.sights import BrokerView
from chaoskafka.cluster.targets import Target
from chaoskafka.errors import FaultFailed, NoTarget, WaitTimeout
from chaoskafka.faults import Injected
from chaoskafka.history.header import RunHeader
from chaoskafka.scenario.plan import PlannedPlace, PlannedStep
from chaoskafka.session import Session
from chaoskafka.stage import who_is
from chaoskafka.traffic import Traffic

PLACE_S = 60.0  # for a move of leadership to be granted, and again for every broker to know; under 1 s as a rule


def hands(session: Session, traffic: Traffic, header: RunHeader) -> SessionHands:
    """For a plan of that run."""
    return SessionHands(session=session, traffic=traffic, header=header)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHands:
    """What `nemesis.Hands` asks for."""

    session: Session
    traffic: Traffic
    header: RunHeader

    def fault(self, step: PlannedStep, ready: Callable[[], None]) -> AbstractContextManager[Injected]:
        return self.session.fault(step, ready)

    def gate(self) -> None:
        under_load.gate(self.session, self.traffic)

    def watch(self, condition: Condition) -> Callable[[Injected | None], None]:
        """Blocks for one round of questions; what is returned is as `Look.wait`."""
        look = self.look()
        return lambda hit: look.wait(condition, hit)

    def look(self) -> Look:
        """What is now, so that a change can be waited for. Blocks for one round of questions."""
        return Look(hands=self, before=self.session.views.ask_all())

    def place(self, place: PlannedPlace) -> None:
        """Raises NoTarget when nobody fits, FaultFailed when Kafka refuses or brokers do not come to know."""
        session, keys = self.session, place.place
        facts = {"leader_of": keys.leader_of, "on": keys.on}
        session.events.write("place", state="begin", **facts)
        now = session.views.ask_all()
        try:
            stays = self._resolved(keys.target("leader"), now, place.seed)
        except NoTarget:
            chosen = self._resolved(keys.target("follower"), now, place.seed)
            moved = self._lead(keys.target("follower"), chosen.nodes[0])
            session.events.write("place", state="end", **facts, moved=moved, evidence=chosen.evidence)
            session.progress.note(f"place: {keys.leader_of} is led by broker {chosen.nodes[0]} now")
        else:
            session.events.write("place", state="end", **facts, moved=None, evidence=stays.evidence)

    def _resolved(self, target: Target, now: list[BrokerView], seed: int) -> Resolved:
        rng = random.Random(seed)  # noqa: S311 - chance, not secrecy
        return who_is(target, now, cluster=self.session.cluster, views=self.session.views, rng=rng)

    def _lead(self, target: Target, broker: int) -> dict[str, object]:
        session = self.session
        if session.moves is None:
            raise FaultFailed("here leadership cannot be moved")
        wanted = moves(sights.leadership(session.views.ask_all()), [target.partitions[0]], f"broker {broker}")
        session.moves.make(wanted, within_s=PLACE_S, clock=session.clock)
        wait_until(
            "every broker to name the new leader",
            read=lambda: list(unmoved(session.views.ask_all(), wanted)),
            good=lambda left: not left,
            within_s=PLACE_S,
            clock=session.clock,
        )
        return {sights.show(move.partition): move.facts for move in wanted}

    def wait(self, condition: Condition, scene: holding.Scene) -> None:
        """As `Look.wait`."""
        session = self.session
        begun_ns, limit_s = session.clock.now_ns(), self._limit_s(condition)
        facts = {"condition": str(condition), "within_s": limit_s}
        try:
            wait_until(
                str(condition),
                read=holding.reader(condition, session.views.ask_all, scene),
                good=lambda missing: not missing,
                within_s=limit_s,
                every_s=ready.EVERY_S,
                clock=session.clock,
                describe=lambda missing: "; ".join(missing[: ready.MISSING_SHOWN]),
            )
        except WaitTimeout as expired:
            session.events.write("condition", state="expired", **facts, error=str(expired))
            raise
        waited_s = (session.clock.now_ns() - begun_ns) / NS_PER_S
        session.events.write("condition", state="met", **facts, waited_s=waited_s)
        session.progress.note(f"{condition} holds, after {waited_s:.1f} s")

    def _limit_s(self, condition: Condition) -> float:
        settings = next(iter(self.header.broker_settings.values()), {})
        return condition.deadline_s(settings, self.header.limits["recovered_s"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What every broker said before a fault, or before a wait."""

    hands: SessionHands
    before: Sequence[BrokerView]

    def wait(self, condition: Condition, hit: Injected | None) -> None:
        """Blocks until the condition holds.

        Raises WaitTimeout (what is missing), after writing it down, and Interrupted.
        """
        targets = None if hit is None else frozenset(hit.targets)
        scene = holding.Scene.of(self.hands.session.cluster.spec, self.before, targets)
        self.hands.wait(condition, scene)
