"""From nothing to a formed cluster of three: ours against a plain start of the same jars; and what asking adds.

Ours: phases 3 and 4 of a run (open the runtime, wait until formed), images being there. Baseline: `plain.py`. Both end
when `ready.wait_formed` says so: every broker answers, knows all as unfenced, and has caught up. No removal is counted.

What asking adds: from the last "unfenced" in the controllers' logs to the instant at which we call the cluster formed.
"""

from __future__ import annotations

import re
import secrets
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import docker

from benchmarks.measure import Figures, Goal, Series, in_pairs, pairs_asked, ratios, report
from benchmarks.plain import plain_start
from chaoskafka.clock import MonotonicClock
from chaoskafka.cluster.ready import wait_formed
from chaoskafka.cluster.security import PLAINTEXT
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.cluster.views import Views
from chaoskafka.images import ensure
from chaoskafka.runtime import DOCKER

RATIO_MAX = 0.45
ASKING_S_MAX = 0.5
WITHIN_S = 180.0  # several times what a plain start takes on two busy cores
SPEC = ClusterSpec(nodes=3)
_UNFENCED = re.compile(
    r"^\[([-\d]+ [:\d]+,\d{3})\] .*request from broker \d+ to unfence has been granted", re.MULTILINE
)


def main() -> int:
    """Returns the exit code. Takes about five minutes on two cores."""
    pairs = pairs_asked(__doc__)
    image = ensure(SPEC.kafka).kafka
    ours, plain = in_pairs(_ours, lambda: _plain(image), pairs)
    whole = ratios(ours, plain, "s")
    without_id = [a["s"] / (b["s"] - b["uuid_s"]) for a, b in zip(ours, plain, strict=True)]
    asking = [each["asking_s"] for each in ours]
    engine = docker.from_env()
    try:
        version = str(engine.version()["Version"])
    finally:
        engine.close()
    return report(
        "forming",
        [
            Series(label="chaoskafka", unit="s", samples=[each["s"] for each in ours]),
            Series(label="plain start", unit="s", samples=[each["s"] for each in plain]),
            Series(label="plain start, random-uuid alone", unit="s", samples=[each["uuid_s"] for each in plain]),
            Series(label="ratio", unit="", samples=whole),
            Series(label="ratio without random-uuid", unit="", samples=without_id),
            Series(label="last unfenced to formed", unit="s", samples=asking),
        ],
        [
            Goal(what="chaoskafka to plain start", value=median(whole), at_most=RATIO_MAX),
            Goal(what="last unfenced to formed", value=median(asking), unit="s", at_most=ASKING_S_MAX),
        ],
        kafka=SPEC.kafka,
        docker=version,
    )


def _ours() -> Figures:
    clock = MonotonicClock()
    opens = DOCKER.prepare(SPEC, lambda _: None, clock)
    began_s = time.monotonic()
    with opens(run_id=f"bench-{secrets.token_hex(3)}", clock=clock, keep=False) as cluster:
        wait_formed(DOCKER.views(cluster.host_addresses(), PLAINTEXT), SPEC, within_s=WITHIN_S, clock=clock)
        formed_s, formed_at_s = time.monotonic() - began_s, time.time()
        with tempfile.TemporaryDirectory() as name:
            cluster.gather_logs(Path(name))
            logs = [path.read_text(errors="replace") for path in Path(name).glob("*.log")]
    return {"s": formed_s, "asking_s": formed_at_s - max(map(_last_unfenced_s, logs))}


def _plain(image: str) -> Figures:
    began_s = time.monotonic()
    with plain_start(image) as plain:
        wait_formed(Views(plain.addresses), SPEC, within_s=WITHIN_S, clock=MonotonicClock())
        return {"s": time.monotonic() - began_s, "uuid_s": plain.random_uuid_s}


def _last_unfenced_s(log: str) -> float:
    """Wall time in the log of one node, whose clock is the machine's and whose zone is UTC; 0 when it says nothing."""
    stamps = (datetime.fromisoformat(stamp).replace(tzinfo=UTC) for stamp in _UNFENCED.findall(log))
    return max((stamp.timestamp() for stamp in stamps), default=0.0)


if __name__ == "__main__":
    sys.exit(main())
