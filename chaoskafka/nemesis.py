"""Plays faults."""
