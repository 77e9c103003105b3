"""An application beside the traffic: started, watched, killed, ended; and its own account held against the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import ClientProcess, ExitStatus
from chaoskafka.history.identity import Identity, encode
from chaoskafka.progress import Silent
from chaoskafka.testing import HEADER, Seen, identity
from chaoskafka.testing.application import Application
from chaoskafka.testing.guard import Guard
from chaoskafka.testing.handled import compare
from chaoskafka.testing.host import HostProcess
from chaoskafka.testing.ids import id_of
from tests.plugin.conftest import Run, latest

pytestmark = pytest.mark.slow

RUN = 0x0123456789ABCDEF
ORDER = Identity(producer=2, incarnation=1, topic=0, partition=3, sequence=17)
PAYLOAD = encode(RUN, ORDER, 60)
ID = "01234567/2.1/0/3/17"
KILL = "    with chaos.kill(leader_of(traffic.topic), for_s=0.1): pass\n"


def test_who_a_message_is() -> None:
    assert identity(PAYLOAD) == Seen(id=ID, whole=True)
    assert identity(bytearray(PAYLOAD)) == Seen(id=ID, whole=True)
    assert identity(PAYLOAD[:-1] + b"?") == Seen(id=ID, whole=False)
    assert identity(b"somebody else's") is None
    assert identity(None) is None
    assert id_of(RUN, ORDER) == ID


@pytest.mark.parametrize("call", [lambda value: lambda: value, lambda value: value], ids=["methods", "attributes"])
def test_a_header_wins_over_the_payload(call: Callable[[object], object]) -> None:
    """As confluent-kafka has messages, and as kafka-python has them."""
    handed_on = SimpleNamespace(value=call(b"an invoice"), headers=call([("x", b""), (HEADER, PAYLOAD[:44])]))
    assert identity(handed_on) == Seen(id=ID, whole=None)
    assert identity(SimpleNamespace(value=call(PAYLOAD), headers=call(None))) == Seen(id=ID, whole=True)


def test_lost_twice_and_made_up() -> None:
    found = compare({"a", "b", "c"}, ["a", "b", "b", "z"])
    assert (found.handled, found.lost, found.twice, found.unknown) == (2, ("c",), ("b",), ("z",))
    assert str(found).splitlines() == [
        "the application handled 2 messages",
        "  lost 1: c",
        "  twice 1: b",
        "  unknown 1: z",
    ]


def test_what_an_application_handled_is_held_against_the_log(run: Run) -> None:
    result = run(f"""
@pytest.mark.parametrize("made_of", [sorted, lambda ids: [*ids[3:], ids[5], "x"]])
def test_it(traffic, chaos, made_of):
{KILL}    ids = traffic.acknowledged()
    report = traffic.verify(seen=made_of(ids))
    assert report.application.handled == report.acknowledged == len(set(ids))
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["E *the application handled *", "E *  lost 3: *", "E *  twice 1: *", "E *  unknown 1: x", "*pass*no_lost_ack*"]
    )


def test_it_is_asked_until_nothing_is_missing_and_may_handle_twice(run: Run) -> None:
    run(f"""
def test_it(traffic, chaos):
{KILL}    asked = []
    def seen():
        ids = traffic.acknowledged()
        asked.append(1)
        return ids * 2 if len(asked) > 3 else ids[:5]
    assert len(traffic.verify(seen=seen, twice=True).application.twice) > 5
    assert len(asked) == 5
""").assert_outcomes(passed=1)


