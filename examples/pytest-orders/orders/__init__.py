"""A small service: an invoice for each order."""
