"""`chaoskafka stats` and `chaoskafka compare`: failover times of many runs, summed up, kept, compared, and ruled on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chaoskafka.commands.output import say, writable
from chaoskafka.ending import EXIT_OF
from chaoskafka.errors import ExitCode, UsageError
from chaoskafka.statistics.as_text import comparison_text, rulings_text, stats_text
from chaoskafka.statistics.rules import Rule, judge_rule
from chaoskafka.statistics.side import Side, load_side
from chaoskafka.verdict import Answer


def summed_up(runs: Sequence[Path], save: Path | None) -> ExitCode:
    """Blocks while results are read. Raises UsageError, HistoryError."""
    writable(save)
    side = load_side(runs)
    say(stats_text(side))
    if save is not None:
        keep(side, save)
    return ExitCode.PASS


def compared(a: Path, b: Path, fail_if: Sequence[str]) -> ExitCode:
    """Without rules the exit code is 0, whatever differs. Raises UsageError, HistoryError."""
    rules = [Rule.parse(text) for text in fail_if]
    before, now = load_side([a]), load_side([b])
    say(comparison_text(before, now))
    return ruled_on(rules, before, now)


def ruled_on(rules: Sequence[Rule], baseline: Side | None, now: Side) -> ExitCode:
    """Say how each rule came out; the exit code of all together. Raises UsageError."""
    rulings = [ruling for rule in rules for ruling in judge_rule(rule, baseline, now)]
    if not rulings:
        return ExitCode.PASS
    say("\n" + rulings_text(rulings))
    return EXIT_OF[Answer.worst(ruling.answer for ruling in rulings)]


def keep(side: Side, path: Path) -> None:
    """Write a baseline. Raises UsageError when it cannot be."""
    try:
        side.save(path)
    except OSError as refused:
        raise UsageError(f"{path}: cannot be written: {refused.strerror}") from refused
    say(f"saved          {path}: {side.runs} runs")
