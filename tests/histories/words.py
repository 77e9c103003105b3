"""The checks that a failover can pass: all but the one that asks for none."""

from __future__ import annotations

from chaoskafka.scenario.catalogue import Kind, members

PASSED_BY_A_FAILOVER = tuple(word for word in members(Kind.CHECK) if word != "no_election")
