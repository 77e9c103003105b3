"""Session: a cluster life with what is done to it."""
