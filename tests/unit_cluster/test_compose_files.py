"""Compose files: those of the repository are what the code writes, valid by Compose's own schema."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from chaoskafka.cluster.compose import compose
from chaoskafka.cluster.spec import ClusterSpec, Timeouts
from chaoskafka.commands.compose import main, written
from chaoskafka.errors import UsageError

ROOT = Path(__file__).parents[2]
CLUSTERS = {
    "combined": ClusterSpec(nodes=3),
    "isolated": ClusterSpec(controllers=3, brokers=3),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_file_in_the_repository_is_what_is_written(name: str) -> None:
    text = written(CLUSTERS[name], name=f"chaoskafka-{name}", first_port=29092)
    path = ROOT / "compose" / f"{name}.yaml"
    assert path.read_text() == text, f"renew it with: chaoskafka compose write … --out {path}"


def test_all_of_them_are_tested() -> None:
    assert {path.stem for path in (ROOT / "compose").glob("*.yaml")} == set(CLUSTERS)


def test_they_fit_the_schema_of_compose() -> None:
    files = sorted(map(str, (ROOT / "compose").glob("*.yaml")))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_node_has_the_settings_of_a_run_and_what_is_a_dollar_stays_one() -> None:
    spec = ClusterSpec(timeouts=Timeouts.FAST, config={"ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/"})
    services = compose(spec, name="mine", first_port=30000)["services"]
    assert list(services) == ["node-1", "node-2", "node-3"]
    environment = services["node-2"]["environment"]
    assert environment["KAFKA_BROKER_SESSION_TIMEOUT_MS"] == "3000"
    assert environment["KAFKA_SSL_PRINCIPAL_MAPPING_RULES"] == "RULE:^CN=(.*)$$/$$1/"
    assert "HOST://localhost:30001" in environment["KAFKA_ADVERTISED_LISTENERS"]
    assert services["node-2"]["ports"] == ["127.0.0.1:30001:9192"]
    assert len({service["environment"]["CLUSTER_ID"] for service in services.values()}) == 1


def test_a_dedicated_controller_is_reached_by_nobody_on_the_host() -> None:
    services = compose(ClusterSpec(controllers=3, brokers=3), name="mine", first_port=30000)["services"]
    assert [name for name, service in services.items() if "ports" not in service] == [
        "node-101",
        "node-102",
        "node-103",
    ]


def test_of_a_scenario_it_is_that_one_s_cluster(tmp_path: Path) -> None:
    out = tmp_path / "made" / "docker-compose.yaml"
    main("leader-killed-isolated", out, "mine", 29092, ["cluster.brokers=4"], ())
    assert len(yaml.safe_load(out.read_text())["services"]) == 7


@pytest.mark.parametrize(
    ("scenario", "first_port", "problem"),
    [
        ("leader-killed-sasl-ssl", 29092, "can hold no certificates"),
        ("leader-killed", 65534, "3 brokers need as many ports"),
    ],
)
def test_what_no_file_can_hold_is_refused(scenario: str, first_port: int, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        main(scenario, None, "mine", first_port, (), ())
