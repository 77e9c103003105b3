"""Kill's parameters; what it does is tested on a real cluster."""

import pytest

from chaoskafka.cluster.abilities import CanKill
from chaoskafka.cluster.targets import Target
from chaoskafka.faults.kill import Kill


def test_fields_are_the_yaml_keys() -> None:
    fault = Kill(target=Target.parse("leader of orders/0"), for_s=15)
    assert (fault.for_s, fault.needs) == (15, (CanKill,))
    assert Kill(target=Target.parse("any")).for_s is None


@pytest.mark.parametrize("field", ["for_s", "settle_s", "heal_s"])
@pytest.mark.parametrize("value", [0, -1.0])
def test_lengths_are_positive(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Kill(target=Target.parse("any"), **{field: value})  # type: ignore[arg-type]
