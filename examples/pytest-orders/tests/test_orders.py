"""Is every order invoiced once, whatever dies?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from orders.store import invoiced

from chaoskafka.testing import leader_of

ORDERS = Path(__file__).parents[1] / "orders"
pytestmark = pytest.mark.kafka_traffic(partitions=3, rate_per_s=300)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "orders.db"


@pytest.fixture
def service(kafka_cluster, traffic, database: Path) -> Iterator:
    """The service, reading the orders of `traffic`."""
    env = {
        "ORDERS_TOPIC": traffic.topic.name,
        "ORDERS_INVOICES": kafka_cluster.create_topic("invoices", partitions=3).name,
        "ORDERS_DB": str(database),
        "ORDERS_BUG": os.environ.get("ORDERS_BUG", ""),
    }
    with kafka_cluster.application(["python", "-m", "orders.service"], name="orders", env=env, package=ORDERS) as app:
        yield app


def test_every_order_is_invoiced_although_the_service_and_a_broker_die(service, traffic, chaos, database: Path) -> None:
    service.wait_until("it is in the middle of its work", bool)
    service.kill()
    with chaos.kill(leader_of(traffic.topic), for_s=3):
        service.start()
    report = traffic.verify(seen=partial(invoiced, database))
    assert report.application.handled >= report.acknowledged


def test_invoices_flow_while_a_broker_hangs(service, traffic, chaos, database: Path) -> None:
    with chaos.pause(leader_of(traffic.topic, 1), for_s=5) as hit:
        hit.wait_for_new_leader()
        before = len(set(invoiced(database)))
        service.wait_until("orders are invoiced again", lambda _: len(set(invoiced(database))) > before + 100)
    traffic.verify(seen=partial(invoiced, database))
