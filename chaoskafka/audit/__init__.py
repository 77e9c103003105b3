"""The audit: an independent reading of every partition at the end of a run.

In: the brokers, after recovery and after every producer was reaped. Out: `audit/` in the run directory, as
`history.tables` lays it down. `whole.audit` is the way in.
"""
