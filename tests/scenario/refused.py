"""One good scenario, and every way in which it can be wrong: what is changed, and what the message must say.

Shared by the tests of the loader and of the command line.
"""

from __future__ import annotations

from dataclasses import dataclass

GOOD = """\
# Is it safe?
title: Safe
cluster: {nodes: 3}
topics:
  orders: {partitions: 6}
workloads:
  - produce: {topic: orders, rate_per_s: 600}
  - consume: {topic: orders, group: readers}
plan:
  - after_s: 5
    kill: {target: "leader of orders/0", for_s: 15}
expect:
  - no_lost_acknowledged
"""
TITLE, CLUSTER, TOPIC, PRODUCE, CONSUME, AFTER, KILL, EXPECT, CHECK = (
    line.strip() for line in GOOD.splitlines()[1:] if line not in ("topics:", "workloads:", "plan:")
)
CONTROL = "control: {fails:"
ORDERS, READERS, RATE, LEADER = "topics.orders", "workloads[1].consume", "workloads[0].produce", "plan[0].kill"
FAULT, MOVE = KILL, "plan[0].move_leader"
STEP = f"{AFTER}\n    {KILL}"
BARE, ONE = "{kill: {target: any, for_s: 1}}", "{after_s: 1, kill: {target: any, for_s: 1}}"
KILLED, PLACED = "kill: {target: any}", "- place: {leader_of: orders/0, "
TO = '"leader of orders/0"'
WEEK = "604800"
CHECKS = "accounted, all_delivered, clients_alive, new_leader"


@dataclass(frozen=True, slots=True)
class Case:
    """`old` becomes `new`; some message must name the line and the path, and say the value and what is allowed."""

    old: str
    new: str
    line: int
    path: str
    value: str
    allowed: str

    @property
    def text(self) -> str:
        assert self.old in GOOD, f"the good scenario has no {self.old!r}"
        return GOOD.replace(self.old, self.new, 1)


LONG = "a" * 201

