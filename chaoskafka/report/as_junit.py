"""Results as JUnit XML, which every CI system shows: a suite per run, a test case per check.

In: results with their run directories. Out: XML text. Pure. A fail is a `<failure>`; an unknown is an `<error>`, since
the question was asked and not answered, which must never look like a pass or a skip.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from chaoskafka.report.as_text import as_text
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.verdict import Answer

# XML 1.0 cannot hold these characters at all, not even escaped; broker logs and tracebacks may contain them.
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A run that came to no result: the environment failed it, or it was interrupted."""

    name: str  # of the scenario, or the directory
    problem: str


def as_junit(results: Sequence[tuple[Result, Path]], unjudged: Sequence[Unjudged] = ()) -> str:
    """One document for all runs of a command; a run without a result is an error in it, not a gap."""
    root = ET.Element("testsuites", name="chaoskafka")
    for result, run_dir in results:
        root.append(_suite(result, run_dir))
    root.extend(_unjudged(run) for run in unjudged)
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False, short_empty_elements=True) + "\n"


def _unjudged(run: Unjudged) -> ET.Element:
    name, headline = _clean(run.name), _clean(run.problem.partition("\n")[0])
    suite = ET.Element("testsuite", name=name, tests="1", failures="0", errors="1", skipped="0")
    case = ET.SubElement(suite, "testcase", classname=name, name="run", time="0")
    ET.SubElement(case, "error", type="unjudged", message=headline).text = _clean(run.problem)
    return suite


def _suite(result: Result, run_dir: Path) -> ET.Element:
    answers = [_counts_as(check) for check in result.checks]
    suite = ET.Element(
        "testsuite",
        name=_clean(f"{result.scenario} (rehearsal)" if result.is_rehearsal else result.scenario),
        tests=str(len(answers)),
        failures=str(answers.count(Answer.FAIL)),
        errors=str(answers.count(Answer.UNKNOWN)),
        skipped="0",
        time=f"{result.duration_s or 0:.3f}",
    )
    if result.started_at:
        suite.set("timestamp", _clean(result.started_at))
    properties = ET.SubElement(suite, "properties")
    facts = {"run_id": result.run_id, "seed": str(result.seed), "replay": result.replay, "run_dir": str(run_dir)}
    facts["runtime"] = result.runtime
    for name, value in {**facts, **{f"version.{part}": text for part, text in result.versions.items()}}.items():
        ET.SubElement(properties, "property", name=_clean(name), value=_clean(value))
    for check in result.checks:
        suite.append(_case(check, result.scenario))
    ET.SubElement(suite, "system-out").text = _clean(as_text(result, run_dir))
    return suite


def _case(check: CheckResult, scenario: str) -> ET.Element:
    case = ET.Element("testcase", classname=_clean(scenario), name=_clean(check.word), time="0")
    answer = _counts_as(check)
    if check.expected:
        ET.SubElement(case, "system-out").text = _clean(f"failed, as it must in a control: {check.summary}")
    if answer is not Answer.PASS:
        tag = "failure" if answer is Answer.FAIL else "error"
        told = ET.SubElement(case, tag, type=check.answer.value, message=_clean(check.summary))
        lines = [f"a consequence of {check.consequence_of}"] if check.consequence_of else []
        lines += [f"counted {check.counted}, found {check.found}"]
        lines += [json.dumps(row, ensure_ascii=False) for row in check.evidence]
        told.text = _clean("\n".join(lines))
    return case


def _counts_as(check: CheckResult) -> Answer:
    return Answer.PASS if check.expected else check.answer


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
