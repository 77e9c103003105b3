"""Which Kafka releases are supported: the only place that orders or compares versions.

In goes a version as written in a scenario: a release (`4.2.2`), or a line (`4.2`), which means its newest release here.
Out comes the release. Little else of ours depends on it: protocol versions are negotiated with each broker, classes of
tools are looked up in the release's jars, features are what its own format command writes. docs/versions.md says what
differs between the lines.
"""

from __future__ import annotations

from chaoskafka.errors import UsageError

RELEASES = ("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0")
"""Oldest first. Each has a lock file in `images/recipes/kafka`, and was played on real clusters."""

DEFAULT = "4.2.2"

_MEANT = {release.rpartition(".")[0]: release for release in RELEASES} | {release: release for release in RELEASES}
ACCEPTED = tuple(sorted(_MEANT))
"""What a scenario may say."""


def near(written: str) -> str | None:
    """The release that a version most probably should be: the one that is supported of its line."""
    return _MEANT.get(written.rpartition(".")[0])


def release_of(written: str) -> str:
    """The release that a version means. Raises UsageError, naming what is supported."""
    if written not in _MEANT:
        raise UsageError(f"Kafka {written!r} is not supported; supported are {', '.join(ACCEPTED)}")
    return _MEANT[written]
