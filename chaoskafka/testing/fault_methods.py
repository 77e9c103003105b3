"""The faults of the catalogue as methods. Written by `methods.py`; a test holds it equal to that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from chaoskafka.cluster.targets import Target

if TYPE_CHECKING:
    from chaoskafka.testing.chaos import Hit


class FaultMethods(ABC):
    """A method for each fault; docs/faults.md says what each does, and what its parameters mean."""

    @abstractmethod
    def fault(self, word: str, **parameters: Any) -> AbstractContextManager[Hit]:
        """Any fault by its word."""

    def command(
        self,
        run: Sequence[str],
        *,
        bites_when: Mapping[str, Any] | str,
        heals_when: Mapping[str, Any] | str = "recovered",
        settle_s: float = 60.0,
        run_s: float = 600.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """Have a command of yours break something, and see by what brokers say that it did."""
        return self.fault(
            "command",
            run=run,
            bites_when=bites_when,
            heals_when=heals_when,
            settle_s=settle_s,
            run_s=run_s,
            heal_s=heal_s,
        )

    def crash_loop(
        self,
        target: Target | str,
        *,
        times: int = 3,
        up_s: float = 1.0,
        settle_s: float = 15.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """Kill Kafka on every node of `target`, then `times` more, each time `up_s` after it was started."""
        return self.fault("crash_loop", target=target, times=times, up_s=up_s, settle_s=settle_s, heal_s=heal_s)

    def cut_clients(
        self,
        target: Target | str,
        *,
        for_s: float | None = None,
        ways: Literal["both", "in", "out"] = "both",
        action: Literal["drop", "reject"] = "drop",
        reset_connections: bool = False,
        settle_s: float = 30.0,
        heal_s: float = 60.0,
    ) -> AbstractContextManager[Hit]:
        """Cut every broker of `target` off from all clients but the observer."""
        return self.fault(
            "cut_clients",
            target=target,
            for_s=for_s,
            ways=ways,
            action=action,
            reset_connections=reset_connections,
            settle_s=settle_s,
            heal_s=heal_s,
        )

    def isolate(
        self,
        target: Target | str,
        *,
        for_s: float | None = None,
        ways: Literal["both", "in", "out"] = "both",
        action: Literal["drop", "reject"] = "drop",
        reset_connections: bool = False,
        settle_s: float = 30.0,
        heal_s: float = 60.0,
    ) -> AbstractContextManager[Hit]:
        """Cut every node of `target` off from everybody but the observer."""
        return self.fault(
            "isolate",
            target=target,
            for_s=for_s,
            ways=ways,
            action=action,
            reset_connections=reset_connections,
            settle_s=settle_s,
            heal_s=heal_s,
        )

    def kill(
        self,
        target: Target | str,
        *,
        for_s: float | None = None,
        settle_s: float = 15.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """SIGKILL Kafka on every node of `target`."""
        return self.fault("kill", target=target, for_s=for_s, settle_s=settle_s, heal_s=heal_s)

    def move_leader(
        self,
        topic: str,
        *,
        partition: int | None = None,
        to: str = "any other replica",
        move_s: float = 60.0,
    ) -> AbstractContextManager[Hit]:
        """Let other brokers lead partitions of `topic`, by reassignment where needed and preferred election."""
        return self.fault("move_leader", topic=topic, partition=partition, to=to, move_s=move_s)

    def partition(
        self,
        target: Target | str,
        *,
        shape: Literal["rest", "halves", "minority", "bridge", "majorities_ring"] = "rest",
        against: Target | str | None = None,
        planes: Sequence[Literal["controllers", "replication"]] = (),
        ways: Literal["both", "in", "out"] = "both",
        action: Literal["drop", "reject"] = "drop",
        for_s: float | None = None,
        reset_connections: bool = False,
        settle_s: float = 60.0,
        heal_s: float = 60.0,
    ) -> AbstractContextManager[Hit]:
        """Part nodes from each other as `shape` says; clients and the observer still reach all of them."""
        return self.fault(
            "partition",
            target=target,
            shape=shape,
            against=against,
            planes=planes,
            ways=ways,
            action=action,
            for_s=for_s,
            reset_connections=reset_connections,
            settle_s=settle_s,
            heal_s=heal_s,
        )

    def pause(
        self,
        target: Target | str,
        *,
        for_s: float | None = None,
        settle_s: float = 15.0,
        heal_s: float = 30.0,
    ) -> AbstractContextManager[Hit]:
        """Freeze Kafka on every node of `target`, and let it run on."""
        return self.fault("pause", target=target, for_s=for_s, settle_s=settle_s, heal_s=heal_s)

    def power_off(
        self,
        target: Target | str,
        *,
        for_s: float | None = None,
        settle_s: float = 15.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """Take the power from the machine of every node of `target`, and boot it again."""
        return self.fault("power_off", target=target, for_s=for_s, settle_s=settle_s, heal_s=heal_s)

    def restart(
        self,
        target: Target | str,
        *,
        grace_s: float = 60.0,
        settle_s: float = 15.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """Stop Kafka on every node of `target` and start it again at once."""
        return self.fault("restart", target=target, grace_s=grace_s, settle_s=settle_s, heal_s=heal_s)

    def rolling_restart(
        self,
        *,
        gate: Literal["isr_full", "time"] = "isr_full",
        every_s: float = 10.0,
        gate_s: float = 120.0,
        grace_s: float = 60.0,
        settle_s: float = 15.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """Stop and start every node in turn, the active controller last."""
        return self.fault(
            "rolling_restart",
            gate=gate,
            every_s=every_s,
            gate_s=gate_s,
            grace_s=grace_s,
            settle_s=settle_s,
            heal_s=heal_s,
        )

    def stop(
        self,
        target: Target | str,
        *,
        for_s: float | None = None,
        grace_s: float = 60.0,
        after_grace: Literal["fail", "kill"] = "fail",
        settle_s: float = 15.0,
        heal_s: float = 120.0,
    ) -> AbstractContextManager[Hit]:
        """Ask Kafka on every node of `target` to stop, as a person or an init system does."""
        return self.fault(
            "stop",
            target=target,
            for_s=for_s,
            grace_s=grace_s,
            after_grace=after_grace,
            settle_s=settle_s,
            heal_s=heal_s,
        )
