"""Protected clusters: who gets in, who is refused and how that reads, and a whole run over SASL_SSL with ACLs."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster.abilities import CanHostClients, Cluster
from chaoskafka.cluster.admin import Admin, make_topics
from chaoskafka.cluster.credentials import Credentials, make_authority, make_credentials
from chaoskafka.cluster.ready import wait_formed
from chaoskafka.cluster.rights import reading, writing
from chaoskafka.cluster.security import PLAINTEXT, Protection, Security, User
from chaoskafka.cluster.spec import ClusterSpec, Timeouts, TopicSpec
from chaoskafka.cluster.users import let_in
from chaoskafka.cluster.views import Views
from chaoskafka.cluster.wire.connection import connect
from chaoskafka.errors import AccessRefused, EnvironmentFailure, ExitCode
from chaoskafka.history.events import EventLog
from chaoskafka.history.header import RunHeader, TopicFacts
from chaoskafka.judge import judge
from chaoskafka.progress import Silent
from chaoskafka.run import RunOptions, RunOutcome, run_scenario
from chaoskafka.runtimes.docker import open as docker_open
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.open import Images, open_cluster
from chaoskafka.scenario.load import load_scenario
from chaoskafka.traffic import Traffic
from chaoskafka.verdict import Answer
from chaoskafka.workloads.consume import Consume
from chaoskafka.workloads.produce import Produce
from chaoskafka.workloads.worker.arguments import WorkerArguments

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]
CLOCK = MonotonicClock()
SCENARIO = Path(__file__).parents[2] / "scenarios" / "leader-killed-sasl-ssl.yaml"
APART = ClusterSpec(
    controllers=1,
    brokers=1,
    timeouts=Timeouts.FAST,
    security=Protection.SASL_SCRAM,
    config={"offsets.topic.num.partitions": "1"},
)
ONE = TopicSpec(partitions=1, replication_factor=1, min_insync_replicas=1)
REFUSED_WITHIN_S = 60.0  # as a run gives load to flow


@pytest.fixture(scope="module")
def guarded(images: Images) -> Iterator[Cluster]:
    """One controller and one broker, apart, over SASL_SSL; a topic that workers may use, and one that they may not."""
    with open_cluster(APART, run_id=f"tests-{secrets.token_hex(3)}", images=images) as cluster:
        hosts = cluster.host_addresses()
        views = Views(hosts, cluster.security(User.OBSERVER))
        let_in(cluster, within_s=180, clock=CLOCK)
        wait_formed(views, APART, within_s=180, clock=CLOCK)
        admin = Admin(hosts.values(), cluster.security(User.ADMIN))
        admin.allow(User.WORKER, [*writing("orders"), *reading("orders", "readers")])
        make_topics(admin, views, {"orders": ONE, "secrets": ONE}, within_s=60, clock=CLOCK)
        yield cluster


def facts(name: str) -> list[TopicFacts]:
    return [TopicFacts(name=name, index=0, topic_id="id", partitions=1, replication_factor=1, min_insync_replicas=1)]


def workers(cluster: Cluster, topic: str, security: Security, *, group: str = "readers") -> tuple[WorkerArguments, ...]:
    bootstrap = ",".join(map(str, cluster.client_addresses().values()))
    common = {"run_id": "guarded", "topics": facts(topic), "bootstrap": bootstrap}
    named = f"{secrets.randbelow(20000)}"  # places are removed with the cluster, and their names with them
    producer = Produce(topic=topic, rate_per_s=50, drain_s=1.0).workers(first_worker=int(named), **common)  # type: ignore[arg-type]
    consumer = Consume(topic=topic, group=group).workers(first_worker=int(named) + 20000, **common)  # type: ignore[arg-type]
    return tuple(replace(worker, security=security) for worker in (*producer, *consumer))


def wait_flowing(cluster: Cluster, its: tuple[WorkerArguments, ...], where: Path) -> None:
    assert isinstance(cluster, CanHostClients)
    with EventLog(where / "events.jsonl") as events:
        traffic = Traffic(its, events)
        try:
            traffic.start(cluster)
            traffic.wait_flowing(within_s=REFUSED_WITHIN_S, clock=CLOCK)
        finally:
            traffic.stop()


def test_a_worker_with_just_its_rights_gets_in(guarded: Cluster, tmp_path: Path) -> None:
    wait_flowing(guarded, workers(guarded, "orders", guarded.security(User.WORKER)), tmp_path)


def test_a_worker_without_a_right_is_told_which(guarded: Cluster, tmp_path: Path) -> None:
    security = guarded.security(User.WORKER)
    producer, consumer = workers(guarded, "secrets", security)
    with pytest.raises(EnvironmentFailure, match=r"was refused: .*TOPIC_AUTHORIZATION_FAILED"):
        wait_flowing(guarded, (producer,), tmp_path)
    with pytest.raises(EnvironmentFailure, match=r"was refused: .*TOPIC_AUTHORIZATION_FAILED"):
        wait_flowing(guarded, (consumer,), tmp_path)
    _, stranger = workers(guarded, "orders", security, group="strangers")
    with pytest.raises(EnvironmentFailure, match=r"was refused: .*GROUP_AUTHORIZATION_FAILED"):
        wait_flowing(guarded, (stranger,), tmp_path)


@pytest.mark.parametrize(
    ("change", "code"),
    [({"password": "guessed"}, "_AUTHENTICATION"), ({"authority": make_authority().pem}, "_SSL")],
    ids=["wrong password", "untrusted certificate"],
)
def test_a_worker_that_is_not_let_in_is_told_why(
    change: dict[str, str], code: str, guarded: Cluster, tmp_path: Path
) -> None:
    producer, _ = workers(guarded, "orders", replace(guarded.security(User.WORKER), **change))
    with pytest.raises(EnvironmentFailure, match=f"{producer.name} was refused: .*{code}"):
        wait_flowing(guarded, (producer,), tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"password": "guessed"}, "user observer: sasl_authentication_failed: .*invalid credentials"),
        ({"user": "mallory"}, "user mallory: sasl_authentication_failed: .*invalid credentials"),
        ({"authority": make_authority().pem}, "its certificate is not to be trusted"),
        ({"protection": Protection.PLAINTEXT}, "the broker speaks TLS here, and this connection is in the clear"),
    ],
    ids=["wrong password", "unknown user", "untrusted certificate", "plaintext"],
)
def test_our_own_connection_is_refused_with_the_reason(change: dict[str, str], problem: str, guarded: Cluster) -> None:
    at = guarded.host_addresses()[1]
    security = replace(guarded.security(User.OBSERVER), **change)  # type: ignore[arg-type]
    with pytest.raises(AccessRefused, match=f"^{at}: .*{problem}"):
        connect(at, 10.0, security)
    (view,) = Views({1: at}, security, timeout_s=10.0).ask_all()
    assert not view.reachable


def test_an_administrator_over_plaintext_gets_nowhere(guarded: Cluster) -> None:
    with pytest.raises(EnvironmentFailure):
        Admin(guarded.host_addresses().values(), PLAINTEXT, timeout_s=3.0).topic_settings(["orders"])


def test_no_secret_is_in_a_command_line_a_log_or_a_label(guarded: Cluster, engine: Engine, tmp_path: Path) -> None:
    passwords = [guarded.security(user).password for user in User]
    guarded.gather_logs(tmp_path)
    written = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert "StandardAuthorizer" in written
    shown = []
    for container in engine.api.containers.list(all=True):
        details = engine.api.api.inspect_container(container.id)
        shown.append(
            json.dumps([details["Args"], details["Path"], details["Config"]["Cmd"], details["Config"]["Labels"]])
        )
    for secret in [*passwords, "PRIVATE KEY"]:
        assert secret not in written
        assert secret not in "".join(shown)


def play(out: Path, monkeypatch: pytest.MonkeyPatch, *settings: str) -> tuple[RunOutcome, Credentials]:
    """A whole run, and what its cluster was protected with."""
    made: list[Credentials] = []

    def make(protection: Protection) -> Credentials:
        made.append(make_credentials(protection))
        return made[-1]

    monkeypatch.setattr(docker_open, "make_credentials", make)
    options = RunOptions(seed=7, out=out, keep=False, timeout_s=None, progress=Silent(), replay="chaoskafka run …")
    return run_scenario(load_scenario(SCENARIO, settings=settings), options=options), made[0]


def test_a_killed_leader_behind_sasl_ssl_costs_nothing_and_no_secret_is_kept(
    images: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, credentials = play(tmp_path, monkeypatch)
    result = judge(outcome.run_dir)
    assert {check.word: check.answer for check in result.checks} == {check.word: Answer.PASS for check in result.checks}
    assert outcome.exit_code is ExitCode.PASS
    header = RunHeader.load(outcome.run_dir)
    assert {facts.settings["security.protocol"] for facts in header.workloads} == {"SASL_SSL"}
    secret = [b"PRIVATE KEY", *(password.encode() for password in credentials.passwords.values())]
    assert len(secret) == 1 + len(User)
    files = [path for path in outcome.run_dir.rglob("*") if path.is_file()]
    assert not [(path, found) for path in files for found in secret if found in path.read_bytes()]


@pytest.mark.nightly
def test_a_killed_leader_behind_tls_costs_nothing(
    images: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome, _ = play(tmp_path, monkeypatch, "cluster.security=tls")
    assert outcome.exit_code is ExitCode.PASS
    header = RunHeader.load(outcome.run_dir)
    assert {facts.settings["security.protocol"] for facts in header.workloads} == {"SSL"}
