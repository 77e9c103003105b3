"""Failover times of many runs: summed up, compared, and held against a baseline. In: results. Out: figures, answers."""
