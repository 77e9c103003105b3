"""Commands: failure and lateness are errors that carry what the command said."""

from pathlib import Path

import pytest

from chaoskafka.errors import CommandFailed, EnvironmentFailure
from chaoskafka.images.commands import TAIL_CHARACTERS, run


def test_failure_carries_code_and_the_end_of_the_output() -> None:
    with pytest.raises(CommandFailed, match="the last word") as caught:
        run(["sh", "-c", "yes | head -n 9999; echo the last word >&2; exit 7"], within_s=60)
    assert caught.value.returncode == 7
    assert len(caught.value.output_tail) <= TAIL_CHARACTERS


def test_a_late_command_is_asked_to_stop_and_may_clear_away() -> None:
    # A shell is ready to be stopped in milliseconds; its own wait, unlike a program's, gives way to the signal.
    script = "trap 'echo cleared away; kill $!; exit' TERM; sleep 60 & wait"
    with pytest.raises(CommandFailed, match="stopped after") as caught:
        run(["sh", "-c", script], within_s=1)
    assert "cleared away" in caught.value.output_tail


def test_a_missing_program_says_how_to_get_it() -> None:
    with pytest.raises(EnvironmentFailure, match=r"no-such-program is not installed\n.*apt-get"):
        run(["no-such-program"], within_s=1, mend="apt-get install it")


def test_output_goes_where_it_was_asked_to(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with target.open("wb") as out:
        run(["echo", "word"], within_s=60, stdout=out)
    assert target.read_text() == "word\n"
