"""Clusters that somebody else made and keeps: nothing is started, stopped or broken there by us; clients run here."""
