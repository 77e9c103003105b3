"""The doctor on a real engine: everything is tried and undone, and what is provoked is found."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.doctor import engine as engine_rows
from chaoskafka.doctor import patient, wires
from chaoskafka.doctor.examination import Finding, State, Visit
from chaoskafka.doctor.examine import Diagnosis, all_examinations, examine
from chaoskafka.errors import EnvironmentFailure, ExitCode
from chaoskafka.images import Kind, recipe_of
from chaoskafka.images import engine as images_engine
from chaoskafka.runtimes.docker import bed, network
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.open import Images
from chaoskafka.runtimes.docker.sweep import dead_runs
from tests.cluster.conftest import objects_of

pytestmark = pytest.mark.docker

ALWAYS = ("packages", "state", "engine", "images", "network", "volume", "container", "published_port", "pause", "nft")


@pytest.fixture
def visit(engine: Engine, images: Images, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """One whose examinations are done by the test; afterwards nothing is left of it."""
    run_id = f"doctor-test-{abs(hash(request.node.name)) % 10**8}"
    with ExitStack() as life:
        yield Visit(run_id=run_id, out=tmp_path, life=life)
    assert objects_of(engine, run_id) == []


def diagnosed(visit: Visit) -> tuple[Diagnosis, dict[str, Finding]]:
    found: list[Finding] = []
    diagnosis = examine(visit, found.append, threading.Event())
    assert tuple(found) == diagnosis.findings
    return diagnosis, {finding.word: finding for finding in found}


def test_everything_is_tried_on_an_engine_that_carries_runs(visit: Visit, engine: Engine) -> None:
    diagnosis, findings = diagnosed(visit)
    assert diagnosis.not_examined == ()
    assert "docker" in diagnosis.can_run_on
    assert [finding.word for finding in diagnosis.findings] == [row.word for row in all_examinations()]
    assert {word: findings[word].state for word in ALWAYS} == dict.fromkeys(ALWAYS, State.OK)
    assert all(finding.mend for finding in diagnosis.findings if finding.state is not State.OK)
    assert len(objects_of(engine, visit.run_id)) == 5  # while it goes on: network, volume, three containers


def test_a_hand_without_privileges_changes_no_network(visit: Visit) -> None:
    visit.capabilities = ()
    diagnosis, findings = diagnosed(visit)
    assert {findings[row.word].state for row in wires.EXAMINATIONS} == {State.WARNING}
    assert "Operation not permitted" in findings["nft"].text
    assert findings["nft"].means == "faults that cut the network cannot be played"
    assert "docker" in diagnosis.can_run_on


def test_images_that_are_not_current_and_tools_that_are_missing(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine_rows.engine(visit)
    assert engine_rows.images(visit).state is State.OK
    monkeypatch.setattr(images_engine, "RECIPE_LABEL", "chaoskafka.other")  # what is there is of no recipe of ours
    assert "without the toolbox" in engine_rows.images(visit).text
    monkeypatch.setenv("PATH", str(tmp_path))
    seen = engine_rows.images(visit)
    assert seen.state is State.MISSING
    assert "mmdebstrap, mvn, java to build with is not installed" in seen.text
    assert "apt-get install mmdebstrap" in (seen.mend or "")


def test_a_volume_without_room(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(engine: Engine, name: str, run_id: str, node: str) -> None:
        options = {"type": "tmpfs", "device": "tmpfs", "o": "size=8m"}
        found = bed.labels(run_id, bed.Part.DATA, node)
        engine.api.volumes.create(name, driver="local", driver_opts=options, labels=found)

    monkeypatch.setattr(network, "create_volume", small)
    engine_rows.engine(visit)
    visit.bed.image = recipe_of(Kind.TOOLBOX).name
    patient.network(visit)
    patient.volume(visit)
    patient.container(visit)
    with pytest.raises(EnvironmentFailure, match=r"disk has [78] MiB left, and the default cluster needs 768"):
        patient.disk(visit)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_doctor_who_is_called_away_leaves_nothing(
    number: signal.Signals, engine: Engine, images: Images, tmp_path: Path
) -> None:
    output, before = tmp_path / "output.txt", dead_runs(engine).keys()
    with output.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "chaoskafka", "doctor"], stdout=file, cwd=tmp_path)
    wait_until(
        "containers",
        read=lambda: " container " in output.read_text() or process.poll() is not None,
        good=bool,
        within_s=120,
    )
    process.send_signal(number)
    code = process.wait(timeout=60)
    left = [run_id for run_id in dead_runs(engine).keys() - before if run_id.startswith("doctor-")]
    if number is not signal.SIGKILL:
        assert code == ExitCode.INTERRUPTED
        assert left == []
        return
    assert code == -signal.SIGKILL
    (run_id,) = left
    heal = [sys.executable, "-m", "chaoskafka", "heal"]
    done = subprocess.run(heal, timeout=120, check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert run_id in done.stdout + done.stderr
    assert objects_of(engine, run_id) == []


DEAD = """
import json
from chaoskafka.runtimes.docker.labels import Part, labels
print(json.dumps(labels("doctor-test-dead", Part.DATA)))
"""


def test_what_dead_runs_left_is_told_with_what_removes_it(visit: Visit, engine: Engine) -> None:
    done = subprocess.run([sys.executable, "-c", DEAD], capture_output=True, text=True, check=True)
    volume = engine.api.volumes.create("chaoskafka-doctor-test-dead", labels=json.loads(done.stdout))
    try:
        engine_rows.engine(visit)
        seen = engine_rows.left_behind(visit)
        assert seen.state is State.WARNING
        assert "doctor-test-dead (1 things)" in seen.text
    finally:
        volume.remove()
