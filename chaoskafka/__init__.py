"""chaoskafka: chaos testing against real Apache Kafka."""

__version__ = "0.1.0"  # the build reads it here; asking the installation would double the time that `--help` takes
