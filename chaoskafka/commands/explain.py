"""`chaoskafka explain DIR [MESSAGE]`: why a stored run is not green, or what became of one message, in text."""

from __future__ import annotations

import os
from pathlib import Path

from chaoskafka.commands.output import say
from chaoskafka.errors import ExitCode
from chaoskafka.history.read import open_history
from chaoskafka.report.as_story import as_story
from chaoskafka.report.result import RESULT_FILE, read_result
from chaoskafka.report.story.model import MessageId
from chaoskafka.report.story.tell import stories, story_of
from chaoskafka.report.whole import whole_run, why_of


def main(run_dir: Path, message: str | None) -> ExitCode:
    """Blocks while tables are read. The exit code says whether there was something to tell, not whether it is good.

    Raises UsageError when `message` names none, HistoryError when the run, or such a message, is not there.
    """
    wanted = MessageId.parse(message) if message is not None else None
    run_dir = Path(os.path.realpath(run_dir))
    history = open_history(run_dir)
    result = read_result(run_dir / RESULT_FILE) if (run_dir / RESULT_FILE).exists() else None
    if wanted is not None:
        say(as_story([story_of(history, wanted, result)]))
        return ExitCode.PASS
    told = stories(history, result)
    say(as_story(told) if told else why_of(whole_run(run_dir)))
    return ExitCode.PASS
