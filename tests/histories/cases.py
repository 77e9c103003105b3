"""Every case: a good history, one named alteration, the check that must notice, and what it must answer.

A case also names the checks that may fail as a consequence; all others must not. `settings` are a check's YAML keys;
limits are given relative to what the base itself shows, so that any base will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from chaoskafka.history.doubt import Reason
from chaoskafka.verdict import Answer
from tests.histories import alterations as a
from tests.histories.copy import Copy

PASS, FAIL, UNKNOWN = Answer.PASS, Answer.FAIL, Answer.UNKNOWN
Limit = Literal["generous", "inside", "below"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """`reason`: of an unknown answer, the one that its evidence must give. `says`: words of the summary."""

    check: str
    alter: tuple[Callable[[Copy], None], ...] = ()
    answer: Answer
    reason: Reason | None = None
    also: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: Limit = "generous"  # of unavailable and new_leader: above, inside or below the base's worst interval
    says: str = ""

    @property
    def name(self) -> str:
        how = "+".join(alter.__name__ for alter in self.alter) or "good"
        extra = "".join(f",{key}={value}" for key, value in self.settings.items())
        return f"{self.check}:{how}{extra}{'' if self.limit == 'generous' else ',limit ' + self.limit}:{self.answer}"


def with_acks_1(copy: Copy) -> None:
    copy.workload("produce", acks="1", idempotent=False)


def with_min_isr_1(copy: Copy) -> None:
    copy.topic(min_insync_replicas=1)


def with_unclean_election(copy: Copy) -> None:
    settings = copy.history.header.broker_settings
    copy.header(broker_settings={n: {**s, "unclean.leader.election.enable": "true"} for n, s in settings.items()})


def with_default_timers(copy: Copy) -> None:
    """The brokers' settings are Kafka's defaults."""
    timers = {
        "broker.session.timeout.ms": "9000",
        "broker.heartbeat.interval.ms": "2000",
        "controller.quorum.append.linger.ms": "25",
    }
    copy.header(broker_settings={n: {**s, **timers} for n, s in copy.history.header.broker_settings.items()})


def with_a_short_lease(copy: Copy) -> None:
    """The brokers' settings imply that the controllers should have noticed far sooner."""
    with_default_timers(copy)
    short = {"broker.session.timeout.ms": "500", "broker.heartbeat.interval.ms": "100"}
    copy.header(broker_settings={n: {**s, **short} for n, s in copy.history.header.broker_settings.items()})


def without_a_lease(copy: Copy) -> None:
    """Nobody knows the brokers' settings."""
    copy.header(broker_settings={n: {} for n in copy.history.header.broker_settings})


def without_idempotence(copy: Copy) -> None:
    copy.workload("produce", idempotent=False, settings={"acks": "all"})


def one_in_flight(copy: Copy) -> None:
    copy.workload("produce", idempotent=False, settings={"max.in.flight.requests.per.connection": "1"})


def of(check: str, answer: Answer, *alter: Callable[[Copy], None], **more: Any) -> Case:
    also = frozenset(more.pop("also", ()))
    return Case(check=check, alter=alter, answer=answer, also=also, **more)


PERMITTED = {"allow": "permitted"}
BOUND = {"within_s": None, "within": "bound"}
MESSAGES = (
    "no_lost_acknowledged",
    "no_duplicates",
    "ordered",
    "no_unexpected",
    "offsets_agree",
    "all_delivered",
    "unavailable",
)
AUDITED = MESSAGES[:-1]

GOOD = tuple(
    of(check, PASS)
    for check in (*MESSAGES, "accounted", "clients_alive", "progress", "took_effect", "recovered", "new_leader")
)

