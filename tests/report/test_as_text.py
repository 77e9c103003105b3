"""The text report: the answer first, honest figures, and no line too wide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaoskafka.report.as_text import EVIDENCE_SHOWN, PARTITIONS_SHOWN, as_text
from chaoskafka.report.result import Result

RUN = Path("runs/leader-killed/20260101T000000-7")


def text(result: Result, width: int = 120) -> str:
    return as_text(result, RUN, width=width)


def row(report: str, start: str) -> str:
    return next(line for line in report.splitlines() if line.lstrip().startswith(start))


def test_the_answer_comes_first_and_the_way_back_last(result: Result) -> None:
    lines = text(result).splitlines()
    assert lines[0].startswith("FAIL  Leader killed")
    assert lines[-2].endswith(str(RUN))
    assert lines[-1].endswith("chaoskafka run leader-killed --seed 7")


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_asked(result: Result, width: int) -> None:
    lines = text(result, width).splitlines()[:-2]
    assert max(map(len, lines)) <= width


def test_each_check_has_its_answer_its_counts_and_its_summary(result: Result) -> None:
    report = text(result)
    assert row(report, "fail").split()[:5] == ["fail", "no_lost_acknowledged", "8", "of", "14021"]
    assert row(report, "unknown").split()[:3] == ["unknown", "all_delivered", "0"]
    assert row(report, "pass").split()[:3] == ["pass", "took_effect", "1"]


@pytest.mark.parametrize("width", [80, 120])
def test_every_figure_of_a_partition_that_moved_is_there(result: Result, width: int) -> None:
    report = text(result, width)
    moved = report[report.index("orders/0  ") :]
    for figure in ("1→2", "2: 9.11-9.13", "3: 9.12", "9.80-9.90", "9.85-9.95", "9.90-10.02", "±0.05", "17.40-17.52"):
        assert figure in moved


def test_partitions_whose_leader_moved_come_first(result: Result) -> None:
    report = text(result)
    assert report.index("1→2") < report.index("3 stays")


def test_leadership_that_nobody_saw_is_said_in_words(result: Result) -> None:
    (fault, *_) = result.faults
    unseen = replace(fault.partitions[0], old_leader=None, new_leader=None, note="no observer")
    report = text(replace(result, faults=(replace(fault, partitions=(unseen,)),)))
    assert row(report, "orders/1").split()[1:3] == ["not", "seen"]
    assert "?" not in row(report, "orders/1")


def test_a_consequence_names_its_cause(result: Result) -> None:
    lost, unknown, effect = result.checks
    marked = replace(lost, consequence_of="no_unexpected")
    report = text(replace(result, checks=(marked, unknown, effect)))
    assert "[a consequence of no_unexpected]" in " ".join(report.split())
    assert "consequence" not in text(result)


def test_a_rehearsal_says_so_before_anything_else(result: Result) -> None:
    lines = text(replace(result, runtime="fake")).splitlines()
    assert lines[0].startswith("REHEARSAL on runtime fake: no Kafka was involved")
    assert lines[1].startswith("FAIL  Leader killed")


def test_a_fault_that_never_bit_or_never_healed_says_so(result: Result) -> None:
    assert "kill of node nobody, never seen to bite" in text(result)
    still = replace(result.faults[0], window_s=None)
    assert "kill of node 1, never seen to heal" in text(replace(result, faults=(still,)))


def test_evidence_that_several_checks_share_is_told_once(result: Result) -> None:
    first = result.checks[0]
    report = text(replace(result, checks=(first, replace(first, word="ordered"))))
    assert report.count("sequence=0") == 1
    assert 'ordered {"allow": "none"}: evidence as of no_lost_acknowledged' in report


def test_evidence_that_the_summary_tells_already_is_left_out(result: Result) -> None:
    check = replace(
        result.checks[1], summary="fault 0: not healed", evidence=({"where": "fault 0", "why": "not healed"},)
    )
    assert "evidence" not in text(replace(result, checks=(check,)))


def test_a_gap_that_is_still_open_says_so(result: Result) -> None:
    fault = result.faults[0]
    moved = fault.partitions[1]
    still = replace(moved, unavailable=(replace(moved.unavailable[0], open=True),), note="no read after the fault")
    report = text(replace(result, faults=(replace(fault, partitions=(still,)),)))
    assert "still open" in report
    assert "orders/0: no read after the fault" in report


def test_evidence_is_bounded_and_says_how_much_more_there_is(result: Result) -> None:
    report = text(result)
    assert report.count("sequence=") == EVIDENCE_SHOWN
    assert "and 3 more" in report
    assert "KeyError: 'x'" in report


def test_partitions_are_bounded_too(result: Result) -> None:
    fault = result.faults[0]
    many = tuple(replace(fault.partitions[1], partition=i) for i in range(PARTITIONS_SHOWN + 5))
    assert "and 5 more partitions" in text(replace(result, faults=(replace(fault, partitions=many),)))


def test_text_of_the_run_is_no_markup(result: Result) -> None:
    odd = replace(result, title="[bold]x[/bold] :smile:", troubles=("[red]",))
    report = text(odd)
    assert "[bold]x[/bold] :smile:" in report
    assert "[red]" in report
    assert "\x1b" not in report


def test_what_the_controllers_decided_stands_beside_what_their_settings_imply(result: Result) -> None:
    text = as_text(result, Path("runs/x"), width=120)
    line = "broker 1, the controller puts it out: 8.60-8.63, expected 7.00-10.12 (broker.session.timeout.ms)"
    assert line in text.splitlines()
    assert "quorum, a new controller is active: -: it was not seen" in text.splitlines()
    assert "high watermark" not in text, "a partition's own steps would be too many"
