"""Continuous integration cannot be green because tests on real clusters did not run."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

import pytest

NOWHERE = "tcp://127.0.0.1:1"
TESTS = """
import pytest

def test_pure():
    pass

@pytest.mark.docker
def test_real():
    {body}

@pytest.mark.nightly
@pytest.mark.docker
def test_long():
    pass
"""


class Answer(BaseHTTPRequestHandler):
    """As much of an engine as it takes to be found: these tests are about pytest, not about containers."""

    def do_GET(self) -> None:
        body = b'{"ApiVersion": "1.41"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[str]:
    """Where something answers like an engine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Play(Protocol):
    def __call__(self, body: str, *flags: str, **environment: str) -> tuple[int, str]: ...


@pytest.fixture
def play(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Play:
    """A session of its own with our conftest; in this process, as a new one takes a second to start."""

    def playing(body: str, *flags: str, **environment: str) -> tuple[int, str]:
        pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
        pytester.makepyfile(test_some=TESTS.format(body=body))
        pytester.makeini("[pytest]\nmarkers =\n  docker: real\n  nightly: long\n")
        for name in [name for name in os.environ if name.startswith(("CHAOSKAFKA_", "PYTEST"))]:
            monkeypatch.delenv(name)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        done = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *flags)
        return int(done.ret), done.stdout.str()

    return playing


def test_without_an_engine_docker_tests_are_skipped_with_the_reason(play: Play) -> None:
    code, output = play("pass", DOCKER_HOST=NOWHERE)
    assert code == 0
    assert "1 passed, 1 skipped" in output


def test_a_required_engine_that_is_missing_is_a_failure(play: Play) -> None:
    code, output = play("pass", DOCKER_HOST=NOWHERE, CHAOSKAFKA_REQUIRE="docker")
    assert code == 1
    assert "no Docker engine runs: nobody listens there" in output
    assert "real cluster tests: 0 passed" in output


def test_a_required_test_that_skips_itself_is_a_failure(play: Play, answering: str) -> None:
    code, output = play("pytest.skip('not today')", DOCKER_HOST=answering, CHAOSKAFKA_REQUIRE="docker")
    assert code == 1
    assert "not today" in output


def test_too_few_real_runs_are_a_failure_although_every_test_passed(play: Play, answering: str) -> None:
    code, output = play("pass", DOCKER_HOST=answering, CHAOSKAFKA_REQUIRE="docker")
    assert "2 passed" in output
    assert code == 1
    assert "too few" in output


def test_the_floor_holds_where_real_runs_are_a_session_of_their_own_and_not_in_the_one_without(
    play: Play, answering: str
) -> None:
    code, output = play("pass", "-m", "docker", DOCKER_HOST=answering, CHAOSKAFKA_REQUIRE="docker")
    assert "1 passed, 2 deselected" in output
    assert "too few" in output
    assert code == 1
    code, output = play("pass", "-m", "not docker", DOCKER_HOST=NOWHERE, CHAOSKAFKA_REQUIRE="docker")
    assert "1 passed, 2 deselected" in output
    assert code == 0


def test_an_unknown_requirement_is_refused(play: Play) -> None:
    code, _ = play("pass", DOCKER_HOST=NOWHERE, CHAOSKAFKA_REQUIRE="podman")
    assert code != 0


@pytest.mark.parametrize("flags", [("-n", "2"), ("-n", "2", "-m", "docker"), ("-n", "2", "-m", "not slow")])
def test_real_runs_are_never_played_side_by_side(flags: tuple[str, ...], play: Play) -> None:
    code, _ = play("pass", *flags, DOCKER_HOST=NOWHERE)
    assert code == pytest.ExitCode.USAGE_ERROR


def test_long_tests_are_played_only_when_asked_for(play: Play, answering: str) -> None:
    _, every_change = play("pass", DOCKER_HOST=answering)
    assert "2 passed, 1 deselected" in every_change
    code, nightly = play("pass", "-m", "nightly", DOCKER_HOST=answering, CHAOSKAFKA_REQUIRE="docker")
    assert "1 passed, 2 deselected" in nightly
    assert "(floor 0)" in nightly
    assert code == 0


def test_a_long_test_that_is_skipped_is_a_failure_too(play: Play) -> None:
    code, _ = play("pass", "-m", "nightly", DOCKER_HOST=NOWHERE, CHAOSKAFKA_REQUIRE="docker")
    assert code == 1
