"""Every fault of hardware and network, as a whole run on the fake: played, proven, healed, judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoskafka.errors import ExitCode
from chaoskafka.verdict import Answer
from tests.rehearsals import SCENARIO, hurry, rehearse

LEADER = 'target: "leader of orders/0, not active controller"'
MOVES = {"pause", "isolate", "power_off", "controllers"}  # leadership, if the fault lasts longer than the lease
FAULTS = {
    "pause": f"pause: {{{LEADER}, for_s: 0.3}}",
    "isolate": f"isolate: {{{LEADER}, for_s: 0.3}}",
    "isolate-in": f"isolate: {{{LEADER}, ways: in, for_s: 0.1}}",
    "cut_clients": f"cut_clients: {{{LEADER}, for_s: 0.3, reset_connections: true}}",
    "controllers": f"partition: {{{LEADER}, planes: [controllers], for_s: 0.3}}",
    "replication": f"partition: {{{LEADER}, planes: [replication], action: reject, for_s: 0.3}}",
    "power_off": f"power_off: {{{LEADER}, for_s: 0.3}}",
}


OFTEN = {"isolate", "replication"}  # each is a run of a second; the others are played at night


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in OFTEN)) for name in FAULTS]
)
def test_it_is_played_and_judged(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    text = SCENARIO.partition("plan:")[0] + f"plan: [{{after_s: 0, {FAULTS[name]}}}]\n"
    played = rehearse(tmp_path, text=text)
    said = {check.word: check.summary for check in played.result.checks if check.answer is not Answer.PASS}
    assert (said, played.exit_code) == ({}, ExitCode.PASS)
    (fault,) = played.result.faults
    led = [place for place in fault.partitions if place.old_leader in fault.targets]
    assert led
    if name in MOVES:
        assert all(place.new_leader is not None for place in led)
    if name in ("cut_clients", "replication"):
        assert all(place.new_leader is None for place in led)
