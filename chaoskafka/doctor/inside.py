"""What the doctor executes inside its throw-away containers: `python3 -c SOURCE WORD ARGUMENTS…`.

Standard library only: the toolbox image has nothing else. Out: one JSON object on stdout, {"good": bool, "text": …} or
plain facts. Everything happens on the loopback of the container's own network namespace, and is undone at once.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PORT = 7007
LOCAL = ("127.0.0.1", PORT)
SILENCE_S = 0.4  # loopback answers within a millisecond: 0.4 s without an answer is silence
DELAY_S = 0.15
RATE, BURST = "4mbit", "80kb"  # a burst below the loopback's packets of 64 KiB would drop them all
BULK_BYTES = 256 << 10  # what exceeds the burst takes a third of a second at that rate, without a limit a millisecond
BULK_S = 0.2
BULK_WITHIN_S = 10.0
TABLE = "chaoskafka_doctor"
QUEUE = 7007  # number of the netfilter queue

ANSWERED, SILENT, CUT = "answered", "silent", "cut"


def serve() -> None:
    """The patient: answers each connection with what it was sent, and how often SIGUSR1 came. Until SIGTERM."""
    signals = 0

    def count(*_: object) -> None:
        nonlocal signals
        signals += 1

    signal.signal(signal.SIGUSR1, count)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with socket.create_server(("", PORT), backlog=16) as server:
        while True:
            connection, _ = server.accept()
            connection.settimeout(SILENCE_S)
            with connection, suppress(OSError):
                connection.sendall(connection.recv(64) + f" {signals}".encode())


def ask(within_s: float = SILENCE_S) -> tuple[str, float, str]:
    """One question to the patient: how it ended, how many seconds it took, and the answer."""
    began_s = time.monotonic()
    try:
        with socket.create_connection(LOCAL, within_s) as connection:
            connection.sendall(b"ping")
            answer = connection.recv(64).decode()
    except TimeoutError:
        return SILENT, time.monotonic() - began_s, ""
    except OSError:
        return CUT, time.monotonic() - began_s, ""
    return ANSWERED if answer else CUT, time.monotonic() - began_s, answer


def run(*argv: str, text: str | None = None) -> str:
    """A command of the toolbox. Raises Failed with its output."""
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as failed:
        raise Failed(f"{argv[0]}: {failed}") from failed
    if done.returncode:
        raise Failed(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Failed(Exception):
    """A tool refused."""


@contextmanager
def undone(*argv: str) -> Iterator[None]:
    """Undo by this command, whatever happens in the body."""
    try:
        yield
    finally:
        run(*argv)


def nft() -> str:
    """A rule that drops what comes for the patient's port."""
    rules = (
        f"table inet {TABLE} {{\n chain in {{\n type filter hook input priority 0;\n tcp dport {PORT} drop\n }}\n}}\n"
    )
    before, _, _ = ask()
    run("nft", "-f", "-", text=rules)
    with undone("nft", "delete", "table", "inet", TABLE):
        during, _, _ = ask()
    after, _, _ = ask()
    return expect((before, during, after), (ANSWERED, SILENT, ANSWERED), "a dropped port")


def tbf() -> str:
    """A bandwidth limit on the loopback."""
    before_s = bulk_s()
    run("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", RATE, "burst", BURST, "latency", "1s")
    with undone("tc", "qdisc", "del", "dev", "lo", "root"):
        during_s = bulk_s()
    if during_s < BULK_S or before_s >= during_s:
        raise Failed(f"{BULK_BYTES >> 10} KiB took {before_s:.2f} s without a limit and {during_s:.2f} s with {RATE}")
    return f"{BULK_BYTES >> 10} KiB took {during_s:.2f} s at {RATE}"


def netem() -> str:
    """A delay by the kernel's own queueing discipline."""
    run("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", f"{DELAY_S * 1000:.0f}ms")
    with undone("tc", "qdisc", "del", "dev", "lo", "root"):
        _, took_s, _ = ask(4 * SILENCE_S)
    return expect_late(took_s)


def nfqueue() -> str:
    """A delay by a process that holds each packet for a while: what is used where netem is absent."""
    rule = ("PREROUTING", "-i", "lo", "-p", "tcp", "--dport", str(PORT), "-j", "NFQUEUE", "--queue-num", str(QUEUE))
    add, remove = (("iptables", "-t", "mangle", act, *rule) for act in ("-A", "-D"))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as queue:  # NETLINK_NETFILTER
        queue.bind((0, 0))
        for config in (struct.pack(">BxH", 1, socket.AF_INET), struct.pack(">IB", 0, 1)):
            attribute = 1 if len(config) == 4 else 2  # NFQA_CFG_CMD: bind; NFQA_CFG_PARAMS: copy no payload
            queue.send(netlink((3 << 8) | 2, attribute, config))
        ended = threading.Event()
        holder = threading.Thread(target=hold, args=(queue, ended))
        holder.start()
        try:
            run(*add)
            with undone(*remove):
                how, took_s, _ = ask(10 * SILENCE_S)
        finally:
            ended.set()
            holder.join()
    if how != ANSWERED:
        raise Failed(f"a queued packet never came back: {how}")
    return expect_late(took_s)


