"""The pytest plugin: options, markers, fixtures, and a status of its own for what was not answered.

In: pytest's hooks. Out: fixtures over `chaoskafka.testing`. Imports nothing of ours but what is light until a test asks
for a fixture: whoever installed chaoskafka pays for it in every run of pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from chaoskafka.testing.chaos import Chaos
    from chaoskafka.testing.house import House
    from chaoskafka.testing.kafka import KafkaCluster
    from chaoskafka.testing.report import Report
    from chaoskafka.testing.traffic import Traffic

MARKERS = (
    "kafka(nodes=3, kafka='4.2', timeouts='fast', config={...}, scope='module'): a test's cluster, as in scenarios",
    "kafka_traffic(partitions=6, rate_per_s=600, acks='all', ...): what the fixture `traffic` sends and reads",
    "scenario(file, settings=[...]): play a scenario file before the test's body, and judge it",
)
OPTIONS = (
    ("runtime", "NAME", "what runs clusters: docker (default), process, process-plain, fake, auto"),
    ("out", "DIR", "where run directories go (default: runs, below the root directory)"),
    ("seed", "NUMBER", "of every choice that chance makes in the tests"),
    ("scope", "SCOPE", "how long a cluster is kept: session (default), module, function"),
)
INCONCLUSIVE = "chaoskafka_inconclusive"  # on a report: why
_HOUSE = pytest.StashKey["House"]()
_USED = pytest.StashKey[bool]()  # there is a house, or was one


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaoskafka", "chaos testing against Kafka")
    for name, metavar, meaning in OPTIONS:
        group.addoption(f"--chaoskafka-{name}", dest=f"chaoskafka_{name}", metavar=metavar, help=meaning)
        parser.addini(f"chaoskafka_{name}", meaning, default="")
    group.addoption(
        "--chaoskafka-scenarios",
        dest="chaoskafka_scenarios",
        metavar="DIR",
        action="append",
        default=[],
        help="collect the scenario files below DIR as tests; may be given more than once",
    )
    parser.addini(
        "chaoskafka_cluster", "the cluster of tests, as in a scenario: {nodes: 3, timeouts: fast}", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(_Junit(config), "chaoskafka-junit")
    if config.getoption("chaoskafka_scenarios"):
        from chaoskafka.testing import scenarios  # noqa: PLC0415 - only for who asks for it

        scenarios.collect_too(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getoption("chaoskafka_scenarios"):
        return None
    from chaoskafka.testing import scenarios  # noqa: PLC0415

    return scenarios.collected(file_path, parent, house_of)


@pytest.hookimpl(trylast=True)  # after others have deselected theirs
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What asks for a scenario that nobody would play is refused: it would be green for nothing."""
    for item in items:
        if item.get_closest_marker("scenario") is not None:
            _refuse_unplayable(item)
    if config.getoption("chaoskafka_scenarios"):
        from chaoskafka.testing import scenarios  # noqa: PLC0415

        scenarios.refuse_empty(config)


def _refuse_unplayable(item: pytest.Item) -> None:
    import unittest  # noqa: PLC0415 - only for who uses the marker

    count = len(list(item.iter_markers("scenario")))
    if count > 1:
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.scenario: {count} of them, by its class and module too; allowed is one"
        )
    cls = getattr(item, "cls", None)
    # unittest calls its methods itself, so that pytest_pyfunc_call is never reached.
    if not isinstance(item, pytest.Function) or (cls is not None and issubclass(cls, unittest.TestCase)):
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.scenario: on a {type(item).__name__}; "
            "allowed are functions, and methods of a class that is no unittest.TestCase"
        )


def house_of(config: pytest.Config) -> House:
    """What this process has for tests with chaos, made when it is first asked for."""
    if _HOUSE not in config.stash:
        from chaoskafka.testing.house import House  # noqa: PLC0415 - clients, engine and tables come with it

        config.stash[_USED] = True
        config.stash[_HOUSE] = House(config)
    return config.stash[_HOUSE]


