"""The independent reading of every partition at the end: raw FETCH, not the judged client."""
