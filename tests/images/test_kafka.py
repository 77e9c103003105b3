"""Jars are held against the lock: every way of differing is an error that names the jar."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import kafka
from chaoskafka.images.recipe import KafkaLock

CONTENT = b"a jar"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def lock_of(**jars: str) -> KafkaLock:
    return KafkaLock(
        kafka="4.2.0",
        log4j="2",
        jackson="2",
        jars={f"{name}.jar": digest for name, digest in jars.items()},
    )


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "chaoskafka"


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called mvn in the place of Maven: it puts one jar where it is told to."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "mvn"
    program.write_text(
        '#!/bin/sh\nfor word in "$@"; do case "$word" in -DoutputDirectory=*) into="${word#*=}" ;; esac; done\n'
        f'mkdir -p "$into" && printf "{CONTENT.decode()}" >"$into/one.jar"\necho called >>{tmp_path}/calls\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path / "calls"


def test_jars_that_match_are_kept_and_not_fetched_again(maven: Path) -> None:
    for _ in range(2):
        (path,) = kafka.locked_jars(lock_of(one=DIGEST)).values()
        assert path.read_bytes() == CONTENT
    assert maven.read_text().splitlines() == ["called"]


def test_a_jar_damaged_in_the_cache_is_fetched_again(maven: Path) -> None:
    (path,) = kafka.locked_jars(lock_of(one=DIGEST)).values()
    path.write_bytes(b"cut off")
    (again,) = kafka.locked_jars(lock_of(one=DIGEST)).values()
    assert again.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("lock", "says"),
    [
        (lock_of(one="0" * 64), f"one.jar has SHA-256 {DIGEST}, the lock says 0000"),
        (lock_of(one=DIGEST, two=DIGEST), "two.jar is missing"),
        (lock_of(), None),
        (lock_of(two=DIGEST), "one.jar is not in the lock"),
    ],
)
def test_a_difference_names_the_jar(maven: Path, lock: KafkaLock, says: str | None) -> None:
    if says is None:
        assert kafka.locked_jars(lock) == {}  # nothing is locked, so nothing is needed
        return
    with pytest.raises(EnvironmentFailure, match=says):
        kafka.locked_jars(lock)


def test_a_tool_is_started_where_its_class_is_in_this_release(tmp_path: Path) -> None:
    old = {name: kafka.IN_THE_CORE.get(name, name) for name in kafka.TOOLS.values()}
    for case, classes in (("old", old.values()), ("new", old)):
        with zipfile.ZipFile(tmp_path / f"{case}.jar", "w") as jar:
            for name in classes:
                jar.writestr(f"{name.replace('.', '/')}.class", b"")
    assert kafka.tools([tmp_path / "new.jar"]) == kafka.TOOLS
    assert kafka.tools([tmp_path / "old.jar"])["kafka-dump-log"] == "kafka.tools.DumpLogSegments"
    with pytest.raises(EnvironmentFailure, match=r"no class .*StorageTool"):
        kafka.tools([])


def test_without_maven_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EnvironmentFailure, match="mvn is not installed") as caught:
        kafka.locked_jars(lock_of(one=DIGEST))
    assert caught.value.mend == kafka.MEND
