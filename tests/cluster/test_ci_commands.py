"""What the files for CI systems do, done here: their commands, in their order, through a shell, on a real cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.cluster.conftest import CHEAPER

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.timeout(600)]

CI = Path(__file__).parents[2] / "ci"
SCENARIO = "leader-killed-fast"


def github() -> list[str]:
    steps = yaml.safe_load((CI / "github-actions.yml").read_text())["jobs"]["chaos"]["steps"]
    said = [step["run"] for step in steps if "run" in step and step["name"] != "Install"]
    return [text.replace("${{ matrix.kafka }}", "4.2") for text in said]


def gitlab() -> list[str]:
    job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["chaos"]
    return [*job["script"], *job["after_script"]]


@pytest.mark.parametrize("commands", [github(), gitlab()], ids=["github", "gitlab"])
def test_they_play_report_and_leave_what_is_kept(commands: list[str], tmp_path: Path) -> None:
    cheaper = "; ".join(CHEAPER)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SCENARIOS": SCENARIO,
        "KAFKA": "4.2",
        "CHAOSKAFKA_SET": f'cluster.kafka="4.2"; {cheaper}',
        "CHAOSKAFKA_JOBS": "auto",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    for command in commands:
        subprocess.run(["bash", "-e", "-c", command], cwd=tmp_path, env=environment, check=True, timeout=300)
    runs = tmp_path / "runs"
    assert [run["ended"] for run in json.loads((runs / "results.json").read_text())["runs"]] == ["pass"]
    assert ET.parse(runs / "junit.xml").getroot().get("errors") == "0"
    assert "Leader killed, fast timeouts" in (runs / "summary.md").read_text()
    assert not (runs / "failed.tar.gz").exists()
