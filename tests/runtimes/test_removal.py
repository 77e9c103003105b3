"""Removal: every step is tried, the first error is raised with the others as notes."""

import threading

import pytest

from chaoskafka.runtimes.removal import Removal, in_parallel


def failing(text: str) -> None:
    raise RuntimeError(text)


def test_last_registered_is_removed_first() -> None:
    done: list[str] = []
    with Removal() as removal:
        for name in ("network", "host", "kafka"):
            removal.add(name, lambda name=name: done.append(name))
    assert done == ["kafka", "host", "network"]


def test_a_failed_step_does_not_stop_the_others() -> None:
    done: list[str] = []
    removal = Removal()
    removal.add("removing a", lambda: done.append("a"))
    removal.add("removing b", lambda: failing("second"))
    removal.add("removing c", lambda: failing("first"))
    with pytest.raises(RuntimeError, match="first") as failed, removal:
        pass
    assert done == ["a"]
    assert failed.value.__notes__ == ["while removing c", "then, while removing b: RuntimeError: second"]


def test_the_bodys_error_comes_first() -> None:
    removal = Removal()
    removal.add("removing a", lambda: failing("late"))
    with pytest.raises(KeyError) as failed, removal:
        raise KeyError("body")
    assert failed.value.__notes__ == ["then, while removing a: RuntimeError: late"]


def test_parallel_results_keep_their_order() -> None:
    meet = threading.Barrier(3, timeout=30)  # passes only when all three run at once

    def act(item: int) -> int:
        meet.wait()
        return item * 2

    assert in_parallel("doubling", act, [1, 2, 3]) == [2, 4, 6]
    assert in_parallel("doubling", act, []) == []


def test_parallel_errors() -> None:
    done: list[str] = []

    def act(item: str) -> None:
        if item != "good":
            failing(item)
        done.append(item)

    with pytest.raises(RuntimeError, match="bad") as failed:
        in_parallel("trying", act, ["bad", "good", "worse"])
    assert done == ["good"]
    assert failed.value.__notes__ == ["while trying bad", "then, while trying worse: RuntimeError: worse"]
