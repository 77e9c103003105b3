"""The wheel holds all of the package and nothing else, and works where there is no clone, no client and no engine."""

from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import polars as pl
import pytest

from chaoskafka import __version__
from tests.installation import CLIENTS_AND_ENGINE, ROOT, Installation, build, install

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(built[1]) as opened:
        yield opened


@pytest.fixture(scope="module")
def bare(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Installed where neither a client nor an engine's SDK is."""
    return install(built[1], tmp_path_factory.mktemp("bare"), without=CLIENTS_AND_ENGINE)


def package_files() -> set[str]:
    """All that lies in the package here, followed through links, but for what Python leaves there."""
    files = [path for path in (ROOT / "chaoskafka").rglob("*") if path.is_file()]
    files += list((ROOT / "chaoskafka" / "scenarios").glob("**/*.yaml"))  # a link, which rglob does not follow
    return {path.relative_to(ROOT).as_posix() for path in files if path.suffix != ".pyc"}


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == package_files()
    assert {"chaoskafka/py.typed", "chaoskafka/report/result.schema.json"} <= held


def test_shipped_scenarios_are_files_in_both_archives(built: tuple[Path, Path], wheel: zipfile.ZipFile) -> None:
    name, text = "chaoskafka/scenarios/leader-killed.yaml", (ROOT / "scenarios" / "leader-killed.yaml").read_bytes()
    assert wheel.read(name) == text
    with tarfile.open(built[0]) as sdist:
        member = sdist.getmember(f"chaoskafka-{__version__}/{name}")
        assert member.isfile()
        assert member.size == len(text)
        assert [each.name for each in sdist if "/tests" in each.name] == []


def test_what_it_says_of_itself(wheel: zipfile.ZipFile) -> None:
    about = f"chaoskafka-{__version__}.dist-info"
    assert wheel.read(f"{about}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    metadata = Parser().parsestr(wheel.read(f"{about}/METADATA").decode())
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()
    assert metadata["Project-URL"] is None  # there is none yet


def test_what_was_left_out_is_not_installed(bare: Installation) -> None:
    probe = f"import importlib.util; print([n for n in {CLIENTS_AND_ENGINE} if importlib.util.find_spec(n)])"
    assert bare.run(str(bare.python), "-c", probe) == (0, "[]\n", "")
    where = bare.run(str(bare.python), "-c", "import chaoskafka; print(chaoskafka.__file__)")[1]
    assert not Path(where).is_relative_to(ROOT)


def test_words_scenarios_and_version_without_client_or_engine(bare: Installation) -> None:
    assert bare.call("--version") == (0, f"{__version__}\n", "")
    code, out, err = bare.call("list")
    assert (code, err) == (0, "")
    assert "leader-killed" in out
    assert "no_lost_acknowledged" in out
    code, out, err = bare.call("validate", "leader-killed", "controller-killed")
    assert (code, err) == (0, "")
    assert out.count(": ok") == 2


def test_a_stored_run_is_judged_without_client_or_engine(bare: Installation) -> None:
    for name in ("good", "lossy"):
        shutil.copytree(ROOT / "tests" / "histories" / "base", bare.elsewhere / name)
    path = next((bare.elsewhere / "lossy" / "audit" / "record").iterdir())
    records = pl.read_parquet(path)
    records.filter(pl.col("offset") != records["offset"][records.height // 2]).write_parquet(path)
    code, out, err = bare.call("check", "good", "lossy", "--json", "results")
    assert (code, err) == (1, "")
    assert out.startswith("PASS")
    results = [json.loads(line) for line in (bare.elsewhere / "results").read_text().splitlines()]
    assert [result["answer"] for result in results] == ["pass", "fail"]
    code, out, err = bare.call("report", "good", "lossy", "--out", "page.html")
    assert (code, out.strip(), err) == (0, "page.html", "")
    assert "was acknowledged and is lost" in (bare.elsewhere / "page.html").read_text()
