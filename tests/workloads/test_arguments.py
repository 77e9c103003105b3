"""The worker's arguments as a document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import produce_arguments

from chaoskafka.cluster.security import Protection, Security
from chaoskafka.errors import UsageError
from chaoskafka.workloads.worker.arguments import WorkerArguments


def test_given_as_text_or_as_a_file(tmp_path: Path) -> None:
    arguments = produce_arguments(incarnation=2)
    path = tmp_path / "arguments.json"
    path.write_text(arguments.to_json())
    assert WorkerArguments.given(arguments.to_json()) == arguments
    assert WorkerArguments.given(str(path)) == arguments
    assert arguments.name == "produce-1.2"
    assert arguments.argv == (
        "python",
        "-m",
        "chaoskafka.workloads.worker",
        arguments.to_json(),
    )


def test_how_to_get_in_goes_beside_the_document_and_not_in_it() -> None:
    security = Security(protection=Protection.SASL_SCRAM, authority="PEM", user="worker", password="hush")
    arguments = produce_arguments(security=security)
    assert "hush" not in "".join(arguments.argv)
    assert Security.given(arguments.environment) == security
    assert WorkerArguments.from_json(arguments.to_json()) == produce_arguments()


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": 2},
        {"role": "share"},
        {"topic": "bills"},
        {"colour": "red"},
        {"topics": None},
    ],
)
def test_a_document_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    raw = {**json.loads(produce_arguments().to_json()), **change}
    with pytest.raises(UsageError):
        WorkerArguments.from_json(json.dumps(raw))


@pytest.mark.parametrize("text", ["{", "{}", "/no/such/file"])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        WorkerArguments.given(text)
