"""The process in which producing or consuming happens: the loop, written once against a Client."""
