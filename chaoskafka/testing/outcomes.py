"""How a test with chaos ends when it does not pass: three errors, apart from those of `chaoskafka.errors`.

Broken        AssertionError    what must not be was found: the test failed
Inconclusive  ChaosKafkaError   the question was not answered: neither pass nor fail
Unverified    ChaosKafkaError   load or faults were left without anybody asking what they did; an error of the test

Imports nothing heavy: the plugin looks here for every test that did not pass.
"""

from __future__ import annotations

from chaoskafka.errors import ChaosKafkaError, ExitCode, Interrupted

INCONCLUSIVE = frozenset({ExitCode.UNKNOWN, ExitCode.ENVIRONMENT})


class Broken(AssertionError):
    """A check failed. The text is the report: which checks, the evidence, who led, the run directory, the replay."""


class Inconclusive(ChaosKafkaError):
    """Load did not run, a fault did not bite or heal, the audit did not reach an end: nothing can be said."""

    exit_code = ExitCode.UNKNOWN


class Unverified(ChaosKafkaError):
    """A test ended, and nobody had called `traffic.verify()`."""

    exit_code = ExitCode.USAGE


def is_inconclusive(error: BaseException | None) -> bool:
    """Whether an error says that the question was not answered: by the harness's own errors, or the machine's."""
    return isinstance(error, ChaosKafkaError) and not isinstance(error, Interrupted) and error.exit_code in INCONCLUSIVE
