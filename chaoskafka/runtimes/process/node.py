"""A node: a network namespace with an address, a directory as its disk, and Kafka's process in them.

It is a PlainNode, to which the namespace adds what rules in it can do. Rules survive the death of Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaoskafka.cluster import netrules
from chaoskafka.cluster.abilities import Deed
from chaoskafka.errors import CommandFailed
from chaoskafka.runtimes.process.control import Done
from chaoskafka.runtimes.process.plain import PlainNode
from chaoskafka.runtimes.removal import Removal


class ProcessNode(PlainNode):
    """CanPowerOff and CanPartition too, by signals and nft."""

    def power_off(self) -> Deed:
        """Done once nothing passes any more. The rules come first, or the kernel would tell of the death.

        Raises FaultFailed when there is nothing to kill, CommandFailed and EnvironmentFailure.
        """
        dark = self.run_rules(netrules.cut_batch(netrules.POWER, netrules.Cut()))
        means = f"rules that drop all, then {self.kill().means}"
        return replace(dark, what=f"power off of {self._spec.name}", means=means)

    def power_on(self, *, within_s: float) -> Deed:
        """Let packets pass, and start Kafka. Idempotent. Raises as `start` does."""
        self.run_rules(netrules.lift_batch(netrules.POWER))
        return replace(self.start(within_s=within_s), what=f"power on of {self._spec.name}")

    def run_rules(self, batch: str) -> Deed:
        """A batch of nft commands, all or nothing. Raises CommandFailed."""
        done = self._run("nft", "-f", "-", stdin=batch)
        means = "nft in its network namespace"
        return Deed(what=f"rules of {self._spec.name}", means=means, asked_ns=done.began_ns, acted_ns=done.ended_ns)

    def rules(self) -> str:
        """Every table of ours as nft lists it, with what its rules counted. Raises CommandFailed."""
        return netrules.ours(self._run("nft", "list", "ruleset", "inet").stdout)

    def reset_connections(self, peers: Sequence[str]) -> int:
        """Returns how many connections were ended. Raises CommandFailed."""
        return len(self._run(*netrules.reset_command(peers)).stdout.splitlines())

    def restore(self, *, within_s: float) -> None:
        """Take back whatever was done to it. Blocks. Tries everything; raises the first error, others as notes."""
        with Removal() as steps:  # last first
            steps.add(f"restoring the process of {self._spec.name}", lambda: PlainNode.restore(self, within_s=within_s))
            steps.add(f"lifting the rules of {self._spec.name}", self._lift_all)

    def _lift_all(self) -> None:
        batches = map(netrules.lift_batch, netrules.tables(self.rules()))
        self.run_rules("".join(batches))

    def _run(self, *argv: str, stdin: str = "") -> Done:
        """Raises CommandFailed unless it ends with 0."""
        done = self._inside.run(argv, at=self._at, stdin=stdin)
        if done.code != 0:
            raise CommandFailed(f"{' '.join(argv)} in the namespace of {self._spec.name}", done.code, done.output)
        return done
