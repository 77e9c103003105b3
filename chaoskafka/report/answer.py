"""The answer of a run in a sentence, and why.

In: a Result, or the events of a run that has none. Out: text. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaoskafka.history.events import Event
from chaoskafka.report.result import CheckResult, Result
from chaoskafka.verdict import Answer

UNJUDGED = "not judged"


def why(result: Result) -> str:
    """Why the answer is what it is: by the check that decides, and how many others say the same."""
    if result.answer is Answer.PASS:
        wanted = sum(check.expected for check in result.checks)
        if wanted:
            return f"A control: {wanted} of {len(result.checks)} checks failed as they must, the others passed."
        return f"All {len(result.checks)} checks passed: {_sentence(result.checks[0])}"
    decisive = [check for check in result.checks if check.answer is result.answer and not check.expected]
    if not decisive:
        return f"No check says why it is {result.answer}."  # a document that somebody changed
    first = min(decisive, key=lambda check: check.consequence_of is not None)
    others = [check for check in decisive if check is not first]
    text = f"{first.word}: {_sentence(first)}"
    if others:
        followers = sum(check.consequence_of is not None for check in others)
        verb = {Answer.FAIL: ("fails", "fail")}.get(result.answer, ("is unknown", "are unknown"))[len(others) > 1]
        text += f" {len(others)} more {verb}"
        text += f", {followers} as a consequence." if followers else "."
    return text


def why_unjudged(events: Sequence[Event]) -> str:
    """What kept a run from being judged: where it stood, and the first error that it told of."""
    begun = [event.fields for event in events if event.event == "phase" and event.fields.get("state") == "begin"]
    ended = {
        event.fields.get("number") for event in events if event.event == "phase" and event.fields["state"] == "end"
    }
    open_phases = [fields for fields in begun if fields.get("number") not in ended] or begun[-1:]
    where = f"It ended in phase {open_phases[0].get('number')} ({open_phases[0].get('name')})." if open_phases else ""
    errors = [event.fields for event in events if event.event == "error"]
    told = f"{errors[0].get('type')}: {errors[0].get('text')}" if errors else "It left no word of why."
    return f"{where} {told}".strip()


def _sentence(check: CheckResult) -> str:
    text = check.summary.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
