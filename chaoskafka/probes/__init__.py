"""What samples the cluster from outside, in an observer process of its own."""
