"""`chaoskafka check` on directories that are no runs, or damaged ones: the file is named, nothing crashes or hangs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from chaoskafka.cli import app
from chaoskafka.errors import ExitCode
from tests.properties import examples

ANSWERS = (ExitCode.PASS, ExitCode.FAIL, ExitCode.USAGE, ExitCode.UNKNOWN)
HUGE = 10**30
TABLES = ["ops/send/orders-0.parquet", "ops/read/orders-1.parquet", "audit/record/orders-0.parquet"]
TABLES += ["audit/batch/orders-1.parquet", "ops/poll.parquet"]


def check(run_dir: Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["check", str(run_dir)])
    assert "Traceback" not in done.stderr, done.stderr
    return done.exit_code, done.stderr


def refused(run_dir: Path) -> str:
    code, err = check(run_dir)
    assert code == ExitCode.USAGE, err
    assert len(err) < 2000
    return err


def header(**changes: Any) -> Callable[[Path], object]:
    def edit(path: Path) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return edit


def first_topic(**changes: Any) -> Callable[[Path], object]:
    def edit(path: Path) -> None:
        raw = json.loads(path.read_text())
        raw["topics"][0].update(changes)
        path.write_text(json.dumps(raw))

    return edit


def written(content: str | bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def before(line: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(line + "\n" + path.read_text())


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def event(**fields: Any) -> str:
    return json.dumps({"at_ns": 1, "event": "phase", "state": "begin", **fields})


DAMAGES: list[tuple[str, Callable[[Path], object], str]] = [
    ("run.json", Path.unlink, "not a run directory: No such file or directory"),
    ("run.json", half, "damaged header: "),
    ("run.json", written(""), "damaged header: "),
    ("run.json", written(b"\xff\x00\x01"), "damaged header: "),
    ("run.json", written("[" * 100_000), "damaged header: nested too deeply"),
    ("run.json", written('{"format": NaN}'), "damaged header: NaN is no JSON"),
    ("run.json", written("{}"), "format None; this version reads 1"),
    ("run.json", written("[]"), "format 'list'; this version reads 1"),
    ("run.json", written('{"format": 1}'), "damaged header: run_id is missing"),
    ("run.json", pipe, "not a run directory: is no regular file"),
    ("run.json", zeros, "not a run directory: is no regular file"),
    ("run.json", folder, "not a run directory: Is a directory"),
    ("run.json", header(format=2), "format 2; this version reads 1"),
    ("run.json", header(seed="7"), "damaged header: seed: expected a whole number of 64 bits, got '7'"),
    ("run.json", header(seed=HUGE), "damaged header: seed: expected a whole number of 64 bits"),
    ("run.json", header(seed=True), "damaged header: seed: expected a whole number of 64 bits, got True"),
    ("run.json", header(nodes=[1]), "damaged header: nodes: expected an object, got [1]"),
    ("run.json", header(nodes={"1": "broker"}), "damaged header: nodes.1: expected a list, got 'broker'"),
    ("run.json", header(plan={}), "damaged header: plan: expected a list"),
    ("run.json", header(limits={"recovered_s": "x"}), "limits.recovered_s: expected a number, got 'x'"),
    ("run.json", header(title="x"), "it has 'title', which this version does not know"),
    ("run.json", header(run_id="\ud800"), "run_id: expected text"),
    ("run.json", header(expect=[{"no_such": {}}]), "no check is called 'no_such'"),
    ("run.json", header(expect=["recovered"]), "expected an object, got 'recovered'"),
    ("run.json", first_topic(name="../../etc/passwd"), "'../../etc/passwd' is not a topic name"),
    ("run.json", first_topic(name=".."), "'..' is not a topic name"),
    ("run.json", first_topic(partitions=10**9), "orders: 1000000000 partitions"),
    ("run.json", first_topic(partitions=-1), "orders: -1 partitions"),
    ("events.jsonl", Path.unlink, "cannot be read: No such file or directory"),
    ("events.jsonl", pipe, "cannot be read: is no regular file"),
    ("events.jsonl", zeros, "cannot be read: is no regular file"),
    ("events.jsonl", before("garbage"), ":1: not an event"),
    ("events.jsonl", before(""), ":1: not an event"),
    ("events.jsonl", before("5"), ":1: not an event"),
    ("events.jsonl", before(event(at_ns="x")), ":1: not an event"),
    ("events.jsonl", before(event(at_ns=HUGE)), ":1: not an event"),
    ("events.jsonl", before(event(event=5)), ":1: not an event"),
    ("events.jsonl", before(event(number="seven")), "number: it: expected a whole number"),
    ("events.jsonl", before(event(event="fault")), "fault: it: expected a whole number"),
    (
        "events.jsonl",
        before(event(event="fault", fault=0, word="kill", targets=["x"])),
        "targets: [0]: expected a whole",
    ),
    ("events.jsonl", before("[" * 100_000), ":1: not an event"),
    ("events.jsonl", written(b"\xff\xfe\n"), ":1: not an event"),
    ("observations.jsonl", before("garbage"), "damaged table: "),
    ("observations.jsonl", before("5"), "damaged: a line that is no observation"),
    ("observations.jsonl", before('{"lo_ns": 1}'), "damaged: a line that is no observation"),
    ("observations.jsonl", written(b"\xff\x00\n"), "damaged table: "),
    ("observations.jsonl", pipe, "cannot be read: is no regular file"),
    ("ops/workers.json", half, "damaged: "),
    ("ops/workers.json", written("{}"), "damaged: it: expected a list, got {}"),
    ("ops/workers.json", written("[5]"), "damaged: [0]: expected an object, got 5"),
    ("ops/workers.json", written("[{}]"), "damaged: [0].worker is missing"),
    ("audit/ends.json", written('[{"topic": 5}]'), "damaged: [0].partition is missing"),
    ("audit/ends.json", zeros, "cannot be read: is no regular file"),
    *((table, half, "damaged table: ") for table in TABLES),
    *((table, written(b""), "damaged table: ") for table in TABLES),
    *((table, written(b"no table"), "damaged table: ") for table in TABLES),
    *((table, written(b"PAR1" + b"\xff" * 100 + b"PAR1"), "damaged table: ") for table in TABLES),
    *((table, pipe, "damaged table: no regular file") for table in TABLES),
]


@pytest.mark.parametrize(("name", "damage", "problem"), DAMAGES)
def test_a_damaged_run_is_refused_with_the_name_of_the_file(
    run_dir: Path, name: str, damage: Callable[[Path], object], problem: str
) -> None:
    damage(run_dir / name)
    err = refused(run_dir)
    assert f"{Path(name).name}" in err
    assert problem in err
    assert err.startswith("chaoskafka: ")


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "loop", "none", "\udcff", "x" * 300, "\x1b[31m"):
        err = refused(tmp_path / name)
        assert "not a run directory" in err
        assert err.replace("\n", "").isprintable()


def test_a_last_line_that_was_cut_off_is_left_out(run_dir: Path) -> None:
    before_the_cut = check(run_dir)
    for name in ("events.jsonl", "observations.jsonl"):
        with (run_dir / name).open("a") as file:
            file.write('{"at_ns": 1, "eve')
    assert check(run_dir) == before_the_cut == (ExitCode.PASS, "")


def test_what_a_foreign_run_says_of_itself_moves_no_cursor(run_dir: Path) -> None:
    told = "\x1b[2J\nPASS everything"
    facts = json.loads((run_dir / "run.json").read_text())
    header(scenario={**facts["scenario"], "title": told, "question": told}, replay=told, expect=[{"recovered": {}}])(
        run_dir / "run.json"
    )
    before(json.dumps({"at_ns": 1, "event": "error", "where": told, "type": "x", "text": told}))(
        run_dir / "events.jsonl"
    )
    done = CliRunner().invoke(app, ["check", str(run_dir), "--junit", str(run_dir / "junit.xml")])
    assert "\x1b" not in done.output
    assert done.stdout.startswith(r"PASS  \x1b[2J\nPASS everything")
    assert "\x1b" not in (run_dir / "junit.xml").read_text()


@pytest.fixture(scope="module")
def files(whole_run: Path) -> list[str]:
    return sorted(str(path.relative_to(whole_run)) for path in whole_run.rglob("*") if path.is_file())


@given(data=st.data())
@examples(15)
def test_no_garbled_byte_crashes_the_judge(whole_run: Path, files: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(files))
    content = (whole_run / name).read_bytes()
    at = data.draw(st.integers(0, len(content)))
    until = data.draw(st.integers(at, min(len(content), at + 64)))
    with TemporaryDirectory() as folder:
        run_dir = Path(shutil.copytree(whole_run, Path(folder, "run")))
        (run_dir / name).write_bytes(content[:at] + data.draw(st.binary(max_size=64)) + content[until:])
        code, err = check(run_dir)
        assert code in ANSWERS
        assert (code == ExitCode.USAGE) == bool(err)
        assert code != ExitCode.USAGE or Path(name).name in err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=5,
)


@given(data=st.data())
@examples(15)
def test_no_value_of_another_kind_crashes_the_judge(whole_run: Path, data: st.DataObject) -> None:
    name = data.draw(
        st.sampled_from(["run.json", "events.jsonl", "observations.jsonl", "ops/workers.json", "audit/ends.json"])
    )
    lines = (whole_run / name).read_text().splitlines() if name.endswith("l") else [(whole_run / name).read_text()]
    at = data.draw(st.integers(0, len(lines) - 1))
    root = json.loads(lines[at])
    spots = list(places(root))
    holder, key = data.draw(st.sampled_from(spots))
    if data.draw(st.booleans()):
        holder[key] = data.draw(JSON)
    else:
        del holder[key]
    lines[at] = json.dumps(root)
    with TemporaryDirectory() as folder:
        run_dir = Path(shutil.copytree(whole_run, Path(folder, "run")))
        (run_dir / name).write_text("\n".join(lines) + "\n")
        code, err = check(run_dir)
        assert code in ANSWERS
        assert code != ExitCode.USAGE or Path(name).name in err


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a value, as its holder and its key there."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]
