"""The plugin beside pytest's own options and other plugins: nothing starts that need not, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.commands import RuntimeName
from chaoskafka.history.read import open_history
from chaoskafka.progress import Silent
from chaoskafka.testing.guard import Guard
from tests.plugin.conftest import HEAD, KILL, Fake, Run, latest

pytestmark = pytest.mark.slow

HURRIED = "from tests.rehearsals import hurry\nimport pytest\nhurry(pytest.MonkeyPatch())\n"
LONG_S = 60.0  # for a pytest of its own to come to its test, and to end: some seconds on an idle machine


def test_collecting_starts_nothing(run: Run, fake: Fake) -> None:
    rehearsal = fake()
    run(KILL, "--collect-only").assert_outcomes()
    assert rehearsal.kafka is None


def test_minus_x_ends_after_the_first_that_is_inconclusive(run: Run) -> None:
    result = run("def test_one(traffic): traffic.verify()\n" + KILL, "-x")
    assert result.parseoutcomes() == {"inconclusive": 1}
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_a_test_that_takes_too_long_leaves_a_whole_cluster(run: Run) -> None:
    """pytest-timeout strikes in the middle of a fault; the next test finds the cluster healed, or a fresh one."""
    result = run(
        "@pytest.mark.timeout(3)\n"
        "def test_one(traffic, chaos):\n    with chaos.kill('broker 1'): threading.Event().wait(60)\n" + KILL,
        head="import threading\n" + HEAD,
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Timeout*"])


@pytest.mark.nightly  # three processes of pytest, each with all imports
def test_drawn_orders_and_workers(run: Run, pytester: pytest.Pytester) -> None:
    """xdist's workers have a cluster each; pytest-randomly draws the order."""
    (pytester.path / "tox.ini").write_text("[pytest]\nchaoskafka_runtime = fake\n")
    (pytester.path / "test_orders.py").write_text(HEAD + KILL + KILL.replace("nothing", "nothing_again"))
    pytester.makeconftest(HURRIED)
    result = own_pytest(pytester, "-n", "2", "-p", "randomly", "--junitxml=report.xml")
    assert "2 passed" in result, result
    assert (pytester.path / "report.xml").read_text().count(
        'name="chaoskafka_cluster" value="fresh: it is the first'
    ) == 2


def own_pytest(pytester: pytest.Pytester, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=pytester.path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LONG_S * 2,
        check=False,
    )
    return done.stdout + done.stderr


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_and_nothing_is_left(run: Run, fake: Fake, pytester: pytest.Pytester, number: str) -> None:
    """In the test's own code, with a fault in force: it is healed, and the cluster removed."""
    text = f"def test_it(traffic, chaos):\n    with chaos.kill('broker 1'): signal.raise_signal(signal.{number})\n"
    result = run(text + KILL, head="import signal\n" + HEAD, ctrl_c=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*KeyboardInterrupt*", "*no tests ran*"])
    (window,) = open_history(latest(pytester)).faults
    assert window.heal_proof is not None
    assert not [thread.name for thread in threading.enumerate() if thread.name.endswith("-observer")]
    assert not list((pytester.path / "state").rglob("*.ledger"))


def test_a_signal_while_we_are_at_work_ends_the_waits_and_not_the_cleaning() -> None:
    guard = Guard(Silent())
    done = []

    def work() -> None:
        with guard.work():
            signal.raise_signal(signal.SIGINT)
            done.append("work goes on")
            wait_until("the stop", read=guard.stop.is_set, good=bool, within_s=LONG_S)
            guard.clock.pause(LONG_S)

    with pytest.raises(KeyboardInterrupt):
        work()
    with guard.undisturbed():
        signal.raise_signal(signal.SIGTERM)
        done.append("cleaning goes on")
    assert done == ["work goes on", "cleaning goes on"]


def test_an_unrelated_run_imports_next_to_nothing(pytester: pytest.Pytester) -> None:
    """Counted, not timed: of ours the plugin and the package, of others' nothing."""
    pytester.makepyfile(
        test_plain="""
        import sys
        def test_plain():
            ours = {name for name in sys.modules if name.partition(".")[0] == "chaoskafka"}
            assert ours == {"chaoskafka", "chaoskafka.pytest_plugin"}
            heavy = {"polars", "confluent_kafka", "docker", "numpy", "kio", "cattrs", "yaml", "asyncio", "rich"}
            assert not heavy & set(sys.modules), heavy & set(sys.modules)
        """
    )
    result = own_pytest(
        pytester, "-p", "no:randomly", "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:timeout"
    )
    assert "1 passed" in result, result


def test_options_are_checked(run: Run) -> None:
    for option, told in (
        ("--chaoskafka-runtime=podman", f"*chaoskafka runtime: 'podman' is not one of {', '.join(RuntimeName)}*"),
        ("--chaoskafka-seed=-1", "*chaoskafka seed: '-1' is not a whole number*"),
    ):
        result = run(KILL, option)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines([told])


def test_a_slip_in_the_ini_file_is_told_with_its_setting(run: Run) -> None:
    result = run("def test_it(kafka_cluster): pass", "-o", "chaoskafka_cluster={nodes: 3")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*chaoskafka_cluster: '{nodes: 3' is no YAML; expected a mapping*"])
