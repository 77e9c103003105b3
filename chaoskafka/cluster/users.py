"""Makes the users of a protected cluster, and the observer's rights: `let_in`, and the process that it starts for that.

    CHAOSKAFKA_USERS='{"admin": "…", …}' python -m chaoskafka.cluster.users WITHIN_S node-1:19092 node-2:19092

Nobody can log in before the metadata log holds the users, and the official image formats disks without any. So they are
made through the plane of replication, where who comes is a super user, by a process in a client place, since that plane
is published nowhere. It starts with the cluster and tries until there is a quorum.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from chaoskafka.clock import Clock, wait_until
from chaoskafka.cluster import forming
from chaoskafka.cluster.abilities import Address, CanHostClients, Cluster, ExitStatus
from chaoskafka.cluster.admin import Admin
from chaoskafka.cluster.planes import Plane
from chaoskafka.cluster.rights import WATCHING
from chaoskafka.cluster.security import Protection, User
from chaoskafka.errors import EnvironmentFailure, WaitTimeout

VARIABLE = "CHAOSKAFKA_USERS"
ITERATIONS = 4096  # the fewest that Kafka takes; more only slow each login down, and the passwords are random
ANSWER_S = 5.0  # of one try: as long as there is no quorum, brokers let us wait
EVERY_S = 0.2


def let_in(cluster: Cluster, *, within_s: float, clock: Clock) -> None:
    """Make the users, and the rights of the observer. Nothing to do where a cluster has no users. Blocks.

    Raises EnvironmentFailure, saying why there are none, WaitTimeout, and Interrupted by the clock.
    """
    if cluster.spec.security is not Protection.SASL_SCRAM:
        return
    if not isinstance(cluster, CanHostClients):
        raise EnvironmentFailure("this runtime has no place for clients, and users are made from one")
    passwords = {user.value: cluster.security(user).password for user in User}
    nodes = [f"{at.host}:{Plane.REPLICATION.port}" for at in cluster.client_addresses().values()]
    argv = ["python", "-m", "chaoskafka.cluster.users", str(within_s)]
    process = cluster.launch("users", [*argv, *nodes], {VARIABLE: json.dumps(passwords)})
    none_ended = forming.none_ended(cluster, clock)

    def exited() -> ExitStatus | None:
        none_ended()
        return process.exited()

    # The process has a limit of its own, and its last words then say more than ours could.
    wait_until(
        "the users to be made",
        read=exited,
        good=lambda seen: seen is not None,
        within_s=within_s + ANSWER_S * 2,
        clock=clock,
    )
    end = process.wait(within_s=ANSWER_S)  # its last words are there too then
    if end.code != 0:
        raise EnvironmentFailure(f"the cluster's users were not made: {process.latest() or end}")


def make(nodes: Sequence[Address], passwords: Mapping[str, str], *, within_s: float) -> None:
    """Make each user, or give it this password; then the observer's rights. Blocks.

    Raises WaitTimeout with the last refusal.
    """
    bootstrap = ",".join(map(str, nodes))
    client = AdminClient({"bootstrap.servers": bootstrap, "client.id": "chaoskafka-users", "log_level": 0})
    admin = Admin(nodes, timeout_s=ANSWER_S)
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    wanted: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, info, password.encode()) for user, password in passwords.items()
    ]

    def refused() -> str:
        try:
            for made in client.alter_user_scram_credentials(wanted, request_timeout=ANSWER_S).values():
                made.result(timeout=ANSWER_S * 2)
            admin.allow(User.OBSERVER, WATCHING)
        except (KafkaException, EnvironmentFailure, TimeoutError) as failed:
            return str(failed) or type(failed).__name__
        return ""

    wait_until("the users to be made", read=refused, good=lambda why: not why, within_s=within_s, every_s=EVERY_S)


def main(argv: Sequence[str]) -> int:
    """Blocks until they are made; 1 with a status line that says why they are not."""
    within_s, *nodes = argv
    addresses = [Address(host, int(port)) for host, _, port in (node.rpartition(":") for node in nodes)]
    try:
        make(addresses, json.loads(os.environ[VARIABLE]), within_s=float(within_s))
    except WaitTimeout as late:
        sys.stdout.write(json.dumps({"problem": str(late)}) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
