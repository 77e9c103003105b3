"""What is written of the plugin is what it has; the methods of `chaos` are those of the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

from chaoskafka.pytest_plugin import MARKERS, OPTIONS
from chaoskafka.scenario.catalogue import Kind, members
from chaoskafka.testing import methods
from chaoskafka.testing.chaos import Chaos
from tests.plugin.conftest import HEAD, Run

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "pytest.md").read_text()


def test_the_readmes_test_passes(run: Run) -> None:
    """On the fake runtime, with a shorter fault and less load; tests/cluster plays the same on a real cluster."""
    (text,) = re.findall(r"## In pytest\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert text in DOCS
    run(text.replace("for_s=8", "for_s=0.1"), head=HEAD).assert_outcomes(passed=1)


def test_every_fault_is_a_method() -> None:
    where = ROOT / "chaoskafka" / "testing" / "fault_methods.py"
    renew = f"python -m chaoskafka.testing.methods {where.relative_to(ROOT)}"
    assert where.read_text() == methods.text(), f"renew it: {renew}"
    assert all(callable(getattr(Chaos, word)) for word in members(Kind.FAULT))


def test_the_docs_name_every_option_marker_and_fixture() -> None:
    for name, _, _ in OPTIONS:
        assert f"| `--chaoskafka-{name}` | `chaoskafka_{name}` | `CHAOSKAFKA_{name.upper()}` |" in DOCS
    for marker in MARKERS:
        assert f"@pytest.mark.{marker.partition('(')[0]}(" in DOCS
    source = (ROOT / "chaoskafka" / "pytest_plugin.py").read_text()
    fixtures = re.findall(r"@pytest\.fixture\ndef (\w+)", source)
    assert set(fixtures) == set(re.findall(r"^\| `(\w+)` \| [a-z]", DOCS, re.MULTILINE))