DOUBTS = (
    *(of(check, UNKNOWN, a.unsettle, reason=Reason.NOT_SETTLED) for check in AUDITED),
    *(of(check, UNKNOWN, a.stop_the_audit_early, reason=Reason.END_NOT_REACHED) for check in AUDITED),
    *(of(check, UNKNOWN, a.never_audit, reason=Reason.END_NOT_REACHED) for check in AUDITED),
    *(of(check, UNKNOWN, a.tear_a_producer_tape, reason=Reason.TAPE_TORN) for check in MESSAGES),
    *(of(check, UNKNOWN, a.lose_a_producer_tape, reason=Reason.TAPE_MISSING) for check in MESSAGES),
    *(of(check, UNKNOWN, a.lose_a_send, reason=Reason.TAPE_TORN, also={"accounted"}) for check in MESSAGES),
    *(of(check, UNKNOWN, a.move_a_producer_to_another_clock, reason=Reason.TWO_CLOCKS) for check in MESSAGES),
    *(of(check, UNKNOWN, a.forget_a_producer_clock, reason=Reason.TWO_CLOCKS) for check in MESSAGES),
    *(of(check, UNKNOWN, a.idle_through_the_fault, reason=Reason.NO_LOAD_IN_WINDOW) for check in MESSAGES),
    *(of(check, UNKNOWN, a.add_an_idle_partition, reason=Reason.NEVER_LOADED) for check in MESSAGES),
    *(of(check, UNKNOWN, a.leave_unproven, reason=Reason.FAULT_NOT_PROVEN) for check in MESSAGES),
    *(of(check, UNKNOWN, a.never_play, reason=Reason.FAULT_NOT_PROVEN) for check in MESSAGES),
)

LOSS = (
    of("no_lost_acknowledged", FAIL, a.lose_one),
    of("no_lost_acknowledged", FAIL, a.lose_the_tail),
    of("no_lost_acknowledged", FAIL, a.lose_one_without_offset),
    of("no_lost_acknowledged", FAIL, a.lose_elsewhere_unsettled),
    of("no_lost_acknowledged", FAIL, a.replace_one, also={"no_duplicates", "ordered", "offsets_agree"}),
    of("no_lost_acknowledged", FAIL, a.lose_one, a.leave_unproven),
    of("no_lost_acknowledged", FAIL, a.lose_one, a.tear_a_producer_tape),
    of("no_lost_acknowledged", PASS, a.forget_an_offset),
    of("no_lost_acknowledged", UNKNOWN, a.expire_the_head, reason=Reason.EXPIRED),
    of("no_lost_acknowledged", FAIL, with_acks_1, a.lose_one, says="1 of them as the settings permit"),
    of("no_lost_acknowledged", FAIL, a.lose_one, settings=PERMITTED),
    *(
        of(
            "no_lost_acknowledged",
            PASS,
            unsafe,
            a.lose_one,
            settings=PERMITTED,
            says="1 lost as the settings permit",
            also={"no_lost_acknowledged"},
        )
        for unsafe in (with_acks_1, with_min_isr_1, with_unclean_election)
    ),
)

COPIES = (
    of("no_duplicates", FAIL, a.store_twice),
    of("no_duplicates", FAIL, a.send_twice),
    of("no_duplicates", PASS, a.read_again),
    of("no_duplicates", FAIL, a.send_twice, a.unsettle),
    of("no_duplicates", FAIL, a.send_twice, settings=PERMITTED),
    of("no_duplicates", FAIL, without_idempotence, a.send_twice, says="1 of them as the settings permit"),
    of(
        "no_duplicates",
        PASS,
        without_idempotence,
        a.send_twice,
        settings=PERMITTED,
        says="1 messages have copies",
        also={"no_duplicates"},
    ),
)

ORDER = (
    of("ordered", FAIL, a.swap_two),
    of("ordered", FAIL, a.swap_two, a.unsettle),
    of("ordered", PASS, a.doubt_one),
    of("ordered", PASS, a.send_twice, also={"no_duplicates"}, says="1 second copies"),
    of("ordered", FAIL, a.swap_two, settings=PERMITTED),
    of("ordered", FAIL, one_in_flight, a.swap_two, settings=PERMITTED),
    of("ordered", FAIL, without_idempotence, a.swap_two, says="1 of them as the settings permit"),
    of(
        "ordered",
        PASS,
        without_idempotence,
        a.swap_two,
        settings=PERMITTED,
        says="1 out of order",
        also={"ordered"},
    ),
)

