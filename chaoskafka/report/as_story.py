"""Stories as text: what `chaoskafka explain` prints.

In: Stories. Out: text. Pure; nothing from the run moves a cursor.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from chaoskafka.report.story.model import Step, Story
from chaoskafka.visible import visible

WIDTH = 110


def as_story(stories: Sequence[Story]) -> str:
    """One after the other, an empty line between."""
    return "\n".join("\n".join(_lines(story)) + "\n" for story in stories)


def _lines(story: Story) -> Iterator[str]:
    answer = f"{story.answer.upper()}{', as it must' if story.expected else ''}  " if story.answer else ""
    yield visible(f"{answer}{story.check}: {story.headline}" if story.check else story.headline)
    if story.steps:
        yield visible(f"seconds after {story.zero}")
    for step in story.steps:
        yield from _step(step)
    if story.logs:
        yield ""
        yield "what nodes logged around it"
        for line in story.logs:
            yield from _wrapped(f"  {line.at_s:9.3f}  node {line.node}: ", line.text)
    yield ""
    yield from _wrapped("suspect: ", f"{story.suspect}. {story.reason}")
    for i, command in enumerate(story.next):
        yield visible(f"{'next:   ' if i == 0 else '        '} {command}")


def _step(step: Step) -> Iterator[str]:
    at = f"{step.at_s:9.3f}" if step.at_s is not None else "         "
    told = step.told
    if step.lo_s is not None and step.at_s is not None and step.at_s - step.lo_s >= 0.001:
        told += f" (after {step.lo_s:.3f})"
    yield from _wrapped(f"  {at}  {step.what:16} ", told)


def _wrapped(head: str, text: str) -> list[str]:
    lines = textwrap.wrap(visible(text), WIDTH - len(head), break_on_hyphens=False) or [""]
    return [head + lines[0], *(" " * len(head) + line for line in lines[1:])]
