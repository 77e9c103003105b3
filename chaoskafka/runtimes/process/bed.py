"""Two throw-away places in namespaces of their own, for trying on them what a run will do to nodes.

In: a run id. Out: what a stranger in one place gets who knocks on the other, and what nft says there. Leaving ends the
supervisor and removes the directory, as a run's removal does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Knock
from chaoskafka.cluster.spec import ClusterSpec, NodeSpec
from chaoskafka.errors import CommandFailed
from chaoskafka.runtimes.knocking import KNOCK, knock_words
from chaoskafka.runtimes.locks import cluster_directory, remove_directory, run_lock
from chaoskafka.runtimes.process import network
from chaoskafka.runtimes.process.control import Supervised, surroundings
from chaoskafka.runtimes.process.layout import Layout
from chaoskafka.runtimes.removal import Removal

PORT = 9092
SILENCE_S = 0.5  # a connect within one machine takes a millisecond, on a starved one 0.1 s
STARTS_S = 15.0  # a Python interpreter that listens: 0.1 s
LISTENS = f"import socket, time; s = socket.create_server(('', {PORT})); time.sleep(600)"  # ends with the supervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """Two places; the second has an open port."""

    inside: Supervised
    layout: Layout

    def knock(self) -> Knock:
        """From the first place at the second's port. Raises CommandFailed."""
        asker, asked = self._places
        words = knock_words(PORT, at=self.layout.address(asked), speak=False, within_s=SILENCE_S, until=None)
        done = self.inside.run([sys.executable, "-I", "-c", KNOCK, *words], at=self.layout.namespace(asker.name))
        if done.code != 0:
            raise CommandFailed("a knock from one namespace at another", done.code, done.output)
        return Knock(done.stdout.strip())

    def run_rules(self, batch: str) -> None:
        """In the second place. Raises CommandFailed."""
        done = self.inside.run(["nft", "-f", "-"], at=self.layout.namespace(self._places[1].name), stdin=batch)
        if done.code != 0:
            raise CommandFailed("nft in a namespace", done.code, done.output)

    @property
    def _places(self) -> tuple[NodeSpec, ...]:
        return self.layout.spec.members


@contextmanager
def made(run_id: str) -> Iterator[Bed]:
    """Blocks until the port answers. Raises EnvironmentFailure where namespaces are forbidden, WaitTimeout."""
    with run_lock(run_id), Removal() as removal:
        layout = Layout(root=cluster_directory(run_id), spec=ClusterSpec(nodes=2))
        removal.add(f"removing {layout.root}", partial(remove_directory, layout.root))
        (layout.root / "net").mkdir()
        layout.hosts_file.write_text(layout.hosts)
        inside = Supervised(layout.root)
        removal.add("ending all processes", inside.end)
        inside.start()
        places = [network.place(layout.namespace(m.name), layout.address(m)) for m in layout.spec.members]
        inside.shell(network.script([network.bridge(layout.hosts_file), *places]), "making networks")
        inside.ask(
            "start",
            name="listener",
            argv=[sys.executable, "-I", "-c", LISTENS],
            env=surroundings(),
            cwd=str(layout.root),
            at=str(layout.namespace(layout.spec.members[1].name)),
            stdout=str(layout.log),
            stderr=str(layout.log),
        )
        bed = Bed(inside=inside, layout=layout)
        wait_until("a port to answer", read=bed.knock, good=lambda k: k is Knock.ANSWERED, within_s=STARTS_S)
        yield bed
