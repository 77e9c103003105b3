"""What the settings in force promise for each producer's messages: an anomaly against a promise is *forbidden*.

In: the header of a History. Out: one row per producer. Pure. Settings that a run changes while it goes are not read
here yet: no fault of today changes any.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from chaoskafka.history.header import RunHeader, TopicFacts, WorkloadFacts

Allow = Literal["none", "permitted"]
"""`none`: every anomaly fails, whatever the settings. `permitted`: those that the settings permit pass and are told."""

FORBIDDEN, PERMITTED = "forbidden", "permitted"

_IN_FLIGHT = ("max.in.flight.requests.per.connection", "max.in.flight")
_UNCLEAN = "unclean.leader.election.enable"
_SCHEMA = pl.Schema(
    {
        "producer": pl.UInt16,
        "keeps": pl.Boolean,  # what was acknowledged survives the loss of one broker
        "once": pl.Boolean,  # each message is stored at most once
        "in_order": pl.Boolean,  # what was sent first is stored first
    }
)


def promises(header: RunHeader, topic: str) -> pl.DataFrame:
    """What each producer of `topic` may rely on.

    Acknowledged messages are kept with acks=all, min.insync.replicas of at least 2 and unclean election off; stored
    once by an idempotent producer (KIP-98); kept in order by an idempotent one or by one request in flight.
    """
    facts = header.topic(topic)
    safe_topic = facts.min_insync_replicas >= 2 and not _may_elect_unclean(header, facts)
    rows = {
        worker: {
            "producer": worker,
            "keeps": work.acks in ("all", "-1") and safe_topic,
            "once": bool(work.idempotent),
            "in_order": bool(work.idempotent) or _one_in_flight(work),
        }
        for work in header.workloads
        if work.word == "produce" and work.topic == topic
        for worker in work.workers
    }
    return pl.DataFrame(list(rows.values()), schema=_SCHEMA)


def label(anomalies: pl.DataFrame, promised: pl.DataFrame, promise: str) -> pl.DataFrame:
    """Anomalies with the column `label`. A producer that no workload explains was promised everything."""
    kept = pl.col("promised").fill_null(value=True)
    return (
        anomalies.join(promised.select("producer", pl.col(promise).alias("promised")), on="producer", how="left")
        .with_columns(label=pl.when(kept).then(pl.lit(FORBIDDEN)).otherwise(pl.lit(PERMITTED)))
        .drop("promised")
    )


def judged(anomalies: pl.DataFrame, allow: Allow) -> pl.DataFrame:
    """The labelled anomalies that make a check fail, forbidden ones first."""
    failing = anomalies if allow == "none" else anomalies.filter(pl.col("label") == FORBIDDEN)
    return failing.sort("label", maintain_order=True)


def _one_in_flight(work: WorkloadFacts) -> bool:
    return any(work.settings.get(name) == "1" for name in _IN_FLIGHT)


def _may_elect_unclean(header: RunHeader, topic: TopicFacts) -> bool:
    """The topic's own setting wins over the brokers'; it stands in the scenario only."""
    topics = header.scenario.get("topics")
    written = topics.get(topic.name) if isinstance(topics, dict) else None
    config = written.get("config") if isinstance(written, dict) else None
    if isinstance(config, dict) and _UNCLEAN in config:
        return str(config[_UNCLEAN]).lower() == "true"
    return any(settings.get(_UNCLEAN, "").lower() == "true" for settings in header.broker_settings.values())
