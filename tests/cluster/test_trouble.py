"""Trouble around a run on a real cluster: workers that die, hang or run out of disk, an engine that is slow or silent.

Whatever it is: the run ends by itself, with a code that does not claim more than it knows, and leaves nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode
from chaoskafka.judge import judge
from chaoskafka.phases import Phase
from chaoskafka.runtimes.docker.engine import Engine
from chaoskafka.runtimes.docker.labels import object_name
from chaoskafka.runtimes.docker.open import Images
from chaoskafka.traffic import HURRY_S
from chaoskafka.verdict import Answer
from tests.cluster.engine_proxy import engine_proxy
from tests.cluster.harness import LIVES_WITHIN_S, Harness

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600), pytest.mark.usefixtures("images")]

Start = Callable[..., Harness]


@pytest.fixture
def start(engine: Engine, images: Images, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Starts harnesses, and sees to it that nothing of them is left."""
    started: list[Harness] = []

    def starting(*words: str, **more: object) -> Harness:
        started.append(Harness.start(tmp_path / str(len(started)), *words, **more))  # type: ignore[arg-type]
        return started[-1]

    yield starting
    for harness in started:
        harness.put_down()
        assert harness.left(engine) == []
        assert "Traceback" not in harness.output


def send(engine: Engine, harness: Harness, worker: str, signal: str) -> None:
    assert harness.run_id
    engine.api.containers.get(object_name(harness.run_id, "client", worker)).kill(signal)


def answer_of(harness: Harness, word: str) -> tuple[Answer, str]:
    (check,) = [check for check in judge(harness.run_dir).checks if check.word == word]
    return check.answer, check.summary


@pytest.mark.nightly
def test_a_worker_that_a_foreign_signal_ends_is_a_failure_of_the_client(start: Start, engine: Engine) -> None:
    harness = start()
    harness.wait_for_phase(Phase.PLAY)
    send(engine, harness, "consume-1", "SIGKILL")
    assert harness.end(within_s=LIVES_WITHIN_S) == ExitCode.FAIL, harness.output
    assert answer_of(harness, "clients_alive") == (Answer.FAIL, "1 client failures: worker 1.0, ended by signal 9")


def test_workers_that_hang_do_not_hold_up_a_stop(start: Start, engine: Engine) -> None:
    harness = start()
    harness.wait_for_phase(Phase.PLAY)
    for worker in ("produce-0", "consume-1"):
        send(engine, harness, worker, "SIGSTOP")
    harness.process.terminate()
    began = time.monotonic()
    assert harness.end() == ExitCode.INTERRUPTED, harness.output
    assert time.monotonic() - began < HURRY_S + 60  # what else the end of a run takes, on a busy machine
    assert harness.output.count("it is killed") == 0  # told in the events, not on the screen
    assert (harness.run_dir / "events.jsonl").read_text().count("to end; it is killed") == 2


@pytest.mark.nightly
def test_a_worker_that_hangs_is_killed_and_judged(start: Start, engine: Engine) -> None:
    harness = start("--set", "workloads[0].produce.drain_s=2")
    harness.wait_for_phase(Phase.RECOVER)
    send(engine, harness, "produce-0", "SIGSTOP")
    assert harness.end(within_s=LIVES_WITHIN_S) == ExitCode.FAIL, harness.output
    assert answer_of(harness, "clients_alive") == (Answer.FAIL, "1 client failures: worker 0.0, hung in flush or close")


def test_a_worker_whose_disk_is_full_leaves_the_question_open(start: Start) -> None:
    harness = start("--worker-disk", "64", "--set", "workloads[0].produce.rate_per_s=100")
    assert harness.end(within_s=LIVES_WITHIN_S) == ExitCode.UNKNOWN, harness.output
    assert "produce-0 ended: " in harness.output
    assert answer_of(harness, "clients_alive")[0] is Answer.UNKNOWN
    assert "no room for 2560 bytes of tape: No space left on device" in stderr_of(harness, "produce-0")
    assert "Bus error" not in stderr_of(harness, "produce-0")


def stderr_of(harness: Harness, worker: str) -> str:
    (path,) = harness.run_dir.rglob(f"{worker}*/stderr.log")
    return path.read_text()


@pytest.mark.parametrize(
    ("phase", "code"),
    [
        (Phase.TOPICS, ExitCode.ENVIRONMENT),
        (Phase.PLAY, ExitCode.UNKNOWN),
        pytest.param(Phase.DRAIN, ExitCode.UNKNOWN, marks=pytest.mark.nightly),
        pytest.param(Phase.GATHER, ExitCode.ENVIRONMENT, marks=pytest.mark.nightly),
    ],
    ids=lambda value: value.name.lower(),
)
def test_a_run_directory_without_room_takes_nothing_down_with_it(phase: Phase, code: ExitCode, start: Start) -> None:
    harness = start("--full-in", str(int(phase)))
    assert harness.end(within_s=LIVES_WITHIN_S) == code, harness.output
    assert re.search(r"cannot be written.*: File too large|File too large", harness.output)


@pytest.mark.nightly
def test_a_slow_engine_is_no_reason_to_fail(start: Start, tmp_path: Path) -> None:
    with engine_proxy(tmp_path / "slow.sock", delay_s=0.2) as proxy:
        harness = start(env={"DOCKER_HOST": proxy.address})
        assert harness.end(within_s=LIVES_WITHIN_S) == ExitCode.PASS, harness.output
        assert proxy.requests > 50


def test_a_time_limit_bounds_the_opening_of_a_cluster_too(start: Start, tmp_path: Path) -> None:
    with engine_proxy(tmp_path / "slow.sock", delay_s=1.0) as proxy:
        harness = start("--set", "timeout_s=5", env={"DOCKER_HOST": proxy.address})
        assert harness.end(within_s=LIVES_WITHIN_S) == ExitCode.ENVIRONMENT, harness.output
    assert harness.begun()[-1] is Phase.OPEN
    assert "open the runtime: RunTimeout" in harness.output


@pytest.mark.parametrize(
    ("hangs", "code"),
    [
        (r"POST .*/containers/create", ExitCode.ENVIRONMENT),  # the first node's
        pytest.param(r"POST .*-client-produce-0", ExitCode.ENVIRONMENT, marks=pytest.mark.nightly),
        pytest.param(r"DELETE .*/networks/", ExitCode.ENVIRONMENT, marks=pytest.mark.nightly),
    ],
    ids=["create", "launch", "remove"],
)
def test_an_engine_that_never_answers_one_question_ends_the_run_in_time(
    hangs: str, code: ExitCode, start: Start, tmp_path: Path
) -> None:
    with engine_proxy(tmp_path / "silent.sock", hangs=hangs) as proxy:
        harness = start("--api-timeout-s", "8", env={"DOCKER_HOST": proxy.address})
        ended = harness.end(within_s=LIVES_WITHIN_S)
        assert len(proxy.swallowed) == 1
    assert ended == code, harness.output
    assert "did not answer within" in harness.output
    if "DELETE" in hangs:
        assert harness.heal() == ExitCode.PASS
