"""Examinations of a container's life, each done on a throw-away one: start, network, volume, port, signals, pause."""

from __future__ import annotations

import secrets
import socket
import time

from chaoskafka.clock import boot_id, wait_until
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.doctor.examination import Examination, Seen, State, Visit
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.machine import MIB, NODE_DISK_MIB, check_room
from chaoskafka.runtimes.docker.bed import DISK
from chaoskafka.runtimes.docker.open import HOST_MEMORY_MIB
from chaoskafka.runtimes.docker.room import PRUNE

ANSWER_S = 1.0  # of a process that echoes: a millisecond, on a starved machine some hundred
STARTS_S = 15.0  # a Python interpreter in a new container: 0.5 s, on a busy machine 3 s
SIGNAL_S = 5.0  # through an engine a signal took up to 0.8 s


def network(visit: Visit) -> Seen:
    """A bridge is created."""
    visit.bed.make_network()
    return Seen(text="a network of its own can be made")


def volume(visit: Visit) -> Seen:
    """A named volume is created; that two containers share it is seen once they run."""
    visit.bed.make_volume()
    return Seen(text="a named volume can be made")


def container(visit: Visit) -> Seen:
    """One container prints and ends; two others run, share a network and a volume, and one answers."""
    bed, nonce = visit.bed, secrets.token_hex(4)
    code, text = bed.pass_through(nonce)
    if (code, text) != (0, nonce):
        raise EnvironmentFailure(f"a container that prints {nonce} ended with {code} and printed {text!r}")
    bed.start()
    bed.wait_for_patient(STARTS_S)
    bed.in_patient("sh", "-c", f"echo {nonce} > {DISK}/nonce")
    if (read := bed.by_hand("cat", f"{DISK}/nonce")) != nonce:
        raise EnvironmentFailure(f"one container wrote {nonce} to a volume, another read {read!r}")
    visit.facts = bed.inside("facts", DISK)
    return Seen(text="containers start, answer, share a network and a volume, and end")


def published_port(visit: Visit) -> Seen:
    """The patient is asked through its published port, from here."""
    address, nonce = visit.bed.published(), secrets.token_hex(4)
    try:
        with socket.create_connection((address.host, address.port), ANSWER_S) as connection:
            connection.settimeout(ANSWER_S)
            connection.sendall(nonce.encode())
            answer = connection.recv(64).decode(errors="replace")
    except OSError as failed:
        raise EnvironmentFailure(f"{address}, where the engine published a port, is not reached: {failed}") from failed
    if not answer.startswith(nonce):  # the engine's proxy may accept for a container that it cannot reach
        raise EnvironmentFailure(f"{address} takes connections but does not answer for the container")
    return Seen(text=f"a container answers at {address}, a port that the engine chose")


def signals(visit: Visit) -> Seen:
    """SIGUSR1 is sent to the patient's process, directly where that is safe, else through the engine, and counted."""
    before = _signals(visit)
    why_not = visit.bed.signal_directly()
    if why_not:
        visit.bed.signal_through_engine()
    wait_until("a signal to arrive", read=lambda: _signals(visit), good=lambda now: now > before, within_s=SIGNAL_S)
    if not why_not:
        return Seen(text="a container's process is signalled directly, within microseconds")
    text = f"signals go through the engine, which takes up to a second, as in a container or far away: {why_not}"
    return Seen(text=text, state=State.WARNING)


def _signals(visit: Visit) -> int:
    answer = str(visit.bed.inside("ask", str(ANSWER_S))["answer"])
    return int(answer.rpartition(" ")[2]) if answer else -1


def pause(visit: Visit) -> Seen:
    """The patient is frozen, is silent, is thawed, and answers."""
    visit.bed.pause()
    try:
        frozen = visit.bed.inside("ask", "0.4")["how"]
    finally:
        visit.bed.unpause()
    visit.bed.wait_for_patient(STARTS_S)
    if frozen != "silent":
        raise EnvironmentFailure(f"a paused container {frozen}")
    return Seen(text="a paused container is silent, and answers again")


