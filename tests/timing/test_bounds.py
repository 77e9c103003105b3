"""Bounds against what real clusters did (kafka's defaults, and the fast profile)."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskafka.timing import bounds
from chaoskafka.timing.bounds import Bound, Hit, Timers
from chaoskafka.timing.times import Interval

DEFAULT = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.append.linger.ms": "25",
    "metadata.max.idle.interval.ms": "500",
    "replica.lag.time.max.ms": "30000",
}


def timers(kafka: str = "4.2.2", **clients: str) -> Timers:
    return Timers({"1": DEFAULT, "2": DEFAULT}, clients, kafka)


def hit(word: str, *, active: int | None = 3, brokers: tuple[int, ...] = (1,), **parameters: Any) -> Hit:
    """Of a combined cluster of three."""
    return Hit(
        word=word,
        parameters=parameters,
        brokers=frozenset(brokers),
        controllers=frozenset(brokers),
        active=active,
        voters=3,
        alone=True,
    )


def ends(bound: Bound) -> tuple[float, float] | None:
    return None if bound.whole is None else (bound.whole.lo_s, bound.whole.hi_s)


@pytest.mark.parametrize(
    ("fault", "seen_s"),
    [
        (hit("kill"), [7.538, 8.455, 8.543, 8.637, 8.638, 9.068]),
        (hit("pause"), [8.13]),
        (hit("power_off"), [7.55]),
        (hit("isolate", ways="both"), [7.55]),
        (hit("isolate", ways="out"), [7.70]),
        (hit("isolate", ways="in"), [10.37]),
        (hit("partition", planes=["controllers"], shape="rest"), [8.77]),
        (hit("stop"), [0.11]),
        (hit("kill", active=1), [12.43, 14.54]),
        (hit("isolate", active=1), [12.16]),
    ],
)
def test_what_was_measured_lies_inside(fault: Hit, seen_s: list[float]) -> None:
    found = ends(bounds.detection(fault, timers()))
    assert found is not None
    assert all(found[0] <= each <= found[1] for each in seen_s), found


def test_a_lease_is_counted_from_the_last_heartbeat() -> None:
    assert ends(bounds.detection(hit("kill"), timers())) == (7.0, 10.125)
    assert ends(bounds.detection(hit("isolate", ways="in"), timers())) == (9.0, 12.125)


@pytest.mark.parametrize("seen_s", [1.53, 1.67, 2.83, 3.07, 3.40, 5.50])
def test_a_new_controller(seen_s: float) -> None:
    bound = bounds.controller(hit("kill", active=1), timers())
    assert (ends(bound), bound.dominated_by) == ((1.5, 6.0), "controller.quorum.fetch.timeout.ms")
    assert 1.5 <= seen_s <= 6.0


@pytest.mark.parametrize(
    "fault",
    [
        hit("cut_clients"),
        hit("partition", planes=["replication"], shape="rest"),
        hit("kill", brokers=(1, 2)),
        hit("partition", planes=["controllers"], shape="halves"),
        hit("partition", planes=[], shape="rest", against="broker 2"),
        hit("rolling_restart"),
        hit("move_leader"),
    ],
)
def test_what_the_settings_do_not_say_is_not_guessed(fault: Hit) -> None:
    bound = bounds.detection(fault, timers())
    assert bound.whole is None
    assert bound.why


def test_settings_that_nobody_told_bound_nothing() -> None:
    nothing = Timers({"1": {}}, {}, "4.2.2")
    for bound in (
        bounds.detection(hit("kill"), nothing),
        bounds.detection(hit("stop"), nothing),
        bounds.detection(hit("kill", active=1), nothing),
        bounds.propagation(nothing),
        bounds.shrink(hit("partition", planes=["replication"]), nothing),
    ):
        assert (bound.whole, bound.dominated_by) == (None, None)
        assert "not known" in (bound.why or "")


def test_only_what_takes_brokers_from_the_controllers_may_elect() -> None:
    assert bounds.may_elect(hit("kill"))
    assert bounds.may_elect(hit("partition", planes=["controllers"]))
    assert bounds.may_elect(hit("partition", planes=[]))
    assert not bounds.may_elect(hit("partition", planes=["replication"]))
    assert not bounds.may_elect(hit("cut_clients"))
    assert not bounds.may_elect(hit("kill", brokers=()))


def test_a_replica_that_cannot_fetch_is_dropped_by_the_leader() -> None:
    bound = bounds.shrink(hit("partition", planes=["replication"]), timers())
    assert (ends(bound), bound.dominated_by) == ((30.0, 45.0), "replica.lag.time.max.ms")
    assert bounds.shrink(hit("kill"), timers()).whole is None


def test_the_oldest_line_learns_of_a_commit_with_the_next_data() -> None:
    assert ends(bounds.propagation(timers())) == (0.0, pytest.approx(0.125))
    bound = bounds.propagation(timers("4.0.2"))
    assert (ends(bound), bound.dominated_by) == ((0.0, pytest.approx(0.625)), "metadata.max.idle.interval.ms")


def test_silence_is_noticed_by_the_clients_own_timer() -> None:
    elected = Interval(lo_s=8.0, hi_s=8.0)
    assert ends(bounds.redirection(hit("kill"), timers(), elected)) == (0.0, 2.5)
    bound = bounds.redirection(hit("pause"), timers(), elected)
    assert (ends(bound), bound.dominated_by) == ((0.0, 54.5), "socket.timeout.ms")
    short = timers(**{"socket.timeout.ms": "6000"})
    assert ends(bounds.redirection(hit("pause"), short, elected)) == (0.0, 2.5)
