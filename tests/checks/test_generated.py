"""Generated histories: a clean one passes every check, and a planted anomaly is found by exactly the right one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from chaoskafka.history.read import History
from chaoskafka.scenario.catalogue import Kind, find
from chaoskafka.verdict import Answer
from tests.histories import alterations
from tests.histories.builder import build
from tests.histories.copy import Copy
from tests.histories.shape import Shape
from tests.histories.words import PASSED_BY_A_FAILOVER
from tests.properties import examples

LIMITS = {"unavailable": {"at_most_s": 30.0}, "new_leader": {"within_s": 30.0}}
# Writing and judging a history takes a second on a busy machine; a few shapes per run, others on the next.
FEW = examples(8, suppress_health_check=[HealthCheck.too_slow])

sequences = st.sets(st.integers(1, 30), max_size=3)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Any clean run: sizes, rates, fates of unknown outcome, repeated deliveries, batches."""
    fates = draw(st.lists(st.integers(1, 30), min_size=4, max_size=8, unique=True))
    return Shape(
        partitions=draw(st.integers(2, 3)),
        producers=draw(st.integers(1, 3)),
        consumers=draw(st.integers(1, 3)),
        every_ms=draw(st.integers(40, 90)),
        before_s=draw(st.floats(3.0, 5.0)),
        elect_s=draw(st.floats(0.5, 2.5)),
        batch=draw(st.integers(1, 5)),
        refused=tuple(fates[0::4]),
        vanished=tuple(fates[1::4]),
        unconfirmed=tuple(fates[2::4]),
        without_offset=tuple(fates[3::4]),
        redelivered=tuple(draw(sequences)),
    )


def failing(history: History) -> set[str]:
    answers = {word: answer(word, history) for word in PASSED_BY_A_FAILOVER}
    return {word for word, found in answers.items() if found is Answer.FAIL}


def answer(word: str, history: History) -> Answer:
    found: Answer = find(Kind.CHECK, word)(**LIMITS.get(word, {})).check(history).answer
    return found


@FEW
@given(shapes())
def test_a_clean_history_passes_everything(shape: Shape) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(build(Path(folder) / "run", shape))
        assert {word: answer(word, history) for word in PASSED_BY_A_FAILOVER} == dict.fromkeys(
            PASSED_BY_A_FAILOVER, Answer.PASS
        )


PLANTED = {
    alterations.lose_one: "no_lost_acknowledged",
    alterations.lose_the_tail: "no_lost_acknowledged",
    alterations.store_twice: "no_duplicates",
    alterations.send_twice: "no_duplicates",
    alterations.swap_two: "ordered",
    alterations.store_unsent: "no_unexpected",
    alterations.store_misplaced: "no_unexpected",
    alterations.store_torn: "no_unexpected",
    alterations.misname_an_acknowledgement: "offsets_agree",
    alterations.skip_one: "all_delivered",
    alterations.miscount: "accounted",
    alterations.die_of_a_signal: "clients_alive",
    alterations.stop_acknowledging: "progress",
    alterations.recover_late: "recovered",
    alterations.learn_late: "new_leader",
}


@FEW
@given(shapes(), st.sampled_from(sorted(PLANTED, key=lambda alter: alter.__name__)))
def test_a_planted_anomaly_is_found_by_the_right_check_alone(shape: Shape, plant: alterations.Alteration) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy.at(build(Path(folder) / "run", shape))
        plant(copy)
        assert failing(copy.history) == {PLANTED[plant]}
