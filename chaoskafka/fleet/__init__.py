"""Many runs in one call: which of them, how many at once, each a process of its own, and what they came to."""
