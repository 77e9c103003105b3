"""The Docker runtime on real containers: what is created, where it answers, and that nothing stays."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.clock import MonotonicClock, wait_until
from chaoskafka.cluster.abilities import Address, CanHostClients, CanKill, Cluster, ExitStatus, Knock
from chaoskafka.cluster.config import FAST
from chaoskafka.cluster.controllers import controller_settings
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.cluster.versions import DEFAULT
from chaoskafka.errors import EnvironmentFailure, Interrupted, UsageError, WaitTimeout
from chaoskafka.runtimes import locks
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.open import Images, open_cluster
from chaoskafka.runtimes.docker.sweep import sweep
from tests.cluster.conftest import objects_of, wait_for_answers

pytestmark = pytest.mark.docker

RUN_ID = f"test-runtime-{os.getpid()}"
ISOLATED = ClusterSpec(controllers=1, brokers=1, timeouts=Timeouts.FAST)


@pytest.fixture(scope="module")
def cluster(engine: Engine, images: Images) -> Iterator[Cluster]:
    """One controller and one broker, apart: the smallest cluster that has both kinds."""
    with open_cluster(ISOLATED, run_id=RUN_ID, images=images) as opened:
        wait_for_answers(opened)
        yield opened
    assert objects_of(engine, RUN_ID) == []


def test_addresses(cluster: Cluster) -> None:
    assert cluster.client_addresses() == {1: Address("node-1", Plane.CLIENTS.port)}
    assert cluster.controller_addresses() == {101: Address("node-101", Plane.CONTROLLER.port)}


def test_a_dedicated_controller_tells_its_own_settings(cluster: Cluster) -> None:
    (found,) = controller_settings(cluster, within_s=60, clock=MonotonicClock()).values()
    assert found["node.id"] == "101"
    assert found["process.roles"] == "controller"
    assert found["broker.session.timeout.ms"] == FAST["broker.session.timeout.ms"]
    assert "controller.quorum.fetch.timeout.ms" in found, "defaults too"
    address = cluster.host_addresses()[1]
    assert address.host == "127.0.0.1"
    with socket.create_connection((address.host, address.port), timeout=10):
        pass


def test_knocks_tell_who_listens(cluster: Cluster) -> None:
    assert cluster.nodes[1].knock(Plane.CLIENTS.port) is Knock.ANSWERED
    assert cluster.nodes[1].knock(Plane.HOST.port) is Knock.ANSWERED
    assert cluster.nodes[1].knock(Plane.CONTROLLER.port) is Knock.REFUSED
    assert cluster.nodes[101].knock(Plane.CONTROLLER.port) is Knock.ANSWERED
    assert cluster.nodes[101].knock(Plane.CLIENTS.port) is Knock.REFUSED


def test_everything_is_labelled(cluster: Cluster, engine: Engine) -> None:
    parts = ("node-1-data", "node-1-host", "node-1-kafka", "node-101-data", "node-101-host", "node-101-kafka", "net")
    assert {f"chaoskafka-{RUN_ID}-{part}" for part in parts} <= set(objects_of(engine, RUN_ID))
    details = engine.api.api.inspect_container(f"chaoskafka-{RUN_ID}-node-1-kafka")
    assert details["HostConfig"]["RestartPolicy"]["Name"] in ("", "no")
    assert details["HostConfig"]["Memory"] == ISOLATED.memory_mib << 20


def test_versions_name_engine_and_images(cluster: Cluster) -> None:
    assert cluster.versions["kafka"] == DEFAULT
    assert cluster.versions["engine"].startswith("docker ")
    assert "sha256:" in cluster.versions["image.kafka"]


def test_a_node_is_killed_and_started_with_its_address_and_disk(cluster: Cluster) -> None:
    node = cluster.nodes[1]
    assert isinstance(node, CanKill)
    before, address = node.state(), cluster.host_addresses()[1]
    deed = node.kill()
    assert "pid" in deed.means
    wait_until("its death", read=node.state, good=lambda seen: seen.exit_code == 137, within_s=20)
    assert node.knock(Plane.CLIENTS.port) is Knock.REFUSED
    node.start(within_s=60)
    after = node.state()
    assert after.running
    assert after.started_at != before.started_at
    wait_for_answers(cluster)
    assert cluster.host_addresses()[1] == address
    with socket.create_connection((address.host, address.port), timeout=10):
        pass


def test_a_start_right_after_a_kill_is_no_silent_no_op(cluster: Cluster) -> None:
    node = cluster.nodes[101]
    assert isinstance(node, CanKill)
    before = node.state()
    node.kill()
    node.start(within_s=60)
    assert node.state().running
    assert node.state().started_at != before.started_at
    assert node.start(within_s=60).means == "it was running"
    wait_until(
        "the controller",
        read=lambda: node.knock(Plane.CONTROLLER.port),
        good=lambda k: k is Knock.ANSWERED,
        within_s=120,
    )


def test_restore_starts_what_is_down(cluster: Cluster) -> None:
    node = cluster.nodes[1]
    assert isinstance(node, CanKill)
    node.kill()
    cluster.restore()
    cluster.restore()
    assert all(each.state().running for each in cluster.nodes.values())
    wait_for_answers(cluster)


def test_a_client_reports_ends_and_leaves_its_files(cluster: Cluster, tmp_path: Path) -> None:
    assert isinstance(cluster, CanHostClients)
    code = (
        "import json, os, pathlib, signal, socket, sys\n"
        "import chaoskafka.history.tape, confluent_kafka\n"
        "assert os.getcwd() == os.environ['CHAOSKAFKA_DIR']\n"
        "pathlib.Path('sub').mkdir(); pathlib.Path('sub/tape.bin').write_bytes(bytes(range(256)) * 4096)\n"
        "print('not a status', file=sys.stderr, flush=True)\n"
        "socket.create_connection((os.environ['BROKER'], 9092), 20).close()\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print(json.dumps({'n': 2}), flush=True), sys.exit(3)))\n"
        "print('chatter\\n' + json.dumps({'n': 1}), flush=True)\n"
        "signal.pause()\n"
    )
    client = cluster.launch("worker", ["python", "-c", code], {"BROKER": "node-1"})
    assert client.name == "worker"
    assert socket.inet_aton(client.address)
    wait_until("its status", read=client.latest, good=lambda seen: seen == {"n": 1}, within_s=60)
    assert client.exited() is None
    client.collect(tmp_path / "running")
    client.terminate()
    assert client.wait(within_s=30) == ExitStatus(code=3, signal=None)
    assert client.latest() == {"n": 2}
    client.terminate()
    client.kill()
    client.collect(tmp_path / "ended")
    for where in ("running", "ended"):
        assert (tmp_path / where / "sub/tape.bin").read_bytes() == bytes(range(256)) * 4096
        assert (tmp_path / where / "stderr.log").read_text() == "not a status\n"
    assert (tmp_path / "ended/stdout.log").read_text() == 'chatter\n{"n": 1}\n{"n": 2}\n'


def test_a_killed_client_leaves_its_files(cluster: Cluster, tmp_path: Path) -> None:
    assert isinstance(cluster, CanHostClients)
    code = "import signal; open('f', 'w').write('whole'); print('{}', flush=True); signal.pause()"
    client = cluster.launch("victim", ["python", "-c", code])
    wait_until("its file", read=client.latest, good=lambda seen: seen is not None, within_s=60)
    with pytest.raises(WaitTimeout, match="victim"):
        client.wait(within_s=0.2)
    client.kill()
    assert client.wait(within_s=30) == ExitStatus(code=None, signal=signal.SIGKILL)
    client.collect(tmp_path)
    assert (tmp_path / "f").read_text() == "whole"


def test_a_client_out_of_memory_says_so(cluster: Cluster) -> None:
    assert isinstance(cluster, CanHostClients)
    code = "import mmap; m = mmap.mmap(-1, 4 << 30)\nfor at in range(0, 4 << 30, 4096): m[at] = 1"
    client = cluster.launch("glutton", ["python", "-c", code])
    assert client.wait(within_s=60) == ExitStatus(code=None, signal=signal.SIGKILL, out_of_memory=True)


def test_a_command_that_is_missing(cluster: Cluster) -> None:
    assert isinstance(cluster, CanHostClients)
    with pytest.raises(EnvironmentFailure, match="no-such-command"):
        cluster.launch("nothing", ["no-such-command"])


def test_a_living_run_keeps_its_id_and_its_things(cluster: Cluster, engine: Engine, images: Images) -> None:
    before = objects_of(engine, RUN_ID)
    with pytest.raises(UsageError, match="alive already"), open_cluster(ISOLATED, run_id=RUN_ID, images=images):
        pass
    alone = {each.run_id: each.why for each in sweep().left_alone}
    assert alone[RUN_ID] == "its harness holds its lock"
    assert objects_of(engine, RUN_ID) == before


def test_a_run_whose_lock_file_is_lost_still_lives(
    cluster: Cluster, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = objects_of(engine, RUN_ID)
    alone = {each.run_id: each.why for each in sweep().left_alone}
    assert alone[RUN_ID] == f"its harness lives: process {os.getpid()}"
    assert objects_of(engine, RUN_ID) == before


DEAD_HARNESS = """
import os, signal, sys
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.runtimes.docker.open import Images, open_cluster
images = Images(kafka=sys.argv[2], toolbox=sys.argv[3], client=sys.argv[4])
with open_cluster(ClusterSpec(nodes=1), run_id=sys.argv[1], images=images) as cluster:
    cluster.launch("orphan", ["sleep", "1000"])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("lost", [False, True], ids=["lock file there", "state directory lost"])
