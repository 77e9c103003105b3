"""The table of times: every figure a line, readable by any CSV reader, and no cell a formula."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from chaoskafka.report.as_csv import COLUMNS, as_csv
from chaoskafka.report.whole import whole_run
from tests.histories.copy import Copy


def test_every_figure_of_every_run_is_a_line(good: Copy) -> None:
    run = whole_run(good.run_dir)
    rows = list(csv.DictReader(io.StringIO(as_csv([run, run]))))
    seen = [step for step in run.steps if step.took is not None]
    assert len(rows) == 2 * (len(run.phases) + len(seen)) > 0
    first, figure = rows[0], run.phases[0]
    assert tuple(first) == COLUMNS
    assert (first["run_answer"], first["partition"], first["figure"]) == ("pass", figure.where, "seen_by")
    assert float(first["lo_s"]) <= float(first["hi_s"]) <= float(first["allowed_s"]) == 5.0
    assert {row["answer"] for row in rows} == {"pass", ""}


def test_a_run_that_was_not_judged_has_no_line(good: Copy) -> None:
    run = replace(whole_run(good.run_dir), result=None, phases=(), steps=())
    assert as_csv([run]).splitlines() == [",".join(COLUMNS)]


def test_no_cell_is_a_formula_and_every_text_comes_back(good: Copy) -> None:
    run = whole_run(good.run_dir)
    odd = replace(run.phases[0], who='=cmd|"/c calc"!A1, "x"\n', where="@a", word="+b", phase="-c")
    header = replace(run.header, scenario_name="=1+1")
    (row,) = csv.DictReader(io.StringIO(as_csv([replace(run, phases=(odd,), steps=(), header=header)])))
    assert row["of"] == '\'=cmd|"/c calc"!A1, "x"\n'
    assert [row[name] for name in ("partition", "word", "figure", "scenario")] == ["'@a", "'+b", "'-c", "'=1+1"]
