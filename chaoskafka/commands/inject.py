"""`chaoskafka inject`: play one fault on a cluster that stands, say what was seen, heal it."""

from __future__ import annotations

import json

from chaoskafka import by_hand
from chaoskafka.clock import NS_PER_S
from chaoskafka.commands.output import say
from chaoskafka.commands.progress import shown_on
from chaoskafka.errors import ExitCode, Interrupted
from chaoskafka.phases import RunClock, stop_on_signals
from chaoskafka.scenario import seeds
from chaoskafka.scenario.load import load_fault

_EVER_S = 7 * 24 * 3600.0  # until Ctrl-C: nobody looks at one fault for longer than a week


def main(text: str, cluster: str | None, for_s: float | None, seed: int | None) -> ExitCode:
    """Blocks for `for_s`, the fault's own, or until Ctrl-C: then the fault heals, and that is no failure.

    Raises UsageError; NoTarget and FaultFailed (nobody fits, it was not seen to bite or to heal); EnvironmentFailure.
    """
    fault = load_fault(text, source="inject")
    found = by_hand.find(cluster)
    seed = seeds.draw() if seed is None else seed
    lasts_s = for_s if for_s is not None else getattr(fault.value, "for_s", 0.0)  # one that has no length is an action
    with shown_on() as progress, stop_on_signals(progress) as stop:
        clock = RunClock(stop, timeout_s=None, on_tick=lambda: None)
        try:
            with by_hand.injected(found, fault, seed=seed, clock=clock) as (hit, stage):
                bitten_s = (clock.now_ns() - hit.acted_ns) / NS_PER_S
                say(f"{fault.word}: hit node {', '.join(map(str, hit.targets))}; seen to bite after {bitten_s:.2f} s")
                say(f"chosen by: {json.dumps(stage.evidence)}")
                say(f"proof: {json.dumps(hit.proof)}")
                if lasts_s is None:
                    progress.note("until Ctrl-C")
                clock.pause(_EVER_S if lasts_s is None else lasts_s)
        except Interrupted:
            if lasts_s is not None:
                raise
    say(f"{fault.word}: healed; proof: {json.dumps(hit.heal_proof)}")
    return ExitCode.PASS
