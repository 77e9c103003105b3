"""Renderings of one result."""
