"""The supervisor: first process of a run's namespaces. Starts, signals and watches what runs there, and ends with it.

Where namespaces are forbidden it is a plain process, and does what the kernel would: what it started dies with it
(PR_SET_PDEATHSIG), whose parent has ended becomes its own child (PR_SET_CHILD_SUBREAPER), and before it ends by itself
it ends all of them. What it starts has MARK in its environment, so that `heal` finds what outlived even that.

In: one JSON document as its argument, with the numbers of inherited sockets. Out: answers on a Unix socket, one line of
JSON for one line of JSON, each over a connection of its own. It imports nothing of ours, so that any Python can be it.

  lifeline   a socket to the harness; when its other end is closed, all ends, unless `keep` was asked for
  control    the listening Unix socket
  relays     listening sockets on the loopback of the *outside*, each with an address inside: a connection to one is
             passed on to the other. So the harness, whose threads cannot enter a user namespace (setns(2) refuses
             processes of several threads), reaches brokers without entering anything, as root and as anybody.

When the broker cannot be reached, the relay resets the connection that it had to accept before, once the other end has
spoken: Python's ssl leaves a socket open that was reset before its handshake has begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass
from typing import Any

OUTPUT_MAX_BYTES = 1 << 20  # of one command: a listing of rules or sockets is some kilobytes
REQUEST_MAX_BYTES = 1 << 22  # a request holds an environment and a batch of rules
RELAY_BYTES = 1 << 16
DIAL_S = 2.0  # inside one machine a broker that lives accepts in a millisecond
LOOK_S = 0.01  # between looks for what has not ended yet: a process of 400 MiB takes some hundredths of a second

MARK = "CHAOSKAFKA_CLUSTER"  # set to the name of the run's directory
MORTAL = ["setpriv", "--pdeathsig", "KILL", "--"]  # util-linux; holds over exec, and not for children of its own
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)

RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: closing sends a reset


@dataclass(slots=True)
class Child:
    """A process that was started by name. Signals go through the pidfd, which never follows a reused number."""

    pid: int
    pidfd: int | None  # None: it had ended, and been waited for, before it could be opened
    started_at: str
    ended: asyncio.Task[int]


class Supervisor:
    """Answers requests. All of it runs in one thread. `plain`: there are no namespaces."""

    def __init__(self, *, plain: bool = False) -> None:
        self._plain = plain
        self._children: dict[str, Child] = {}
        self._starts = 0
        self.kept = False

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "start":
                return await self._start(request)
            case "state":
                return self._state(request["name"])
            case "signal":
                return self._signal(request["name"], request["signal"])
            case "run":
                return await _run(self._command(request), request)
            case "keep":
                self.kept = True
                return {}
            case other:
                return {"error": f"nobody does {other!r} here"}

    async def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Idempotent: one that runs under that name is left alone."""
        name = request["name"]
        if (old := self._children.get(name)) is not None:
            if not old.ended.done():
                return {"pid": old.pid, "started_at": old.started_at, "was_running": True}
            if old.pidfd is not None:
                os.close(old.pidfd)
        with contextlib.ExitStack() as files:
            out = files.enter_context(open(request["stdout"], "ab", buffering=0))  # noqa: PTH123
            err = files.enter_context(open(request["stderr"], "ab", buffering=0))  # noqa: PTH123
            process = await asyncio.create_subprocess_exec(
                *self._command(request),
                env=_marked(request["env"]),
                cwd=request["cwd"],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # to the scheduler a group of its own (sched(7), autogroup), as a container is
            )
        self._starts += 1
        started_at = f"start {self._starts}, {time.monotonic_ns()} ns, process {process.pid}"
        try:
            pidfd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            pidfd = None
        ended = asyncio.create_task(process.wait())
        self._children[name] = Child(process.pid, pidfd, started_at, ended)
        return {"pid": process.pid, "started_at": started_at, "was_running": False}

    def _command(self, request: dict[str, Any]) -> list[str]:
        argv: list[str] = request["argv"]
        return [*MORTAL, *argv] if self._plain else inside(request["at"], argv)

    def _state(self, name: str) -> dict[str, Any]:
        child = self._children[name]
        code = child.ended.result() if child.ended.done() else None
        frozen = code is None and _is_stopped(child.pid)
        return {"pid": child.pid, "started_at": child.started_at, "code": code, "frozen": frozen}

    def _signal(self, name: str, number: int) -> dict[str, Any]:
        child = self._children[name]
        if child.pidfd is None or child.ended.done():
            return {"sent": False}
        try:
            signal.pidfd_send_signal(child.pidfd, number)
        except ProcessLookupError:
            return {"sent": False}
        return {"sent": True, "pid": child.pid, "acted_ns": time.monotonic_ns()}


