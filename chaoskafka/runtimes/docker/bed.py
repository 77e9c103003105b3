"""A throw-away network, volume and two containers, for trying on them what a run will do to nodes.

In: an image with Python, the source of what is executed inside. Out: what that says. The *patient* is a container with
no privileges, on a network and with a volume of its own and a published port; the *hand* shares the patient's network
and may change it. Everything is labelled as a run's is, so a sweep removes it if this process is killed.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from docker.models.containers import Container

from chaoskafka.clock import wait_until
from chaoskafka.cluster.abilities import Address
from chaoskafka.errors import CommandFailed, HarnessError
from chaoskafka.runtimes.docker import containers, network, pids
from chaoskafka.runtimes.docker.containers import Plan
from chaoskafka.runtimes.docker.engine import Engine, asking, connect
from chaoskafka.runtimes.docker.labels import Part, labels, object_name
from chaoskafka.runtimes.docker.reach import Reach, reach_of
from chaoskafka.runtimes.locks import run_lock
from chaoskafka.runtimes.removal import Removal

T = TypeVar("T")

DISK = "/tmp/disk"  # noqa: S108 - a mount point inside a container of ours
HAND_CAPABILITIES = ("NET_ADMIN",)  # what changing a network namespace takes
MEMORY_MIB = 64  # of each container: a Python interpreter
ENDS_WITHIN_S = 10.0  # a process that only prints: 0.5 s measured, on a busy machine 2 s


class Bed:
    """A context manager; leaving it removes all that was made. Each part is made when it is asked for."""

    def __init__(self, run_id: str, *, source: str, port: int, capabilities: Sequence[str] = HAND_CAPABILITIES) -> None:
        self._run_id, self._source, self._port, self._capabilities = run_id, source, port, capabilities
        self._life = ExitStack()
        self._removal = Removal()
        self._engine: Engine | None = None
        self._reach = Reach()
        self._patient: Container | None = None
        self._hand: Container | None = None
        self.image = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._life:
            self._removal.__exit__(kind, error, tb)

    @property
    def engine(self) -> Engine:
        return _there(self._engine)

    def connect(self) -> Engine:
        """Lock the run, and find the engine. Raises EnvironmentFailure."""
        self._life.enter_context(run_lock(self._run_id))
        self._engine = self._life.enter_context(connect())
        return self._engine

    def make_network(self) -> None:
        """Raises EnvironmentFailure."""
        name = self._name(Part.NETWORK)
        self._removal.add(f"removing {name}", partial(network.remove_network, self.engine, name))
        network.create_network(self.engine, name, self._run_id)
        self._reach = reach_of(self.engine)
        if self._reach.joins is not None:
            network.join_network(self.engine, name, self._reach.joins)

    def make_volume(self) -> None:
        """Raises EnvironmentFailure."""
        name = self._name(Part.DATA)
        self._removal.add(f"removing {name}", partial(network.remove_volume, self.engine, name))
        network.create_volume(self.engine, name, self._run_id, Part.PATIENT.value)

    def start(self) -> None:
        """Start patient and hand, on the network and the volume. Raises EnvironmentFailure."""
        self._patient = self._begin(
            self._plan(
                Part.PATIENT,
                self._command("serve"),
                network=self._name(Part.NETWORK),
                alias=Part.PATIENT.value,
                volumes={self._name(Part.DATA): DISK},
                publish=self._reach.publish(self._port),
            )
        )
        self._hand = self._begin(
            self._plan(
                Part.HOST,
                ["sleep", "infinity"],
                joins=self._patient.id,
                volumes={self._name(Part.DATA): DISK},
                capabilities=self._capabilities,
            )
        )

    def pass_through(self, text: str) -> tuple[int, str]:
        """Start a container that prints `text` and ends by itself: its exit code and output."""
        container = self._begin(self._plan(Part.CLIENT, ["echo", text]))
        with asking(f"waiting for the end of the container {container.name}"):
            code = int(container.wait(timeout=ENDS_WITHIN_S)["StatusCode"])
            return code, container.logs().decode(errors="replace").strip()

    def inside(self, word: str, *arguments: str) -> dict[str, Any]:
        """What the source says when it is executed by the hand. Raises EnvironmentFailure."""
        found: dict[str, Any] = json.loads(self.by_hand(*self._command(word, *arguments)))
        return found

    def in_patient(self, *argv: str) -> str:
        """What a command prints in the patient. Raises CommandFailed, EnvironmentFailure."""
        return self._execute(_there(self._patient), argv)

    def by_hand(self, *argv: str) -> str:
        """What a command prints in the hand's container. Raises CommandFailed, EnvironmentFailure."""
        return self._execute(_there(self._hand), argv)

    def published(self) -> Address:
        """Where the patient's port is reached from here. Raises EnvironmentFailure."""
        where = self._name(Part.NETWORK)
        return self._reach.address(self.engine, _there(self._patient), self._port, network=where)

    def signal_directly(self) -> str:
        """SIGUSR1 to the patient's process without the engine; returns why that cannot be, or nothing."""
        found = containers.inspect(self.engine, _there(self._patient))
        if not self.engine.is_local:
            return f"its pid is one of {self.engine.host}"
        try:
            pids.send(found["State"]["Pid"], signal.SIGUSR1, container_id=found["Id"], created=found["Created"])
        except pids.NotOurs as why:
            return str(why)
        return ""

    def signal_through_engine(self) -> None:
        """SIGUSR1 to the patient's process. Raises EnvironmentFailure."""
        containers.send_signal(_there(self._patient), "SIGUSR1")

    def pause(self) -> None:
        """Raises EnvironmentFailure."""
        with asking("pausing a container"):
            _there(self._patient).pause()

    def unpause(self) -> None:
        """Raises EnvironmentFailure."""
        with asking("unpausing a container"):
            _there(self._patient).unpause()

    def wait_for_patient(self, within_s: float) -> None:
        """Until the patient answers. Raises WaitTimeout, EnvironmentFailure."""
        wait_until(
            "an answer from a new container",
            read=lambda: self.inside("ask", "1")["how"],
            good=lambda how: how == "answered",
            within_s=within_s,
        )

    def _execute(self, container: Container, argv: Sequence[str]) -> str:
        code, output = containers.execute(self.engine, container, argv)
        if code != 0:
            raise CommandFailed(argv[0], code, output)
        return output.strip()

    def _begin(self, plan: Plan) -> Container:
        self._removal.add(f"removing {plan.name}", partial(containers.remove, self.engine, plan.name))
        return containers.start(self.engine, plan)

    def _plan(self, part: Part, command: Sequence[str], **more: Any) -> Plan:
        return Plan(
            name=self._name(part),
            image=self.image,
            labels=labels(self._run_id, part),
            memory_mib=MEMORY_MIB,
            command=command,
            **more,
        )

    def _command(self, word: str, *arguments: str) -> list[str]:
        return ["python3", "-c", self._source, word, *arguments]

    def _name(self, part: Part) -> str:
        return object_name(self._run_id, part.value)


def _there(part: T | None) -> T:
    if part is None:
        raise HarnessError("an examination was done before what it needs")
    return part
