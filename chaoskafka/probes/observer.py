"""The observer: a process of its own, with an address of its own, that watches every broker, and reads the
metadata log of the controllers, for the whole run.

    python -m chaoskafka.probes.observer '{"brokers": {"1": ["node-1", 9092], …}, "topics": ["orders"]}'

In: one JSON document, and how to get in, in the environment. Out: `observations.jsonl` in its directory
($CHAOSKAFKA_DIR, else the current one), each line flushed, and a status line on stdout each second. Ends on SIGTERM or
SIGINT, with a last line "stopped" in both. asyncio; nothing in it blocks. It imports neither Polars nor an engine nor a
client, since its place has none of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from chaoskafka import machine
from chaoskafka.clock import NS_PER_MS, NS_PER_S, clock_id
from chaoskafka.cluster.abilities import Address
from chaoskafka.cluster.security import PLAINTEXT, Security
from chaoskafka.cluster.wire.stream import open_stream
from chaoskafka.errors import UsageError
from chaoskafka.probes.broker_views import Applied, Fields, Tally, Watcher, watches
from chaoskafka.probes.metadata_log import Follower, MergedLog

FILE = "observations.jsonl"
EVERY_MS = 20.0  # of what times a failover; costs a broker 2 x 50 small requests a second
SLOW_EVERY_MS = 500.0  # of what explains it
TICK_S = 0.02
STALL_NS = 50 * NS_PER_MS  # later than this, and the machine stood still rather than the loop being busy
LATE_NS = 3 * NS_PER_MS  # a tick is up to 2 ms late on a machine that has cores left
LATE_OVER_NS = NS_PER_S // 5  # delays are added up over so long: where in it each was is not told
LATE_SHARE = 5  # and told from a fifth of it on: less changes no figure that anybody reads
PRESSURE_EVERY_S = 1.0
STATUS_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What the observer is told."""

    brokers: Mapping[int, Address]
    topics: tuple[str, ...]
    controllers: Mapping[int, Address] = field(default_factory=dict)  # none: the metadata log is not read
    every_ms: float = EVERY_MS
    slow_every_ms: float = SLOW_EVERY_MS
    security: Security = PLAINTEXT  # in the environment, not in `argv`

    def argv(self) -> list[str]:
        """The command that starts this observer in a client place."""
        document = {
            "brokers": _plain(self.brokers),
            "topics": list(self.topics),
            "controllers": _plain(self.controllers),
            "every_ms": self.every_ms,
            "slow_every_ms": self.slow_every_ms,
        }
        return ["python", "-m", "chaoskafka.probes.observer", json.dumps(document)]

    def environment(self) -> dict[str, str]:
        """What goes with `argv`: how to get in."""
        return self.security.environment()

    @classmethod
    def parse(cls, text: str, security: Security = PLAINTEXT) -> Self:
        """Raises UsageError."""
        try:
            raw = json.loads(text)
            brokers, controllers = _addresses(raw.pop("brokers")), _addresses(raw.pop("controllers", {}))
            topics = tuple(raw.pop("topics"))
            return cls(brokers=brokers, topics=topics, controllers=controllers, security=security, **raw)
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise UsageError(f"observer: not its arguments: {wrong!r}: {text[:200]}") from wrong


def _plain(addresses: Mapping[int, Address]) -> dict[str, list[str | int]]:
    return {str(node): [address.host, address.port] for node, address in addresses.items()}


def _addresses(plain: Mapping[str, Sequence[Any]]) -> dict[int, Address]:
    return {int(node): Address(host, int(port)) for node, (host, port) in plain.items()}


class Journal:
    """Appends observations; a context manager that closes the file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)  # each line is flushed
        self.lines = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._file.close()

    def write(self, kind: str, lo_ns: int, hi_ns: int, fields: Fields) -> None:
        """One observation: it happened after `lo_ns` and no later than `hi_ns`."""
        self._file.write(json.dumps({"kind": kind, "lo_ns": lo_ns, "hi_ns": hi_ns, **fields}) + "\n")
        self.lines += 1

    def now(self, kind: str, **fields: Any) -> None:
        """Something of the observer's own life."""
        at_ns = time.monotonic_ns()
        self.write(kind, at_ns, at_ns, fields)