def inside(at: str | None, argv: list[str]) -> list[str]:
    """The command, in the network namespace that the file `at` names; None: our own, where the bridge is."""
    return argv if at is None else ["nsenter", f"--net={at}", "--", *argv]


def _marked(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, MARK: os.environ[MARK]}


async def _run(argv: list[str], request: dict[str, Any]) -> dict[str, Any]:
    """A command to its end; killed when it takes too long. Timed here, without the way of the request."""
    began_ns = time.monotonic_ns()
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=_marked(request["env"]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(request["stdin"].encode()), request["within_s"])
    except TimeoutError:
        process.kill()
        await process.wait()
        out, err = b"", f"killed after {request['within_s']} s".encode()
    texts = [text[-OUTPUT_MAX_BYTES:].decode(errors="replace") for text in (out, err)]
    instants = {"began_ns": began_ns, "ended_ns": time.monotonic_ns()}
    return {"code": process.returncode, "stdout": texts[0], "stderr": texts[1], **instants}


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] in ("T", "t")
    except OSError:
        return False


async def _serve(supervisor: Supervisor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        request = json.loads(await reader.readline())
        try:
            answer = await supervisor.answer(request)
        except (OSError, KeyError, ValueError) as failed:
            answer = {"error": f"{type(failed).__name__}: {failed}"}
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()
    except (OSError, ValueError):
        pass  # whoever asked has gone
    finally:
        writer.close()


async def _relay(host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        far_reader, far_writer = await asyncio.wait_for(asyncio.open_connection(host, port), DIAL_S)
    except (OSError, TimeoutError):
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(reader.read(1), DIAL_S)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.close()
        return
    await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(RELAY_BYTES):
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def supervise(given: dict[str, Any]) -> None:
    """Until the lifeline is cut."""
    supervisor = Supervisor(plain=given["plain"])
    if given["plain"]:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    lifeline = socket.socket(fileno=given["lifeline"])
    lifeline.setblocking(False)  # noqa: FBT003
    async with contextlib.AsyncExitStack() as servers:
        control = await asyncio.start_unix_server(
            lambda reader, writer: _serve(supervisor, reader, writer),
            sock=socket.socket(fileno=given["control"]),
            limit=REQUEST_MAX_BYTES,
        )
        await servers.enter_async_context(control)
        for fd, host, port in given["relays"]:
            relay = await asyncio.start_server(
                lambda reader, writer, host=host, port=port: _relay(host, port, reader, writer),  # type: ignore[misc]
                sock=socket.socket(fileno=fd),
            )
            await servers.enter_async_context(relay)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(lifeline, b"ready\n")
        while await loop.sock_recv(lifeline, 1):
            pass
        if supervisor.kept:
            await asyncio.Event().wait()
        if given["plain"]:
            end_children()
        os._exit(0)  # as the first process of its namespace: the kernel kills all others


def end_children() -> None:
    """All processes below this one, generation by generation: who loses its parent becomes ours.

    Blocks for as long as that takes; whoever waits for this process, harness or heal, kills it when that is too long.
    """
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # asyncio waits for its own as well
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        select.select([], [], [], LOOK_S)


def _children() -> list[int]:
    """Of this process, those too that have ended and were not waited for."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8") as file:  # noqa: PTH123
            if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(name))
    return found


if __name__ == "__main__":
    asyncio.run(supervise(json.loads(sys.argv[1])))
