"""The harness in a container of the engine that it uses: a whole run, and who is spared by whom."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker.models.containers import Container

from chaoskafka.clock import wait_until
from chaoskafka.history.events import fault_windows, read_events
from chaoskafka.history.header import RunHeader
from chaoskafka.images.client import PYTHON
from chaoskafka.phases import Phase
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.labels import Part, labels
from chaoskafka.runtimes.docker.logs import copy_directory
from chaoskafka.runtimes.docker.network import create_network, remove_network
from chaoskafka.runtimes.docker.open import Images
from chaoskafka.runtimes.docker.sweep import sweep
from tests.cluster.conftest import CHEAPER_FLAGS, objects_of, unix_socket

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]

REPOSITORY = Path(__file__).parents[2]
SCENARIO = "leader-killed-fast"
RUN_WITHIN_S = 240.0  # about 60 s on two cores
HOST_RUN = f"test-nested-host-{os.getpid()}"


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What chaoskafka imports, for the Python of the client image: ours, or fetched where ours is another release."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == PYTHON:
        return Path(pytest.__file__).parents[1]
    into = tmp_path_factory.mktemp("packages")
    into.parent.chmod(0o755)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += [f"--python-version={PYTHON}", f"--target={into}", f"--requirement={REPOSITORY / 'requirements.lock'}"]
    subprocess.run(command, check=True, timeout=300)
    return into


@dataclass(frozen=True, slots=True)
class Inside:
    """Starts Python in containers that may use the engine."""

    engine: Engine
    image: str
    packages: Path

    def start(self, *argv: str, network_mode: str | None = None) -> Container:
        mounts = {
            str(REPOSITORY): {"bind": "/repository", "mode": "ro"},
            str(self.packages): {"bind": "/packages", "mode": "ro"},
            str(unix_socket()): {"bind": "/var/run/docker.sock", "mode": "rw"},
        }
        return self.engine.api.containers.run(
            self.image,
            entrypoint=["python3"],
            command=list(argv),
            environment={"PYTHONPATH": "/repository:/packages", "PYTHONDONTWRITEBYTECODE": "1"},
            volumes=mounts,
            network_mode=network_mode,
            labels=labels(f"test-nested-{os.getpid()}", Part.CLIENT),  # so that it is found if this process is killed
            detach=True,
        )


@pytest.fixture
def inside(engine: Engine, images: Images, packages: Path) -> Inside:
    return Inside(engine, images.client, packages)


@pytest.fixture
def nested(inside: Inside) -> Iterator[Container]:
    """A run that has begun in a container on the engine's default network."""
    scenario = f"/repository/scenarios/{SCENARIO}.yaml"
    container = inside.start("-m", "chaoskafka", "run", scenario, "--out", "/tmp/runs", *CHEAPER_FLAGS)
    try:
        yield container
    finally:
        container.remove(force=True, v=True)


def wait_for_phase(container: Container, phase: Phase) -> None:
    wait_until(
        phase.title,
        read=lambda: f"phase {int(phase)}:" in said(container) or has_ended(container),
        good=bool,
        within_s=RUN_WITHIN_S,
        every_s=0.5,
    )
    assert not has_ended(container), said(container)


def said(container: Container) -> str:
    return container.logs().decode()


def has_ended(container: Container) -> bool:
    container.reload()
    return container.status == "exited"


def networks_of(engine: Engine, container: Container) -> set[str]:
    return set(engine.api.api.inspect_container(container.id or "")["NetworkSettings"]["Networks"])


def heal_inside(container: Container, *flags: str) -> str:
    code, output = container.exec_run(["python3", "-m", "chaoskafka", "heal", *flags])
    assert code == 0, output
    return output.decode() if isinstance(output, bytes) else ""


@pytest.mark.nightly
def test_a_run_in_a_container(
    nested: Container, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_phase(nested, Phase.LOAD)
    joined = networks_of(engine, nested) - {"bridge"}
    assert len(joined) == 1
    run_id = joined.pop().removeprefix("chaoskafka-").removesuffix("-net")

    # Neither of two harnesses that do not see each other's processes takes the other for dead.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    create_network(engine, f"chaoskafka-{HOST_RUN}-net", HOST_RUN)
    try:
        for flags in ((), ("--all",)):
            assert f"left alone {HOST_RUN}: started in another pid namespace" in heal_inside(nested, *flags)
    finally:
        remove_network(engine, f"chaoskafka-{HOST_RUN}-net")
    alone = {each.run_id: each.why for each in sweep().left_alone}
    assert "in a container" in alone[run_id]

    end = nested.wait(timeout=RUN_WITHIN_S)
    assert end["StatusCode"] == 0, said(nested)
    assert objects_of(engine, run_id) == []
    assert networks_of(engine, nested) == {"bridge"}

    copy_directory(nested, f"/tmp/runs/{SCENARIO}", tmp_path / "runs")
    (run_dir,) = (tmp_path / "runs").iterdir()
    (fault,) = fault_windows(read_events(run_dir / "events.jsonl"))
    (proof,) = fault.proof.values()
    assert proof["means"].startswith("engine API (pid "), proof
    assert RunHeader.load(run_dir).run_id == run_id
    workers = json.loads((run_dir / "ops" / "workers.json").read_text())
    assert {worker["clock"] for worker in workers} == {RunHeader.load(run_dir).clock}  # one machine, one clock


def test_what_a_harness_in_a_container_leaves_is_removed_once_it_is_dead(
    nested: Container, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_phase(nested, Phase.FORM)
    (network,) = networks_of(engine, nested) - {"bridge"}
    run_id = network.removeprefix("chaoskafka-").removesuffix("-net")
    nested.kill()
    nested.wait(timeout=30)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert objects_of(engine, run_id) != []
    sweep()
    assert objects_of(engine, run_id) == []


REACH = """
from chaoskafka.runtimes.docker.engine import connect
from chaoskafka.runtimes.docker.reach import reach_of
with connect() as engine:
    print(reach_of(engine))
"""


def test_whose_network_is_joined(inside: Inside) -> None:
    """With the machine's own network there is nothing to join; with another container's, it is that one which joins."""
    owner = inside.start("-c", "import signal; signal.pause()")
    started = [owner]
    try:
        for mode, expected in (
            ("host", "Reach(publish_on='127.0.0.1', joins=None)"),
            (f"container:{owner.name}", f"Reach(publish_on=None, joins='{owner.id}')"),
        ):
            started.append(container := inside.start("-c", REACH, network_mode=mode))
            container.wait(timeout=60)
            assert said(container).strip() == expected
    finally:
        for container in started:
            container.remove(force=True, v=True)
