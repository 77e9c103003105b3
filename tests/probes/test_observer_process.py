"""The observer as a process: its arguments, its files, its end, and what it must not import."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from scripted_broker import api_versions, body, scripted_broker

from chaoskafka.clock import clock_id, wait_until
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import Protection, Security
from chaoskafka.errors import UsageError
from chaoskafka.history.observations import OBSERVATION
from chaoskafka.probes.observer import FILE, Arguments, Journal

pytestmark = pytest.mark.slow


def test_arguments_survive_the_command_line() -> None:
    arguments = Arguments(brokers={1: Address("node-1", 9092), 2: Address("::1", 1)}, topics=("orders", "bills"))
    command = arguments.argv()
    assert command[:3] == ["python", "-m", "chaoskafka.probes.observer"]
    assert Arguments.parse(command[3]) == arguments


def test_how_to_get_in_goes_beside_the_arguments_and_not_in_them() -> None:
    security = Security(protection=Protection.SASL_SCRAM, authority="PEM", user="observer", password="hush")
    arguments = Arguments(brokers={1: Address("node-1", 9092)}, topics=("orders",), security=security)
    assert "hush" not in "".join(arguments.argv())
    assert Arguments.parse(arguments.argv()[3], Security.given(arguments.environment())) == arguments


def test_intervals_of_polling_are_optional() -> None:
    parsed = Arguments.parse('{"brokers": {"3": ["h", 9]}, "topics": ["t"]}')
    assert parsed == Arguments(brokers={3: Address("h", 9)}, topics=("t",))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"brokers": {}}', '{"brokers": {"x": ["h", 1]}, "topics": []}', '{"brokers": 1, "topics": 2}'],
)
def test_wrong_arguments(text: str) -> None:
    with pytest.raises(UsageError, match="observer"):
        Arguments.parse(text)


def test_lines_have_the_columns_of_the_history(tmp_path: Path) -> None:
    with Journal(tmp_path / FILE) as journal:
        journal.write("reachable", 1, 2, {"broker": 3, "up": False, "error": "gone"})
        assert (tmp_path / FILE).read_text().endswith("\n"), "each line is on disk at once"
        journal.now("stopped")
    seen = pl.read_ndjson(tmp_path / FILE, schema=OBSERVATION)
    assert seen.select("kind", "lo_ns", "hi_ns", "broker", "up", "error").row(0) == (
        "reachable",
        1,
        2,
        3,
        False,
        "gone",
    )


def test_a_life_of_the_observer(tmp_path: Path) -> None:
    def script(key: int, version: int) -> bytes | None:
        if key == 18:
            return body(api_versions(7))
        raise ConnectionAbortedError

    with scripted_broker(script) as address:
        command = [sys.executable, *Arguments(brokers={1: address}, topics=("orders",)).argv()[1:]]
        environment = {**os.environ, "CHAOSKAFKA_DIR": str(tmp_path)}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                wait_until(
                    "an epoch",
                    read=lambda: (tmp_path / FILE).read_text() if (tmp_path / FILE).exists() else "",
                    good=lambda text: '"epoch"' in text,
                    within_s=60,
                )
                process.send_signal(signal.SIGTERM)
                out, _ = process.communicate(timeout=60)
            finally:
                process.kill()
    assert process.returncode == 0
    last = json.loads(out.splitlines()[-1])
    assert (last["role"], last["state"], last["up"]) == ("observer", "stopped", [1])
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert (lines[0]["kind"], lines[0]["clock"]) == ("started", clock_id())
    assert lines[-1]["kind"] == "stopped"
    assert {(line["kind"], line.get("offset")) for line in lines} >= {("epoch", 7)}
    assert all(line["lo_ns"] <= line["hi_ns"] for line in lines)


def test_it_imports_only_what_its_place_has() -> None:
    program = "import sys, chaoskafka.probes.observer; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "kio" in loaded
    assert not {"polars", "docker", "testcontainers", "confluent_kafka", "cryptography", "numpy", "yaml"} & set(loaded)
