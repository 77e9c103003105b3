"""How a command is performed: imported only now, every error of it a message and an exit code.

In: a command's name, and what to ask of its module. Out: the process leaves with the exit code.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import typer

from chaoskafka.errors import ChaosKafkaError, ExitCode


def variable() -> tuple[str, ...]:
    """What $CHAOSKAFKA_SET sets, separated by `;`; flags win over it."""
    return tuple(part.strip() for part in os.environ.get("CHAOSKAFKA_SET", "").split(";") if part.strip())


def perform(command: str, act: Callable[[ModuleType], ExitCode]) -> None:
    """Import a command's module, act, and leave with the exit code; every error becomes a message and a code."""
    output = import_module("chaoskafka.commands.output")
    try:
        code = act(import_module(f"chaoskafka.commands.{command}"))
    except KeyboardInterrupt:
        output.complain("chaoskafka: interrupted")
        code = ExitCode.INTERRUPTED
    except ChaosKafkaError as error:
        output.explain(error)
        code = error.exit_code
    except Exception as bug:  # noqa: BLE001 - the last place where a bug can become an exit code of its own
        output.explain(bug)
        code = ExitCode.INTERNAL
    raise typer.Exit(code)
