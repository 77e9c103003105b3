"""`--runtime auto`: docker if an engine answers, else process. In: a name as asked for. Out: the name of a runtime."""

from __future__ import annotations

from chaoskafka.commands import RuntimeName
from chaoskafka.commands.output import complain
from chaoskafka.errors import EnvironmentFailure


def chosen(asked: RuntimeName) -> RuntimeName:
    """Blocks for two requests to the engine where it has to choose, and says on stderr what it chose."""
    if asked is not RuntimeName.AUTO:
        return asked
    from chaoskafka.runtimes.docker.engine import connect  # noqa: PLC0415 - only who asks for it waits for its import

    try:
        with connect() as engine:
            complain(f"chaoskafka: runtime docker: engine {engine.version}")
            return RuntimeName.DOCKER
    except EnvironmentFailure as none:
        complain(f"chaoskafka: runtime process, as no Docker engine answers: {none.problem}")
        return RuntimeName.PROCESS
