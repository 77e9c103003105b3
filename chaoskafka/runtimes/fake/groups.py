"""Consumer groups: who is a member, who reads what, and what was committed.

In: joins, leaves and commits of members. Out: the places that a member is to give up or may take. A place changes hands
only once its holder has let go of it (cooperative), so that no two members read it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chaoskafka.cluster.sights import Partition


@dataclass(slots=True)
class Group:
    """One group on one topic. Not for several threads at once."""

    members: list[str] = field(default_factory=list)
    holders: dict[Partition, str] = field(default_factory=dict)
    committed: dict[Partition, int] = field(default_factory=dict)

    def join(self, member: str) -> None:
        self.members.append(member)

    def leave(self, member: str) -> None:
        """Let go of everything. Harmless for one who is no member."""
        if member in self.members:
            self.members.remove(member)
        self.let_go(member, [place for place, holder in self.holders.items() if holder == member])

    def change(self, member: str, places: Sequence[Partition]) -> tuple[list[Partition], list[Partition]]:
        """What the member is to give up, and what it may take now: places go round the members in turn."""
        if member not in self.members:
            return [], []
        at = self.members.index(member)
        wanted = [place for i, place in enumerate(places) if i % len(self.members) == at]
        held = [place for place, holder in self.holders.items() if holder == member]
        lost = [place for place in held if place not in wanted]
        return lost, [place for place in wanted if place not in self.holders]

    def let_go(self, member: str, places: Iterable[Partition]) -> None:
        for place in list(places):
            if self.holders.get(place) == member:
                del self.holders[place]

    def take(self, member: str, places: Iterable[Partition]) -> None:
        self.holders |= dict.fromkeys(places, member)