STRANGERS = (
    of("no_unexpected", FAIL, a.store_unsent),
    of("no_unexpected", FAIL, a.store_misplaced),
    of("no_unexpected", FAIL, a.store_torn),
    of("no_unexpected", FAIL, a.refuse_what_is_stored),
    of("no_unexpected", PASS, a.store_foreign, says="1 records of others"),
    # Whether it was sent is what a torn tape cannot tell; that a checksum is wrong can be seen without it.
    of("no_unexpected", UNKNOWN, a.store_unsent, a.tear_a_producer_tape, reason=Reason.TAPE_TORN),
    of("no_unexpected", UNKNOWN, a.store_unsent, a.lose_a_producer_tape, reason=Reason.TAPE_MISSING),
    of("no_unexpected", FAIL, a.store_torn, a.tear_a_producer_tape),
    of("no_unexpected", UNKNOWN, a.tear_a_consumer_tape, reason=Reason.TAPE_TORN),
)

OFFSETS = (
    of("offsets_agree", FAIL, a.misname_an_acknowledgement),
    of("offsets_agree", FAIL, a.misread_one, also={"all_delivered"}),
    of("offsets_agree", FAIL, a.misread_one, a.unsettle),
    of("offsets_agree", PASS, a.forget_an_offset),
    of("offsets_agree", UNKNOWN, a.lose_a_consumer_tape, reason=Reason.TAPE_MISSING),
    of("offsets_agree", FAIL, a.misname_an_acknowledgement, settings=PERMITTED),
    of(
        "offsets_agree",
        PASS,
        with_acks_1,
        a.replace_one,
        settings=PERMITTED,
        also={"no_lost_acknowledged", "no_duplicates", "ordered", "offsets_agree"},
    ),
)

DELIVERY = (
    of("all_delivered", FAIL, a.skip_one),
    of("all_delivered", FAIL, a.misread_one, also={"offsets_agree"}),
    of("all_delivered", PASS, a.read_again),
    of("all_delivered", PASS, a.expire_the_head),
    of("all_delivered", UNKNOWN, a.tear_a_consumer_tape, reason=Reason.TAPE_TORN),
    of("all_delivered", UNKNOWN, a.skip_one, a.tear_a_consumer_tape, reason=Reason.TAPE_TORN),
    of("all_delivered", UNKNOWN, a.skip_one, a.lose_a_consumer_tape, reason=Reason.TAPE_MISSING),
    of("all_delivered", UNKNOWN, a.skip_one, a.unsettle, reason=Reason.NOT_SETTLED),
    of("all_delivered", UNKNOWN, a.skip_one, a.start_at_the_end, reason=Reason.NOT_COVERED),
    of("all_delivered", UNKNOWN, a.write_a_transaction, reason=Reason.NOT_COVERED),
    of("all_delivered", UNKNOWN, a.skip_one, a.crash_a_consumer, reason=Reason.OUR_OWN_FAILURE),
    of("all_delivered", UNKNOWN, a.skip_one, a.starve_a_consumer, reason=Reason.OUR_OWN_FAILURE),
    of("all_delivered", UNKNOWN, a.read_nobody),
)

