"""A run's own process, in which a rehearsal takes a second: `chaoskafka.fleet.child` with nothing to wait for."""

import pytest

from chaoskafka.fleet import child
from tests.rehearsals import hurry

if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        child.main()
