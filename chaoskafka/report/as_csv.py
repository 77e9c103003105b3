"""Failover times as CSV: one line per interval, for spreadsheets and scripts.

In: WholeRuns. Out: CSV (RFC 4180). Pure.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from chaoskafka.report.whole import WholeRun, answer_of

_ABOUT = ("run_id", "scenario", "seed", "run_answer")
COLUMNS = (
    *_ABOUT,
    "fault",
    "word",
    "partition",
    "figure",
    "of",
    "lo_s",
    "hi_s",
    "allowed_s",
    "answer",
    "bound_s",
    "set_by",
)
# What a spreadsheet takes for a formula when a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(runs: Sequence[WholeRun]) -> str:
    """A heading, then every figure of every run; a run without figures has no line."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for run in runs:
        about = (_cell(run.header.run_id), _cell(run.header.scenario_name), run.header.seed, answer_of(run))
        for row in run.phases:
            allowed = "" if row.allowed_s is None else f"{row.allowed_s:g}"
            texts = (_cell(row.word), _cell(row.where), _cell(row.phase), _cell(row.who))
            figures = (f"{row.lo_s:.6f}", f"{row.hi_s:.6f}", allowed, row.answer or "")
            table.writerow((*about, row.fault, *texts, *figures, "", ""))
        words = {fault.index: fault.word for fault in run.result.faults} if run.result is not None else {}
        for step in run.steps:
            if step.took is None:
                continue
            fault = "" if step.fault is None else step.fault
            word = words.get(step.fault, "") if step.fault is not None else ""
            texts = (_cell(word), "", _cell(step.phase), _cell(f"{step.scope} {step.subject}".strip()))
            bound = "" if step.bound is None else f"{step.bound[1]:.6f}"
            took = (f"{step.took[0]:.6f}", f"{step.took[1]:.6f}")
            table.writerow((*about, fault, *texts, *took, "", "", bound, _cell(step.dominated_by)))
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
