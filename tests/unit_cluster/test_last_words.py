"""What is told of a log: the first error and what follows it, never stack frames, and never much."""

from chaoskafka.cluster.last_words import CHARACTERS_MAX, LINES_MAX, has_trouble, last_words

# Kafka 4.2.0, as its container printed it, shortened.
REFUSED = """\
Exception in thread "main" org.apache.kafka.common.config.ConfigException: \
Invalid value -5 for configuration log.segment.bytes: Value must be at least 1048576
\tat org.apache.kafka.common.config.ConfigDef$Range.ensureValid(ConfigDef.java:1000)
\tat kafka.docker.KafkaDockerWrapper.main(KafkaDockerWrapper.scala)

"""
STARVED = """\
[2026-11-30 14:08:57,444] INFO Starting the log cleaner (org.apache.kafka.storage.internals.LogCleaner)
[2026-11-30 14:08:57,629] ERROR Encountered fatal fault: Error starting LogManager (org.apache.kafka.Handler)
java.lang.OutOfMemoryError: Java heap space
\tat java.base/java.nio.HeapByteBuffer.<init>(HeapByteBuffer.java:64)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


def test_a_refused_setting() -> None:
    (line,) = last_words(REFUSED)
    assert line.endswith("Invalid value -5 for configuration log.segment.bytes: Value must be at least 1048576")
    assert has_trouble(REFUSED)


def test_the_first_error_counts_and_what_came_before_does_not() -> None:
    first, second = last_words(STARVED)
    assert "ERROR Encountered fatal fault" in first
    assert second == "java.lang.OutOfMemoryError: Java heap space"


def test_without_an_error_the_last_lines() -> None:
    log = "\n".join(f"INFO {i}" for i in range(100))
    assert last_words(log) == tuple(f"INFO {i}" for i in range(100 - LINES_MAX, 100))
    assert not has_trouble(log)


def test_limits() -> None:
    words = last_words("\n".join("ERROR " + "x" * 10_000 for _ in range(1000)))
    assert len(words) == LINES_MAX
    assert {len(word) for word in words} == {CHARACTERS_MAX}
    assert last_words("") == ()