def test_one_that_handles_again_later_is_not_missed(run: Run) -> None:
    """Nothing is missing at the first reading; the second handling shows in the next."""
    result = run(f"""
def test_it(traffic, chaos):
{KILL}    asked = []
    def seen():
        asked.append(1)
        return traffic.acknowledged() + traffic.acknowledged()[:len(asked) - 1][:3]
    traffic.verify(seen=seen)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *  twice 3: *"])


APPLICATION = """
import json, os, pathlib, sys, threading
assert os.environ["KAFKA_BOOTSTRAP_SERVERS"].count(",") == 2
pathlib.Path(os.environ["CHAOSKAFKA_DIR"], "orders.db").write_text(os.environ["COLOUR"])
print("hello"); print(json.dumps({"handled": int(sys.argv[1])}), flush=True)
print("last words", file=sys.stderr, flush=True)
if sys.argv[1] != "0": threading.Event().wait(60)
"""


def test_it_is_started_watched_killed_and_started_again(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "shop.py").write_text(APPLICATION)
    run("""
def test_it(kafka_cluster, traffic, chaos):
    command = ["python", "shop.py", "7"]
    with kafka_cluster.application(command, name="shop", env={"COLOUR": "red"}) as shop:
        shop.wait_until("it works", lambda status: status == {"handled": 7})
        assert shop.exited is None
        shop.kill()
        assert shop.exited.signal == 9
        with chaos.kill(leader_of(traffic.topic), for_s=0.1): shop.start()
        shop.wait_until("it works again", lambda status: status is not None)
        with pytest.raises(Exception, match="runs already"): shop.start()
    assert shop.stop().signal == 15
    traffic.verify()
""").assert_outcomes(passed=1)
    there = latest(pytester) / "applications" / "shop"
    assert (there / "orders.db").read_text() == "red"
    assert (there / "stdout.log").read_text().count("hello") == 2
    assert "application shop, place host: python shop.py 7" in (latest(pytester) / "events.jsonl").read_text()


def test_one_that_ends_by_itself_fails_the_test_with_its_last_words(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "shop.py").write_text(APPLICATION)
    result = run(f"""
def test_it(kafka_cluster, traffic, chaos):
    kafka_cluster.application(["python", "shop.py", "0"], name="shop", env={{"COLOUR": "red"}}).start()
{KILL}    traffic.verify()
def test_wait(kafka_cluster, traffic, chaos):
    with kafka_cluster.application(["python", "shop.py", "0"], name="shop", env={{"COLOUR": "red"}}) as shop:
        shop.wait_until("never", lambda status: False)
def test_none(kafka_cluster, traffic): kafka_cluster.application(["no-such-command"]).start()
def test_early(kafka_cluster): kafka_cluster.application(["true"])
""")
    assert result.parseoutcomes() == {"failed": 2, "inconclusive": 2}
    result.stdout.fnmatch_lines(
        [
            "E *application shop ended by itself: ExitStatus(code=0, *",
            "E *  last words",
            "E *UsageError: kafka_cluster.application: make the traffic first*",
            "*application shop: never: it ended: ExitStatus(code=0, *",
            "*application application: no-such-command: No such file*",
        ]
    )


class Gone:
    """A process that has ended by itself, or runs."""

    def __init__(self, *, ended: bool) -> None:
        self.ended = ended

    def exited(self) -> ExitStatus | None:
        return ExitStatus(code=3, signal=None) if self.ended else None

    def wait(self, *, within_s: float) -> ExitStatus:
        return ExitStatus(code=3, signal=None)

    def kill(self) -> None:
        self.ended = True

    terminate = kill

    def collect(self, into: Path) -> None: ...


@pytest.mark.parametrize("then", ["kill", "stop", "start"])
def test_an_end_that_nobody_asked_for_is_remembered(then: str, tmp_path: Path) -> None:
    processes = [Gone(ended=True), Gone(ended=False)]
    shop = Application("shop", lambda: cast("ClientProcess", processes.pop(0)), tmp_path, Guard(Silent())).start()
    getattr(shop, then)()
    for _ in range(2):
        assert (
            shop.ended_unasked()
            == "application shop ended by itself: ExitStatus(code=3, signal=None, out_of_memory=False)"
        )
    if then == "start":
        shop.kill()
        assert shop.ended_unasked().count("ended by itself") == 1


def test_an_end_that_was_asked_for_is_none(tmp_path: Path) -> None:
    shop = Application("shop", lambda: cast("ClientProcess", Gone(ended=False)), tmp_path, Guard(Silent())).start()
    assert shop.ended_unasked() == ""
    shop.kill()
    assert shop.start().ended_unasked() == ""


@pytest.mark.parametrize("end", ["terminate", "kill", "by itself"])
def test_what_it_started_ends_with_it(end: str, tmp_path: Path) -> None:
    """A child that lets SIGTERM pass, too."""
    child = 'trap \'\' TERM; sleep 60 & trap - TERM; echo "{\\"child\\": $!}"; '
    process = HostProcess("shop", ["sh", "-c", child + ("exit 3" if end == "by itself" else "wait")], {}, tmp_path)
    status = wait_until("its child", read=process.latest, good=bool, within_s=10)
    assert status is not None
    if end != "by itself":
        getattr(process, end)()
    process.wait(within_s=10)
    assert process.exited() == process.wait(within_s=10)
    wait_until("its child to end", read=lambda: _runs(status["child"]), good=lambda runs: not runs, within_s=10)
    process.terminate()
    process.kill()


def _runs(pid: int) -> bool:
    """Whether it does; one that nobody has reaped does not."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
