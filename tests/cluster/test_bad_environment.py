"""Environments that cannot carry a run, for real: what is told, which exit code, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.clock import NS_PER_S
from chaoskafka.errors import ExitCode
from chaoskafka.history.events import read_events
from chaoskafka.phases import Phase
from chaoskafka.progress import Silent
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.labels import RUN
from chaoskafka.scenario.load import load_scenario

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]

SCENARIO = Path(__file__).parents[2] / "scenarios" / "leader-killed-fast.yaml"


def ours(engine: Engine) -> set[str]:
    """Whatever in the engine carries our label."""
    api, filters = engine.api, {"label": RUN}
    found = [*api.containers.list(all=True, filters=filters), *api.networks.list(filters=filters)]
    return {str(thing.id) for thing in [*found, *api.volumes.list(filters=filters)]}


@pytest.fixture(autouse=True)
def nothing_left(engine: Engine) -> Iterator[None]:
    before = ours(engine)
    yield
    assert ours(engine) - before == set()


class Notes(Silent):
    """Remembers what was told."""

    def __init__(self) -> None:
        self.notes = list[str]()

    def note(self, text: str) -> None:
        self.notes.append(text)


def play(out: Path, settings: list[str], progress: Notes) -> RunOutcome:
    options = RunOptions(seed=7, out=out, keep=False, timeout_s=None, progress=progress, replay="chaoskafka run …")
    return run_scenario(load_scenario(SCENARIO, settings=settings), options=options)


def test_a_setting_that_kafka_refuses_is_told_by_kafka_s_own_words_long_before_time_is_up(
    images: object, tmp_path: Path
) -> None:
    progress = Notes()
    outcome = play(tmp_path, ["cluster.config={log.segment.bytes: '-5'}", "cluster.nodes=3"], progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    (told,) = [note for note in progress.notes if note.startswith(Phase.FORM.title)]
    assert "Kafka on node-1 ended: exit code 1\n" in told
    assert "Invalid value -5 for configuration log.segment.bytes" in told
    assert "\tat " not in told
    assert "to mend it: correct cluster.config" in told
    log = (outcome.run_dir / "logs" / "node-1.log").read_text()
    assert "Invalid value -5 for configuration log.segment.bytes" in log
    events = read_events(outcome.run_dir / "events.jsonl")
    form = [event for event in events if event.event == "phase" and event.fields["number"] == Phase.FORM]
    assert (form[-1].at_ns - form[0].at_ns) / NS_PER_S < 60
