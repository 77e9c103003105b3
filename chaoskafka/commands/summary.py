"""`summary.md`: all runs of a call as Markdown, for the step summary of a CI system.

In: how each ended, and what there is of it. Out: Markdown. The runs themselves are `report.as_markdown`'s; added here
is what left nothing to report of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaoskafka.fleet.outcome import Ended
from chaoskafka.report.as_markdown import as_markdown, escaped
from chaoskafka.report.whole import WholeRun

SUMMARY_FILE = "summary.md"
OTHERS_SHOWN = 100  # rows: who played more and got nowhere has one reason, and results.json has all


def summary(every: Sequence[Ended], runs: Mapping[tuple[str, int], WholeRun]) -> str:
    """`runs`: by `Asked.key`, those of which there is a run directory that could be read."""
    told = [runs[one.asked.key] for one in every if one.asked.key in runs]
    others = [one for one in every if one.asked.key not in runs]
    parts = [as_markdown(told)] if told else []
    if others:
        rows = [
            f"| **{escaped(one.word)}** | {escaped(one.asked.name)} | {one.asked.seed} | {escaped(one.problem)} |"
            for one in others[:OTHERS_SHOWN]
        ]
        head = [f"## {len(others)} runs left nothing to report of", "", "| ended | scenario | seed | why |"]
        parts.append("\n".join([*head, "| --- | --- | --- | --- |", *rows]) + "\n")
        if len(others) > OTHERS_SHOWN:
            parts.append(f"… and {len(others) - OTHERS_SHOWN} more, in results.json\n")
    return "\n".join(parts)
