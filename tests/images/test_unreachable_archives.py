"""Images that cannot be built: no tool, or a tool whose way to its archive is closed. Real tools, a closed proxy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from chaoskafka.errors import CommandFailed, EnvironmentFailure, ExitCode
from chaoskafka.images import client as client_image
from chaoskafka.images import commands, kafka_versions
from chaoskafka.images.client import _pip
from chaoskafka.images.kafka import locked_jars
from chaoskafka.images.recipe import kafka_lock

REFUSES = "http://127.0.0.1:9"  # nobody listens on the discard port


@pytest.fixture(autouse=True)
def nothing_downloaded_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, REFUSES)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_no_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="mvn is not installed") as failed:
        locked_jars(kafka_lock(kafka_versions()[0]))
    assert failed.value.exit_code is ExitCode.ENVIRONMENT
    assert failed.value.mend == "apt-get install maven openjdk-17-jre-headless"
    assert list((tmp_path / "cache" / "chaoskafka").glob("tmp*")) == []


@pytest.mark.nightly  # a JVM and its plugins: 10 s
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
def test_maven_without_a_way_to_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opts = f"-Duser.home={tmp_path} -Dmaven.repo.local={tmp_path / 'm2'} -Dmaven.wagon.http.retryHandler.count=0"
    monkeypatch.setenv("MAVEN_OPTS", f"{opts} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9")
    monkeypatch.setenv("MAVEN_ARGS", f"--global-settings {tmp_path / 'none.xml'}")
    (tmp_path / "none.xml").write_text("<settings/>")
    with pytest.raises(CommandFailed, match="mvn") as failed:
        locked_jars(kafka_lock(kafka_versions()[0]))
    assert failed.value.exit_code is ExitCode.ENVIRONMENT
    assert "settings.xml" in (failed.value.mend or "")
    assert list((tmp_path / "cache" / "chaoskafka").glob("tmp*")) == []


@pytest.mark.nightly
def test_pip_without_a_way_to_its_archive(tmp_path: Path) -> None:
    argv = [*_pip(tmp_path / "wheels", "x86_64"), "--retries=0", f"--index-url={REFUSES}", "--isolated"]
    with pytest.raises(CommandFailed, match="pip") as failed:
        commands.run(argv, within_s=60, reach=client_image.REACH)
    assert "pip config list" in (failed.value.mend or "")
