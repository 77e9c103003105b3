"""Failover times as CSV: one line per interval, for spreadsheets and scripts.

In: WholeRuns. Out: CSV (RFC 4180). Pure.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from chaoskafka.report.whole import WholeRun, answer_of

_ABOUT = ("run_id", "scenario", "seed", "run_answer")
COLUMNS = (*_ABOUT, "fault", "word", "partition", "figure", "of", "lo_s", "hi_s", "allowed_s", "answer")
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
            table.writerow((*about, row.fault, *texts, *figures))
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
