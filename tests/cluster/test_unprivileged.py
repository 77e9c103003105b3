"""A user who is not root but may use the engine: a whole run, whose files are the user's, and who is spared by whom."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.history.events import fault_windows, read_events
from chaoskafka.phases import Phase
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.labels import OWNER, RUN
from chaoskafka.runtimes.docker.network import create_network, remove_network
from chaoskafka.runtimes.docker.sweep import sweep
from tests.cluster.conftest import CHEAPER_FLAGS, objects_of, unix_socket

pytestmark = [pytest.mark.docker, pytest.mark.timeout(420)]

REPOSITORY = Path(__file__).parents[2]
SCENARIO = "leader-killed-fast"
NOBODY = 65534  # of no other use, so nothing of the machine is this user's

LEAVES_A_NETWORK = """
import sys
from chaoskafka.runtimes.docker.engine import connect
from chaoskafka.runtimes.docker.network import create_network
with connect() as engine:
    create_network(engine, f"chaoskafka-{sys.argv[1]}-net", sys.argv[1])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody with a home, in the group of the engine's socket; whoever plays the tests, where that is not root."""

    uid: int
    home: Path
    python: str
    program: str  # PYTHONPATH

    def starts(self, *argv: str, output: Path) -> subprocess.Popen[bytes]:
        """A command of this user, with an environment that names nothing but the home."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}
        env["PYTHONPATH"] = self.program
        env["DOCKER_HOST"] = f"unix://{unix_socket()}"
        as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            as_user = {"user": self.uid, "group": self.uid, "extra_groups": [unix_socket().stat().st_gid]}
        with output.open("wb") as file:
            return subprocess.Popen(
                [self.python, *argv], env=env, cwd=self.home, stdout=file, stderr=subprocess.STDOUT, **as_user
            )

    def does(self, *argv: str) -> str:
        with tempfile.TemporaryDirectory() as scratch:
            output = Path(scratch) / "output.txt"
            code = self.starts(*argv, output=output).wait(timeout=120)
            assert code == 0, output.read_text()
            return output.read_text()


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    place = Path(tempfile.mkdtemp(prefix="chaoskafka-user-"))  # pytest's own directories are closed to others
    try:
        yield moved_in(place)
    finally:
        shutil.rmtree(place)


def moved_in(place: Path) -> User:
    """A user with the program in reach: a clone, a home and an interpreter of root's may be closed to others."""
    place.chmod(0o755)
    home, clone = place / "home", place / "clone"
    home.mkdir(mode=0o700)
    for part in ("chaoskafka", "scenarios"):
        shutil.copytree(REPOSITORY / part, clone / part)
    packages = Path(pytest.__file__).parents[1]
    if not is_open(packages):
        packages = Path(shutil.copytree(packages, place / "packages"))
    uid = os.geteuid()
    if uid == 0:
        uid = NOBODY
        os.chown(home, uid, uid)
    return User(uid=uid, home=home, python=interpreter(), program=f"{clone}:{packages}")


def is_open(path: Path) -> bool:
    """Whether everybody may go there."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (path, *path.parents))


def interpreter() -> str:
    """Our own, or one of the same release that everybody may start."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = (sys.executable, shutil.which(name, path="/usr/local/bin:/usr/bin"))
    usable = [path for path in found if path and (os.geteuid() != 0 or is_open(Path(path).resolve()))]
    assert usable, f"{sys.executable} is closed to other users, and there is no other {name}: apt-get install {name}"
    return usable[0]


def test_a_whole_run(user: User, engine: Engine, tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    argv = ("-m", "chaoskafka", "run", SCENARIO, "--out", "runs", *CHEAPER_FLAGS)
    with user.starts(*argv, output=output) as process:
        wait_until(
            Phase.FORM.title,
            read=lambda: f"phase {int(Phase.FORM)}:" in output.read_text() or process.poll() is not None,
            good=bool,
            within_s=180,
        )
        ours = engine.api.api.networks(filters={"label": RUN})
        mine = [each["Labels"][RUN] for each in ours if f"/{process.pid}/" in each["Labels"].get(OWNER, "")]
        assert len(mine) == 1, output.read_text()
        # Its lock lies in the user's state directory, where we do not look; its owner is a process that we see.
        alone = {each.run_id: each.why for each in sweep().left_alone}
        assert alone[mine[0]] == f"its harness lives: process {process.pid}"
        assert process.wait(timeout=300) == 0, output.read_text()
    assert objects_of(engine, mine[0]) == []

    (run_dir,) = (user.home / "runs" / SCENARIO).glob("2*")
    strangers = [path for path in (user.home, *user.home.rglob("*")) if path.lstat().st_uid != user.uid]
    assert strangers == []
    assert (run_dir / "logs" / "node-1.log").stat().st_mode & stat.S_IRUSR
    assert json.loads((run_dir / "result.json").read_text())["answer"] == "pass"
    (fault,) = fault_windows(read_events(run_dir / "events.jsonl"))
    assert fault.proof is not None
    (proof,) = fault.proof.values()
    assert proof["means"].startswith("engine API (pid "), proof  # whose namespaces only root may look at
    assert "Permission denied" in proof["means"], proof


def test_each_user_heals_what_is_dead_and_spares_what_lives(user: User, engine: Engine) -> None:
    living, dead = f"test-living-{os.getpid()}", f"test-dead-{os.getpid()}-user"
    create_network(engine, f"chaoskafka-{living}-net", living)
    try:
        user.does("-c", LEAVES_A_NETWORK, dead)
        assert objects_of(engine, dead) != []
        told = user.does("-m", "chaoskafka", "heal")
        assert f"left alone {living}: its harness lives: process {os.getpid()}" in told
        assert objects_of(engine, living) != []
        assert objects_of(engine, dead) == []
        user.does("-c", LEAVES_A_NETWORK, dead)
        assert dead in sweep().removed
    finally:
        remove_network(engine, f"chaoskafka-{living}-net")
