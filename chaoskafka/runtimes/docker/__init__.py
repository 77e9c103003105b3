"""Clusters in containers of any engine that answers the Docker API (1.41 or newer)."""

from chaoskafka.cluster.abilities import CanHostClients, CanKill

ABILITIES = (CanKill, CanHostClients)
"""What this runtime can do. A scenario whose faults need more is refused before anything starts."""
