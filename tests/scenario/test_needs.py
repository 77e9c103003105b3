"""What a runtime must be able to do for a scenario: refused when it is loaded, naming who needs what of whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka import runtimes
from chaoskafka.cluster.abilities import CanHostClients, CanKill
from chaoskafka.commands import RuntimeName
from chaoskafka.errors import ExitCode, ScenarioError
from chaoskafka.fleet.playing import RUNTIMES
from chaoskafka.progress import Silent
from chaoskafka.rehearsal import FAKE
from chaoskafka.run import RunOptions, run_scenario
from chaoskafka.scenario import load
from chaoskafka.scenario.load import load_text

TEXT = """\
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan: [{after_s: 5, kill: {target: any, for_s: 15}}]
"""


@pytest.mark.parametrize(
    ("can", "told"),
    [
        ((CanHostClients,), "case:3: plan[0].kill: kill needs CanKill, which runtime fake lacks"),
        ((CanKill,), "case:2: workloads[0].produce: produce needs CanHostClients, which runtime fake lacks"),
    ],
)
def test_an_ability_that_is_lacking_is_a_problem_of_the_file(
    can: tuple[type, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "ABILITIES", {"docker": (CanKill, CanHostClients), "fake": can})
    assert load_text(TEXT, name="case").plan
    with pytest.raises(ScenarioError) as refused:
        load_text(TEXT, name="case", runtime="fake")
    assert str(refused.value) == told
    assert refused.value.exit_code is ExitCode.USAGE


def test_a_protection_that_the_runtime_lacks_is_refused_too() -> None:
    protected = "cluster: {security: tls}\n" + TEXT
    assert load_text(protected, name="case").plan
    with pytest.raises(ScenarioError, match=r"case:1: cluster.security: runtime fake lacks tls; it offers plaintext"):
        load_text(protected, name="case", runtime="fake")


def test_without_namespaces_a_fault_of_the_network_is_refused_with_what_can_play_it() -> None:
    text = TEXT.replace("kill: {target: any, for_s: 15}", "isolate: {target: any, for_s: 15}")
    assert load_text(TEXT, name="case", runtime="process-plain").plan
    with pytest.raises(ScenarioError) as refused:
        load_text(text, name="case", runtime="process-plain")
    assert str(refused.value) == (
        "case:3: plan[0].isolate: isolate needs CanPartition, which runtime process-plain lacks;"
        " it takes --runtime docker, or --runtime process on a machine that allows namespaces"
    )


def test_a_run_refuses_before_anything_is_made(tmp_path: Path) -> None:
    options = RunOptions(seed=1, out=tmp_path / "runs", keep=False, timeout_s=None, progress=Silent(), replay="")
    with pytest.raises(ScenarioError, match=r"plan\[0\].kill: kill needs CanKill, which runtime fake lacks") as told:
        run_scenario(load_text(TEXT, name="case"), options=options, runtime=replace(FAKE, abilities=()))
    assert "produce needs CanHostClients" in told.value.__notes__[0]
    assert not (tmp_path / "runs").exists()


def test_every_runtime_of_the_table_can_be_chosen_and_has_those_abilities() -> None:
    assert set(runtimes.PROTECTIONS) == set(runtimes.ABILITIES)
    assert {*runtimes.ABILITIES, "auto"} == {name.value for name in RuntimeName}
    assert {name: runtime.abilities for name, runtime in RUNTIMES.items()} == dict(runtimes.ABILITIES)


def test_what_acts_outside_of_the_cluster_is_not_rehearsed() -> None:
    text = """
topics: {orders: {}}
workloads: [{produce: {topic: orders}}]
plan: [{after_s: 1, command: {run: [./upgrade.sh], bites_when: fenced}}]
"""
    assert load.load_text(text, name="case").plan
    with pytest.raises(ScenarioError, match=r"plan\[0\]\.command: command acts outside of the cluster"):
        load.load_text(text, name="case", runtime="fake")
