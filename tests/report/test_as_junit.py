"""JUnit: well-formed whatever a broker said, fail a failure, unknown an error, a missing result an error too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from chaoskafka.report.as_junit import Unjudged, as_junit
from chaoskafka.report.result import Result
from tests.properties import examples

RUN = Path("runs/x")


def test_each_check_is_a_case_and_each_answer_its_element(result: Result) -> None:
    root = ET.fromstring(as_junit([(result, RUN)]))
    suite = root.find("testsuite")
    assert suite is not None
    cases = {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}
    assert cases == {"no_lost_acknowledged": ["failure"], "all_delivered": ["error"], "took_effect": []}
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "1", "skipped": "0"}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "8 acknowledged messages are nowhere in the log"
    assert failure.text is not None
    assert "counted 14021, found 8" in failure.text
    properties = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert properties["replay"] == "chaoskafka run leader-killed --seed 7"


def test_several_runs_are_several_suites_and_a_run_without_a_result_is_an_error(result: Result) -> None:
    unjudged = Unjudged(name="other", problem="no engine\n  to mend it: start one")
    root = ET.fromstring(as_junit([(result, RUN), (result, RUN)], [unjudged]))
    assert [suite.get("name") for suite in root] == ["leader-killed", "leader-killed", "other"]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "2", "3")
    error = root.find("testsuite[@name='other']/testcase/error")
    assert error is not None
    assert error.get("message") == "no engine"


def test_a_rehearsal_cannot_be_mistaken_for_a_run(result: Result) -> None:
    (suite,) = ET.fromstring(as_junit([(replace(result, runtime="fake"), RUN)]))
    assert suite.get("name") == "leader-killed (rehearsal)"
    properties = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert properties["runtime"] == "fake"
    assert (suite.findtext("system-out") or "").startswith("REHEARSAL")


def test_a_consequence_names_its_cause_in_its_case(result: Result) -> None:
    marked = replace(result.checks[0], consequence_of="no_unexpected")
    (suite,) = ET.fromstring(as_junit([(replace(result, checks=(marked,)), RUN)]))
    assert (suite.findtext("testcase/failure") or "").startswith("a consequence of no_unexpected\n")


@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=100))
def test_any_text_is_well_formed_xml(result: Result, text: str) -> None:
    check = replace(result.checks[0], word=text, summary=text, evidence=({text: text},))
    odd = replace(result, title=text, scenario=text, replay=text, checks=(check,), troubles=(text,), faults=())
    ET.fromstring(as_junit([(odd, RUN)], [Unjudged(name=text, problem=text)]).encode())
