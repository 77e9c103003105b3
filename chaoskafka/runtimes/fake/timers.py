"""How long things take in a fake cluster. A frozen value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timers:
    """How long things take in a fake cluster: short, as nothing is learnt from waiting. Seconds."""

    session_s: float = 0.05  # from a death to the fence (broker.session.timeout.ms)
    election_s: float = 0.02  # from the death of the active controller to the next one
    boot_s: float = 0.02  # from a start to the end of the fence
    catch_up_s: float = 0.02  # from there to all in-sync sets
    lag_s: float = 0.1  # until a follower that cannot fetch leaves the in-sync set (replica.lag.time.max.ms)
    idle_s: float = 0.1  # after so long a controller writes down that nothing happened (metadata.max.idle.interval.ms)
    late_s: float = 0.6  # what ELECT_LATE and SERVE_LATE add
