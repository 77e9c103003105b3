"""Words are found by module name, and listing them imports none of their modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chaoskafka.scenario.catalogue import Kind, UnknownWord, class_name_of, find, members, word_of


def test_words_of_the_first_slice_are_there() -> None:
    assert {"kill"} <= set(members(Kind.FAULT))
    assert {"produce", "consume"} <= set(members(Kind.WORKLOAD))
    assert {"no_lost_acknowledged", "took_effect", "recovered"} <= set(members(Kind.CHECK))


@pytest.mark.parametrize("kind", list(Kind))
def test_every_word_is_its_module_and_its_class(kind: Kind) -> None:
    for word, member in members(kind).items():
        found = find(kind, word)
        assert found.__name__ == class_name_of(word)
        assert member.summary, f"{word} does not say what it is"


def test_helpers_in_a_package_are_no_words() -> None:
    assert "settings" not in members(Kind.WORKLOAD)
    assert "worker" not in members(Kind.WORKLOAD)


def test_an_unknown_word_gets_a_guess() -> None:
    with pytest.raises(UnknownWord, match="no fault is called 'kil'; did you mean 'kill'"):
        find(Kind.FAULT, "kil")


def test_a_value_knows_its_word() -> None:
    assert word_of(find(Kind.CHECK, "took_effect")()) == "took_effect"


def test_listing_imports_no_member_and_no_client() -> None:
    probe = (
        "import sys; from chaoskafka.scenario.catalogue import Kind, members\n"
        "assert all(members(kind) for kind in Kind)\n"
        "heavy = {'confluent_kafka', 'docker', 'polars', 'kio', 'testcontainers', 'chaoskafka.faults.kill'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