def test_a_dead_run_is_swept(
    lost: bool, engine: Engine, images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = f"test-dead-{os.getpid()}-{lost:d}"
    command = [sys.executable, "-c", DEAD_HARNESS, run_id, images.kafka, images.toolbox, images.client]
    assert subprocess.run(command, check=False, timeout=300).returncode == -signal.SIGKILL
    expected = objects_of(engine, run_id)
    assert len(expected) == 5  # network, disk, host, Kafka, client
    if lost:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    report = sweep()
    assert sorted(report.removed[run_id]) == expected
    assert objects_of(engine, run_id) == []
    monkeypatch.undo()
    locks.forget(run_id)
    assert not (locks.runs_directory() / f"{run_id}.lock").exists()


def test_a_failed_start_leaves_nothing(engine: Engine, images: Images) -> None:
    run_id = f"test-broken-{os.getpid()}"
    broken = Images(kafka=without_command(engine, images), toolbox=images.toolbox, client=images.client)
    try:
        opening = open_cluster(ClusterSpec(nodes=2), run_id=run_id, images=broken)
        with pytest.raises(EnvironmentFailure, match="node-1-kafka") as failed, opening:  # by then both hosts run
            pass
        assert any("node-2-kafka" in note for note in failed.value.__notes__)
        assert objects_of(engine, run_id) == []
    finally:
        engine.api.images.remove(broken.kafka)


def without_command(engine: Engine, images: Images) -> str:
    """An image whose command does not exist, so that its containers can be created but not started."""
    name = f"chaoskafka-test/broken:{os.getpid()}"
    draft = engine.api.containers.create(images.toolbox, ["no-such-command"])
    try:
        draft.commit(*name.split(":"))
    finally:
        draft.remove()
    return name


def test_an_exception_inside_leaves_nothing(engine: Engine, images: Images) -> None:
    run_id = f"test-raise-{os.getpid()}"
    with pytest.raises(KeyError, match="body"), open_cluster(ClusterSpec(nodes=1), run_id=run_id, images=images):
        raise KeyError("body")
    assert objects_of(engine, run_id) == []


def test_a_stop_during_the_start_leaves_nothing(engine: Engine, images: Images) -> None:
    run_id = f"test-stop-{os.getpid()}"
    stop = threading.Event()
    stop.set()
    with (
        pytest.raises(Interrupted),
        open_cluster(ClusterSpec(nodes=1), run_id=run_id, images=images, clock=MonotonicClock(stop)),
    ):
        pass
    assert objects_of(engine, run_id) == []


def test_preflight(engine: Engine, images: Images) -> None:
    run_id = f"test-preflight-{os.getpid()}"
    absent = Images(kafka="chaoskafka/kafka:0.0.0", toolbox=images.toolbox, client="chaoskafka/client:0.0.0")
    with (
        pytest.raises(EnvironmentFailure, match=r"lacks chaoskafka/kafka:0\.0\.0, chaoskafka/client:0\.0\.0") as failed,
        open_cluster(ClusterSpec(nodes=1), run_id=run_id, images=absent),
    ):
        pass
    assert failed.value.mend == "chaoskafka image build"
    huge = ClusterSpec(nodes=3, memory_mib=engine.memory_bytes >> 20)
    with pytest.raises(EnvironmentFailure, match="MiB"), open_cluster(huge, run_id=run_id, images=images):
        pass
    assert objects_of(engine, run_id) == []


def test_a_kafka_that_cannot_run_is_noticed(engine: Engine, images: Images) -> None:
    run_id = f"test-invalid-{os.getpid()}"
    spec = ClusterSpec(nodes=1, config={"log.retention.ms": "never"})
    with open_cluster(spec, run_id=run_id, images=images) as cluster:
        node = cluster.nodes[1]
        wait_until("its end", read=node.state, good=lambda seen: not seen.running, within_s=120)
        assert node.state().exit_code not in (0, None)
        assert node.knock(Plane.CLIENTS.port) is Knock.REFUSED
        assert cluster.stop_kafka() == ()
    assert objects_of(engine, run_id) == []
