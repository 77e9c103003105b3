"""How long a scenario is expected to take: the same everywhere, and more for more."""

from __future__ import annotations

import pytest

from chaoskafka.scenario.expected import expected_s
from chaoskafka.scenario.find import SHIPPED
from chaoskafka.scenario.load import load_scenario, load_text

TOPICS = "topics: {orders: {}}\nworkloads: [{produce: {topic: orders}}]\n"
KILL = "after_s: 5, kill: {target: any, for_s: 15}"
ONCE = f"plan: [{{{KILL}}}]"
TWICE = f"plan: [{{repeat: {{times: 2, steps: [{{{KILL}}}]}}}}]"


def of(text: str) -> float:
    return expected_s(load_text(TOPICS + text, name="case"))


@pytest.mark.parametrize(
    ("name", "measured_s"), [("leader-killed", (71.7, 110.3)), ("leader-killed-fast", (48.4, 70.8))]
)
def test_recorded_runs_took_about_so_long(name: str, measured_s: tuple[float, float]) -> None:
    least, most = measured_s
    assert 0.8 * least <= expected_s(load_scenario(SHIPPED / f"{name}.yaml")) <= 1.2 * most


def test_what_is_played_counts_however_it_is_written() -> None:
    once = of(ONCE)
    alone = once - of("plan: [{after_s: 0, move_leader: {topic: orders}}]")
    assert of(TWICE) == pytest.approx(of(f"plan: [{{{KILL}}}, {{{KILL}}}]"))
    assert of(TWICE) > once + alone
    kills = "{kill: {target: broker 1, for_s: 15}}, {kill: {target: broker 2, for_s: 9}}"
    assert of(f"plan: [{{after_s: 5, together: [{kills}]}}]") == pytest.approx(once, abs=1.5)


def test_more_nodes_take_longer_to_start() -> None:
    assert of("cluster: {nodes: 5}\n" + ONCE) > of(ONCE)
