"""How often properties are tried: by default so often that nobody waits, twenty times as often at night.

`pytest --hypothesis-profile=nightly` (`make nightly`) is the thorough one; `conftest.py` has both profiles.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import settings

USUAL = 100  # examples of a property that says nothing itself: what Hypothesis takes by default
NIGHTLY = 20  # times as many


def examples(usual: int, **more: Any) -> settings:
    """Settings of a property whose examples cost more, or less, than is usual. In the nightly profile more of them."""
    return settings(max_examples=usual * settings.default.max_examples // USUAL, **more)


@cache
def register() -> None:
    """Once per process: a session inside a test must not change the profile of the one that plays it.

    No property has a deadline: how long an example takes says more of the machine than of the code.
    """
    settings.register_profile("usual", settings.default, max_examples=USUAL, deadline=None)
    settings.register_profile("nightly", settings.default, max_examples=USUAL * NIGHTLY, deadline=None)
    settings.load_profile("usual")
