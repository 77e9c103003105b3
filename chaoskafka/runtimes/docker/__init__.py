"""Clusters in containers of any engine that answers the Docker API (1.41 or newer)."""
