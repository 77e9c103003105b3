#!/usr/bin/env bash
# Becomes a JVM that runs a class of Kafka: kafka-run-class.sh CLASS [ARGUMENT...]
# Reads CLASSPATH, JAVA_HOME, JMX_PORT, LOG_DIR and KAFKA_{HEAP,JVM_PERFORMANCE,LOG4J,JMX,GC_LOG}_OPTS, KAFKA_OPTS.
set -o nounset -o errexit

base="$(cd "$(dirname "$0")/.." && pwd)"
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
log_dir="${LOG_DIR:-$base/logs}"

# Serial collector and first compiler only: small heaps on few cores start and settle faster than with the defaults.
performance="${KAFKA_JVM_PERFORMANCE_OPTS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1}"
log4j="${KAFKA_LOG4J_OPTS:--Dlog4j2.configurationFile=$base/config/tools-log4j2.yaml}"
jmx="${KAFKA_JMX_OPTS:-}"
if [[ -n "${JMX_PORT-}" ]]; then
  jmx="${jmx:--Dcom.sun.management.jmxremote=true -Dcom.sun.management.jmxremote.authenticate=false\
 -Dcom.sun.management.jmxremote.ssl=false} -Dcom.sun.management.jmxremote.port=$JMX_PORT"
fi

# Classes that the image has loaded once already. The archive holds for this very class path, so its order is spelled out;
# for any other JVM options or class path, java goes on without it, and the switches keep it from saying so.
archive="$base/cds/${1:-none}.jsa"
[[ -f $archive ]] && shared="-XX:SharedArchiveFile=$archive -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
jars="$(printf ':%s' "$base"/libs/*.jar)"

# shellcheck disable=SC2086 # options are lists of words on purpose
exec "$java" ${KAFKA_HEAP_OPTS:--Xmx256M} $performance ${shared:-} ${KAFKA_GC_LOG_OPTS:-} $jmx \
  "-Dkafka.logs.dir=$log_dir" $log4j -cp "${CLASSPATH:+$CLASSPATH:}${jars#:}" ${KAFKA_OPTS:-} "$@"
