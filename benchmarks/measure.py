"""What every benchmark shares: pairs in the order ABBA, children with their time and memory, a file of results.

In: two ways of doing something, each a function that returns its figures. Out: benchmarks/results/NAME.json, and the
same as text.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAIRS_MIN = 7  # fewer show no spread; a quick look with fewer is printed and not kept
CHILD_S = 600.0  # longer than any child here takes on a slow machine
MISSED = 3  # the exit code of a benchmark that was measured and missed a goal
DIGITS = 4  # of a figure: more than any of them repeats to
TURN_FILE = "CHAOSKAFKA_BENCH_LOCK"  # names a file that is locked for each pair: others may use the machine in between

Figures = Mapping[str, float]
Way = Callable[[], Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All that was measured of one thing, in the order of measuring."""

    label: str
    unit: str
    samples: Sequence[float]

    def summary(self) -> dict[str, object]:
        """What stands in the file of results."""
        several = len(self.samples) > 1
        low, _, high = quantiles(self.samples, n=4, method="inclusive") if several else (self.samples[0],) * 3
        figures = {
            "median": median(self.samples),
            "q1": low,
            "q3": high,
            "min": min(self.samples),
            "max": max(self.samples),
        }
        rounded = {name: _rounded(value) for name, value in figures.items()}
        return {"unit": self.unit, **rounded, "samples": [_rounded(value) for value in self.samples]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a figure was meant to be; `value` is a median. One of the two limits is None."""

    what: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool:
        low_enough = self.at_most is None or self.value <= self.at_most
        return low_enough and (self.at_least is None or self.value >= self.at_least)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child process that ended well. Its peak includes what its parent had at the fork, so parents stay small."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    output: str


def child(*argv: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Child:
    """Run to the end. Blocks. Raises CalledProcessError, with what it wrote, when it fails.

    Its modules' bytecode may be kept, as that of an installed package is, whatever this machine forbids.
    """
    inherited = os.environ if env is None else env
    env = {name: value for name, value in inherited.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile("w+") as written:
        began_ns = time.monotonic_ns()
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdout=written, stderr=subprocess.STDOUT)
        guard = threading.Timer(CHILD_S, process.kill)
        guard.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            guard.cancel()
        wall_s = (time.monotonic_ns() - began_ns) / 1e9
        process.returncode = os.waitstatus_to_exitcode(status)
        written.seek(0)
        output = written.read()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, [str(word) for word in argv], output)
    return Child(wall_s=wall_s, cpu_s=used.ru_utime + used.ru_stime, peak_mib=used.ru_maxrss / 1024, output=output)


def in_pairs(a: Way, b: Way, pairs: int) -> tuple[list[Figures], list[Figures]]:
    """Both ways so often, in the order A B, B A, A B, …: what drifts on the machine meets both alike. Blocks."""
    of_a: list[Figures] = []
    of_b: list[Figures] = []
    for number in range(pairs):
        with turn():
            for way, found in [(a, of_a), (b, of_b)][:: -1 if number % 2 else 1]:
                found.append(way())
        say(f"  pair {number + 1} of {pairs}: {_shown(of_a[-1])} against {_shown(of_b[-1])}")
    return of_a, of_b


@contextmanager
def turn() -> Iterator[None]:
    """Hold the machine, where several share one: the file that the environment names is locked. Blocks."""
    name = os.environ.get(TURN_FILE)
    if name is None:
        yield
        return
    with Path(name).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ratios(of_a: Sequence[Figures], of_b: Sequence[Figures], name: str) -> list[float]:
    """A to B within each pair."""
    return [a[name] / b[name] for a, b in zip(of_a, of_b, strict=True)]


def pairs_asked(about: str | None) -> int:
    """The command line that all of them share."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--pairs", type=int, default=PAIRS_MIN, help=f"default {PAIRS_MIN}; fewer are not kept")
    return int(parser.parse_args().pairs)


def report(
    name: str, series: Sequence[Series], goals: Sequence[Goal], packages: Sequence[str] = (), **more: str
) -> int:
    """Print what was measured and, if often enough, keep it. `packages`: whose versions matter; `more`: other versions.

    Returns the exit code.
    """
    found = {
        "name": name,
        "command": f"python -m benchmarks.{name}",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "memory_gib": round(_memory_bytes() / 2**30),
            "architecture": platform.machine(),
        },
        "versions": {
            "python": platform.python_version(),
            **{package: importlib.metadata.version(package) for package in ("chaoskafka", *packages)},
            **more,
        },
        "series": {each.label: each.summary() for each in series},
        "goals": [{**asdict(goal), "value": _rounded(goal.value), "met": goal.met} for goal in goals],
    }
    say("\n" + text(found))
    if min(len(each.samples) for each in series) >= PAIRS_MIN:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    else:
        say(f"fewer than {PAIRS_MIN} of each: not kept")
    return 0 if all(goal.met for goal in goals) else MISSED


def text(found: Mapping[str, Any]) -> str:
    """One result as a table, and its goals."""
    lines = [
        f"{found['name']}: {found['date']}, {found['machine']}",
        f"{'':44}{'median':>10}{'quartiles':>20}{'min-max':>20}",
    ]
    for label, each in found["series"].items():
        spread = (f"{each[low]:g}-{each[high]:g}" for low, high in (("q1", "q3"), ("min", "max")))
        lines.append(
            f"{label + (', ' + each['unit'] if each['unit'] else ''):44}{each['median']:>10g}"
            + "".join(f"{s:>20}" for s in spread)
        )
    for goal in found["goals"]:
        wanted = f"at most {goal['at_most']:g}" if goal["at_most"] is not None else f"at least {goal['at_least']:g}"
        lines.append(
            f"{'met   ' if goal['met'] else 'MISSED'} {goal['what']}: {goal['value']:g} {goal['unit']} ({wanted})"
        )
    return "\n".join(lines)


def say(words: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def _shown(figures: Figures) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in figures.items())


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
