"""Builds what is missing or out of date, and nothing else.

In: recipes and an engine. Out: current images, named by their recipes. A second call only asks the engine three
questions. What another checkout's recipes have made is left alone, until `prune` is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import docker

from chaoskafka.clock import UNSTOPPABLE, Clock, utc_now
from chaoskafka.images import engine
from chaoskafka.images.base import build_base
from chaoskafka.images.cache import build_lock
from chaoskafka.images.client import build_client
from chaoskafka.images.kafka import build_kafka
from chaoskafka.images.layers import build_image
from chaoskafka.images.recipe import KIND_LABEL, ImageSet, Kind, Recipe, current_names, recipe_of

Report = Callable[[str], None]
NEEDED = (Kind.KAFKA, Kind.TOOLBOX, Kind.CLIENT)


def ensure(
    kafka_version: str,
    report: Report = lambda _: None,
    client: docker.DockerClient | None = None,
    *,
    clock: Clock = UNSTOPPABLE,
) -> ImageSet:
    """The images for a cluster of this Kafka release, built first if they are missing or their recipe has changed.

    Blocks: milliseconds if all are current, about two minutes if none is. `report` gets a line for each image that is
    built. Raises EnvironmentFailure (no engine, unknown release, something missing), CommandFailed, and Interrupted by
    the clock while another process builds.
    """
    recipes = build(NEEDED, kafka_version=kafka_version, report=report, client=client, clock=clock)
    return ImageSet(**{recipe.kind.value: recipe.name for recipe in recipes})


def build(
    kinds: tuple[Kind, ...],
    *,
    kafka_version: str,
    report: Report = lambda _: None,
    again: bool = False,
    client: docker.DockerClient | None = None,
    clock: Clock = UNSTOPPABLE,
) -> tuple[Recipe, ...]:
    """Build those of `kinds` that are not current, or all of them `again`. Blocks. Raises as `ensure` does."""
    recipes = tuple(recipe_of(kind, kafka_version) for kind in kinds)
    with engine.using(client) as ours:
        if not again and all(engine.is_current(ours, recipe) for recipe in recipes):
            return recipes
        with build_lock(report, clock=clock):
            for recipe in recipes:
                # Asked again: somebody else may have built it while we waited for the lock.
                if again or not engine.is_current(ours, recipe):
                    _build_one(ours, recipe, kafka_version, report)
            engine.remove_nameless(ours)
    return recipes


def are_current(kafka_version: str, client: docker.DockerClient | None = None) -> bool:
    """Whether `ensure` would have nothing to build. Raises EnvironmentFailure without an engine."""
    return not outdated(kafka_version, client)


def outdated(kafka_version: str, client: docker.DockerClient | None = None) -> tuple[Recipe, ...]:
    """What `ensure` would build. Raises EnvironmentFailure without an engine."""
    recipes = [recipe_of(kind, kafka_version) for kind in NEEDED]
    with engine.using(client) as ours:
        return tuple(recipe for recipe in recipes if not engine.is_current(ours, recipe))


def listed(client: docker.DockerClient | None = None) -> list[tuple[str, str, int]]:
    """Our images in the engine: name, id and size in bytes, by name. Raises EnvironmentFailure without an engine."""
    with engine.using(client) as ours:
        images = ours.images.list(filters={"label": KIND_LABEL})
        return sorted((tag, str(image.short_id), int(image.attrs["Size"])) for image in images for tag in image.tags)


def prune(*, days: float, client: docker.DockerClient | None = None) -> list[str]:
    """Remove images of other recipes than today's that were made more than `days` ago and that no container needs.

    Returns their names. Waits for a build that goes on. Raises EnvironmentFailure without an engine.
    """
    with engine.using(client) as ours, build_lock():
        engine.remove_nameless(ours)
        return engine.remove_older(ours, than=utc_now() - timedelta(days=days), spare=current_names())


def _build_one(client: docker.DockerClient, recipe: Recipe, kafka_version: str, report: Report) -> None:
    base = recipe_of(Kind.BASE)
    if recipe.kind is not Kind.BASE and not engine.is_current(client, base):
        _build_one(client, base, kafka_version, report)
    report(f"building {recipe.name}")
    if recipe.kind is Kind.BASE:
        build_base(client, recipe)
    elif recipe.kind is Kind.KAFKA:
        build_kafka(client, recipe, on=base.name, version=kafka_version)
    elif recipe.kind is Kind.CLIENT:
        build_client(client, recipe, on=base.name)
    else:
        build_image(client, recipe, on=base.name, layer=None)
