"""The plugin's settings: defaults < ini file < CHAOSKAFKA_* < command line; a test's marker wins over all of them.

In: pytest's config. Out: frozen values, or pytest.UsageError that names the setting, its value and what is allowed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.commands import RuntimeName
from chaoskafka.errors import UsageError
from chaoskafka.scenario import seeds
from chaoskafka.scenario.bind import BindError, bind
from chaoskafka.testing.clusters import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What holds for the whole session."""

    runtime: RuntimeName
    out: Path
    seed: int
    seed_given: bool  # else it was drawn, and a scenario's own is better
    scope: Scope
    cluster: Mapping[str, Any]  # keys of a scenario's `cluster:`

    @property
    def runtime_for_checking(self) -> str:
        """Whose abilities a scenario is checked against when it is collected, before `auto` has chosen."""
        return RuntimeName.DOCKER if self.runtime is RuntimeName.AUTO else self.runtime


def options(config: pytest.Config) -> Options:
    """Raises pytest.UsageError."""
    seed = _given(config, "seed")
    cluster = _cluster(config.getini("chaoskafka_cluster") or "{}")
    out = Path(_given(config, "out") or "runs")
    return Options(
        runtime=RuntimeName(_choice("runtime", _given(config, "runtime") or RuntimeName.DOCKER, RuntimeName)),
        out=out if out.is_absolute() else config.rootpath / out,
        seed=_seed(seed) if seed else seeds.draw(),
        seed_given=bool(seed),
        scope=Scope(_choice("scope", _given(config, "scope") or Scope.SESSION, Scope)),
        cluster=cluster,
    )


def asked_of(item: pytest.Item, found: Options) -> tuple[ClusterSpec, Scope]:
    """What the marker `kafka` of a test, of its class and of its module ask for; the nearest wins.

    Raises UsageError.
    """
    given: dict[str, Any] = dict(found.cluster)
    for marker in reversed(list(item.iter_markers("kafka"))):
        if marker.args:
            raise UsageError(f"{item.nodeid}: @pytest.mark.kafka takes keywords only, got {marker.args!r}")
        if marker.kwargs.keys() & {"controllers", "brokers"}:
            given.pop("nodes", None)
        if "nodes" in marker.kwargs:
            given = {key: value for key, value in given.items() if key not in ("controllers", "brokers")}
        given |= marker.kwargs
    scope = _choice("kafka(scope=…)", given.pop("scope", found.scope), Scope)
    try:
        spec = bind(ClusterSpec, given)
        spec.release  # noqa: B018 - refuses a release that is not supported
    except (BindError, UsageError) as wrong:
        raise UsageError(f"{item.nodeid}: @pytest.mark.kafka (or chaoskafka_cluster): {wrong}") from wrong
    return spec, Scope(scope)


def _given(config: pytest.Config, name: str) -> str:
    option = config.getoption(f"chaoskafka_{name}")
    return str(option or os.environ.get(f"CHAOSKAFKA_{name.upper()}") or config.getini(f"chaoskafka_{name}"))


def _cluster(text: str) -> Mapping[str, Any]:
    try:
        cluster = yaml.safe_load(text)
    except yaml.YAMLError as wrong:
        raise pytest.UsageError(
            f"chaoskafka_cluster: {text!r} is no YAML; expected a mapping such as {{nodes: 3}}\n{wrong}"
        ) from wrong
    if not isinstance(cluster, Mapping):
        raise pytest.UsageError(f"chaoskafka_cluster: expected a mapping such as {{nodes: 3}}, got {cluster!r}")
    return cluster


def _choice(name: str, value: str, allowed: type[RuntimeName] | type[Scope]) -> str:
    if value not in list(allowed):
        raise pytest.UsageError(f"chaoskafka {name}: {value!r} is not one of {', '.join(allowed)}")
    return value


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > seeds.SEED_MAX:
        raise pytest.UsageError(f"chaoskafka seed: {text!r} is not a whole number between 0 and {seeds.SEED_MAX}")
    return int(text)
