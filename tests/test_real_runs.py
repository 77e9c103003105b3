"""Continuous integration cannot be green because tests on real clusters did not run."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

NOWHERE = "unix:///nonexistent/engine.sock"
TESTS = """
import pytest

def test_pure():
    pass

@pytest.mark.docker
def test_real():
    {body}
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
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def play(directory: Path, body: str, **environment: str) -> tuple[int, str]:
    shutil.copyfile(Path(__file__).parent / "conftest.py", directory / "conftest.py")
    (directory / "test_some.py").write_text(TESTS.format(body=body))
    (directory / "pytest.ini").write_text("[pytest]\nmarkers = docker: real\n")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("CHAOSKAFKA_", "PYTEST"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(directory)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout


def test_without_an_engine_docker_tests_are_skipped_with_the_reason(tmp_path: Path) -> None:
    code, output = play(tmp_path, "pass", DOCKER_HOST=NOWHERE)
    assert code == 0
    assert "1 passed, 1 skipped" in output


def test_a_required_engine_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    code, output = play(tmp_path, "pass", DOCKER_HOST=NOWHERE, CHAOSKAFKA_REQUIRE="docker")
    assert code == 1
    assert "no Docker engine answers" in output
    assert "real cluster tests: 0 passed" in output


def test_a_required_test_that_skips_itself_is_a_failure(tmp_path: Path, answering: str) -> None:
    code, output = play(tmp_path, "pytest.skip('not today')", DOCKER_HOST=answering, CHAOSKAFKA_REQUIRE="docker")
    assert code == 1
    assert "not today" in output


def test_too_few_real_runs_are_a_failure_although_every_test_passed(tmp_path: Path, answering: str) -> None:
    code, output = play(tmp_path, "pass", DOCKER_HOST=answering, CHAOSKAFKA_REQUIRE="docker")
    assert "2 passed" in output
    assert code == 1
    assert "too few" in output


def test_an_unknown_requirement_is_refused(tmp_path: Path) -> None:
    code, _ = play(tmp_path, "pass", DOCKER_HOST=NOWHERE, CHAOSKAFKA_REQUIRE="podman")
    assert code != 0
