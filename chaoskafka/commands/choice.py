"""Which runtime it is. In: a name as asked for. Out: the name of a runtime that this machine allows.

`auto` is docker if an engine answers, else process; process is process-plain where namespaces are forbidden.
"""

from __future__ import annotations

from chaoskafka.commands import RuntimeName
from chaoskafka.commands.output import complain
from chaoskafka.errors import EnvironmentFailure


def chosen(asked: RuntimeName) -> RuntimeName:
    """Blocks for two requests to the engine where it has to choose, and says on stderr what it chose."""
    named = _docker_or_process() if asked is RuntimeName.AUTO else asked
    return _process_or_plain() if named is RuntimeName.PROCESS else named


def _docker_or_process() -> RuntimeName:
    from chaoskafka.runtimes.docker.engine import connect  # noqa: PLC0415 - only who asks for it waits for its import

    try:
        with connect() as engine:
            complain(f"chaoskafka: runtime docker: engine {engine.version}")
            return RuntimeName.DOCKER
    except EnvironmentFailure as none:
        complain(f"chaoskafka: runtime process, as no Docker engine answers: {none.problem}")
        return RuntimeName.PROCESS


def _process_or_plain() -> RuntimeName:
    """Blocks for hundredths of a second: namespaces are made for a try."""
    from chaoskafka.runtimes.process.control import why_no_namespaces  # noqa: PLC0415 - as above

    if why := why_no_namespaces():
        complain(f"chaoskafka: runtime process-plain, which plays faults of processes only, as namespaces fail: {why}")
        return RuntimeName.PROCESS_PLAIN
    return RuntimeName.PROCESS
