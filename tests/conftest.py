"""Tests on real clusters: skipped where no engine answers, and never silently where they are required.

CHAOSKAFKA_REQUIRE=docker (continuous integration) makes a skipped docker test a failure, whatever skipped it, and fails
the session when fewer than REAL_RUNS_FLOOR docker tests passed: a lost marker would look like success. With -m nightly
or -m "not docker" there is no floor, as few are chosen, or none. A docker test that is also marked `process` needs
namespaces, and no engine; one marked `process_plain` needs neither.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from functools import cache

import pytest
import typer.testing

from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import open_engine
from chaoskafka.runtimes.process import bed
from tests import properties

properties.register()
# Tables in tests are small: a second thread only waits for work, and burns a third of all time by it. Polars reads this
# when it is first imported, which no import above does. `make nightly` asks for as many threads as a user has.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# Typer's runner builds the whole command line anew for each call, which often takes longer than what is called.
typer.testing._get_command = cache(typer.testing._get_command)

REAL_RUNS_FLOOR = 150  # raise it as tests on real clusters are added; lower it only with a reason in the commit
NO_FLOOR = ("nightly", "not docker")  # how -m begins where few of those tests are chosen, or none


class RealRuns:
    """Counts the docker tests that passed, and judges the session by them if they are required."""

    def __init__(self, *, required: bool, floor: int) -> None:
        self.required, self.floor = required, floor
        self.marked: set[str] = set()
        self.passed: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.marked |= {item.nodeid for item in items if item.get_closest_marker("docker")}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if item.get_closest_marker("process_plain"):
            return
        missing = missing_namespaces if item.get_closest_marker("process") else missing_engine
        if item.nodeid in self.marked and (problem := missing()):
            pytest.skip(problem)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if self.required and item.nodeid in self.marked and report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.outcome = "failed"
            report.longrepr = f"CHAOSKAFKA_REQUIRE=docker forbids to skip this test. {reason}"
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid in self.marked and report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    @property
    def too_few(self) -> bool:
        return self.required and len(self.passed) < self.floor

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.too_few and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.marked:
            # Not a failure of any test, so it needs a line of its own, next to pytest's closing one.
            shortage = ": too few, so this session fails" if self.too_few else ""
            terminalreporter.write_line(f"real cluster tests: {len(self.passed)} passed (floor {self.floor}){shortage}")


@cache
def missing_engine() -> str:
    """Why docker tests cannot run here; empty if they can."""
    try:
        open_engine().close()
    except EnvironmentFailure as failure:
        return failure.problem
    return ""


@cache
def missing_namespaces() -> str:
    """Why tests on processes cannot run here; empty if they can."""
    try:
        with bed.made(f"tests-{secrets.token_hex(3)}"):
            return ""
    except EnvironmentFailure as failure:
        return failure.problem


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `nightly`, too long for every change, to `make nightly`, which asks for them with -m."""
    if "nightly" not in config.option.markexpr:
        later = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]


def pytest_configure(config: pytest.Config) -> None:
    required = set(filter(None, os.environ.get("CHAOSKAFKA_REQUIRE", "").split(",")))
    if unknown := required - {"docker", "chromium"}:  # chromium: see report/test_in_a_browser.py
        raise pytest.UsageError(f"CHAOSKAFKA_REQUIRE={','.join(sorted(unknown))}: docker and chromium can be required")
    if config.getoption("numprocesses", None) and not config.option.markexpr.startswith("not docker"):
        # They share one engine and its machine, and RealRuns counts in one process.
        raise pytest.UsageError("tests on real clusters run one after the other: -n needs -m 'not docker'")
    floor = 0 if config.option.markexpr.startswith(NO_FLOOR) else REAL_RUNS_FLOOR
    config.pluginmanager.register(RealRuns(required="docker" in required, floor=floor), "real-runs")
