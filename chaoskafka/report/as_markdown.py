"""Runs as Markdown, for the step summary of a CI system: short, and no text of a run can pass for markup.

In: WholeRuns. Out: Markdown, at most SIZE_MAX_BYTES. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chaoskafka.report.as_html import seconds
from chaoskafka.report.phase_table import phase_spans
from chaoskafka.report.whole import WholeRun, answer_of, title_of, why_of
from chaoskafka.visible import visible

SIZE_MAX_BYTES = 200_000  # GitHub takes 1 MiB for all steps of a job together; more than this nobody reads there
CELL_MAX = 400  # characters of one text from a run
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&@:$/])")
_CUT = "\n\n… cut here: the rest is in result.json and report.html of each run directory.\n"


def as_markdown(runs: Sequence[WholeRun]) -> str:
    """One section per run, several runs after a table of their answers."""
    parts = [_list(runs)] if len(runs) > 1 else []
    parts += ["\n".join(_section(run)) for run in runs]
    text = "\n\n".join(parts) + "\n"
    if len(text.encode()) <= SIZE_MAX_BYTES:
        return text
    room = SIZE_MAX_BYTES - len(_CUT.encode())
    whole_lines, _, _ = text.encode()[:room].rpartition(b"\n")
    return whole_lines.decode("utf-8", "ignore") + _CUT


def escaped(text: object) -> str:
    """Text from a run: on one line, bounded, and nothing in it is markup."""
    plain = visible(str(text).replace("\n", " "))
    plain = plain if len(plain) <= CELL_MAX else plain[:CELL_MAX] + "…"
    return _MARKUP.sub(r"\\\1", plain)


def code(text: object) -> str:
    """A command or path as it may be copied: in a fence longer than any in it."""
    plain = visible(str(text).replace("\n", " "))
    ticks = "`" * (max((len(found) for found in re.findall(r"`+", plain)), default=0) + 1)
    return f"{ticks} {plain} {ticks}" if "`" in plain else f"{ticks}{plain}{ticks}"


def _list(runs: Sequence[WholeRun]) -> str:
    passed = sum(answer_of(run) == "pass" for run in runs)
    rows = [
        f"| **{answer_of(run)}** | {escaped(title_of(run))} | {run.header.seed} | {escaped(why_of(run))} |"
        for run in runs
    ]
    head = [
        f"## {passed} of {len(runs)} runs passed",
        "",
        "| answer | scenario | seed | why |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows])


def _section(run: WholeRun) -> Iterator[str]:
    yield f"### {answer_of(run).upper()}: {escaped(title_of(run))} (seed {run.header.seed})"
    yield ""
    if run.header.runtime == "fake":
        yield "Rehearsal on runtime fake: no Kafka was involved, and no answer is about Kafka."
        yield ""
    if run.result is not None and run.result.question:
        yield f"{escaped(run.result.question)}  "
    yield escaped(why_of(run))
    for story in run.stories:
        yield ""
        must = "As it must in this control: " if story.expected else ""
        yield f"{must}**{escaped(story.headline)}.** Suspect: {story.suspect}. {escaped(story.reason)}"
    if run.result is not None:
        yield from _checks(run)
        for fault in run.result.faults:
            yield from _times(run, fault.index, fault.word)
    yield ""
    yield f"Again: {code(run.header.replay)}  "
    yield f"Run directory: {code(run.run_dir)}"


def _checks(run: WholeRun) -> Iterator[str]:
    assert run.result is not None
    yield from ("", "| check | answer | looked at | in words |", "| --- | --- | ---: | --- |")
    for check in run.result.checks:
        answer = f"**{check.answer}**{', as it must' if check.expected else ''}"
        yield f"| {escaped(check.word)} | {answer} | {check.counted} | {escaped(check.summary)} |"


def _times(run: WholeRun, fault: int, word: str) -> Iterator[str]:
    spans = phase_spans(list(run.phases), fault)
    if not spans:
        return
    yield from ("", f"| fault {fault}, {escaped(word)}: seconds after the deed | quickest | slowest | allowed |")
    yield "| --- | ---: | ---: | ---: |"
    for span in spans:
        quick, slow = span.quickest, span.slowest
        allowed = f"{slow.allowed_s:g}" if slow.allowed_s is not None else ""
        cells = seconds(quick.lo_s, quick.hi_s), seconds(slow.lo_s, slow.hi_s), allowed
        yield f"| {escaped(span.name)} | {' | '.join(cells)} |"
