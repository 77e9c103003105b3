"""`chaoskafka run`: load every scenario first, play them, report each and all together, and exit by the gravest."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from chaoskafka.clock import NS_PER_S
from chaoskafka.commands import RunRequest, RuntimeName
from chaoskafka.commands.asked import asked_of, replay_command, with_earlier_settings
from chaoskafka.commands.choice import chosen
from chaoskafka.commands.output import complain, explain, gravest, say, show_result, writable, write_reports
from chaoskafka.commands.progress import several_on, shown_on
from chaoskafka.commands.report import write_page
from chaoskafka.commands.stats import ruled_on
from chaoskafka.commands.summary import SUMMARY_FILE, summary
from chaoskafka.errors import ChaosKafkaError, ExitCode, HistoryError, UsageError, told
from chaoskafka.fleet.bundle import bundle
from chaoskafka.fleet.child import Order
from chaoskafka.fleet.children import Fleet
from chaoskafka.fleet.keeping import remove_old
from chaoskafka.fleet.outcome import RESULTS_FILE, Asked, Ended, save_results
from chaoskafka.fleet.playing import How, play, problem_of
from chaoskafka.fleet.room import Room
from chaoskafka.phases import interrupted_by_signals, stop_on_signals
from chaoskafka.report.result import RESULT_FILE, Result, read_result
from chaoskafka.report.whole import WholeRun
from chaoskafka.statistics.as_text import comparison_text, stats_text
from chaoskafka.statistics.rules import Rule
from chaoskafka.statistics.side import Side, load_side, side_of

SLOWEST_SHOWN = 5  # runs; where the time goes, if there are many


def main(request: RunRequest) -> ExitCode:
    """Blocks for minutes. Raises UsageError before anything was started."""
    if request.keep and request.runtime is RuntimeName.FAKE:
        raise UsageError("--keep: a rehearsal on runtime fake leaves nothing that could be kept")
    with interrupted_by_signals():
        request = with_earlier_settings(replace(request, runtime=chosen(request.runtime)))
        return _run(request)


def _run(request: RunRequest) -> ExitCode:
    asked = asked_of(request)
    rules = [Rule.parse(text) for text in request.fail_if]
    baseline = load_side([request.baseline]) if request.baseline is not None else None
    for rule in rules:
        rule.check(baseline, [one.scenario.name for one in asked])
    writable(request.junit, request.json, request.bundle)
    _make_out(request.out)
    book = _Book(request=request, rules=rules, baseline=baseline)
    if not asked:
        say("no run is to be played: none had failed" if request.rerun_failed else "no run is in this share")
        return book.close(asked)
    interrupted = False
    try:
        if len(asked) > 1 and request.jobs != 1:
            _beside_each_other(asked, request, book)
        else:
            _one_after_the_other(asked, request, book)
    except KeyboardInterrupt:  # between two runs: what has been played is reported all the same
        interrupted = True
    return gravest([book.close(asked), *[ExitCode.INTERRUPTED] * interrupted])


@dataclass(slots=True, kw_only=True)
class _Book:
    """Takes down how each run ended, shows it, and in the end writes what all came to."""

    request: RunRequest
    aside: Callable[[], AbstractContextManager[None]] = nullcontext
    ended: list[Ended] = field(default_factory=list)
    runs: dict[tuple[str, int], WholeRun] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    baseline: Side | None = None

    def take(self, one: Ended) -> None:
        with self.aside():
            if one.code is not None and one.run_dir is None:
                complain(f"chaoskafka: {one.asked.label}: {one.problem}")
            shown = _show(one.run_dir) if one.run_dir is not None else None
            run = write_page(one.run_dir) if one.run_dir is not None else None
        if one.run_dir is not None and shown is None and not one.problem:
            one = replace(one, problem=problem_of(one.run_dir))
        self.ended.append(replace(one, result=shown))
        if run is not None:  # without its timeline, which is most of it and is in its page
            self.runs[one.asked.key] = replace(run, timeline=None)

    def close(self, asked: Sequence[Asked]) -> ExitCode:
        """Everything that was asked, in its order. Raises UsageError when a report cannot be written."""
        by_run = {one.asked.key: one for one in self.ended}
        missed = "not played: the call ended before its turn"
        every = [by_run.get(one.key, Ended(asked=one, code=None, problem=missed)) for one in asked]
        if len(every) > 1:
            say(_summary(every))
        results = self.request.out / RESULTS_FILE
        with _told(str(results)):
            save_results(results, every, (*self.request.variable, *self.request.settings))
        page = self.request.out / SUMMARY_FILE
        with _told(str(page)):
            page.write_text(summary(every, self.runs), encoding="utf-8")
        self._keep(every)
        judged = [(one.result, one.run_dir) for one in every if one.result is not None and one.run_dir is not None]
        unjudged = [one.unjudged for one in every if one.ended_otherwise]
        write_reports(judged, unjudged, junit=self.request.junit, json_lines=self.request.json)
        ruled = self._timed([run_dir for _, run_dir in judged])
        return gravest([ruled, *(one.code for one in self.ended if one.code is not None)])

    def _timed(self, judged: Sequence[Path]) -> ExitCode:
        """Failover times of repeated runs together, and what the rules say of them."""
        if self.request.repeat == 1 and not self.rules and self.baseline is None:
            return ExitCode.PASS
        if not judged:
            if self.rules:
                say("no run was judged, so no rule can be told to hold")
            return ExitCode.UNKNOWN if self.rules else ExitCode.PASS
        try:
            now = side_of(judged, name=str(self.request.out))
            say(f"\n{stats_text(now) if self.baseline is None else comparison_text(self.baseline, now)}")
            return ruled_on(self.rules, self.baseline, now)
        except UsageError as wrong:  # told last: what was played is reported all the same
            explain(wrong)
            return wrong.exit_code

    def _keep(self, every: Sequence[Ended]) -> None:
        """What failed, for an artifact; of older runs the newest. What cannot be done is told, and changes no code."""
        played = [one.run_dir for one in every if one.run_dir is not None]
        failed = [one.run_dir for one in every if one.run_dir is not None and one.code is not ExitCode.PASS]
        into, keep = self.request.bundle, self.request.keep_runs
        if into is not None and failed:
            with _told(str(into)):
                done = bundle(failed, into)
                size = f"{done.size_bytes / 1e6:.1f} MB"
                say(f"bundle         {into}: {done.files} files, {size}, {done.left_out} left out")
        elif into is not None:
            into.unlink(missing_ok=True)  # made to see that it can be written
        if keep is not None:
            for name in dict.fromkeys(one.asked.scenario.name for one in every if one.run_dir is not None):
                with _told(f"--keep-runs: {self.request.out / name}"):
                    gone = remove_old(self.request.out, name, keep=keep, spare=played)
                    if gone:
                        say(f"removed        {len(gone)} older runs of {name}")


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as refused:
        complain(f"chaoskafka: {what}: {refused.strerror}")


def _one_after_the_other(asked: Sequence[Asked], request: RunRequest, book: _Book) -> None:
    for one in asked:
        ended = _play(one, request)
        book.take(ended)
        if ended.code is ExitCode.INTERRUPTED or (request.fail_fast and ended.code is not ExitCode.PASS):
            return


def _play(one: Asked, request: RunRequest) -> Ended:
    started_ns = time.monotonic_ns()
    how = How(
        out=request.out,
        keep=request.keep,
        timeout_s=request.timeout_s,
        runtime=request.runtime,
        replay=replay_command(one.name, one.seed, request),
    )
    try:
        with shown_on() as progress:
            outcome = play(one.scenario, one.seed, how, progress)
    except ChaosKafkaError as error:
        return Ended(asked=one, code=error.exit_code, problem=told(error))
    duration_s = (time.monotonic_ns() - started_ns) / NS_PER_S
    return Ended(asked=one, code=outcome.exit_code, run_dir=outcome.run_dir, duration_s=duration_s)


def _beside_each_other(asked: Sequence[Asked], request: RunRequest, book: _Book) -> None:
    with several_on() as board, stop_on_signals(board) as stop:
        book.aside = board.aside
        Fleet(
            jobs=request.jobs if request.jobs is not None else len(asked),
            room=Room.at_engine() if request.runtime is RuntimeName.DOCKER else Room.here(),
            runtime=request.runtime,
            orders=lambda one: _order(one, request),
            board=board,
            stop=stop,
            on_end=book.take,
            fail_fast=request.fail_fast,
        ).play(asked)
        if stop.is_set():
            raise KeyboardInterrupt


def _order(one: Asked, request: RunRequest) -> Order:
    return Order(
        path=str(one.path),
        seed=one.seed,
        settings=request.settings,
        variable=request.variable,
        out=str(request.out),
        keep=request.keep,
        timeout_s=request.timeout_s,
        runtime=request.runtime,
        replay=replay_command(one.name, one.seed, request),
        started_by=os.getpid(),
    )


def _make_out(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=out):  # that it is there does not say that anything can be made in it
            pass
    except (OSError, ValueError) as refused:
        why = getattr(refused, "strerror", None) or "no file can have such a name"
        raise UsageError(f"--out (CHAOSKAFKA_OUT) {out}: cannot hold run directories: {why}") from refused


def _show(run_dir: Path) -> Result | None:
    """The report of a run that was judged; a run that was not says where it is."""
    if not (run_dir / RESULT_FILE).exists():
        complain(f"chaoskafka: not judged; what there is: {run_dir}")
        return None
    try:
        result = read_result(run_dir / RESULT_FILE)
    except HistoryError as broken:
        explain(broken)
        return None
    show_result(result, run_dir)
    return result


def _summary(ended: Sequence[Ended]) -> str:
    lines = [f"{one.word:12} {one.asked.scenario.name}  seed {one.asked.seed}  {one.run_dir or '-'}" for one in ended]
    passed = sum(one.code is ExitCode.PASS for one in ended)
    timed = sorted(
        ((one.duration_s, one.asked) for one in ended if one.duration_s is not None),
        key=lambda pair: -pair[0],
    )
    slowest = [f"  {took_s:6.1f} s  {asked.label}" for took_s, asked in timed[:SLOWEST_SHOWN]]
    return "\n".join(["", f"{passed} of {len(ended)} runs passed", *lines, *["slowest"] * bool(slowest), *slowest])
