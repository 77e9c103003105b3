"""Judging needs no client, no engine and no protocol library: a stored run is judged where none is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.histories.builder import build
from tests.histories.shape import Shape

FORBIDDEN = ("confluent_kafka", "docker", "testcontainers", "kio")

SCRIPT = """
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {forbidden}:
            raise ModuleNotFoundError(f"not installed here: {{name}}", name=name)

sys.meta_path.insert(0, Missing())
from chaoskafka.history.read import open_history
from chaoskafka.scenario.catalogue import Kind, find, members
from chaoskafka.timing.failover import failover

history = open_history(Path({run!r}))
settings = {{"unavailable": {{"at_most_s": 30.0}}, "new_leader": {{"within_s": 30.0}}}}
for word in members(Kind.CHECK):
    print(word, find(Kind.CHECK, word)(**settings.get(word, {{}})).check(history).answer)
print("faults", len(failover(history)))
"""


def test_judging_imports_no_client_and_no_engine(tmp_path: Path) -> None:
    run = build(tmp_path / "run", Shape(partitions=2))
    script = SCRIPT.format(forbidden=FORBIDDEN, run=str(run))
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.split("\n")
    assert "faults 1" in lines
    assert sum(line.endswith(" pass") for line in lines) == 13
