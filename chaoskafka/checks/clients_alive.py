"""`clients_alive`: no client gave up, crashed or hung.

In: the workers' reports and the client errors on their tapes. Out: a verdict. An exception of our own worker and the
kernel's out-of-memory kill are not the client's doing: unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaoskafka.history.doubt import Doubt, Reason, tell
from chaoskafka.history.read import History
from chaoskafka.history.tables import WorkerReport
from chaoskafka.history.views import silent_workers
from chaoskafka.verdict import Evidence, Verdict

HUNG = "hung in flush or close"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientsAlive:
    """No fatal client error, no crash by a stranger's signal, no hang in flush or close."""

    def check(self, history: History) -> Verdict:
        failures: list[Evidence] = []
        doubts: list[Doubt] = []
        for report, found in failures_of(history):
            failures += found
            doubts += [] if found else _doubts(report, replaced=_is_replaced(report, history))
        for word in ("produce", "consume"):
            doubts += [
                Doubt(Reason.TAPE_MISSING, f"worker {worker}", "it left no report")
                for worker in silent_workers(history, word)
            ]
        counted = len(history.workers)
        if failures:
            text = f"{len(failures)} client failures: {failures[0]['worker']}, {failures[0]['what']}"
            return Verdict.failed(text, counted=counted, found=len(failures), evidence=failures)
        if doubts:
            return Verdict.unknown(tell(doubts), counted=counted, evidence=[doubt.evidence for doubt in doubts])
        return Verdict.passed(f"all {counted} clients lived and closed in time", counted=counted)


def failures_of(history: History) -> list[tuple[WorkerReport, list[Evidence]]]:
    """Each worker's report, with what the client itself did wrong."""
    fatal = {
        (worker, incarnation): code
        for worker, incarnation, code in history.client_errors.filter("fatal")
        .select("worker", "incarnation", "code")
        .iter_rows()
    }
    return [
        (
            report,
            _failures(report, fatal.get((report.worker, report.incarnation)), replaced=_is_replaced(report, history)),
        )
        for report in history.workers
    ]


def _is_replaced(report: WorkerReport, history: History) -> bool:
    return any(other.worker == report.worker and other.incarnation > report.incarnation for other in history.workers)


def _failures(report: WorkerReport, fatal_code: int | None, *, replaced: bool) -> list[Evidence]:
    name = f"worker {report.worker}.{report.incarnation}"
    fatal = [{"worker": name, "what": f"fatal client error: {text}"} for text in report.fatal]
    if fatal_code is not None and not fatal:
        fatal = [{"worker": name, "what": f"fatal client error, code {fatal_code}"}]
    foreign_signal = report.exit_signal is not None and not report.killed_by_us and not report.out_of_memory
    crashed = [{"worker": name, "what": f"ended by signal {report.exit_signal}"}] if foreign_signal else []
    hung = [{"worker": name, "what": HUNG}] if _hung(report, replaced=replaced) else []
    return [*fatal, *crashed, *hung]


def _hung(report: WorkerReport, *, replaced: bool) -> bool:
    """It closed beyond its bound, or had to be killed because it never closed.

    A worker that a later incarnation replaced was killed on purpose; one that crashed never got to close.
    """
    if report.closed:
        return not report.drained
    if report.crash is not None or report.out_of_memory:
        return False
    still_running = report.exit_code is None and report.exit_signal is None
    return still_running or (report.killed_by_us and not replaced)


def _doubts(report: WorkerReport, *, replaced: bool) -> list[Doubt]:
    """What ended this worker otherwise than by itself."""
    name = f"worker {report.worker}.{report.incarnation}"
    if report.out_of_memory:
        return [Doubt(Reason.OUR_OWN_FAILURE, name, "the kernel killed it for want of memory")]
    if report.crash is not None:
        return [Doubt(Reason.OUR_OWN_FAILURE, name, report.crash.strip().rpartition("\n")[2])]
    if report.killed_by_us and replaced:
        return []
    if report.exit_code or not report.closed:
        return [Doubt(Reason.OUR_OWN_FAILURE, name, f"it exited with {report.exit_code} and no closing report")]
    return []
