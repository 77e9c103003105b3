"""`chaoskafka doctor`: a line for each thing that is tried, and whether a run can work here."""

from __future__ import annotations

import dataclasses
import json
import secrets
from contextlib import ExitStack
from pathlib import Path

from chaoskafka.commands.output import complain, say, writable
from chaoskafka.doctor.examination import Finding, State, Visit
from chaoskafka.doctor.examine import Diagnosis, examine
from chaoskafka.errors import ExitCode
from chaoskafka.phases import stop_on_signals
from chaoskafka.progress import Silent

FORMAT = 1  # of the JSON document


class _OnStderr(Silent):
    def note(self, text: str) -> None:
        complain(text)


def main(out: Path, json_file: Path | None) -> ExitCode:
    """Blocks for about ten seconds. 0: some run can work; 3: something that it needs is missing."""
    writable(json_file)
    with stop_on_signals(_OnStderr()) as stop, ExitStack() as life:
        visit = Visit(run_id=f"doctor-{secrets.token_hex(3)}", out=out, life=life)
        diagnosis = examine(visit, lambda finding: say(line_of(finding)), stop)
    say(summary_of(diagnosis))
    if json_file is not None:
        json_file.write_text(json.dumps(as_plain(diagnosis), indent=2) + "\n", encoding="utf-8")
    return ExitCode.PASS if diagnosis.can_run_on else ExitCode.ENVIRONMENT


def line_of(finding: Finding) -> str:
    """One line, and for what is not ok what that means and what mends it."""
    lines = [f"{finding.state:8} {finding.word:15} {finding.text}"]
    if finding.state is not State.OK:
        lines += [f"{'':24} so: {finding.means}", f"{'':24} to mend it: {finding.mend}"]
    return "\n".join(lines)


def summary_of(diagnosis: Diagnosis) -> str:
    """The last lines."""
    lines = [""]
    if diagnosis.not_examined:
        lines.append(f"not examined, for want of what is missing: {', '.join(diagnosis.not_examined)}")
    if "docker" in diagnosis.can_run_on:
        warnings = sum(finding.state is State.WARNING for finding in diagnosis.findings)
        lines.append(f"a docker run can work here; {warnings} warnings")
    else:
        lines.append(f"no docker run can work here: missing: {', '.join(diagnosis.missing)}")
    can = "can" if "process-plain" in diagnosis.can_run_on else "can not"
    less = "" if can == "can not" or "process" in diagnosis.can_run_on else ", with faults of processes only"
    lines.append(f"a run on processes (--runtime process) {can} work here{less}")
    return "\n".join(lines)


def as_plain(diagnosis: Diagnosis) -> dict[str, object]:
    """The document of --json."""
    return {
        "format": FORMAT,
        "can_run_on": list(diagnosis.can_run_on),
        "findings": [dataclasses.asdict(finding) for finding in diagnosis.findings],
        "not_examined": list(diagnosis.not_examined),
    }
