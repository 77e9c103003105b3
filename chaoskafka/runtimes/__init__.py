"""One package per way of running a cluster."""
