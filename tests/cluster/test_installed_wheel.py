"""An installed wheel plays a shipped scenario by name, from a place that has never seen a clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.images import ensure
from chaoskafka.runtimes.docker.engine import Engine
from tests.cluster.conftest import CHEAPER_FLAGS
from tests.installation import build, install

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]


def test_an_installed_wheel_builds_plays_judges_and_heals(engine: Engine, tmp_path: Path) -> None:
    images = ensure(ClusterSpec().kafka)
    installed = install(build(tmp_path)[1], tmp_path)
    # The very images that the clone uses: a recipe that came out different would be built anew, and renamed.
    code, out, err = installed.call("image", "build")
    assert (code, err) == (0, "")
    assert out.split() == [images.kafka, images.toolbox, images.client]
    code, out, err = installed.call("run", "leader-killed-fast", "--seed", "11", *CHEAPER_FLAGS)
    assert code == 0, out + err
    assert out.startswith("PASS")
    (run_dir,) = (installed.elsewhere / "runs" / "leader-killed-fast").glob("2*")
    where = run_dir.relative_to(installed.elsewhere)
    judged = out.removesuffix(f"report         {where}/report.html\n")  # a run makes a page besides
    assert judged != out
    assert installed.call("check", str(where)) == (0, judged, "")
    assert installed.call("heal")[0] == 0