CLIENTS = (
    of("accounted", FAIL, a.miscount),
    of("accounted", FAIL, a.miscount_on_tape),
    of("accounted", FAIL, a.lose_a_send),
    of("accounted", UNKNOWN, a.tear_a_producer_tape, reason=Reason.TAPE_TORN),
    of("accounted", UNKNOWN, a.tear_a_consumer_tape, reason=Reason.TAPE_TORN),
    of("accounted", UNKNOWN, a.lose_a_producer_tape, reason=Reason.TAPE_MISSING),
    of("accounted", UNKNOWN, a.close_without_a_word, reason=Reason.TAPE_MISSING),
    of("clients_alive", FAIL, a.fail_fatally),
    of("clients_alive", FAIL, a.fail_fatally_on_tape),
    of("clients_alive", FAIL, a.die_of_a_signal),
    of("clients_alive", FAIL, a.hang_in_close),
    of("clients_alive", FAIL, a.never_end),
    of("clients_alive", FAIL, a.end_by_our_kill),
    of("clients_alive", PASS, a.kill_and_replace),
    of("clients_alive", UNKNOWN, a.crash_a_consumer, reason=Reason.OUR_OWN_FAILURE),
    of("clients_alive", UNKNOWN, a.starve_a_consumer, reason=Reason.OUR_OWN_FAILURE),
    of("clients_alive", UNKNOWN, a.lose_a_consumer_tape, reason=Reason.TAPE_MISSING),
    of("clients_alive", UNKNOWN, a.close_without_a_word, reason=Reason.OUR_OWN_FAILURE),
    of("clients_alive", UNKNOWN, a.never_start_workers, also={"accounted"}),
)

PROGRESS = (
    of("progress", FAIL, a.stop_acknowledging),
    of("progress", FAIL, a.stop_reading, also={"all_delivered"}),
    of("progress", FAIL, a.never_read_before),
    of("progress", FAIL, a.stall_at_the_end, also={"unavailable"}),
    of("progress", UNKNOWN, a.recover_at_the_end, reason=Reason.NEVER_LOADED),
    of("progress", UNKNOWN, a.add_an_idle_partition, reason=Reason.NEVER_LOADED),
    of("progress", UNKNOWN, a.leave_unproven, reason=Reason.FAULT_NOT_PROVEN),
    of("progress", UNKNOWN, a.never_play, reason=Reason.FAULT_NOT_PROVEN),
    of("progress", UNKNOWN, a.never_heal, reason=Reason.NOT_HEALED),
    of("progress", UNKNOWN, a.move_a_producer_to_another_clock, reason=Reason.TWO_CLOCKS),
    of("progress", UNKNOWN, a.move_a_consumer_to_another_clock, reason=Reason.TWO_CLOCKS),
    of("progress", UNKNOWN, a.tear_a_consumer_tape, reason=Reason.TAPE_TORN),
    of("progress", UNKNOWN, a.stay_broken, reason=Reason.NOT_RECOVERED, also={"recovered"}),
    of("progress", FAIL, a.stay_broken, a.stop_acknowledging, also={"recovered"}),
    of("progress", PASS, a.never_wait_for_recovery),
    of(
        "progress",
        UNKNOWN,
        a.stall_at_the_end,
        a.never_wait_for_recovery,
        reason=Reason.NOT_RECOVERED,
        also={"unavailable"},
    ),
    of("progress", PASS, a.without_a_plan),
)

FAULTS = (
    of("took_effect", UNKNOWN, a.leave_unproven, reason=Reason.FAULT_NOT_PROVEN),
    of("took_effect", UNKNOWN, a.prove_with_nothing, reason=Reason.FAULT_NOT_PROVEN),
    of("took_effect", UNKNOWN, a.never_play, reason=Reason.FAULT_NOT_PROVEN),
    of("took_effect", UNKNOWN, a.skip_the_fault, reason=Reason.FAULT_NOT_PROVEN),
    of("took_effect", UNKNOWN, a.plan_one_more, reason=Reason.FAULT_NOT_PROVEN),
    of("took_effect", UNKNOWN, a.leave_unhealed, reason=Reason.NOT_HEALED),
    of("took_effect", UNKNOWN, a.never_heal, reason=Reason.NOT_HEALED),
    of("took_effect", UNKNOWN, a.without_a_plan),
    of("recovered", FAIL, a.stay_broken),
    of("recovered", FAIL, a.recover_late),
    of("recovered", UNKNOWN, a.recover_late_on_a_starved_machine, reason=Reason.IMPRECISE),
    of("recovered", UNKNOWN, a.recover_a_little_late, a.starve_the_machine, reason=Reason.IMPRECISE, says="97 % of"),
    of("recovered", FAIL, a.recover_a_little_late, a.use_the_machine),
    of("recovered", FAIL, a.recover_late, a.starve_the_machine),
    of("recovered", FAIL, a.stay_broken_as_long_as_watched, a.starve_the_machine),
    of("recovered", PASS, a.starve_the_machine),
    of("unavailable", UNKNOWN, a.starve_the_machine, limit="below", reason=Reason.IMPRECISE, says="97 % of those"),
    of("unavailable", FAIL, a.use_the_machine, limit="below"),
    of("unavailable", FAIL, a.starve_the_machine, a.acknowledge_no_more, also={"progress"}),
    of("recovered", UNKNOWN, a.never_wait_for_recovery),
    of("recovered", UNKNOWN, a.leave_unstarted, reason=Reason.NOT_HEALED),
    of("recovered", UNKNOWN, a.recover_untimed),
)

