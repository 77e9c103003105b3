"""The story of a run that is not green: the right message, its life in order, a suspect with a reason, what to type."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chaoskafka.clock import NS_PER_S
from chaoskafka.errors import HistoryError, UsageError
from chaoskafka.history.tables import TopicPartition
from chaoskafka.report.as_story import WIDTH, as_story
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.report.story.model import MessageId, Story, Suspect
from chaoskafka.report.story.tell import STORIES_MAX, stories, story_of
from chaoskafka.verdict import Answer
from tests.histories import alterations as a
from tests.histories.cases import with_acks_1, without_idempotence
from tests.histories.copy import Copy
from tests.report.runs import Alter, judged, told


def first(run: Copy, *alter: Alter) -> Story:
    return told(judged(run, *alter, expect=("no_lost_acknowledged",)))[0]


def steps(story: Story, what: str) -> list[str]:
    return [step.told for step in story.steps if step.what == what]


def test_a_green_run_has_no_story(good: Copy) -> None:
    assert told(good.run_dir) == []


def test_a_lost_message_is_followed_from_the_sending_to_what_stands_there_now(run: Copy) -> None:
    story = first(run, a.lose_one)
    lost = run.history.sends(run.partition)
    assert story.check == "no_lost_acknowledged"
    assert story.answer is Answer.FAIL
    assert story.message is not None
    assert story.message.partition == run.partition
    row = lost.filter(sequence=story.message.sequence, producer=story.message.producer).row(0, named=True)
    assert any(f"at offset {row['offset']}" in line and "leader" in line for line in steps(story, "acknowledged"))
    assert steps(story, "sent")
    assert any("acts" in line for line in steps(story, "fault"))
    assert any("nowhere in the log" in line for line in steps(story, "now"))
    assert any(f"at offset {row['offset']}: nothing" in line for line in steps(story, "now"))
    instants = [step.at_s for step in story.steps if step.at_s is not None]
    assert instants == sorted(instants)
    assert story.suspect is Suspect.BROKER


def test_the_first_of_several_lost_messages_is_told(run: Copy) -> None:
    story = first(run, a.lose_the_tail)
    history = run.history
    assert story.message is not None
    records = history.records(story.message.partition)["offset"].to_list()
    acked = history.sends(story.message.partition).sort("invoked_ns").filter(outcome=1)
    absent = [row for row in acked.to_dicts() if row["offset"] is not None and row["offset"] not in records]
    assert (absent[0]["producer"], absent[0]["sequence"]) == (story.message.producer, story.message.sequence)
    assert any("the log ends before" in line for line in steps(story, "now"))


@pytest.mark.parametrize(
    ("alter", "check", "suspect"),
    [
        ((a.lose_one,), "no_lost_acknowledged", Suspect.BROKER),
        ((with_acks_1, a.lose_one), "no_lost_acknowledged", Suspect.SETTINGS),
        ((a.lose_one_without_offset,), "no_lost_acknowledged", Suspect.CLIENT),
        ((a.store_twice,), "no_duplicates", Suspect.BROKER),
        ((a.send_twice,), "no_duplicates", Suspect.CLIENT),
        ((without_idempotence, a.send_twice), "no_duplicates", Suspect.SETTINGS),
        ((a.swap_two,), "ordered", Suspect.CLIENT),
        ((a.store_misplaced,), "no_unexpected", Suspect.CLIENT),
        ((a.skip_one,), "all_delivered", Suspect.EITHER),
        ((a.miscount,), "accounted", Suspect.HARNESS),
        ((a.fail_fatally,), "clients_alive", Suspect.CLIENT),
        ((a.stay_broken,), "recovered", Suspect.BROKER),
        ((a.tear_a_producer_tape,), "no_lost_acknowledged", Suspect.HARNESS),
        ((a.leave_unproven,), "no_lost_acknowledged", Suspect.ENVIRONMENT),
        ((a.move_a_producer_to_another_clock,), "no_lost_acknowledged", Suspect.ENVIRONMENT),
        ((a.expire_the_head,), "no_lost_acknowledged", Suspect.SETTINGS),
        ((a.acknowledge_no_more,), "unavailable", Suspect.BROKER),
    ],
)
def test_each_kind_of_trouble_has_its_suspect(
    alter: tuple[Alter, ...], check: str, suspect: Suspect, run: Copy
) -> None:
    found = {story.check: story for story in told(judged(run, *alter, expect=(check,)))}
    assert check in found, list(found)
    assert found[check].suspect is suspect, found[check].reason
    assert found[check].reason.endswith(".")
    assert found[check].next[-1] == "chaoskafka run built.yaml --seed 1"


def test_the_command_that_shows_more_names_the_run_and_the_message(run: Copy) -> None:
    story = first(run, a.lose_one)
    assert story.next[0] == f"chaoskafka explain {run.run_dir} {story.message}"


def test_one_doubt_that_makes_many_checks_unknown_is_told_once(run: Copy) -> None:
    told_of = told(judged(run, a.never_play))
    result = read_result(run.run_dir / RESULT_FILE)
    assert len([check for check in result.checks if check.answer is Answer.UNKNOWN]) > 5
    assert 1 <= len(told_of) <= 3
    assert len(told_of) <= STORIES_MAX


def test_what_nodes_logged_around_it_is_shown_and_a_truncation_is_told(run: Copy) -> None:
    run_dir = judged(run, a.lose_the_tail, expect=("no_lost_acknowledged",))
    history = run.history
    place = told(run_dir)[0].message
    assert place is not None
    own = history.sends(place.partition).filter(producer=place.producer, sequence=place.sequence).row(0, named=True)
    (run_dir / "logs").mkdir()
    name = f"{place.partition.topic}-{place.partition.partition}"

    def line(after_s: float, text: str) -> str:
        wall_ns = own["completed_ns"] + int(after_s * NS_PER_S) + history.header.wall_minus_monotonic_ns
        at = datetime.fromtimestamp(wall_ns / NS_PER_S, UTC)
        return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] {text}\n"

    (run_dir / "logs" / "node-2.log").write_text(
        line(-0.5, f"INFO [Partition {name} broker=2] ISR updated to 2,3 (kafka.cluster.Partition)")
        + line(0.2, "INFO nothing of interest (kafka.Other)")
        + line(0.3, "WARN [x] a grave matter \x1b[31m (kafka.Other)")
        + line(0.5, f"INFO [UnifiedLog partition={name}, dir=/d] Truncating to offset {own['offset']} (kafka.log)")
        + line(0.55, f"INFO [ReplicaFetcher] Truncating partition {name} with TruncationState(offset={own['offset']})")
        + line(0.6, f"INFO [UnifiedLog partition={name}1, dir=/d] Truncating to offset 0 (kafka.log)")
        + "no line of a log\n"
    )
    story = told(run_dir)[0]
    assert len(steps(story, "truncated")) == 1
    assert f"Truncating to offset {own['offset']}" in steps(story, "truncated")[0]
    assert steps(story, "unseen") == []
    texts = [line.text for line in story.logs]
    assert any("ISR updated" in text for text in texts)
    assert any("grave matter" in text for text in texts)
    assert not any("of interest" in text or f"{name}1" in text for text in texts)
    assert "\x1b" not in as_story([story])


def test_any_message_can_be_asked_for(run: Copy) -> None:
    row = run.acked()
    message = MessageId(partition=run.partition, producer=row["producer"], incarnation=0, sequence=row["sequence"])
    story = story_of(run.history, message, read_result(run.run_dir / RESULT_FILE))
    assert story.answer is None
    assert any(f"stands at offset {row['offset']}" in line for line in steps(story, "now"))
    assert steps(story, "delivered")


def test_a_lost_message_that_no_evidence_names_is_recognised(run: Copy) -> None:
    a.lose_one(run)
    history = run.history
    records = set(history.records(run.partition)["offset"])
    gone = next(
        r
        for r in history.sends(run.partition).to_dicts()
        if r["outcome"] == 1 and r["offset"] is not None and r["offset"] not in records
    )
    message = MessageId(partition=run.partition, producer=gone["producer"], incarnation=0, sequence=gone["sequence"])
    story = story_of(history, message, None)
    assert "is lost" in story.headline
    assert story.suspect is Suspect.BROKER


@pytest.mark.parametrize("message", ["orders/0:0.0:99999", "orders/77:0.0:1", "nothing/0:0.0:1"])
def test_a_message_that_is_not_there_is_refused(message: str, good: Copy) -> None:
    with pytest.raises(HistoryError, match=r"message|partition"):
        story_of(good.history, MessageId.parse(message), None)


@pytest.mark.parametrize(
    "text", ["", "orders", "orders/0", "orders/0:0:1", "orders/0:0.0:x", "a b/0:0.0:1", "x" * 9999]
)
def test_what_names_no_message_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"orders/0:0\.0:11") as refused:
        MessageId.parse(text)
    assert len(str(refused.value)) < 400


def test_a_message_is_written_as_it_is_read() -> None:
    message = MessageId(partition=TopicPartition("a.b-c_d", 3), producer=1, incarnation=2, sequence=3)
    assert MessageId.parse(str(message)) == message


def test_as_text_it_fits_the_screen_and_ends_with_commands(run: Copy) -> None:
    text = as_story([first(run, a.lose_one)])
    lines = text.splitlines()
    assert lines[0].startswith("FAIL  no_lost_acknowledged: message orders/")
    assert max(len(line) for line in lines if "chaoskafka" not in line and "grep" not in line) <= WIDTH
    assert "suspect: broker." in text
    assert lines[-1].strip() == "chaoskafka run built.yaml --seed 1"


def test_what_a_control_made_go_wrong_is_told_as_such(run: Copy) -> None:
    run_dir = judged(run, with_acks_1, a.lose_one, expect=("no_lost_acknowledged",))
    result = read_result(run_dir / RESULT_FILE)
    checks = tuple(replace(check, expected=check.answer is Answer.FAIL) for check in result.checks)
    (story,) = stories(run.history, replace(result, checks=checks, answer=Answer.PASS))
    assert story.expected
    assert as_story([story]).startswith("FAIL, as it must  no_lost_acknowledged: ")
    assert story.suspect is Suspect.SETTINGS
    assert "acks=1" in story.reason
