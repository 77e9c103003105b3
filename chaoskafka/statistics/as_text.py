"""Statistics and comparisons for people. In: sides, rulings. Out: text. Pure."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from chaoskafka.statistics.rules import RATIO_STEPS, Ruling
from chaoskafka.statistics.samples import Metric
from chaoskafka.statistics.side import Side
from chaoskafka.statistics.summary import COUNT_MIN, Span, difference, median_s, summarise
from chaoskafka.verdict import Answer
from chaoskafka.visible import cut

WIDTH = 120
FACTS_SHOWN = 40  # differences between two sides; a cluster of another kind differs in everything
UNMEASURED_SHOWN = 10
_STANDS = {Answer.PASS: "inside", Answer.FAIL: "OUTSIDE", Answer.UNKNOWN: "unknown"}


def stats_text(side: Side) -> str:
    """One side: a row for each step."""
    return _text(_stats(side))


def comparison_text(a: Side, b: Side) -> str:
    """Both sides: a row for each step, then what they were made with that differs."""
    return _text(_comparison(a, b))


def rulings_text(rulings: Sequence[Ruling]) -> str:
    """A line for each, the gravest first."""
    order = (Answer.FAIL, Answer.UNKNOWN, Answer.PASS)
    told = sorted(rulings, key=lambda ruling: order.index(ruling.answer))
    return "\n".join(f"{one.answer.upper():8} {one.metric}: {one.why}  [{cut(one.rule)}]" for one in told)


def _stats(side: Side) -> Iterator[RenderableType]:
    yield Text(f"{side.runs} runs; seconds, of each fault the slowest partition, broker or client")
    for scenario in _scenarios(side):
        yield _stats_table(scenario, [metric for metric in side.metrics.values() if metric.scenario == scenario])
    if any(0 < len(metric.samples) < COUNT_MIN for metric in side.metrics.values()):
        yield Text(f"no interval of a median from fewer than {COUNT_MIN} samples", "dim")
    yield from _unmeasured(side)


def _stats_table(scenario: str, metrics: Iterable[Metric]) -> Table:
    table = _table(scenario, "n", "min", "median", "95 % sure", "p90", "max", "bound", "unseen")
    for metric in metrics:
        if metric.samples:
            of = summarise(metric.values_s)
            figures = (of.min_s, of.median_s, of.p90_s, of.max_s)
            least, middle, most_of, most = (f"{figure:.3f}" for figure in figures)
            row = (str(of.count), least, middle, _span(of.sure), most_of, most, _bounded(metric))
            table.add_row(metric.of_fault, *row, str(metric.unseen or ""))
        else:
            table.add_row(metric.of_fault, "0", "", "", "", "", "", "", str(metric.unseen))
    return table


def _comparison(a: Side, b: Side) -> Iterator[RenderableType]:
    for letter, side in (("A", a), ("B", b)):
        yield Text(f"{letter}: {cut(side.name)}, {side.runs} runs")
    for scenario in _scenarios(a, b):
        table = _table(scenario, "n", "A median", "B median", "B - A", "95 % sure", "B / A", "95 % sure", "bounds")
        for name in dict.fromkeys((*a.metrics, *b.metrics)):
            before, now = a.metrics.get(name), b.metrics.get(name)
            if (either := before or now) is not None and either.scenario == scenario:
                table.add_row(either.of_fault, *_compared(before, now))
        yield table
    yield Text(f"a ratio is shown of steps that no timer draws: {', '.join(RATIO_STEPS)}", "dim")
    yield from _unmeasured(a)
    yield from _unmeasured(b)
    yield from _differences(a, b)


def _compared(a: Metric | None, b: Metric | None) -> Iterable[str]:
    of_a, of_b = (metric.values_s if metric is not None else [] for metric in (a, b))
    yield f"{len(of_a)}, {len(of_b)}"
    yield f"{median_s(of_a):.3f}" if of_a else ""
    yield f"{median_s(of_b):.3f}" if of_b else ""
    if a is None or b is None or not of_a or not of_b:
        yield from ("", "", "", "")
    else:
        found = difference(of_a, of_b)
        yield f"{found.seconds:+.3f}"
        yield _span(found.seconds_sure, "+.3f")
        shown = a.step in RATIO_STEPS
        yield f"{found.ratio:.2f}" if shown and found.ratio is not None else ""
        yield _span(found.ratio_sure, ".2f") if shown else ""
    bounds = [_bounded(metric) if metric is not None else "" for metric in (a, b)]
    yield ", ".join(bound or "-" for bound in bounds) if any(bounds) else ""


def _differences(a: Side, b: Side) -> Iterator[RenderableType]:
    keys = sorted(a.made_with.keys() | b.made_with.keys())
    differ = [key for key in keys if a.made_with.get(key) != b.made_with.get(key)]
    if not differ:
        yield Text("made with the same versions and settings")
        return
    both = [key for key in differ if key in a.made_with and key in b.made_with]
    table = _table("made with", "A", "B")
    for key in both[:FACTS_SHOWN]:
        table.add_row(cut(key), *(cut(", ".join(side.made_with[key])) for side in (a, b)))
    if both:
        yield table
    if len(both) > FACTS_SHOWN:
        yield Text(f"… and {len(both) - FACTS_SHOWN} more differences", "dim")
    if alone := [key for key in differ if key not in both]:
        yield Text(f"and {len(alone)} settings that only one of them has, such as {cut(alone[0])}", "dim")


def _scenarios(*sides: Side) -> Iterable[str]:
    return dict.fromkeys(metric.scenario for side in sides for metric in side.metrics.values())


def _unmeasured(side: Side) -> Iterator[RenderableType]:
    for one in side.unmeasured[:UNMEASURED_SHOWN]:
        yield Text(f"not counted: {cut(one.run)}: {one.why}", "yellow")
    if len(side.unmeasured) > UNMEASURED_SHOWN:
        yield Text(f"… and {len(side.unmeasured) - UNMEASURED_SHOWN} more runs not counted", "yellow")


def _bounded(metric: Metric) -> str:
    """How many samples lie in the bound of their own settings; "": there is none."""
    stands = [sample.stands for sample in metric.samples if sample.bound is not None]
    if not stands:
        return ""
    worst = Answer.worst(stands)
    return f"{_STANDS[worst]} {stands.count(worst)}/{len(stands)}"


def _span(span: Span | None, form: str = ".3f") -> str:
    return f"{span[0]:{form}} to {span[1]:{form}}" if span is not None else ""


def _table(*head: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for i, title in enumerate(head):
        table.add_column(title, justify="left" if i == 0 or len(head) == len(("", "A", "B")) else "right")
    return table


def _text(parts: Iterable[RenderableType]) -> str:
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, no_color=True, highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
