"""Chaos in pytest: what tests and their applications import. The fixtures come from the plugin by themselves.

Importing it is cheap; applications under test import `identity` in client places, where neither pytest nor a table
library is installed.
"""

from chaoskafka.testing.ids import HEADER, Seen, identity
from chaoskafka.testing.outcomes import Broken, Inconclusive, Unverified
from chaoskafka.testing.who import Topic, active_controller, coordinator_of, follower_of, leader_of

__all__ = [
    "HEADER",
    "Broken",
    "Inconclusive",
    "Seen",
    "Topic",
    "Unverified",
    "active_controller",
    "coordinator_of",
    "follower_of",
    "identity",
    "leader_of",
]