TIMES = (
    of("unavailable", FAIL, limit="below"),
    of("unavailable", UNKNOWN, limit="inside", reason=Reason.IMPRECISE),
    of("unavailable", FAIL, a.acknowledge_no_more, also={"progress"}),
    of("unavailable", UNKNOWN, a.stall_the_machine, limit="below", reason=Reason.IMPRECISE),
    of("unavailable", UNKNOWN, a.move_a_consumer_to_another_clock, reason=Reason.TWO_CLOCKS),
    of("new_leader", FAIL, limit="below"),
    of("new_leader", UNKNOWN, limit="inside", reason=Reason.IMPRECISE),
    of("new_leader", FAIL, a.learn_late),
    of("new_leader", UNKNOWN, a.learn_who_knows_when, reason=Reason.IMPRECISE),
    of("new_leader", FAIL, a.never_learn),
    of("new_leader", UNKNOWN, a.never_learn_unwatched, reason=Reason.NOT_OBSERVED),
    of("new_leader", FAIL, a.elect_nobody),
    of("new_leader", UNKNOWN, a.stall_the_machine, limit="below", reason=Reason.IMPRECISE),
    of("new_leader", UNKNOWN, a.see_no_leaders_before, reason=Reason.NOT_OBSERVED),
    of("new_leader", UNKNOWN, a.observe_nothing, reason=Reason.NOT_OBSERVED),
    of("new_leader", UNKNOWN, a.move_the_observer_to_another_clock, reason=Reason.TWO_CLOCKS),
    of("new_leader", UNKNOWN, a.hit_a_follower),
    of("new_leader", UNKNOWN, a.leave_unproven, reason=Reason.FAULT_NOT_PROVEN),
    of("new_leader", UNKNOWN, a.idle_through_the_fault, reason=Reason.NO_LOAD_IN_WINDOW),
    of("new_leader", PASS, with_default_timers, settings=BOUND, says="10.50 s by broker.session.timeout.ms"),
    of("new_leader", FAIL, with_a_short_lease, settings=BOUND, says="in 0.9"),
    of("new_leader", UNKNOWN, without_a_lease, settings=BOUND, reason=Reason.NOT_COVERED),
    of("no_election", FAIL),
    of("no_election", PASS, a.lead_on, also={"new_leader"}),
    of("no_election", FAIL, a.elect_an_internal_leader, also={"new_leader"}, says="__consumer_offsets/7"),
    of("no_election", UNKNOWN, a.elect_nobody, also={"new_leader"}, reason=Reason.NOT_OBSERVED),
    of("no_election", UNKNOWN, a.lead_on_half_read, also={"new_leader"}, reason=Reason.NOT_OBSERVED),
    of("no_election", UNKNOWN, a.lead_on_read_to_the_heal, also={"new_leader"}, reason=Reason.NOT_OBSERVED),
    of("no_election", UNKNOWN, a.observe_nothing, reason=Reason.NOT_OBSERVED),
    of("no_election", UNKNOWN, a.move_the_observer_to_another_clock, reason=Reason.TWO_CLOCKS),
)

CASES = GOOD + DOUBTS + LOSS + COPIES + ORDER + STRANGERS + OFFSETS + DELIVERY + CLIENTS + PROGRESS + FAULTS + TIMES
