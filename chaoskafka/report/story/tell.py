"""`stories(history, result)`: one story per check that is not green, and `story_of` for a message that is asked for.

In: a History and its Result. Out: Stories. Pure but for reading the nodes' logs. A check that only follows from
another has no story of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from chaoskafka.checks.no_lost_acknowledged import absent
from chaoskafka.clock import NS_PER_S
from chaoskafka.errors import HistoryError
from chaoskafka.history.read import History
from chaoskafka.history.views import loaded
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.report.story.life import Life, life
from chaoskafka.report.story.logs import Said, about, logged, truncations
from chaoskafka.report.story.model import LogLine, MessageId, Story, Suspect
from chaoskafka.report.story.naming import is_message, message_in
from chaoskafka.report.story.steps import steps_of
from chaoskafka.report.story.suspects import Guess, of_check, of_message
from chaoskafka.report.timeline.axis import Axis, axis_of
from chaoskafka.verdict import Answer

STORIES_MAX = 5  # checks; one cause makes many of them complain, and the first ones name it
BEFORE_NS, AFTER_NS = 2 * NS_PER_S, 60 * NS_PER_S  # of the nodes' logs: a failover and a return lie within
_MESSAGES = ("no_lost_acknowledged", "no_duplicates", "ordered", "no_unexpected", "all_delivered", "offsets_agree")


def stories(history: History, result: Result | None) -> list[Story]:
    """Raises HistoryError when a table is damaged."""
    axis = axis_of(history)
    if result is None or axis is None:
        return []
    red = [check for check in result.checks if check.answer is not Answer.PASS and check.consequence_of is None]
    red.sort(key=lambda check: (check.expected, check.answer is not Answer.FAIL, check.word not in _MESSAGES))
    told: list[Story] = []
    for check in red:
        one = _of_check(history, check, result, axis)
        # One doubt makes a dozen checks unknown, and an error of a phase stands in their words: it is told once.
        error = check.summary.partition("): ")[2] or check.summary
        known = any(error in other.headline or one.reason == other.reason for other in told)
        if check.answer is Answer.FAIL or not known:
            told.append(one)
    return told[:STORIES_MAX]


def story_of(history: History, message: MessageId, result: Result | None) -> Story:
    """The story of one message, whether anything is wrong with it or not. Raises HistoryError: no such message."""
    axis = axis_of(history)
    if message.partition not in history.partitions or axis is None:
        raise HistoryError(f"{history.run_dir}: the run had no partition {message.partition}")
    found = life(history, message)
    if found.send is None and not found.copies and not found.reads and not found.strays:
        raise HistoryError(f"{history.run_dir}: nobody sent, stored or read a message {message}")
    check, evidence = _complaint(history, found, result)
    if not check:
        guess = Suspect.OPEN, "no check has anything to say about this message alone"
        return _story(history, found, axis, check=None, headline=f"message {message}", guess=guess)
    word = next(one for one in result.checks if one.word == check) if result else None
    guess = of_message(history, check, evidence, found)
    return _story(history, found, axis, check=word, headline=_headline(check, found, evidence), guess=guess)


def _complaint(history: History, found: Life, result: Result | None) -> tuple[str, Mapping[str, Any]]:
    """The failing check whose evidence names this message, or which it breaks by what the tables say."""
    for check in result.checks if result is not None else ():
        for row in check.evidence if check.answer is Answer.FAIL else ():
            if message_in(history, row) == found.message:
                return check.word, row
    if len(found.copies) > 1:
        return "no_duplicates", {}
    partition = found.message.partition
    if found.end is not None and not found.copies and found.send is not None:
        lost, _ = absent(history, partition)
        if not lost.filter(is_message(found.message)).is_empty():
            return "no_lost_acknowledged", {}
    return "", {}


def _of_check(history: History, check: CheckResult, result: Result, axis: Axis) -> Story:
    if check.answer is Answer.FAIL and check.word in _MESSAGES:
        message, evidence = _first(history, check)
        if message is not None:
            found = life(history, message)
            guess = of_message(history, check.word, evidence, found)
            return _story(
                history, found, axis, check=check, headline=_headline(check.word, found, evidence), guess=guess
            )
    suspect, reason = _sentence(of_check(history, check, result))
    return Story(
        check=check.word,
        answer=check.answer,
        headline=check.summary,
        message=None,
        steps=(),
        logs=(),
        suspect=suspect,
        reason=reason,
        next=_next(history, None, suspect),
        zero=axis.zero,
        expected=check.expected,
    )


def _first(history: History, check: CheckResult) -> tuple[MessageId | None, Mapping[str, Any]]:
    """The anomaly that came first by the instant of sending."""
    if check.word == "no_lost_acknowledged":
        lost = [(partition, absent(history, partition)[0]) for partition in loaded(history)]
        firsts = [(rows.sort("invoked_ns").row(0, named=True), p) for p, rows in lost if not rows.is_empty()]
        if firsts:
            row, partition = min(firsts, key=lambda found: found[0]["invoked_ns"])
            message = message_in(history, {**row, "partition": str(partition)})
            evidence = next((one for one in check.evidence if message_in(history, one) == message), {})
            return message, evidence
    named = [(message, row) for row in check.evidence if (message := message_in(history, row)) is not None]
    return min(named, key=lambda found: _sent_ns(history, found[0]), default=(None, {}))


def _sent_ns(history: History, message: MessageId) -> float:
    sent = history.sends(message.partition).filter(is_message(message))["invoked_ns"].drop_nulls()
    return float(sent[0]) if not sent.is_empty() else float("inf")


def _story(
    history: History, found: Life, axis: Axis, *, check: CheckResult | None, headline: str, guess: Guess
) -> Story:
    at_ns = _instant_ns(found) or axis.zero_ns
    said = list(logged(history, at_ns - BEFORE_NS, max(axis.end_ns, at_ns + AFTER_NS)))
    offset = found.send["offset"] if found.send else None
    cut = truncations(said, found.message.partition, offset) if not found.copies else []
    around = [line for line in said if line.at_ns <= at_ns + AFTER_NS]
    suspect, reason = _sentence(guess)
    return Story(
        check=check.word if check else "",
        answer=check.answer if check else None,
        headline=headline,
        message=found.message,
        steps=steps_of(history, found, axis, cut),
        logs=_shown(about(around, found.message.partition, at_ns), axis),
        suspect=suspect,
        reason=reason,
        next=_next(history, found.message, suspect),
        zero=axis.zero,
        expected=check is not None and check.expected,
    )


def _sentence(guess: Guess) -> Guess:
    suspect, reason = guess
    return suspect, f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


def _instant_ns(found: Life) -> int | None:
    if found.send is None:
        return None
    instant = found.send["completed_ns"] if found.send["completed_ns"] is not None else found.send["invoked_ns"]
    return int(instant) if instant is not None else None


def _shown(lines: list[Said], axis: Axis) -> tuple[LogLine, ...]:
    return tuple(
        LogLine(node=line.node, at_s=axis.at_s(line.at_ns), text=f"{line.level} {line.text}") for line in lines
    )


def _headline(check: str, found: Life, evidence: Mapping[str, Any]) -> str:
    if check == "no_unexpected" and evidence.get("why"):
        return f"message {found.message} in {evidence.get('partition')}: {evidence['why']}"
    what = {
        "no_lost_acknowledged": "was acknowledged and is lost",
        "no_duplicates": f"is stored {len(found.copies)} times",
        "ordered": "lies before one that was sent earlier",
        "all_delivered": "was never delivered to its group",
        "offsets_agree": "shares its offset with another",
    }
    return f"message {found.message} {what.get(check, check)}"


def _next(history: History, message: MessageId | None, suspect: Suspect) -> tuple[str, ...]:
    """What to type next: see more of it, rule the machine out, or play it again."""
    where = str(history.run_dir)
    commands = []
    if message is not None:
        commands.append(shlex.join(["chaoskafka", "explain", where, str(message)]))
        if any((history.run_dir / "logs").glob("node-*.log")):
            name = f"{message.partition.topic}-{message.partition.partition}"
            commands.append(f"grep -n {shlex.quote(name)} {shlex.quote(where)}/logs/node-*.log")
    if suspect is Suspect.ENVIRONMENT:
        commands.append("chaoskafka doctor")
    return (*commands, history.header.replay)
