"""Runs as one HTML file: without a server, without a network, readable without its script.

In: WholeRuns. Out: HTML text, at most SIZE_MAX_BYTES. Pure but for reading the package's own templates. Everything from
a run is escaped by the templates, and a content security policy forbids whatever is not the page's own.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from chaoskafka import __version__
from chaoskafka.report.answer import UNJUDGED
from chaoskafka.report.drawing import Drawing, drawn
from chaoskafka.report.phase_table import PhaseSpan, phase_spans
from chaoskafka.report.settings_table import SettingsTable, settings_table
from chaoskafka.report.step_table import StepGroup, step_groups
from chaoskafka.report.whole import WholeRun, answer_of, title_of, why_of
from chaoskafka.timing.times import FaultTimes
from chaoskafka.visible import visible

SIZE_MAX_BYTES = 3_000_000  # what a mail server and a CI system's artifact viewer take without complaint
TEXT_MAX = 2_000  # characters of one text from a run: a traceback's end, not a dump
PLACES_MAX = 8  # partitions named in one note
ROWS_MAX = 600  # rows of the table of all figures; result.json and the CSV have every one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """One run as the template wants it."""

    number: int
    run: WholeRun
    answer: str
    why: str
    facts: Mapping[str, str]
    drawing: Drawing | None
    spans: Mapping[int, Sequence[PhaseSpan]]
    steps: Mapping[int | None, Sequence[StepGroup]]
    notes: Mapping[int, Sequence[str]]  # why figures of a fault are missing
    settings: SettingsTable


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """One run in the list of several."""

    number: int
    answer: str
    title: str
    why: str
    seed: int
    run_dir: str
    is_rehearsal: bool


def as_html(runs: Sequence[WholeRun]) -> str:
    """One page. Where many runs make it too large, the last ones lose their drawings, then all but their answer."""
    template = _environment().get_template("report.html.j2")
    head, sections = _head(runs), []
    frame = len(_rendered(template, head, []).encode())
    joint = max(0, len(_rendered(template, head, [""]).encode()) - frame)  # what the template puts around a section
    room = SIZE_MAX_BYTES - frame
    for number, run in enumerate(runs, start=1):
        for page in (_page(run, number, with_drawing=True), _page(run, number, with_drawing=False)):
            section = (
                _environment().get_template("run.html.j2").render(page=page, many=len(runs) > 1, rows_max=ROWS_MAX)
            )
            size = len(section.encode()) + joint
            if size <= room:
                room -= size
                sections.append(section)
                break
        else:
            break  # those that follow would stand under wrong numbers
    return _rendered(template, head, sections)


def _rendered(template: Template, head: Sequence[_Head], sections: Sequence[str]) -> str:
    title = head[0].title if len(head) == 1 else f"{len(head)} runs"
    return str(
        template.render(
            title=title,
            answer=_worst([one.answer for one in head]),
            head=head,
            sections=[Markup(section) for section in sections],  # noqa: S704 - rendered by a template that escapes
            left_out=len(head) - len(sections),
            style=_file("report.css"),
            script=_file("report.js"),
            script_hash=_hash(_file("report.js")),
            version=__version__,
        )
    )


def _head(runs: Sequence[WholeRun]) -> list[_Head]:
    return [
        _Head(
            number=number,
            answer=answer_of(run),
            title=title_of(run),
            why=why_of(run),
            seed=run.header.seed,
            run_dir=str(run.run_dir),
            is_rehearsal=run.header.runtime == "fake",
        )
        for number, run in enumerate(runs, start=1)
    ]


def _worst(answers: Sequence[str]) -> str:
    return next((one for one in ("fail", "unknown", UNJUDGED, "pass") if one in answers), "pass")


def _page(run: WholeRun, number: int, *, with_drawing: bool) -> _Page:
    faults = run.result.faults if run.result else ()
    return _Page(
        number=number,
        run=run,
        answer=answer_of(run),
        why=why_of(run),
        facts=_facts(run),
        drawing=drawn(run.timeline) if run.timeline is not None and with_drawing else None,
        spans={fault.index: phase_spans(list(run.phases), fault.index) for fault in faults},
        steps={fault: step_groups(run.steps, fault) for fault in (*(f.index for f in faults), None)},
        notes={fault.index: _notes(fault) for fault in faults},
        settings=settings_table(run.header),
    )


def _notes(fault: FaultTimes) -> list[str]:
    """Each reason once, with the partitions that it holds for."""
    places: dict[str, list[str]] = {}
    for partition in fault.partitions:
        if partition.note:
            places.setdefault(partition.note, []).append(f"{partition.topic}/{partition.partition}")
    return [f"{_few(found)}: {note}" for note, found in places.items()]


def _few(places: Sequence[str]) -> str:
    more = f" and {len(places) - PLACES_MAX} more" if len(places) > PLACES_MAX else ""
    return ", ".join(places[:PLACES_MAX]) + more


def _facts(run: WholeRun) -> Mapping[str, str]:
    result, header = run.result, run.header
    facts = {"scenario": header.scenario_file or header.scenario_name, "seed": str(header.seed)}
    if result is not None and result.started_at:
        facts["started"] = result.started_at.replace("T", " ")[:19] + " UTC"
    if result is not None and result.duration_s is not None:
        facts["took"] = f"{result.duration_s:.0f} s"
    facts |= {"runtime": header.runtime, "clients": header.clients.replace("_", " ")}
    if "kafka" in header.versions:
        facts["Kafka"] = header.versions["kafka"]
    facts["nodes"] = str(len(header.nodes))
    facts["partitions"] = str(sum(topic.partitions for topic in header.topics))
    return facts


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("chaoskafka.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters["seconds"] = seconds
    environment.filters["span"] = lambda span: seconds(*span) if span is not None else ""
    environment.filters["answer"] = lambda answer: str(answer).replace(" ", "-")
    return environment


def _finalized(value: object) -> object:
    """Everything that a template puts in: text from a run is bounded and visible, and escaped after that."""
    return value if isinstance(value, Markup | int | float) else shown(value)


def shown(text: object) -> str:
    """Text from a run, bounded, with nothing in it that hides or turns what stands beside it."""
    plain = str(text)
    return visible(plain if len(plain) <= TEXT_MAX else plain[:TEXT_MAX] + "…", keep="\n")


def seconds(lo_s: float, hi_s: float) -> str:
    """`9.81` when both ends round to it, else `9.80-10.20`: never more digits than are known."""
    lo, hi = f"{lo_s:.2f}", f"{hi_s:.2f}"
    return hi if lo == hi else f"{lo}-{hi}"


@cache
def _file(name: str) -> Markup:
    """A file of ours, which goes into the page as it is."""
    text = files("chaoskafka.report").joinpath("page", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - ours


def _hash(script: str) -> str:
    """By which the page's policy knows the one script that may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