@pytest.fixture(scope="session")
def _chaoskafka_house(request: pytest.FixtureRequest) -> Iterator[House]:
    house = house_of(request.config)
    try:
        yield house
    finally:
        del request.config.stash[_HOUSE]
        house.close()


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, _chaoskafka_house: House) -> Iterator[KafkaCluster]:
    """A Kafka cluster that has formed, as `@pytest.mark.kafka(...)` asks; its topics and runs are this test's own."""
    with _chaoskafka_house.cluster(request.node) as cluster:
        yield cluster


@pytest.fixture
def kafka_cluster_factory(
    request: pytest.FixtureRequest, _chaoskafka_house: House
) -> Iterator[Callable[..., KafkaCluster]]:
    """Starts further clusters, as the keywords say (those of the marker): `other = kafka_cluster_factory(nodes=1)`."""
    with ExitStack() as life:

        def start(**words: Any) -> KafkaCluster:
            return life.enter_context(_chaoskafka_house.own_cluster(request.node, "the test asked for it", **words))

        yield start


@pytest.fixture
def traffic(request: pytest.FixtureRequest, kafka_cluster: KafkaCluster) -> Traffic:
    """Load that flows: a producer and a consumer, recorded. End it with `traffic.verify()`."""
    marker = request.node.get_closest_marker("kafka_traffic")
    load = dict(marker.kwargs) if marker else {}
    topics = {key: load.pop(key) for key in ("partitions", "replication_factor", "min_insync_replicas") if key in load}
    topic = kafka_cluster.create_topic("orders", **topics)
    return kafka_cluster.traffic(topic, **load).start()


@pytest.fixture
def chaos(kafka_cluster: KafkaCluster) -> Chaos:
    """Plays faults: `with chaos.kill(leader_of("orders"), for_s=8): …`; needs traffic that flows."""
    return kafka_cluster.chaos


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    yield
    if _HOUSE in item.config.stash:
        from chaoskafka.testing.house import module_of  # noqa: PLC0415 - it is there already

        module = module_of(item)
        if nextitem is None or module_of(nextitem) != module:
            item.config.stash[_HOUSE].clusters.module_ended(module)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if _USED not in item.config.stash:  # then it is none of ours
        return (yield)
    from chaoskafka.testing import house, statuses  # noqa: PLC0415 - both are there already

    if call.excinfo is not None:
        call.excinfo = statuses.trimmed(call.excinfo)
    report = yield
    if call.excinfo is not None:
        statuses.no_xfail(report, call.excinfo)
    if report.failed and call.excinfo is not None:
        statuses.mark(report, call.excinfo.value)
    if report.when == "call":
        item.stash[house.PASSED] = report.passed
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if getattr(report, INCONCLUSIVE, None):
        return "inconclusive", "I", ("INCONCLUSIVE", {"yellow": True, "bold": True})
    return None


class _Junit:
    """Comes before pytest's own writer of JUnit XML."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if getattr(report, INCONCLUSIVE, None):
            from chaoskafka.testing import statuses  # noqa: PLC0415

            statuses.as_error(self._config, report)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    marker = pyfuncitem.get_closest_marker("scenario")
    if marker is not None:
        from chaoskafka.testing import scenarios  # noqa: PLC0415

        report = scenarios.play_marked(house_of(pyfuncitem.config), pyfuncitem, marker)
        if "scenario_report" in pyfuncitem.funcargs:
            pyfuncitem.funcargs["scenario_report"] = report
    return (yield)


@pytest.fixture
def scenario_report(request: pytest.FixtureRequest, _chaoskafka_house: House) -> Report | None:
    """What `@pytest.mark.scenario(...)` found. Played in the test's call: here it could only err, not fail."""
    if request.node.get_closest_marker("scenario") is None:
        raise pytest.UsageError(f"{request.node.nodeid}: scenario_report needs @pytest.mark.scenario(...)")
    return None


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HOUSE in config.stash:  # no fixture had it, or its teardown was cut short
        house = config.stash[_HOUSE]
        del config.stash[_HOUSE]
        house.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if terminalreporter.stats.get("inconclusive"):
        from chaoskafka.testing import statuses  # noqa: PLC0415

        statuses.summarize(terminalreporter)