def clock(visit: Visit) -> Seen:
    """A container's monotonic clock is read between two readings of ours."""
    before_ns = time.monotonic_ns()
    facts = visit.bed.inside("facts", DISK)
    after_ns = time.monotonic_ns()
    if facts["boot_id"] == boot_id() and before_ns <= int(facts["monotonic_ns"]) <= after_ns:
        return Seen(text="containers share this machine's monotonic clock")
    text = "containers have another clock than this process, as on a remote engine"
    return Seen(text=text, state=State.WARNING)


def memory(visit: Visit) -> Seen:
    """The free memory of the engine's machine, as a container sees it, is compared with what a cluster may use."""
    spec = ClusterSpec()
    needed = (spec.memory_mib + HOST_MEMORY_MIB) * len(spec.members)
    free = _figure(visit, "memory_free_bytes") // MIB
    text = f"{free} MiB of memory are free, the default cluster may use {needed}"
    if visit.bed.engine.memory_bytes // MIB < needed:
        return Seen(text=text, state=State.MISSING)
    return Seen(text=text, state=State.OK if free >= needed else State.WARNING)


def disk(visit: Visit) -> Seen:
    """The free room of a volume's file system is compared with what a cluster may use."""
    spec = ClusterSpec()
    free, needed = _figure(visit, "disk_free_bytes") // MIB, NODE_DISK_MIB * len(spec.members)
    check_room(free, needed, where="the engine's disk", what="the default cluster", mend=PRUNE)
    return Seen(text=f"{free} MiB are free on the engine's disk, the default cluster may use {needed}")


def _figure(visit: Visit, name: str) -> int:
    return int(str(visit.facts[name]))


_DAEMON = "sudo journalctl -u docker -n 50   # what the engine says"
EXAMINATIONS = (
    Examination(
        word="network",
        does="a bridge network is created",
        act=network,
        mend="docker network prune   # if its addresses are used up",
        after=("engine",),
    ),
    Examination(word="volume", does="a named volume is created", act=volume, mend=PRUNE, after=("engine",)),
    Examination(
        word="container",
        does="a container prints a word and ends; two others run, share a network and a volume, and one answers",
        act=container,
        mend=_DAEMON,
        after=("images", "network", "volume"),
    ),
    Examination(
        word="published_port",
        does="a container is asked from here, through the port that the engine published",
        act=published_port,
        mend="run chaoskafka on the engine's machine, or open its ports to this one",
        means="brokers cannot be reached from here, so a cluster is never seen to form",
        after=("container",),
    ),
    Examination(
        word="signals",
        does="SIGUSR1 is sent to a container's process, directly if it is surely the container's, else through the"
        " engine, and seen to arrive",
        act=signals,
        mend="run chaoskafka on the engine's machine, outside of containers",
        means="instants of kills are less exact: the interval is as wide as the engine is slow",
        after=("container",),
    ),
    Examination(
        word="pause",
        does="a container is paused, is silent, is unpaused, and answers",
        act=pause,
        mend=_DAEMON,
        otherwise=State.WARNING,
        means="faults that freeze a node cannot be played",
        after=("container",),
    ),
    Examination(
        word="clock",
        does="a container's monotonic clock is read between two readings of this process's own",
        act=clock,
        mend="run chaoskafka on the engine's machine",
        otherwise=State.WARNING,
        means="times that the harness took are not compared with times that clients took",
        after=("container",),
    ),
    Examination(
        word="memory",
        does="the memory that is free on the engine's machine is compared with what the default cluster may use",
        act=memory,
        mend="lower cluster.memory_mib (with heap_mib) or the number of nodes in the scenario",
        means="the kernel may kill a node for want of memory",
        after=("container",),
    ),
    Examination(
        word="disk",
        does="the room that is free where the engine keeps volumes is compared with what the default cluster may use",
        act=disk,
        mend=PRUNE,
        after=("container",),
    ),
)
