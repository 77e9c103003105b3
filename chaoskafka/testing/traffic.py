"""The traffic of a test: load that flows, and in the end the verdict on what became of it. In: a trial. Out: a report.

No test is green for nothing: a report exists only if every check passed; what nobody verified is an error of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chaoskafka.clock import wait_until
from chaoskafka.errors import UsageError, WaitTimeout
from chaoskafka.history.doubt import audit_doubts
from chaoskafka.history.header import TopicFacts
from chaoskafka.history.read import open_history
from chaoskafka.history.views import loaded
from chaoskafka.report.result import Result
from chaoskafka.scenario.model import ALWAYS_ON, Named, Scenario
from chaoskafka.testing.application import Application
from chaoskafka.testing.guard import Guard
from chaoskafka.testing.handled import Handled, acknowledged_ids, compare, stored_ids
from chaoskafka.testing.load import checks
from chaoskafka.testing.outcomes import Broken, Inconclusive, Unverified
from chaoskafka.testing.report import Report, failing, story
from chaoskafka.testing.trial import Trial
from chaoskafka.testing.who import Topic
from chaoskafka.verdict import Answer

# For an application to handle what lies in the log; it is asked again and again. One that was killed and started again
# waits until its former self has left the group: 45 s by default (session.timeout.ms), and has its work to do then.
HANDLE_S = 120.0
HANDLE_EVERY_S = 0.2
# Between two readings that must be equal before the last is judged: a message that is handled twice is so after the
# first time, and what an application writes in batches it writes within a second or so.
HANDLED_APART_S = 2.0

Asked = str | Mapping[str, Any]
Ids = Iterable[str]


class Traffic:
    """Producers and consumers of one test. A context manager; the fixture `traffic` has entered it."""

    def __init__(
        self, trial: Trial, scenario: Scenario, facts: Sequence[TopicFacts], topics: Sequence[Topic], guard: Guard
    ) -> None:
        self.trial, self.topics = trial, tuple(topics)
        self._scenario, self._facts, self._guard = scenario, facts, guard
        self.applications: list[Application] = []
        self._begun = self._verified = False

    @property
    def topic(self) -> Topic:
        """The first, as a rule the only one."""
        return self.topics[0]

    @property
    def run_dir(self) -> Path:
        """Where all of it is recorded, for `chaoskafka check`."""
        return self.trial.run_dir

    @property
    def flows(self) -> bool:
        return self._begun and not self.trial.ended

    @property
    def is_over(self) -> bool:
        return self._begun and self.trial.ended

    def start(self) -> Self:
        """Until every producer had an acknowledgement and every group a read, of every partition. Blocks."""
        with self._guard.work():
            self.trial.begin(self._scenario, self._facts)
        self._begun = True
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            self.trial.finish()
        else:
            self.trial.leave()

    def acknowledged(self) -> list[str]:
        """The ids of all messages that a client was told are stored. Ends the load first. Blocks."""
        self.trial.finish()
        return acknowledged_ids(open_history(self.run_dir))

    def verify(
        self,
        *,
        also: Sequence[Asked] | Asked = (),
        expect: Sequence[Asked] | None = None,
        seen: Ids | Callable[[], Ids] | None = None,
        twice: bool = False,
    ) -> Report:
        """End the load, let the cluster recover, read every log to its end, and judge. Blocks.

        `also`: checks beside the usual ones, e.g. `["no_duplicates", {"unavailable": {"at_most_s": 15}}]`; `expect`:
        in place of them. `seen`: the ids that an application handled, or what returns them, asked until none is
        missing; `twice`: it may handle a message more than once.

        Raises Broken when a check failed or the application lost a message; else Inconclusive when anything kept the
        answer back: no load in a fault's window, no fault, a fault not seen to bite or heal, an end not reached.
        """
        __tracebackhide__ = True
        if not self._begun:
            raise UsageError("traffic.verify: it never began to flow")
        if self.trial.in_force:
            raise UsageError("traffic.verify: a fault is in force; leave its `with` first")
        wanted = self._wanted(also, expect)
        self._verified = True  # whatever comes, the test asked
        self.trial.finish()
        result = self.trial.judge(wanted)
        handled = self._handled(seen) if seen is not None else None
        ended = [how for application in self.applications if (how := application.ended_unasked())]
        wrong = self._wrong(result, handled, ended, twice=twice)
        if wrong is not None:
            with self._guard.undisturbed():
                self.trial.gather()
            raise wrong
        return Report(result, self.run_dir, handled)

    def end(self, *, passed: bool) -> None:
        """The test is over, however. Raises Unverified when it passed and nobody asked."""
        self.trial.leave()
        if passed and self._begun and not self._verified:
            faults = len(self.trial.header.plan)
            after = f", and {faults} fault{'s' * (faults > 1)} played" if faults else ""
            raise Unverified(
                f"load ran{after}, and the test ended without asking what became of it: call traffic.verify()\n"
                f"run directory  {self.run_dir}"
            )

    def _wanted(self, also: Sequence[Asked] | Asked, expect: Sequence[Asked] | None) -> list[Named[Any]]:
        usual = list(self._scenario.expect) if expect is None else [one for asked in expect for one in checks(asked)]
        more = [also] if isinstance(also, str | Mapping) else also
        wanted = [*usual, *(one for asked in more for one in checks(asked))]
        named = {one.word: one for one in wanted if one.word != ALWAYS_ON}  # the later one wins
        if not named:
            raise UsageError(f"verify: {ALWAYS_ON} is judged in every run; ask for something else too")
        return list(named.values())

    def _handled(self, seen: Ids | Callable[[], Ids]) -> Handled:
        """What the application handled, once it is complete and rests, or its time is up. Blocks."""
        stored = stored_ids(open_history(self.run_dir))
        if not callable(seen):
            return compare(stored, seen)
        latest: Handled | None = None
        is_same = False

        def read() -> Handled:
            nonlocal latest, is_same
            before, latest = latest, compare(stored, seen())
            is_same = before == latest
            return latest

        def wait(good: Callable[[Handled], bool], every_s: float) -> None:
            what = "the application to handle every message, and to rest"
            wait_until(
                what, read=read, good=good, within_s=HANDLE_S, every_s=every_s, clock=self._guard.clock, describe=str
            )

        with self._guard.work(), suppress(WaitTimeout):  # what is missing is lost, and told
            wait(lambda handled: not handled.lost, HANDLE_EVERY_S)
            self._guard.clock.pause(HANDLED_APART_S)
            wait(lambda _: is_same, HANDLED_APART_S)
        assert latest is not None
        return latest

    def _wrong(
        self, result: Result, handled: Handled | None, ended: Sequence[str], *, twice: bool
    ) -> Broken | Inconclusive | None:
        lost = handled is not None and bool(handled.lost or handled.unknown or (handled.twice and not twice))
        kind: type[Broken | Inconclusive]
        if lost or ended or failing(result):
            kind = Broken
        elif result.answer is not Answer.PASS or (handled is not None and self._is_unsure(handled)):
            kind = Inconclusive
        else:
            return None
        own = [*([str(handled)] if handled is not None else []), *ended]
        return kind("\n\n".join([*own, story(result, self.run_dir)]))

    def _is_unsure(self, handled: Handled) -> bool:
        """What lies in a log that was not read to its end may be lost to the application too."""
        history = open_history(self.run_dir)
        return not handled.handled or bool(audit_doubts(history, loaded(history)))
