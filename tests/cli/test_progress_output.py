"""Progress: plain lines that do not flood a CI log, one moving line on a terminal."""

from __future__ import annotations

import io

from rich.console import Console
from rich.live import Live

from chaoskafka.clock import ManualClock
from chaoskafka.commands.progress import LiveProgress, PlainProgress, shown_on


def test_plain_lines_carry_seconds_and_statuses_are_rate_limited() -> None:
    out, clock = io.StringIO(), ManualClock()
    progress = PlainProgress(out, clock)
    progress.phase(7, "play the plan")
    for second in range(21):
        progress.status(f"{second} acks/s")
        clock.pause(1.0)
    progress.note("killed node 2\nand more")
    assert out.getvalue().splitlines() == [
        "    0.0 s  phase 7: play the plan",
        "    0.0 s    0 acks/s",
        "   10.0 s    10 acks/s",
        "   20.0 s    20 acks/s",
        "   21.0 s    killed node 2",
        "   21.0 s    and more",
    ]


def test_a_watcher_who_left_does_not_stop_the_run() -> None:
    out = io.StringIO()
    progress = PlainProgress(out, ManualClock())
    out.close()
    progress.note("still here")


def test_a_stream_that_is_no_terminal_gets_plain_lines() -> None:
    with shown_on(io.StringIO()) as progress:
        assert isinstance(progress, PlainProgress)


def test_the_live_line_shows_phase_seconds_and_status_and_notes_stay() -> None:
    out, clock = io.StringIO(), ManualClock()
    console = Console(file=out, force_terminal=True, width=100, markup=False, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        progress = LiveProgress(live, clock)
        live.update(progress)
        progress.phase(6, "load")
        clock.pause(3.0)
        progress.phase(7, "play the plan")
        progress.status("[b]600 acks/s[/b]")
        clock.pause(12.0)
        progress.note("killed node 2")
        live.refresh()
    shown = out.getvalue()
    assert "phase 6: load  3.0 s" in shown
    assert "phase 7: play the plan  12 s  [b]600 acks/s[/b]" in shown
    assert "killed node 2" in shown
