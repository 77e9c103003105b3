"""What playing a fault has in common with playing any other: the order of striking, healing, and errors on the way.

In: what strikes, what heals and proves it, what takes everything back without proving. Out: the context manager that
`Fault.inject` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from chaoskafka.clock import Deadline, wait_until
from chaoskafka.cluster.abilities import Deed, Knock, Node, NodeState
from chaoskafka.cluster.planes import Plane
from chaoskafka.errors import ChaosKafkaError, FaultFailed, WaitTimeout
from chaoskafka.faults import Injected, Proof

KNOCKS_S = 5.0  # one series of knocks while a node comes back; then its process is looked at again

N = TypeVar("N", bound=Node)
T = TypeVar("T")
Trouble = list[ChaosKafkaError]


@contextmanager
def window(
    strike: Callable[[], Injected], heal: Callable[[], Proof], take_back: Callable[[], Trouble]
) -> Iterator[Injected]:
    """Strike, yield, heal. A strike that failed is taken back; what goes wrong then becomes notes of its error.

    The fault heals however its window ends, and then `heal_proof` is there; an error of the window is what is raised.
    """
    try:
        hit = strike()
    except BaseException as failed:
        note_trouble(failed, take_back())
        raise
    try:
        yield hit
    except BaseException as failed:
        try:
            hit.heal_proof = heal()
        except ChaosKafkaError as unhealed:
            failed.add_note(f"then, while healing: {unhealed}")
        raise
    hit.heal_proof = heal()


def injected(
    nodes: Sequence[Node], deeds: Sequence[Deed], proof: Proof, *, targets: tuple[int, ...] | None = None
) -> Injected:
    """What was done to `nodes`, since the first of `deeds`. `targets`: who was hit by it; None: they were."""
    return Injected(
        targets=tuple(node.spec.node_id for node in nodes) if targets is None else targets,
        acted_ns=min(deed.acted_ns for deed in deeds),
        asked_ns=min((deed.asked_ns for deed in deeds if deed.asked_ns is not None), default=None),
        proof=proof,
    )


def see_bite(
    deed: Deed,
    what: str,
    *,
    read: Callable[[], T],
    good: Callable[[T], bool],
    deadline: Deadline,
    describe: Callable[[T], str],
) -> T:
    """Wait until the effect of a deed shows. Blocks. Raises FaultFailed when it does not."""
    try:
        return wait_until(what, read=read, good=good, within_s=deadline.left_s(), describe=describe)
    except WaitTimeout as unseen:
        raise FaultFailed(f"{deed.what} by {deed.means} was not seen to bite: {unseen}") from unseen


def on_each(nodes: Sequence[N], act: Callable[[N], object]) -> Trouble:
    """Do something to every node, whatever happens to the others; returns what went wrong."""
    trouble: Trouble = []
    for node in nodes:
        try:
            act(node)
        except ChaosKafkaError as failed:
            trouble.append(failed)
    return trouble


def prove_each(what: str, nodes: Sequence[N], prove: Callable[[N], Proof], trouble: Trouble) -> Proof:
    """Prove the healing of every node, by its name. Raises FaultFailed: `what` was not seen to heal."""
    proof: dict[str, object] = {}

    def add(node: N) -> None:
        proof[node.spec.name] = prove(node)

    trouble = [*trouble, *on_each(nodes, add)]
    if trouble:
        failed = FaultFailed(f"{what} was not seen to heal: {trouble[0]}")
        note_trouble(failed, trouble[1:])
        raise failed from trouble[0]
    return proof


def see_alive(node: Node, before: NodeState, deadline: Deadline) -> Proof:
    """A new process answers on the node's port. Blocks. Raises WaitTimeout.

    A broker opens its ports only once the controller took it in again.
    """
    port = client_port(node)
    knock, state = wait_until(
        f"{node.spec.name} to answer again as a new process",
        read=lambda: (node.knock(port, within_s=KNOCKS_S, until=Knock.ANSWERED), node.state()),
        good=lambda seen: seen[0] is Knock.ANSWERED and seen[1].running and seen[1].started_at != before.started_at,
        within_s=deadline.left_s(),
        describe=lambda seen: f"port {port} {seen[0]}, {seen[1]}",
    )
    return {"port": port, "knock": knock.value, "process_started_at": state.started_at}


def states_of_running(what: str, nodes: Sequence[Node]) -> Mapping[int, NodeState]:
    """How each node is before it is hit. Raises FaultFailed when one is down or frozen already, by another cause."""
    before = {node.spec.node_id: node.state() for node in nodes}
    down = [node.spec.name for node in nodes if not before[node.spec.node_id].running]
    frozen = [node.spec.name for node in nodes if before[node.spec.node_id].frozen]
    for names, how in ((down, "down"), (frozen, "frozen")):
        if names:
            raise FaultFailed(f"{what}: {', '.join(names)} was {how} already, by another cause")
    return before


def check_seconds(fault: object, *names: str) -> None:
    """Raises ValueError for a time of a fault's that is not above 0; None is no time."""
    for name in names:
        seconds = getattr(fault, name)
        if seconds is not None and seconds <= 0:
            raise ValueError(f"{name}: {seconds} is not above 0")


def client_port(node: Node) -> int:
    """Where clients knock: a broker's own plane; a dedicated controller has but one."""
    return Plane.CLIENTS.port if node.spec.is_broker else Plane.CONTROLLER.port


def spoken_port(node: Node) -> int:
    """Where a node speaks Kafka in the clear to whoever asks: its replication plane, a dedicated controller's own."""
    return Plane.REPLICATION.port if node.spec.is_broker else Plane.CONTROLLER.port


def note_trouble(failed: BaseException, trouble: Sequence[ChaosKafkaError]) -> None:
    for later in trouble:
        failed.add_note(f"then, while taking it back: {later}")
