"""Failover times from a history. Pure: intervals come from records, never from the moment a poll returned."""
