"""`timeline(history)`: everything that is drawn over time.

In: a History. Out: a Timeline; None for a run of which nothing is known. Pure.
"""

from __future__ import annotations

from chaoskafka.history.read import History
from chaoskafka.report.timeline.axis import axis_of
from chaoskafka.report.timeline.brokers import broker_section
from chaoskafka.report.timeline.clients import client_section
from chaoskafka.report.timeline.faults import run_section
from chaoskafka.report.timeline.model import Timeline
from chaoskafka.report.timeline.partitions import partition_section
from chaoskafka.report.timeline.series import charts


def timeline(history: History) -> Timeline | None:
    """Raises HistoryError when a table of the run is damaged."""
    axis = axis_of(history)
    if axis is None:
        return None
    sections = (
        run_section(history, axis),
        broker_section(history, axis),
        partition_section(history, axis),
        client_section(history, axis),
    )
    return Timeline(
        begin_s=axis.at_s(axis.begin_ns),
        end_s=axis.at_s(axis.end_ns),
        zero=axis.zero,
        sections=tuple(section for section in sections if section.lanes or section.note),
        charts=tuple(chart for chart in charts(history, axis) if chart.lines),
        brokers=tuple(sorted(int(node) for node in history.header.nodes)),
    )