def hold(queue: socket.socket, ended: threading.Event) -> None:
    """Let each packet go after DELAY_S, one after the other."""
    while not ended.is_set():
        if not select.select([queue], [], [], SILENCE_S / 4)[0]:
            continue
        message = queue.recv(1 << 16)
        if struct.unpack_from("=H", message, 4)[0] != (3 << 8) | 0:  # NFQNL_MSG_PACKET; else an acknowledgement
            continue
        packet_id = message[24:28]  # after both headers, the first attribute is NFQA_PACKET_HDR, its first field the id
        ended.wait(DELAY_S)
        queue.send(netlink((3 << 8) | 1, 2, struct.pack(">I", 1) + packet_id))  # NFQA_VERDICT_HDR: NF_ACCEPT


def netlink(kind: int, attribute: int, payload: bytes) -> bytes:
    """One nfnetlink request about our queue, with one attribute."""
    padded = payload + b"\0" * (-len(payload) % 4)
    body = struct.pack(">BBH", socket.AF_UNSPEC, 0, QUEUE) + struct.pack("=HH", 4 + len(payload), attribute) + padded
    return struct.pack("=IHHII", 16 + len(body), kind, 1, 0, 0) + body


def cut() -> str:
    """Resetting a TCP connection that stands."""
    with socket.create_connection(LOCAL, SILENCE_S) as connection:
        port = connection.getsockname()[1]
        connection.settimeout(SILENCE_S / 4)  # less than the patient's patience with who says nothing
        run("ss", "-K", "-tn", "src", f"127.0.0.1:{port}")
        try:
            left = connection.recv(1)
        except TimeoutError:
            raise Failed("the connection still stands") from None
        except OSError as broken:
            return f"a standing connection ended: {broken.strerror}"
    raise Failed(f"the connection ended by itself: {left!r}")


def bulk_s() -> float:
    """Seconds that BULK_BYTES take through the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        began_s = time.monotonic()
        with socket.create_connection(server.getsockname(), BULK_WITHIN_S) as sender:
            receiver, _ = server.accept()
            with receiver:
                receiver.settimeout(BULK_WITHIN_S)
                writing = threading.Thread(target=sender.sendall, args=(b"x" * BULK_BYTES,))
                writing.start()
                got = 0
                while got < BULK_BYTES:
                    got += len(receiver.recv(1 << 16))
                writing.join()
        return time.monotonic() - began_s


def expect(seen: tuple[str, ...], wanted: tuple[str, ...], what: str) -> str:
    if seen != wanted:
        raise Failed(f"{what} before, during and after: {', '.join(seen)}; wanted: {', '.join(wanted)}")
    return f"{what} was {seen[1]}, and {seen[2]} again"


def expect_late(took_s: float) -> str:
    if took_s < DELAY_S:
        raise Failed(f"an answer took {took_s * 1000:.0f} ms in spite of a delay of {DELAY_S * 1000:.0f} ms")
    return f"an answer took {took_s * 1000:.0f} ms with a delay of {DELAY_S * 1000:.0f} ms"


def facts(directory: str) -> dict[str, object]:
    """What this container sees of its machine."""
    disk = os.statvfs(directory)
    memory = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    return {
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "monotonic_ns": time.monotonic_ns(),
        "disk_free_bytes": disk.f_bavail * disk.f_frsize,
        "memory_free_bytes": int(memory["MemAvailable"].split()[0]) << 10,
        "cores": os.cpu_count(),
        "address": socket.gethostbyname(socket.gethostname()),
    }


WIRES: dict[str, Callable[[], str]] = {"nft": nft, "tbf": tbf, "netem": netem, "nfqueue": nfqueue, "cut": cut}
SOURCE = Path(__file__).read_text(encoding="utf-8") if "__file__" in globals() else ""  # there is no file inside


def main(word: str, *arguments: str) -> None:
    if word == "serve":
        serve()
        return
    if word == "ask":
        how, _, answer = ask(float(arguments[0]))
        found: dict[str, object] = {"how": how, "answer": answer}
    elif word == "facts":
        found = facts(*arguments)
    else:
        try:
            found = {"good": True, "text": WIRES[word]()}
        except (Failed, OSError) as failed:
            found = {"good": False, "text": str(failed)}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
