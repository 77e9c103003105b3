"""Everything recorded in one run: the run directory is the only bridge between running and judging.

In: tapes, events, observations and the audit, as files. Out: `History`, Polars tables per partition.
Imports no client and no engine, so that a stored run can be judged anywhere.
"""
