"""chaoskafka: chaos testing against real Apache Kafka."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("chaoskafka")
except PackageNotFoundError:  # the worker's copy in a client place is not installed
    __version__ = "0"