CASES = [
    # Unknown keys, at every level.
    Case(TITLE, "titel: x", 2, "titel", "'titel'", "did you mean 'title'?; allowed: cluster, control, expect"),
    Case("{nodes: 3}", "{nods: 3}", 3, "cluster.nods", "'nods'", "did you mean 'nodes'?; allowed: brokers, config"),
    Case("{nodes: 3}", "{replicas: 3}", 3, "cluster.replicas", "'replicas'", "allowed: brokers, config, controllers"),
    Case("partitions: 6", "partition: 6", 5, f"{ORDERS}.partition", "'partition'", "did you mean 'partitions'?"),
    Case("rate_per_s", "rate", 7, f"{RATE}.rate", "'rate'", "allowed: acks, client, drain_s"),
    Case("group:", "grup:", 8, f"{READERS}.grup", "'grup'", "did you mean 'group'?; allowed: client"),
    Case("for_s", "fors", 11, f"{LEADER}.fors", "'fors'", "did you mean 'for_s'?; allowed: for_s, heal_s"),
    Case("    kill:", "    with: 5\n    kill:", 10, "plan[0]", "'with': 5", "expected one fault"),
    Case(CHECK, "- recovered: {in_s: 5}", 13, "expect[0].recovered.in_s", "'in_s'", "allowed: none"),
    # Unknown words.
    Case("produce:", "prodcue:", 7, "workloads[0].prodcue", "'prodcue'", "did you mean 'produce'?; allowed: consume"),
    Case("kill:", "kil:", 11, "plan[0].kil", "'kil'", "did you mean 'kill'?; allowed: "),
    Case(CHECK, "- no_lost", 13, "expect[0].no_lost", "'no_lost'", f"allowed: {CHECKS}"),
    Case(CHECK, "- recoverd", 13, "expect[0].recoverd", "'recoverd'", f"did you mean 'recovered'?; allowed: {CHECKS}"),
    Case(CHECK, '- "": {}', 13, 'expect[0][""]', "''", f"allowed: {CHECKS}"),
    # Wrong types, at every level.
    Case(TITLE, "title: 5", 2, "title", "5", 'expected text, got 5; quote it to make it text: "5"'),
    Case(TITLE, "title: [a]", 2, "title", "['a']", "expected text"),
    Case(TITLE, "title: {a: 1}", 2, "title", "{'a': 1}", "expected text"),
    Case(TITLE, "seed: {a: 1}", 2, "seed", "{'a': 1}", "expected a whole number"),
    Case("for_s: 15", "for_s: {a: 1}", 11, f"{LEADER}.for_s", "{'a': 1}", "expected a number"),
    Case(TITLE, "seed: 1.5", 2, "seed", "1.5", "expected a whole number"),
    Case(TITLE, "seed: '7'", 2, "seed", "'7'", "expected a whole number"),
    Case(TITLE, "timeout_s: 5m", 2, "timeout_s", "'5m'", "expected a number"),
    Case(CLUSTER, "cluster: 3", 3, "cluster", "3", "expected a mapping"),
    Case("{nodes: 3}", '{nodes: "3"}', 3, "cluster.nodes", "'3'", "expected a whole number"),
    Case("{nodes: 3}", "{nodes: 3.0}", 3, "cluster.nodes", "3.0", "expected a whole number"),
    Case("{nodes: 3}", "{config: [a]}", 3, "cluster.config", "['a']", "expected a mapping"),
    Case("{nodes: 3}", "{config: {a.b: [1]}}", 3, 'cluster.config["a.b"]', "[1]", "expected text"),
    Case("{partitions: 6}", "[]", 5, ORDERS, "[]", "expected a mapping"),
    Case("partitions: 6", "partitions: six", 5, f"{ORDERS}.partitions", "'six'", "expected a whole number"),
    Case(PRODUCE, "- 5", 7, "workloads[0]", "5", "expected one workload, `word` or `word: {…}`"),
    Case("rate_per_s: 600", 'rate_per_s: "600"', 7, f"{RATE}.rate_per_s", "'600'", "expected a number"),
    Case("rate_per_s: 600", "rate_per_s: fast", 7, f"{RATE}.rate_per_s", "'fast'", "expected a number"),
    Case("rate_per_s: 600", "client: 5", 7, f"{RATE}.client", "5", "expected text or a mapping"),
    Case("group: readers", "group: 5", 8, f"{READERS}.group", "5", 'quote it to make it text: "5"'),
    Case("group: readers", "client: {a: {b: 1}}", 8, f"{READERS}.client.a", "{'b': 1}", "expected text or"),
    Case("after_s: 5", "after_s: 5s", 10, "plan[0].after_s", "'5s'", "expected a number"),
    Case(TO, "[broker 1]", 11, f"{LEADER}.target", "['broker 1']", "expected a target"),
    Case(TO, "1", 11, f"{LEADER}.target", "1", "expected a target"),
    Case("{target: " + TO + ", for_s: 15}", "[any]", 11, LEADER, "['any']", "expected a mapping"),
    Case(EXPECT + "\n  " + CHECK, "expect: recovered", 12, "expect", "'recovered'", "expected a list"),
    Case(CHECK, "- 5", 13, "expect[0]", "5", "expected one check, `word` or `word: {…}`"),
    Case(CHECK, "- unavailable: 5", 13, "expect[0].unavailable", "5", "expected a mapping"),
    # What YAML 1.1 would have read as something else.
    Case("{nodes: 3}", "{kafka: 4.2}", 3, "cluster.kafka", "4.2", 'quote it to make it text: "4.2"'),
    Case("{nodes: 3}", "{kafka: 4.10}", 3, "cluster.kafka", "4.10", 'quote it to make it text: "4.10"'),
    Case("{nodes: 3}", "{kafka: 2026-01-01}", 3, "cluster.kafka", "'2026-01-01'", "not supported; allowed: "),
    Case("{nodes: 3}", "{nodes: yes}", 3, "cluster.nodes", "'yes'", "expected a whole number"),
    Case("{nodes: 3}", "{nodes: true}", 3, "cluster.nodes", "true", "expected a whole number"),
    Case("{nodes: 3}", "{nodes: on}", 3, "cluster.nodes", "'on'", "expected a whole number"),
    Case("{nodes: 3}", "{nodes: 0o3}", 3, "cluster.nodes", "'0o3'", "expected a whole number"),
    Case("{nodes: 3}", "{nodes: 0x3}", 3, "cluster.nodes", "'0x3'", "expected a whole number"),
    Case("after_s: 5", "after_s: 1:30", 10, "plan[0].after_s", "'1:30'", "expected a number"),
    Case("after_s: 5", "after_s: 1_000", 10, "plan[0].after_s", "'1_000'", "expected a number"),
    # What is needed and is not there.
    Case("topic: orders, rate", "rate", 7, RATE, "topic", "is missing"),
    Case(PRODUCE, "- produce", 7, RATE, "topic", "is missing"),
    Case("target: " + TO + ", ", "", 11, LEADER, "target", "is missing"),
    Case("after_s: 5\n    ", "", 10, "plan[0]", "after_s", "is missing: how many seconds of steady load"),
    Case(CHECK, "- unavailable", 13, "expect[0].unavailable", "at_most_s", "is missing"),
    Case("{nodes: 3}", "{brokers: 3}", 3, "cluster.brokers", "isolated", "an isolated cluster needs controllers too"),
    # Nothing where something is needed.
    Case(CLUSTER, "cluster:", 3, "cluster", "null", "expected a mapping"),
    Case("{partitions: 6}", "", 5, ORDERS, "null", "expected a mapping"),
    Case("partitions: 6", "partitions: null", 5, f"{ORDERS}.partitions", "null", "expected a whole number"),
    Case("{topic: orders, rate_per_s: 600}", "", 7, RATE, "null", "expected a mapping"),
    Case("topic: orders, rate", "topic: ~, rate", 7, f"{RATE}.topic", "null", "expected text"),
    Case("after_s: 5", "after_s:", 10, "plan[0].after_s", "null", "expected a number"),
    Case(TO, "null", 11, f"{LEADER}.target", "null", "expected a target"),
    Case("for_s: 15", "for_s: null", 11, LEADER, "for_s", "is missing: the plan ends here"),
    Case("  " + CHECK, "", 12, "expect", "null", "expected a list with something in it"),
    Case(CHECK, "- null", 13, "expect[0]", "null", "expected one check"),
    Case("  orders: {partitions: 6}", "", 4, "topics", "null", "at least one topic is needed"),
    Case("  orders: {partitions: 6}", "  []", 4, "topics", "[]", "at least one topic is needed"),
    Case("{nodes: 3}", "{config: {a.b: null}}", 3, 'cluster.config["a.b"]', "null", "expected text"),
    # Numbers that cannot be.
    Case(TITLE, "seed: -1", 2, "seed", "-1", "between 0 and 9223372036854775807"),
    Case(TITLE, "seed: 99999999999999999999", 2, "seed", "'99999999999999999999'", "expected a whole number"),
    Case(TITLE, "timeout_s: .nan", 2, "timeout_s", "nan", "expected a number"),
    Case(TITLE, "timeout_s: .inf", 2, "timeout_s", "inf", "expected a number"),
    Case(TITLE, "timeout_s: 0", 2, "timeout_s", "0", f"between 1 and {WEEK}"),
    Case(TITLE, "timeout_s: 1e300", 2, "timeout_s", "1e+300", f"between 1 and {WEEK}"),
    Case("{nodes: 3}", "{nodes: 0}", 3, "cluster.nodes", "0", "between 1 and 50"),
    Case("{nodes: 3}", "{nodes: -3}", 3, "cluster.nodes", "-3", "between 1 and 50"),
    Case("{nodes: 3}", "{nodes: 51}", 3, "cluster.nodes", "51", "between 1 and 50"),
    Case("{nodes: 3}", "{brokers: 0, controllers: 1}", 3, "cluster.brokers", "0", "between 1 and 50"),
    Case("{nodes: 3}", "{heap_mib: 0}", 3, "cluster.heap_mib", "0", "between 128 and 65536"),
    Case("{nodes: 3}", "{memory_mib: 10000000}", 3, "cluster.memory_mib", "10000000", "between 128 and 65536"),
    Case("{nodes: 3}", "{memory_mib: 400}", 3, "cluster.memory_mib", "400", "at least 200 more than heap_mib 400"),
    Case("partitions: 6", "partitions: 0", 5, f"{ORDERS}.partitions", "0", "is below 1"),
    Case("partitions: 6", "partitions: 1001", 5, f"{ORDERS}.partitions", "1001", "at most 1000"),
    Case("rate_per_s: 600", "rate_per_s: 0", 7, f"{RATE}.rate_per_s", "0.0", "above 0 and at most 100000"),
    Case("rate_per_s: 600", "rate_per_s: -1", 7, f"{RATE}.rate_per_s", "-1.0", "above 0 and at most 100000"),
    Case("rate_per_s: 600", "rate_per_s: .nan", 7, f"{RATE}.rate_per_s", "nan", "expected a number"),
    Case("rate_per_s: 600", "rate_per_s: 1e9", 7, f"{RATE}.rate_per_s", "1000000000.0", "at most 100000"),
    Case("rate_per_s: 600", "rate_per_s: 1e-300", 7, f"{RATE}.rate_per_s", "1e-300", "at least 0.6"),
    Case("rate_per_s: 600", "processes: 0", 7, f"{RATE}.processes", "0", "between 1 and 50"),
    Case("rate_per_s: 600", "message_bytes: 1", 7, f"{RATE}.message_bytes", "1", "between 44"),
    Case("rate_per_s: 600", "acks: 2", 7, f"{RATE}.acks", "2", "allowed: 1, all"),
    Case("rate_per_s: 600", "acks: 0", 7, f"{RATE}.acks", "0", "allowed: 1, all"),  # nothing would be acknowledged
    Case("rate_per_s: 600", "drain_s: 1e9", 7, f"{RATE}.drain_s", "1e+09", f"above {WEEK} s (a week)"),
    Case("group: readers", "commit_every_s: 0", 8, f"{READERS}.commit_every_s", "0.0", "not above 0"),
    Case("group: readers", "processes: 51", 8, f"{READERS}.processes", "51", "between 1 and 50"),
    Case("after_s: 5", "after_s: -5", 10, "plan[0].after_s", "-5", f"between 0 and {WEEK} s"),
    Case("after_s: 5", "after_s: 1e9", 10, "plan[0].after_s", "1e+09", f"between 0 and {WEEK} s"),
    Case("after_s: 5", "after_s: .inf", 10, "plan[0].after_s", "inf", "expected a number"),
    Case("for_s: 15", "for_s: 0", 11, f"{LEADER}.for_s", "0.0", "not above 0"),
    Case("for_s: 15", "for_s: 15000000", 11, f"{LEADER}.for_s", "1.5e+07", f"above {WEEK} s (a week)"),
    Case("for_s: 15", "for_s: 5, heal_s: -1", 11, f"{LEADER}.heal_s", "-1.0", "not above 0"),
    Case(CHECK, "- unavailable: {at_most_s: -1}", 13, "expect[0].unavailable.at_most_s", "-1.0", "not above 0"),
    Case(CHECK, "- unavailable: {at_most_s: .nan}", 13, "expect[0].unavailable.at_most_s", "nan", "a number"),
    Case(CHECK, "- new_leader: {within_s: 1e300}", 13, "expect[0].new_leader.within_s", "1e+300", f"above {WEEK}"),
    Case(CHECK, "- ordered: {allow: true}", 13, "expect[0].ordered.allow", "true", "allowed: none, permitted"),
    # Words for values.
    Case(
        "{nodes: 3}",
        "{timeouts: fsat}",
        3,
        "cluster.timeouts",
        "'fsat'",
        "did you mean 'fast'?; allowed: default, fast",
    ),
    Case("{nodes: 3}", '{kafka: "9.9.9"}', 3, "cluster.kafka", "'9.9.9'", "allowed: 4."),
    Case("rate_per_s: 600", "client: harnes", 7, f"{RATE}.client", "'harnes'", "harness, librdkafka_default"),
    Case("group: readers", "protocol: clasic", 8, f"{READERS}.protocol", "'clasic'", "did you mean 'classic'?"),
    # Parts that do not fit each other.
    Case(
        "{nodes: 3}", "{nodes: 3, brokers: 3}", 3, "cluster.nodes", "nodes", "either nodes, or controllers and brokers"
    ),
    Case("partitions: 6", "replication_factor: 5", 5, f"{ORDERS}.replication_factor", "5", "at most 3"),
    Case(
        "partitions: 6", "min_insync_replicas: 4", 5, f"{ORDERS}.min_insync_replicas", "4", "above replication_factor 3"
    ),
    Case("topic: orders, rate", "topic: oders, rate", 7, f"{RATE}.topic", "'oders'", "did you mean 'orders'?"),
    Case(PRODUCE + "\n  ", "", 7, "workloads[0].consume.topic", "'orders'", "no workload produces to"),
    Case("rate_per_s: 600", "acks: 1, client: {enable.idempotence: true}", 7, f"{RATE}.client", "1", "needs acks: all"),
    Case(
        "    kill:", "    kill: {target: any}\n  - after_s: 5\n    kill:", 11, LEADER, "for_s", "the next fault waits"
    ),
    Case(", for_s: 15", "", 11, LEADER, "for_s", "the plan ends here"),
    Case(CHECK, "- ordered\n  - recovered\n  - ordered", 15, "expect[2].ordered", "ordered", "first in line 13"),
    Case(CHECK, "- took_effect", 12, "expect", "took_effect", "ask for something else too"),
    Case(EXPECT + "\n  " + CHECK, "expect: []", 12, "expect", "[]", "leave it out for the usual checks"),
    # Targets.
    Case(TO, "broker 9", 11, f"{LEADER}.target", "broker 9", "there are 1, 2, 3"),
    Case(TO, '"leader of orders/6"', 11, f"{LEADER}.target", "orders/6", "are 0 to 5"),
    Case(TO, '"leader of bills/0"', 11, f"{LEADER}.target", "'bills'", "allowed: orders"),
    Case(TO, "leader of orders", 11, f"{LEADER}.target", "'leader of orders'", "'leader of TOPIC/PARTITION'"),
    Case(TO, "laeder of orders/0", 11, f"{LEADER}.target", "'laeder of orders/0'", "did you mean 'leader of'?"),
    Case(TO, '""', 11, f"{LEADER}.target", "''", "A target is one of leader of TOPIC/P"),
    Case(TO, "group coordinator of raeders", 11, f"{LEADER}.target", "'raeders'", "did you mean 'readers'?"),
    Case(TO, '"any, majority"', 11, f"{LEADER}.target", "'majority'", "cannot be a filter"),
    Case(TO, '"broker 1, not broker 1"', 11, f"{LEADER}.target", "'not broker 1'", "fits nobody"),
    # Leadership that is to be moved.
    Case(FAULT, "move_leader: {topic: bills}", 11, "plan[0].move_leader.topic", "'bills'", "allowed: orders"),
    Case(FAULT, "move_leader: {topic: orders, partition: 6}", 11, f"{MOVE}.partition", "6", "are 0 to 5"),
    Case(FAULT, "move_leader: {topic: orders, to: broker 4}", 11, f"{MOVE}.to", "broker 4", "there are 1, 2, 3"),
    Case(FAULT, "move_leader: {topic: orders, to: home}", 11, f"{MOVE}.to", "'home'", "any other replica, or broker N"),
    # Conditions.
    Case(", for_s: 15", ", until: fnced", 11, f"{LEADER}.until", "'fnced'", "did you mean 'fenced'?; allowed: fenced"),
    Case("for_s: 15", "until: {fenced: 9}", 11, f"{LEADER}.until", "broker 9", "there are 1, 2, 3"),
    Case("for_s: 15", "until: {isr_is: x}", 11, f"{LEADER}.until.isr_is", "'x'", "expected a whole number from 0"),
    Case("for_s: 15", "until: {isr_full: bills}", 11, f"{LEADER}.until", "'bills'", "allowed: orders"),
    Case("for_s: 15", "until: {leader_changed: orders/6}", 11, f"{LEADER}.until", "orders/6", "are 0 to 5"),
    Case("for_s: 15", "until: {fenced: 1, within_s: 0}", 11, f"{LEADER}.until.within_s", "0", "above 0"),
    Case("for_s: 15", "until: {fenced: 1, within_s: 1e9}", 11, f"{LEADER}.until", "1e+09", f"above {WEEK} s"),
    Case("for_s: 15", "for_s: 15, until: fenced", 11, f"{LEADER}.until", "until", "either for_s or until, not both"),
    Case(FAULT, "restart: {target: any, until: fenced}", 11, "plan[0].restart.until", "restart", "is an action"),
    Case("after_s: 5", "after_s: 5\n    when: whole", 11, "plan[0].when", "'whole'", "allowed: fenced"),
    Case("after_s: 5", "after_s: 5\n    when: {fenced: 9}", 11, "plan[0].when", "broker 9", "there are 1, 2, 3"),
    Case("after_s: 5", "after_s: 5\n    no_wait: 1", 11, "plan[0].no_wait", "1", "expected true or false"),
    Case(
        "after_s: 5",
        "after_s: 5\n    no_wait: true\n    when: recovered",
        11,
        "plan[0].no_wait",
        "no_wait",
        "either no_wait or when",
    ),
    # Faults put together.
    Case("kill:", "repaet:", 11, "plan[0].repaet", "'repaet'", "did you mean 'repeat'?; allowed: "),
    Case(STEP, f"- repeat: {{steps: [{ONE}]}}", 10, "plan[0].repeat", "times", "is missing"),
    Case(STEP, f"- repeat: {{times: 0, steps: [{ONE}]}}", 10, "plan[0].repeat.times", "0", "between 1 and 1000"),
    Case(STEP, "- repeat: {times: 2, steps: []}", 10, "plan[0].repeat.steps", "[]", "with something in it"),
    Case(STEP, "- repeat: {times: 2, steps: 5}", 10, "plan[0].repeat.steps", "5", "expected a list"),
    Case(STEP, f"- repeat: {{time: 2, steps: [{ONE}]}}", 10, "plan[0].repeat.time", "'time'", "mean 'times'?"),
    Case(STEP, f"- repeat: {{times: 501, steps: [{ONE}, {ONE}]}}", 9, "plan", "1002 faults", "at most 1000"),
    Case(STEP, f"- {{after_s: 1, repeat: {{times: 2, steps: [{ONE}]}}}}", 10, "plan[0].after_s", "repeat", "their own"),
    Case(
        STEP,
        "- repeat: {times: 2, steps: [{after_s: 1, kill: {target: laeder of orders/0, for_s: 1}}]}",
        10,
        "plan[0].repeat.steps[0].kill.target",
        "'laeder of orders/0'",
        "did you mean 'leader of'?",
    ),
    Case(
        STEP,
        "- repeat:\n      times: 2\n      steps:\n        - after_s: 1\n          kill: {target: broker 9, for_s: 1}",
        14,
        "plan[0].repeat.steps[0].kill.target",
        "broker 9",
        "there are 1, 2, 3",
    ),
    Case(
        STEP,
        "- repeat: {times: 2, steps: [{after_s: 1, kill: {target: any}}]}",
        10,
        "plan[0].repeat.steps[0].kill",
        "for_s",
        "is missing: the next fault waits",
    ),
    Case(STEP, f"- {{after_s: 1, together: [{BARE}]}}", 10, "plan[0].together", "one alone", "at least two"),
    Case(STEP, f"- {{after_s: 1, together: [{BARE}, {ONE}]}}", 10, "plan[0].together[1].after_s", "kill", "at once"),
    Case(STEP, f"- {{after_s: 1, together: {{steps: [{BARE}]}}}}", 10, "plan[0].together", "{'steps'", "a list"),
    Case(STEP, f"- together: [{BARE}, {BARE}]", 10, "plan[0]", "after_s", "is missing"),
    Case(
        STEP,
        f"- {{after_s: 1, together: [{BARE}, {{flap: {{{KILLED}, times: 2, down_s: 1, up_s: 1}}}}]}}",
        10,
        "plan[0].together[1].flap",
        "flap",
        "cannot stand in together; allowed: faults, and sequence",
    ),
    Case(
        STEP,
        "- {after_s: 1, flap: {kill: {target: any, for_s: 1}, times: 2, down_s: 1, up_s: 1}}",
        10,
        "plan[0].flap.kill.for_s",
        "for_s",
        "down_s of flap says it",
    ),
    Case(STEP, "- {after_s: 1, flap: {times: 2, down_s: 1, up_s: 1}}", 10, "plan[0].flap", "{}", "expected one fault"),
    Case(
        STEP,
        "- {after_s: 1, flap: {restart: {target: any}, times: 2, down_s: 1, up_s: 1}}",
        10,
        "plan[0].flap.restart",
        "restart",
        "is an action",
    ),
    Case(
        STEP,
        "- {after_s: 1, flap: {kill: {target: any}, times: 2, down_s: 0, up_s: 1}}",
        10,
        "plan[0].flap.down_s",
        "0.0",
        "not above 0",
    ),
    Case(
        STEP,
        "- {after_s: 1, random: {times: 2, faults: [kil: {for_s: 1}], targets: [any]}}",
        10,
        "plan[0].random.faults[0].kil",
        "'kil'",
        "did you mean 'kill'?",
    ),
    Case(
        STEP,
        "- {after_s: 1, random: {times: 2, faults: [kill: {for_s: 1}], targets: [some]}}",
        10,
        "plan[0].random.targets[0]",
        "'some'",
        "A target is one of",
    ),
    Case(
        STEP,
        "- {after_s: 1, random: {times: 2, faults: [kill: {for_s: 1, target: any}], targets: [any]}}",
        10,
        "plan[0].random.faults[0].kill.target",
        "target",
        "targets of random says it",
    ),
    Case(
        STEP,
        "- {after_s: 1, random: {times: 2, faults: [kill: {for_s: 1}]}}",
        10,
        "plan[0].random.faults[0].kill",
        "target",
        "is missing",
    ),
    Case(
        STEP,
        "- {after_s: 1, random: {times: 2, faults: [], targets: [any]}}",
        10,
        "plan[0].random.faults",
        "no fault",
        "at least one is needed",
    ),
    Case(STEP, PLACED + f"on: broker 9}}\n  - {ONE}", 10, "plan[0].place.leader_of", "broker 9", "there are 1, 2, 3"),
    Case(STEP, PLACED + f"on: nowhere}}\n  - {ONE}", 10, "plan[0].place.on", "'nowhere'", "A target is one of"),
    Case(STEP, PLACED + "on: broker 1}", 9, "plan", "no fault", "is played"),
    # Names.
    Case("  orders:", "  orders: {}\n  orders:", 6, ORDERS, "written twice", "first in line 5"),
    Case("after_s: 5", "after_s: 5\n    after_s: 6", 11, "plan[0].after_s", "written twice", "first in line 10"),
    Case(TITLE, "title: a\ntitle: b", 3, "title", "written twice", "first in line 2"),
    Case("  orders:", f"  {LONG}: {{}}\n  orders:", 5, f'topics["{LONG[:200]}…"]', "'aaaa", "1 to 200 letters"),
    Case("  orders:", "  a.b: {}\n  a_b: {}\n  orders:", 6, "topics.a_b", "'a_b' and 'a.b'", "which Kafka refuses"),
    Case("  orders:", "  __x: {}\n  orders:", 5, "topics.__x", "'__x'", "Kafka's own"),
    Case("  orders:", '  "or ders": {}\n  orders:', 5, 'topics["or ders"]', "'or ders'", "letters, digits"),
    Case("  orders:", "  ../../x: {}\n  orders:", 5, 'topics["../../x"]', "'../../x'", "letters, digits"),
    Case("  orders:", "  /etc/x: {}\n  orders:", 5, 'topics["/etc/x"]', "'/etc/x'", "letters, digits"),
    Case("  orders:", "  ..: {}\n  orders:", 5, 'topics[".."]', "'..'", "letters, digits"),
    Case("  orders:", '  "": {}\n  orders:', 5, 'topics[""]', "''", "1 to 200"),
    Case("group: readers", "group: ''", 8, f"{READERS}.group", "", "is empty"),
    Case("group: readers", "group: ../x", 8, f"{READERS}.group", "'../x'", "letters, digits"),
    # Settings that are not a user's.
    Case("{nodes: 3}", "{config: {node.id: 7}}", 3, 'cluster.config["node.id"]', "'node.id'", "set by chaoskafka"),
    Case("{nodes: 3}", "{config: {Num.Io: 7}}", 3, 'cluster.config["Num.Io"]', "'Num.Io'", "lower-case letters"),
    Case("{nodes: 3}", "{config: {a_.b: 7}}", 3, 'cluster.config["a_.b"]', "a_.b", "take it for a-b"),
    Case(
        "partitions: 6",
        "config: {min.insync.replicas: 1}",
        5,
        f'{ORDERS}.config["min.insync.replicas"]',
        "cannot be set here",
        "min_insync_replicas says it",
    ),
    Case("group: readers", "client: {group.id: x}", 8, f"{READERS}.client", "group.id", "workload's own fields"),
    # Controls: only what is asked can fail.
    Case(
        TITLE,
        f"{TITLE}\ncontrol: {{fails: {{ordered: {{}}}}}}",
        3,
        "control.fails.ordered",
        "'ordered'",
        "not in expect",
    ),
    Case(TITLE, f"{TITLE}\n{CONTROL} {{}}}}", 3, "control.fails", "no check", "at least one has to fail"),
    Case(TITLE, f"{TITLE}\ncontrol: {{}}", 3, "control", "fails", "missing"),
    Case(
        TITLE,
        f"{TITLE}\n{CONTROL} {{recovered: {{at_least: 0}}}}}}",
        3,
        "control.fails.recovered.at_least",
        "0",
        "below 1",
    ),
    Case(
        TITLE,
        f"{TITLE}\ncontrol: {{fails: {{recovered: {{}}}}, given: luck}}",
        3,
        "control.given",
        "luck",
        "leader_changed",
    ),
    # Text that would not stay where it is put.
    Case(TITLE, r'title: "a\nb"', 2, "title", r"\n", "one line of visible characters"),
    Case(TITLE, r'title: "\e[31mred"', 2, "title", r"\x1b", "one line of visible characters"),
    Case(TITLE, r'title: "\x00"', 2, "title", r"\x00", "one line of visible characters"),
    Case(TITLE, r'title: "\uD800"', 2, "title", r"\ud800", "one line of visible characters"),
    Case(TITLE, r'title: "\uFFFE"', 2, "title", r"\ufffe", "one line of visible characters"),
    Case(TITLE, r'title: "\u202E"', 2, "title", r"\u202e", "one line of visible characters"),
    Case(TITLE, "title: |\n  a\n  b", 2, "title", r"\n", "one line of visible characters"),
    Case(TITLE, 'title: ""', 2, "title", "''", "1 to 200"),
    Case(TITLE, f"title: {LONG}", 2, "title", "201 characters", "1 to 200"),
    Case("  orders:", r'  "a\e[31m": {}' + "\n  orders:", 5, r'topics["a\x1b[31m"]', r"\x1b", "visible characters"),
    Case("group: readers", r'group: "a\nb"', 8, f"{READERS}.group", r"\n", "visible characters"),
    Case("{nodes: 3}", r'{config: {a.b: "1\nnode.id=7"}}', 3, 'cluster.config["a.b"]', r"\n", "visible characters"),
    # What YAML can do and a scenario does not need.
    Case("{partitions: 6}", "{<<: {partitions: 6}}", 5, f'{ORDERS}["<<"]', "merge keys", "write the values out"),
    Case("{partitions: 6}", "{[a]: 6}", 5, ORDERS, "a key", "must be text"),
    Case("{partitions: 6}", "&a {partitions: 6}", 5, "", "anchors and aliases", "write the value out"),
    Case("{partitions: 6}", "*a", 5, "", "anchors and aliases", "write the value out"),
    Case(
        TITLE, "title: !!python/object:os.system x", 2, "", "tag:yaml.org,2002:python/object:os.system", "not allowed"
    ),
    Case(TITLE, "title: !own x", 2, "", "!own", "not allowed"),
    Case(TITLE, 'title: "\\U00110000"', 2, "", "an escape", "no character"),
    Case(TITLE, "title: \x07", 2, "", r"\x07", "cannot hold"),
    Case("{nodes: 3}", "{nodes: " + "[" * 17 + "]" * 17 + "}", 3, "", "nested deeper", "16 levels"),
    Case(CHECK, "- recovered\n---\na: 1", 14, "", "a second document", "one file is one scenario"),
    Case(CLUSTER, "cluster: {nodes: 3", 4, "", "not YAML", "expected"),
]
