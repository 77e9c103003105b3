"""Planes: the listeners of every node. A plane is the listener that a connection uses, so that each can be cut alone.

Pure constants: a listener's name and port are the same on every node, whoever runs it.
"""

from __future__ import annotations

from enum import Enum


class Plane(Enum):
    """A listener's name (`listeners`), and its port."""

    CLIENTS = 9092  # clients on the cluster's own network
    CONTROLLER = 9093  # controllers among each other, and brokers to them
    REPLICATION = 19092  # brokers among each other
    HOST = 9192  # clients on the harness's machine, through a published port

    @property
    def port(self) -> int:
        return self.value
