"""The engine's errors in our words, without an engine."""

import pytest
import requests
from docker import errors as docker_errors

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.runtimes.docker import engine
from chaoskafka.runtimes.docker.engine import asking


def answer(status: int) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    return response


@pytest.mark.parametrize(
    ("raised", "meaning", "mend"),
    [
        (docker_errors.ImageNotFound("no", response=answer(404)), "an image is missing", "chaoskafka image build"),
        (docker_errors.NotFound("no", response=answer(404)), "it is gone", None),
        (docker_errors.APIError("no", response=answer(409)), "in conflict", "chaoskafka heal"),
        (docker_errors.APIError("no", response=answer(500)), "refused", None),
        (docker_errors.APIError("no"), "refused", None),
        (docker_errors.DockerException("no"), "no Docker engine answers", "systemctl"),
        (requests.exceptions.ReadTimeout("no"), "did not answer within", "chaoskafka doctor"),
        (requests.exceptions.ConnectionError("no"), "no Docker engine answers", "systemctl"),
    ],
)
def test_translation(raised: Exception, meaning: str, mend: str | None) -> None:
    with pytest.raises(EnvironmentFailure) as failed, asking("starting the container x"):
        raise raised
    assert failed.value.problem.startswith("starting the container x: ")
    assert meaning in failed.value.problem
    assert failed.value.__cause__ is raised
    assert (failed.value.mend is None) if mend is None else mend in (failed.value.mend or "")
    assert "--all" not in (failed.value.mend or "")  # never a command that takes other machines' runs down


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), asking("x"):
        raise KeyError("a bug is no environment failure")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (None, "127.0.0.1"),
        ("unix:///var/run/docker.sock", "127.0.0.1"),
        ("tcp://localhost:2375", "127.0.0.1"),
        ("tcp://build-7.example:2376", "build-7.example"),
        ("ssh://me@build-7.example", "build-7.example"),
    ],
)
def test_where_published_ports_are(address: str | None, host: str) -> None:
    assert engine._reached_at(address) == host


@pytest.mark.parametrize(("said", "host"), [("172.17.0.1", "172.17.0.1"), ("localhost", "127.0.0.1")])
def test_what_the_user_says_of_published_ports_wins(said: str, host: str) -> None:
    assert engine._reached_at("tcp://build-7.example:2376", said) == host


def test_the_reaper_is_off() -> None:
    assert engine.testcontainers_config.ryuk_disabled
