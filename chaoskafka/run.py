"""Plays a plan over a Session, in numbered phases."""
