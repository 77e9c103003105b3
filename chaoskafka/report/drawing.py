"""A Timeline laid out: where each lane, bar, line and tick stands. The template only writes it down.

In: a Timeline. Out: a Drawing. Pure. Across, everything is a percentage of the width, so that the page zooms by making
the drawing wider; down, it is pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from chaoskafka.report.timeline.model import Bar, Chart, Lane, Timeline

LANE_PX, STRIP_PX, GAP_PX, HEAD_PX, CHART_PX, AXIS_PX = 16, 4, 5, 24, 84, 26
COLOURS = 8  # of brokers; with more, colours come again and the number in the bar tells
TICKS = 10  # about so many at full width
FINER = (2, 10, 20)  # how many ticks one at full width becomes, level by level, as the page zooms
LABEL_MIN = 1.6  # percent of the width that a bar needs for each character of its label at full width


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBar:
    x: str  # percent
    width: str
    y: float  # pixels
    height: float
    kind: str  # of the class that colours it
    told: str
    label: str
    fits: bool  # whether the label fits at full width; else it shows when zoomed


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnMark:
    x: str
    y: float
    height: float
    kind: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLane:
    name: str
    y: float
    height: float
    bars: tuple[DrawnBar, ...]
    marks: tuple[DrawnMark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnChart:
    """`lines`: name, class and an SVG path in a box of 1000 by CHART_PX."""

    name: str
    unit: str
    y: float
    lines: tuple[tuple[str, str, Markup], ...]
    scale: tuple[tuple[float, str], ...]  # (y in the box, what it stands for)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    x: str
    label: str
    level: int  # 0: always; 1 and up: when zoomed so far
    edge: str  # "first" or "last" where it is so near an end that its label must stand beside it, else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnHead:
    name: str
    note: str | None
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    zero: str
    height: float
    begin_s: float
    end_s: float
    heads: tuple[DrawnHead, ...]
    lanes: tuple[DrawnLane, ...]
    charts: tuple[DrawnChart, ...]
    ticks: tuple[Tick, ...]
    windows: tuple[DrawnBar, ...]  # the faults, over all lanes
    brokers: tuple[tuple[int, str], ...]  # number and class
    states: tuple[str, ...]  # classes of all bars that are drawn, for the legend


def drawn(timeline: Timeline) -> Drawing:
    heads, lanes, charts = [], [], []
    y = float(AXIS_PX)
    kinds = {broker: f"b{i % COLOURS}" for i, broker in enumerate(timeline.brokers)}
    for chart in timeline.charts:
        heads.append(DrawnHead(name=chart.name, note=None, y=y))
        y += HEAD_PX
        charts.append(_chart(chart, timeline, y))
        y += CHART_PX + GAP_PX
    for section in timeline.sections:
        heads.append(DrawnHead(name=section.name, note=section.note, y=y))
        y += HEAD_PX
        for lane in section.lanes:
            height = LANE_PX + lane.rows * STRIP_PX
            lanes.append(_lane(lane, timeline, y, kinds))
            y += height + GAP_PX
    faults = [
        bar
        for section in timeline.sections
        for lane in section.lanes
        for bar in lane.bars
        if bar.state in ("fault", "healing")
    ]
    used = {bar.state for section in timeline.sections for lane in section.lanes for bar in lane.bars}
    return Drawing(
        zero=timeline.zero,
        height=y,
        begin_s=timeline.begin_s,
        end_s=timeline.end_s,
        heads=tuple(heads),
        lanes=tuple(lanes),
        charts=tuple(charts),
        ticks=tuple(ticks(timeline.begin_s, timeline.end_s)),
        windows=tuple(_bar(bar, timeline, AXIS_PX, y - AXIS_PX, kinds) for bar in faults),
        brokers=tuple(kinds.items()),
        states=tuple(sorted(state for state in used if state not in ("leader", "phase", "fault", "healing", "alive"))),
    )


def _percent(at_s: float, timeline: Timeline) -> float:
    return min(100.0, max(0.0, 100 * (at_s - timeline.begin_s) / timeline.length_s))


def _lane(lane: Lane, timeline: Timeline, y: float, kinds: dict[int, str]) -> DrawnLane:
    bars = []
    for bar in lane.bars:
        top = y if bar.row == 0 else y + LANE_PX + (bar.row - 1) * STRIP_PX + 1
        bars.append(_bar(bar, timeline, top, LANE_PX if bar.row == 0 else STRIP_PX - 1, kinds))
    marks = tuple(
        DrawnMark(
            x=f"{_percent(mark.at_s, timeline):.3f}%",
            y=y,
            height=LANE_PX,
            kind=mark.state.replace(" ", "-"),
            told=f"{mark.told}, at {mark.at_s:.2f} s",
        )
        for mark in lane.marks
    )
    height = LANE_PX + lane.rows * STRIP_PX
    return DrawnLane(name=lane.name, y=y, height=height, bars=tuple(bars), marks=marks)


def _bar(bar: Bar, timeline: Timeline, y: float, height: float, kinds: dict[int, str]) -> DrawnBar:
    lo, hi = _percent(bar.lo_s, timeline), _percent(bar.hi_s, timeline)
    kind = kinds.get(bar.broker, "b0") if bar.broker is not None else bar.state.replace(" ", "-")
    return DrawnBar(
        x=f"{lo:.3f}%",
        width=f"{hi - lo:.3f}%",
        y=y,
        height=height,
        kind=kind,
        told=f"{bar.told} ({bar.lo_s:.2f} to {bar.hi_s:.2f} s)",
        label=bar.label,
        fits=hi - lo >= LABEL_MIN + 0.62 * len(bar.label),
    )


def _chart(chart: Chart, timeline: Timeline, y: float) -> DrawnChart:
    values = [value for line in chart.lines for value in line.values if value is not None]
    top = max(values, default=0.0)
    if chart.is_log:
        low = math.floor(math.log10(max(0.1, min((v for v in values if v > 0), default=1.0))))
        high = max(low + 1, math.ceil(math.log10(max(top, 0.1))))
        scale = [(10.0**power, _short(10.0**power)) for power in range(low, high + 1)]

        def height(value: float) -> float:
            return CHART_PX * (1 - (math.log10(max(value, 10.0**low)) - low) / (high - low))
    else:
        # A catch-up burst would flatten all else: what is higher than thrice the usual is cut off at the top.
        usual = sorted(values)[round(0.98 * (len(values) - 1))] if values else 0.0
        roof = nice(max(1.0, min(top, 3 * usual) if usual else top))
        scale = [(0.0, "0"), (roof / 2, _short(roof / 2)), (roof, _short(roof))]

        def height(value: float) -> float:
            return CHART_PX * (1 - min(1.0, value / roof))

    step = 1000 * chart.bin_s / timeline.length_s
    lines = tuple(
        (line.name, f"l{i}", _path([None if v is None else height(v) for v in line.values], step))
        for i, line in enumerate(chart.lines)
    )
    return DrawnChart(
        name=chart.name, unit=chart.unit, y=y, lines=lines, scale=tuple((height(value), told) for value, told in scale)
    )


def _path(heights: Sequence[float | None], step: float) -> Markup:
    """One stroke per run of known values; a lone one is a short dash."""
    parts, pen_down = [], False
    for i, height in enumerate(heights):
        if height is None:
            pen_down = False
            continue
        x = (i + 0.5) * step
        parts.append(f"{'L' if pen_down else 'M'}{x:.1f} {height:.1f}")
        if not pen_down and (i + 1 == len(heights) or heights[i + 1] is None):
            parts.append(f"h{step / 2:.1f}")
        pen_down = True
    return Markup("".join(parts))  # noqa: S704 - letters and numbers of ours, and longer than text from a run may be


def ticks(begin_s: float, end_s: float) -> Iterator[Tick]:
    """Ticks at round seconds, those in between only when zoomed; never one of two levels at one place."""
    step = nice((end_s - begin_s) / TICKS)
    taken: set[int] = set()
    fine_step = step / max(FINER)
    for level, finer in enumerate((1, *FINER)):
        width = step / finer
        for i in range(math.ceil(begin_s / width), math.floor(end_s / width) + 1):
            at_s = i * width
            place = round(at_s / fine_step)
            if place in taken:
                continue
            taken.add(place)
            x = 100 * (at_s - begin_s) / (end_s - begin_s)
            yield Tick(
                x=f"{x:.3f}%",
                label=_short(round(at_s, 6)),
                level=level,
                edge="first" if x < 2 else "last" if x > 98 else "",
            )


def nice(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 … that is not below."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(one * power for one in (1, 2, 5, 10) if one * power >= value * (1 - 1e-9))


def _short(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}"
