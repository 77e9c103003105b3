"""The stranger that knocks on a node's port: a program for whatever Python stands in the node's network namespace.

In: its arguments, by `knock_words`. Out: one word of `Knock` on its stdout. It imports nothing of ours, since a node's
host has Python and nothing else.
"""

from __future__ import annotations

from chaoskafka.cluster.abilities import Knock

# Arguments: address, port, seconds, the answer to wait for ("" takes the first), "speak" or "".
KNOCK = """
import socket, struct, sys, time
address, port, within_s, until, speak = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5]
deadline = time.monotonic() + within_s
ask = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # ApiVersions v0, correlation 1, no client id
while True:
    with socket.socket() as s:
        answer = "silent"
        try:
            s.settimeout(max(0.01, deadline - time.monotonic()))
            s.connect((address, port))
            answer = "answered"
            if speak:
                answer = "mute"
                s.settimeout(max(0.01, min(1.0, deadline - time.monotonic())))
                s.sendall(ask)
                if s.recv(4):
                    answer = "answered"
        except ConnectionRefusedError:
            answer = "refused"
        except OSError:
            pass
    if until in ("", answer) or time.monotonic() >= deadline:
        break
    time.sleep(0.05)
print(answer)
"""


def knock_words(port: int, *, at: str | None, speak: bool, within_s: float, until: Knock | None) -> list[str]:
    """The arguments that ask what `Node.knock` is asked."""
    return [at or "127.0.0.1", str(port), str(within_s), until.value if until else "", "speak" if speak else ""]
