"""`chaoskafka image build|list|prune`: the images that clusters start from."""

from __future__ import annotations

from chaoskafka.cluster.versions import release_of
from chaoskafka.commands.output import complain, say
from chaoskafka.errors import ExitCode
from chaoskafka.images import ImageSet, build, ensure, listed, prune
from chaoskafka.images.recipe import Kind

_MIB = 1024 * 1024


def build_images(kafka: str, *, again: bool) -> ExitCode:
    """Blocks for minutes when anything must be built. Raises UsageError, EnvironmentFailure, CommandFailed."""
    release = release_of(kafka)
    if again:
        build(tuple(Kind), kafka_version=release, report=complain, again=True)
    images: ImageSet = ensure(release, report=complain)
    for name in (images.kafka, images.toolbox, images.client):
        say(name)
    return ExitCode.PASS


def list_images() -> ExitCode:
    """Asks the engine. Raises EnvironmentFailure."""
    for name, image_id, size_bytes in listed():
        say(f"{name:40} {image_id:20} {size_bytes / _MIB:7.0f} MiB")
    return ExitCode.PASS


def prune_images(days: float) -> ExitCode:
    """Asks the engine. Raises EnvironmentFailure."""
    for name in prune(days=days):
        say(f"removed {name}")
    return ExitCode.PASS
