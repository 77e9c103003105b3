"""The text of nft rules: one statement a line, balanced, who is spared comes first. The kernel: tests/cluster."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoskafka.cluster.netrules import Action, Cut, Way, answers, cut_batch, dropped, lift_batch, tables
from chaoskafka.cluster.planes import Plane

ADDRESSES = st.ip_addresses().map(str)


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    ways = draw(st.sampled_from(Way))
    return Cut(
        peers=tuple(draw(st.lists(ADDRESSES, max_size=4, unique=True))),
        planes=tuple(draw(st.lists(st.sampled_from(Plane), max_size=4, unique=True))),
        ways=ways,
        action=draw(st.sampled_from(Action)) if ways is Way.BOTH else Action.DROP,
    )


@given(cut=cuts(), spared=st.lists(ADDRESSES, max_size=2))
def test_every_batch_is_balanced_and_spares_before_it_cuts(cut: Cut, spared: list[str]) -> None:
    text = cut_batch("chaoskafka_3", cut, spared)
    lines = text.splitlines()
    assert text.endswith("\n")
    for line in lines:
        assert line.count("{") == line.count("}") <= 3
        assert line.count("(") == line.count(")")
        assert line.count('"') % 2 == 0
        assert line.partition(" inet ")[2].startswith("chaoskafka_3")
    assert lines[0] == "create table inet chaoskafka_3"
    for chain in ("input", "output"):
        own = [line for line in lines if line.startswith(f"add rule inet chaoskafka_3 {chain} ")]
        verdicts = ["accept" if line.endswith("accept") else "cut" for line in own]
        assert verdicts == sorted(verdicts)
        assert 'ifname "lo" accept' in own[0]
        assert ("cut" in verdicts) is (chain in cut.chains)
        for line, verdict in zip(own, verdicts, strict=True):
            assert verdict == "accept" or re.search(
                rf' counter (drop|reject with tcp reset) comment "(answers )?{chain}"$', line
            )
        for address in spared:
            assert any(address in line and line.endswith("accept") for line in own)
        for peer in cut.peers if chain in cut.chains else ():
            assert any(peer in line and "counter" in line for line in own)


def test_a_cut_of_two_planes_stops_both_ends_of_a_connection() -> None:
    cut = Cut(peers=("10.0.0.2", "fd00::2"), planes=(Plane.CONTROLLER, Plane.REPLICATION))
    text = cut_batch("chaoskafka_0", cut, ["10.0.0.9"])
    assert 'input ip saddr { 10.0.0.2 } tcp dport { 9093, 19092 } counter drop comment "input"' in text
    assert 'input ip saddr { 10.0.0.2 } tcp sport { 9093, 19092 } counter drop comment "input"' in text
    assert 'output ip6 daddr { fd00::2 } tcp sport { 9093, 19092 } counter drop comment "output"' in text
    assert 'output ip6 daddr { fd00::2 } tcp dport { 9093, 19092 } counter drop comment "output"' in text
    assert "input ip saddr { 10.0.0.9 } accept" in text
    assert "output ip daddr { 10.0.0.9 } accept" in text


def test_a_cut_of_everything_from_everybody_names_neither_peer_nor_port() -> None:
    rules = [line for line in cut_batch("chaoskafka_0", Cut()).splitlines() if "counter" in line]
    assert [line.partition("chaoskafka_0 ")[2] for line in rules] == [
        'input tcp flags & (syn | ack) == syn | ack counter drop comment "answers input"',
        'input counter drop comment "input"',
        'output tcp flags & (syn | ack) == syn | ack counter drop comment "answers output"',
        'output counter drop comment "output"',
    ]


@pytest.mark.parametrize(("ways", "chains"), [(Way.IN, {"input"}), (Way.OUT, {"output"})])
def test_a_cut_of_one_way_leaves_the_other_alone(ways: Way, chains: set[str]) -> None:
    rules = [line.split() for line in cut_batch("chaoskafka_0", Cut(ways=ways)).splitlines() if "counter" in line]
    assert {words[4] for words in rules} == chains


def test_the_reset_of_a_rejection_may_leave() -> None:
    lines = cut_batch("chaoskafka_0", Cut(action=Action.REJECT)).splitlines()
    resets = lines.index("add rule inet chaoskafka_0 output tcp flags & rst == rst accept")
    assert resets < min(i for i, line in enumerate(lines) if "counter" in line)
    with pytest.raises(ValueError, match=r"action: .*both ways"):
        Cut(action=Action.REJECT, ways=Way.IN)


@pytest.mark.parametrize("table", ["filter", "chaoskafka_", "chaoskafka_0; flush ruleset", "chaoskafka_0\n", ""])
def test_only_tables_of_ours_are_written_about(table: str) -> None:
    for write in (lift_batch, lambda name: cut_batch(name, Cut())):
        with pytest.raises(ValueError, match="no table of ours"):
            write(table)
    with pytest.raises(ValueError, match="IPv4 or IPv6"):
        Cut(peers=("node-1",))


TO_9093 = "ip saddr 10.0.0.2 tcp sport 9093"
LISTING = f"""\
table inet foreign {{
	chain input {{ type filter hook input priority 0; counter packets 9 bytes 1 drop comment "input" }}
}}
table inet chaoskafka_0 {{
	chain input {{
		type filter hook input priority raw; policy accept;
		iifname "lo" accept
		{TO_9093} tcp flags syn,ack / syn,ack counter packets 2 bytes 120 drop comment "answers input"
		{TO_9093} counter packets 3 bytes 52 drop comment "input"
		ip saddr 10.0.0.2 tcp dport 9093 counter packets 4 bytes 52 drop comment "input"
	}}
}}
table inet chaoskafka_12 {{
	chain output {{
		counter packets 7 bytes 52 drop comment "output"
	}}
}}
"""


def test_what_was_dropped_is_read_by_table_and_comment() -> None:
    assert tables(LISTING) == ("chaoskafka_0", "chaoskafka_12")
    assert dropped(LISTING, "chaoskafka_0") == {answers("input"): 2, "input": 7}
    assert dropped(LISTING, "chaoskafka_12") == {"output": 7}
    assert dropped(LISTING, "chaoskafka_1") == {}


@given(address=st.one_of(st.from_type(IPv4Address), st.from_type(IPv6Address)).map(str))
def test_a_family_is_matched_by_its_own_words(address: str) -> None:
    (rule,) = [
        line
        for line in cut_batch("chaoskafka_0", Cut(peers=(address,))).splitlines()
        if "input" in line and "answers" in line
    ]
    assert ("ip6 saddr" in rule) is (":" in address)
