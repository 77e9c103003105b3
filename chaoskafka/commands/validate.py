"""`chaoskafka validate FILE…`: load scenarios as a run would, and start nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from chaoskafka.commands import RuntimeName
from chaoskafka.commands.choice import chosen
from chaoskafka.commands.output import explain, gravest, say
from chaoskafka.errors import ExitCode, UsageError
from chaoskafka.scenario.find import find_scenarios
from chaoskafka.scenario.load import load_scenario


def main(
    scenarios: Sequence[str],
    settings: Sequence[str],
    variable: Sequence[str],
    runtime: RuntimeName = RuntimeName.DOCKER,
) -> ExitCode:
    """Blocks only for `auto`, which asks the engine, and `process`, which tries namespaces.

    Every wrong file is explained, not only the first.
    """
    named = chosen(runtime)
    codes = [code for word in scenarios for code in _validate(word, settings, variable, named)]
    return gravest(codes)


def _validate(word: str, settings: Sequence[str], variable: Sequence[str], runtime: RuntimeName) -> Iterator[ExitCode]:
    try:
        paths = find_scenarios([word]).values()
    except UsageError as wrong:
        explain(wrong)
        yield wrong.exit_code
        return
    yield from (_validate_file(path, settings, variable, runtime) for path in paths)


def _validate_file(path: Path, settings: Sequence[str], variable: Sequence[str], runtime: RuntimeName) -> ExitCode:
    try:
        scenario = load_scenario(path, settings=settings, variable=variable, runtime=runtime)
    except UsageError as wrong:
        explain(wrong)
        return wrong.exit_code
    faults = ", ".join(step.word for step in scenario.plan)
    say(f"{path}: ok: {scenario.title}: {faults}; judged by {', '.join(item.word for item in scenario.expect)}")
    return ExitCode.PASS
