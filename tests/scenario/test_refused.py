"""Every bad scenario gives a message with file, line, path, value and what is allowed."""

from __future__ import annotations

import pytest

from chaoskafka.errors import ExitCode, ScenarioError
from chaoskafka.scenario.load import load_text
from chaoskafka.visible import hidden
from tests.scenario.refused import CASES, GOOD, Case


def told(text: str, **settings: tuple[str, ...]) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_text(text, name="x", file="x.yaml", **settings)
    assert caught.value.exit_code is ExitCode.USAGE
    return [str(caught.value), *getattr(caught.value, "__notes__", ())]


def test_the_good_one_is_good() -> None:
    assert load_text(GOOD, name="x").title == "Safe"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path}: {case.new}"[:60])
def test_what_is_refused_is_told_with_file_line_path_value_and_what_is_allowed(case: Case) -> None:
    start = f"x.yaml:{case.line}: {case.path}: " if case.path else f"x.yaml:{case.line}: "
    all_told = told(case.text)
    assert [message for message in all_told if hidden(message) is not None] == []
    messages = [message for message in all_told if message.startswith(start)]
    assert messages, all_told
    problems = [message.removeprefix(start) for message in messages]
    assert any(case.value in problem and case.allowed in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("services:\n  web: {image: x}\n", "('services')"),
        ("name: CI\non: push\njobs: {}\n", "('name', 'on', 'jobs')"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {}\na: 1\nb: 2",
            "('apiVersion', 'kind', 'metadata', 'spec', 'a')",
        ),
        ('{"version": 3}', "('version')"),
    ],
)
def test_a_file_of_another_kind_gets_one_error(text: str, found: str) -> None:
    (message,) = told(text)
    assert message == (
        f"x.yaml:1: no scenario: none of its keys {found} is one of"
        " title, cluster, topics, workloads, plan, expect, control, seed, timeout_s"
    )


def test_a_title_may_be_folded_and_in_any_script() -> None:
    assert load_text(GOOD.replace("title: Safe", "title: >\n  a\n  b"), name="x").title == "a b"
    assert load_text(GOOD.replace("Safe", "Führer\u00a0tot \u3000 隊長 🐈"), name="x").title.endswith("🐈")


def test_hundreds_of_slips_are_told_in_a_few_lines() -> None:
    names = "".join(f"  a{i}: {{}}\n" for i in range(160))
    reads = "".join(f"  - produce: {{topic: b{i}}}\n" for i in range(300))
    text = f"topics:\n{names}workloads:\n{reads}plan: [{{after_s: 1, kill: {{target: any, for_s: 1}}}}]\n"
    messages = told(text)
    assert len(messages) == 21
    assert max(map(len, messages)) < 500
    assert messages[-1].startswith("and ")


def test_a_setting_of_the_variable_is_told_as_such() -> None:
    (message,) = told(GOOD, variable=("plan[0].kill.for_s=0",))
    assert message == "CHAOSKAFKA_SET plan[0].kill.for_s=0: plan[0].kill.for_s: 0.0 is not above 0"
    (message,) = told(GOOD, variable=("cluster.nodes=[",))
    assert message.startswith("CHAOSKAFKA_SET cluster.nodes=[")


def test_flags_win_over_the_variable() -> None:
    scenario = load_text(GOOD, name="x", variable=("cluster.nodes=9",), settings=("cluster.nodes=5",))
    assert scenario.cluster.nodes == 5


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("cluster.kafka=4.10", 'cluster.kafka: expected text, got 4.10; quote it to make it text: "4.10"'),
        ("cluster.nodes=5\nx: 1", "not YAML"),
        ("\x1b[31m=1", r"not a path: '\\x1b[31m'"),
        ("plan[99999999]=1", "not a path"),
        ("plan[-1]=1", "not a path"),
        ("a.=1", "not a path"),
        ("expect=[]", "expect: expected a list with something in it, got []"),
        ("=", "PATH=VALUE"),
        ("", "PATH=VALUE"),
        ("title=!!python/name:os.system", "tags are not allowed"),
        ("title=&a x", "anchors and aliases"),
        ("title=" + "[" * 300, "nested deeper"),
        ("title=" + "x" * 300_000, "at most 262144"),
    ],
)
def test_a_setting_that_is_nonsense_is_told_with_what_was_written(setting: str, problem: str) -> None:
    message, *_ = told(GOOD, settings=(setting,))
    assert message.startswith("--set ")
    assert problem in message
    assert message.isprintable()
    assert len(message) < 500
