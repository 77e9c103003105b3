"""Environments that cannot carry a run, for real: what is told, which exit code, and that nothing is left behind."""

from __future__ import annotations

import gc
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from chaoskafka.clock import NS_PER_S, wait_until
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.errors import EnvironmentFailure, ExitCode
from chaoskafka.history.events import read_events
from chaoskafka.phases import Phase
from chaoskafka.progress import Silent
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtimes.docker import open as opening
from chaoskafka.runtimes.docker.clients import Clients, pack_sources
from chaoskafka.runtimes.docker.containers import remove
from chaoskafka.runtimes.docker.engine import Engine, connect
from chaoskafka.runtimes.docker.labels import Part, labels, object_name
from chaoskafka.runtimes.docker.network import create_network, remove_network
from chaoskafka.runtimes.docker.open import Images
from chaoskafka.scenario.load import load_scenario
from tests.cluster.conftest import objects_of

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]

SOCKET = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
SCENARIO = Path(__file__).parents[2] / "scenarios" / "leader-killed-fast.yaml"


def left_by(run_dir: Path, engine: Engine) -> list[str]:
    """What carries the label of the run that wrote this directory."""
    return objects_of(engine, json.loads((run_dir / "run.json").read_text())["run_id"])


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
    engine: Engine, images: object, tmp_path: Path
) -> None:
    progress = Notes()
    outcome = play(tmp_path, ["cluster.config={log.segment.bytes: '-5'}", "cluster.nodes=3"], progress)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    (told,) = [note for note in progress.notes if note.startswith(Phase.FORM.title)]
    named = re.search("Kafka on (node-[123]) ended: exit code 1\n", told)  # all three refuse it; the first is told
    assert named is not None
    assert "Invalid value -5 for configuration log.segment.bytes" in told
    assert "\tat " not in told
    assert "to mend it: correct cluster.config" in told
    log = (outcome.run_dir / "logs" / f"{named.group(1)}.log").read_text()
    assert "Invalid value -5 for configuration log.segment.bytes" in log
    events = read_events(outcome.run_dir / "events.jsonl")
    form = [event for event in events if event.event == "phase" and event.fields["number"] == Phase.FORM]
    assert (form[-1].at_ns - form[0].at_ns) / NS_PER_S < 60
    assert left_by(outcome.run_dir, engine) == []


def test_an_engine_whose_disk_is_full_starts_no_kafka(
    images: Images, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(engine: Engine, name: str, run_id: str, node: str) -> None:
        options = {"type": "tmpfs", "device": "tmpfs", "o": "size=8m"}
        engine.api.volumes.create(name, driver="local", driver_opts=options, labels=labels(run_id, Part.DATA, node))

    monkeypatch.setattr(opening, "create_volume", small)
    run_id = f"test-full-{os.getpid()}"
    with (
        pytest.raises(EnvironmentFailure, match=r"disk has [78] MiB left, and a cluster of 1 nodes needs 256"),
        opening.open_cluster(ClusterSpec(nodes=1), run_id=run_id, images=images),
    ):
        pass
    assert objects_of(engine, run_id) == []


class Way:
    """A way to the engine that can be closed: a socket that passes everything on, until it and all on it is cut."""

    def __init__(self, path: Path, engine: str) -> None:
        self.path, self._engine = path, engine
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(64)
        self._ends = list[socket.socket]()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                here, _ = self._server.accept()
                there = socket.socket(socket.AF_UNIX)
                there.connect(self._engine)
                with self._lock:
                    self._ends += [here, there]
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        with self._lock:
            for end in (self._server, *self._ends):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


@pytest.fixture
def way(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    with ExitStack() as left:
        way = Way(tmp_path_factory.mktemp("w") / "d.sock", SOCKET)
        left.callback(way.close)
        yield way


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not Path(SOCKET).exists(), reason="the engine is reached by another way than its socket")
def test_a_client_whose_engine_dies_is_not_taken_for_a_silent_one(
    way: Way, engine: Engine, images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = f"test-cut-{os.getpid()}"
    net = object_name(run_id, "net")
    create_network(engine, net, run_id)
    try:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{way.path}")
        with connect() as cut_off:
            clients = Clients(
                cut_off, run_id=run_id, image=images.client, network=net, sources=pack_sources(tmp_path / "sources")
            )
            client = clients.launch("speaker", ["sh", "-c", "echo '{}'; sleep 100"], {})
            wait_until("its word", read=client.latest, good=lambda seen: seen == {}, within_s=30)
            way.close()

            def asked() -> str:
                try:
                    client.latest()
                except EnvironmentFailure as failed:
                    return failed.problem
                return ""

            wait_until("the loss to show", read=asked, good=lambda told: "no Docker engine" in told, within_s=10)
    finally:
        remove(engine, object_name(run_id, "client", "speaker"))
        remove_network(engine, net)
    assert objects_of(engine, run_id) == []
    gc.collect()  # Docker's SDK drops its socket when it cannot connect; let that warning fall here


@pytest.mark.skipif(not Path(SOCKET).exists(), reason="the engine is reached by another way than its socket")
@pytest.mark.parametrize(
    ("phase", "code"),
    [
        pytest.param(Phase.FORM, ExitCode.ENVIRONMENT, id="before the plan"),
        pytest.param(Phase.PLAY, ExitCode.UNKNOWN, id="in the plan", marks=pytest.mark.nightly),
    ],
)
def test_an_engine_that_dies_in_the_middle_ends_the_run_and_heal_removes_what_is_left(
    phase: Phase, code: ExitCode, way: Way, engine: Engine, images: Images, tmp_path: Path
) -> None:
    output = tmp_path / "output.txt"
    command = [sys.executable, "-m", "chaoskafka", "run", str(SCENARIO), "--out", str(tmp_path)]
    with output.open("wb") as file:
        env = {**os.environ, "DOCKER_HOST": f"unix://{way.path}"}
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=env)
    wait_until(
        phase.title,
        read=lambda: f"phase {int(phase)}:" in output.read_text() or process.poll() is not None,
        good=bool,
        within_s=180,
    )
    way.close()
    assert process.wait(timeout=120) == code
    told = output.read_text()
    (run_dir,) = (tmp_path / SCENARIO.stem).glob("2*")
    assert left_by(run_dir, engine)
    assert "no Docker engine runs: there is no such socket" in told
    assert "while removing chaoskafka-" in told
    assert "what is left of the cluster is removed by: chaoskafka heal" in told
    heal = [sys.executable, "-m", "chaoskafka", "heal"]
    assert subprocess.run(heal, timeout=120, check=False).returncode == 0
    assert left_by(run_dir, engine) == []
