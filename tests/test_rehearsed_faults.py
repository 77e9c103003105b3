"""Each fault, and each way of combining them, in a whole run on the fake runtime: seen to bite, to heal, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode
from tests.rehearsals import hurry, rehearse

HEAD = """\
topics: {orders: {partitions: 2}}
workloads:
  - produce: {topic: orders, rate_per_s: 400, message_bytes: 60}
  - consume: {topic: orders, commit_every_s: 0.05}
plan:
"""


def test_what_a_person_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    plan = """\
  - {after_s: 0, stop: {target: leader of orders/0, for_s: 0.1}}
  - {after_s: 0, restart: {target: "leader of orders/0"}}
  - {after_s: 0, crash_loop: {target: leader of orders/0, times: 2, up_s: 0.02}}
  - {after_s: 0, move_leader: {topic: orders, partition: 0}}
  - {after_s: 0, move_leader: {topic: orders, to: preferred}}
  - {after_s: 0, rolling_restart: {}}
  - {after_s: 0, rolling_restart: {gate: time, every_s: 0}}
"""
    played = rehearse(tmp_path, text=HEAD + plan)
    assert [check for check in played.result.checks if check.answer != "pass"] == []
    assert played.exit_code is ExitCode.PASS
    assert [fault.word for fault in played.result.faults if fault.window_s is not None] == [
        "stop", "restart", "crash_loop", "move_leader", "move_leader", "rolling_restart", "rolling_restart",
    ]  # fmt: skip
