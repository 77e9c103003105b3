"""What heal does with each undo of the ledger, on real containers: a host, and a process on it that is no Kafka."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from docker.models.containers import Container

from chaoskafka.clock import wait_until
from chaoskafka.cluster import netrules
from chaoskafka.cluster.netrules import Cut, cut_batch, tables
from chaoskafka.cluster.undo import Owed, Undo
from chaoskafka.runtimes.docker import containers, netns, sweep
from chaoskafka.runtimes.docker.containers import Plan, inspect
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.freeze import freeze, is_frozen
from chaoskafka.runtimes.docker.labels import Part, labels, object_name
from chaoskafka.runtimes.docker.open import HOST_CAPABILITIES, Images

pytestmark = pytest.mark.docker

NODE = "node-1"
SLEEP = ("sleep", "infinity")


@pytest.fixture(scope="module")
def parts(engine: Engine, images: Images) -> Iterator[dict[Part, Container]]:
    run_id = f"tests-{secrets.token_hex(3)}"
    name = {part: object_name(run_id, NODE, part.value) for part in (Part.HOST, Part.KAFKA)}
    own = {part: {"name": name[part], "image": images.toolbox, "labels": labels(run_id, part, NODE)} for part in name}
    try:
        host = containers.start(
            engine,
            Plan(**own[Part.HOST], memory_mib=64, command=SLEEP, capabilities=HOST_CAPABILITIES),  # type: ignore[arg-type]
        )
        process = containers.start(engine, Plan(**own[Part.KAFKA], memory_mib=64, command=SLEEP, joins=host.id))  # type: ignore[arg-type]
        yield {Part.HOST: host, Part.KAFKA: process}
    finally:
        for part in (Part.KAFKA, Part.HOST):
            containers.remove(engine, name[part])


def take_back(engine: Engine, parts: dict[Part, Container], undo: Undo, detail: str = "") -> str:
    found = sweep._Found(nodes={NODE: {part: str(container.name) for part, container in parts.items()}})
    return sweep._take_back(engine, found, Owed(fault=0, word="any", node=NODE, undo=undo, detail=detail))


def wait_for(engine: Engine, process: Container, *, frozen: bool) -> None:
    """A signal takes its time on a starved machine."""
    wait_until(
        f"the process to be {'frozen' if frozen else 'running'}",
        read=lambda: is_frozen(engine, inspect(engine, process)),
        good=lambda seen: seen is frozen,
        within_s=10,
    )


def test_a_frozen_process_runs_on(engine: Engine, parts: dict[Part, Container]) -> None:
    process = parts[Part.KAFKA]
    freeze(engine, process, NODE)
    wait_for(engine, process, frozen=True)
    assert take_back(engine, parts, Undo.RESUME) == "resumed by SIGCONT by the engine API"
    wait_for(engine, process, frozen=False)
    process.pause()
    assert take_back(engine, parts, Undo.RESUME) == "resumed by engine API"
    wait_for(engine, process, frozen=False)


def test_the_table_of_one_fault_is_lifted(engine: Engine, parts: dict[Part, Container]) -> None:
    host = parts[Part.HOST]
    for number in (0, 1):
        netns.run_rules(engine, host, cut_batch(f"chaoskafka_{number}", Cut(peers=("10.9.9.9",))), NODE)
    for _ in range(2):  # idempotent
        assert take_back(engine, parts, Undo.LIFT, "chaoskafka_0") == "lifted chaoskafka_0"
        assert tables(netns.rules(engine, host)) == ("chaoskafka_1",)
    assert netns.lift_all(engine, host) == ("chaoskafka_1",)
    assert netns.rules(engine, host) == ""


def test_a_machine_gets_its_power_back(engine: Engine, parts: dict[Part, Container]) -> None:
    host, process = parts[Part.HOST], parts[Part.KAFKA]
    netns.run_rules(engine, host, cut_batch(netrules.POWER, Cut()), NODE)
    containers.send_signal(process, "SIGKILL")
    process.wait(timeout=10)
    assert take_back(engine, parts, Undo.POWER_ON) == "lifted chaoskafka_power, started again"
    assert inspect(engine, process)["State"]["Running"]
    assert netns.rules(engine, host) == ""
    assert take_back(engine, parts, Undo.POWER_ON) == "lifted chaoskafka_power, it runs"
