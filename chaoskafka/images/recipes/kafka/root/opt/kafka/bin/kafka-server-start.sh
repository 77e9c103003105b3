#!/usr/bin/env bash
# Becomes a Kafka server: kafka-server-start.sh FILE [--override NAME=VALUE...]
set -o nounset -o errexit

if [[ $# -lt 1 ]]; then
  echo "usage: $0 FILE [--override NAME=VALUE...]" >&2
  exit 1
fi
base="$(cd "$(dirname "$0")/.." && pwd)"
export KAFKA_LOG4J_OPTS="${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$base/config/log4j2.yaml}"
export KAFKA_HEAP_OPTS="${KAFKA_HEAP_OPTS:--Xmx1G -Xms1G}"
exec "$base/bin/kafka-run-class.sh" kafka.Kafka "$@"