async def observe(arguments: Arguments, journal: Journal, stop: asyncio.Event, out: TextIO) -> None:
    """Watch until `stop` is set; status lines go to `out`."""
    tally = Tally()
    journal.now("started", clock=clock_id())
    doors = {
        broker: partial(open_stream, resolve(address), security=arguments.security, name=address.host)
        for broker, address in arguments.brokers.items()
    }
    log = MergedLog(journal.write)
    # The controllers' plane is in the clear in every cluster of ours (cluster/secured.py).
    controllers = {
        controller: partial(open_stream, resolve(address)) for controller, address in arguments.controllers.items()
    }
    applied = {broker: Applied() for broker in doors}
    watched = watches(arguments.topics, every_s=arguments.every_ms / 1000, slow_every_s=arguments.slow_every_ms / 1000)
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(Watcher(broker, opens, watch, journal.write, tally, applied[broker]).run())
            for broker, opens in doors.items()
            for watch in watched
        ]
        running += [
            tasks.create_task(Follower(controller, opens, log).run()) for controller, opens in controllers.items()
        ]
        running += [tasks.create_task(watch_stalls(journal)), tasks.create_task(watch_pressure(journal))]
        running += [tasks.create_task(tell_status(journal, tally, log, out))]
        await stop.wait()
        for task in running:
            task.cancel()
    journal.now("stopped")
    say("stopped", journal, tally, log, out)


async def watch_stalls(journal: Journal) -> None:
    """Write down when this process did not get its turn: then every interval of that time is as wide. Never returns.

    A machine that is short of cores makes it late again and again by less than a stall; such delays are added up.
    """
    since_ns, late_ns = time.monotonic_ns(), 0
    while True:
        due_ns = time.monotonic_ns() + int(TICK_S * NS_PER_S)
        await asyncio.sleep(TICK_S)
        now_ns = time.monotonic_ns()
        if now_ns - due_ns > STALL_NS:
            journal.write("stall", due_ns, now_ns, {"gap_ns": now_ns - due_ns})
        elif now_ns - due_ns > LATE_NS:
            late_ns += now_ns - due_ns
        if now_ns - since_ns >= LATE_OVER_NS:
            if late_ns * LATE_SHARE >= now_ns - since_ns:
                journal.write("stall", since_ns, now_ns, {"gap_ns": late_ns})
            since_ns, late_ns = now_ns, 0


async def watch_pressure(journal: Journal) -> None:
    """Write down for how long tasks waited for a core. Returns only where the kernel does not count that."""
    before_ns, waited_ns = time.monotonic_ns(), machine.waited_ns()
    while waited_ns is not None:
        await asyncio.sleep(PRESSURE_EVERY_S)
        now_ns, total_ns = time.monotonic_ns(), machine.waited_ns()
        if total_ns is not None:
            journal.write("pressure", before_ns, now_ns, {"gap_ns": min(total_ns - waited_ns, now_ns - before_ns)})
        before_ns, waited_ns = now_ns, total_ns


async def tell_status(journal: Journal, tally: Tally, log: MergedLog, out: TextIO) -> None:
    """The first line comes when there has been time to see something; news is told at once. Never returns."""
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(STATUS_EVERY_S):
                await log.news.wait()
        log.news.clear()
        say("running", journal, tally, log, out)


def say(state: str, journal: Journal, tally: Tally, log: MergedLog, out: TextIO) -> None:
    """One status line of JSON."""
    status = {
        "role": "observer",
        "state": state,
        "polls": tally.polls,
        "lines": journal.lines,
        "leaders": {place: leader for place, (_, leader) in sorted(tally.led.items())},
        "up": sorted(broker for broker, is_up in tally.up.items() if is_up),
        "log": {
            "epoch": log.epoch,
            "offset": log.offset,
            "stopping": {str(broker): asdict(seen) for broker, seen in log.stopping.items()},
        },
        "cpu_s": round(time.process_time(), 2),
        "at_ns": time.monotonic_ns(),
    }
    out.write(json.dumps(status) + "\n")
    out.flush()


def stopping_told(status: Mapping[str, Any] | None) -> dict[int, Mapping[str, Any]] | None:
    """The brokers in controlled shutdown that a status line tells of, each with its record; None: it reads no log."""
    log = (status or {}).get("log")
    if not isinstance(log, dict) or not log["offset"]:
        return None
    return {int(broker): record for broker, record in log["stopping"].items()}


def resolve(address: Address) -> Address:
    """Look the name up once, before anything is broken; a node's address survives all that is done to it."""
    with suppress(OSError):
        return Address(socket.gethostbyname(address.host), address.port)
    return address


async def _main(arguments: Arguments, journal: Journal) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await observe(arguments, journal, stop, sys.stdout)


def main(argv: Sequence[str]) -> int:
    """Blocks until a signal ends it."""
    if len(argv) != 1:
        raise UsageError("observer: expected one JSON document as the only argument")
    arguments = Arguments.parse(argv[0], Security.given(os.environ))
    with Journal(Path(os.environ.get("CHAOSKAFKA_DIR", ".")) / FILE) as journal:
        asyncio.run(_main(arguments, journal))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
