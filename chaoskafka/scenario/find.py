"""Where scenarios are: a path, or a name looked up in `scenarios/` here and among those shipped with the package.

A name is a path below that folder without its suffix: `leader-killed`, `faults/stop`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from chaoskafka.errors import UsageError
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.visible import cut

SHIPPED = Path(__file__).parent.parent / "scenarios"
LOCAL = Path("scenarios")


def find_scenario(name_or_path: str) -> Path:
    """The file of a scenario. A path wins over a name, and one's own `scenarios/` over what is shipped.

    Raises UsageError, naming what there is.
    """
    path = Path(name_or_path)
    named = scenarios_by_name()
    if name_or_path in named and not os.path.isfile(path):  # noqa: PTH113 - Path's raises for what cannot be a name
        return named[name_or_path]
    if os.path.lexists(path):
        return path  # whoever reads it says what is wrong with it
    raise UsageError(f"no scenario file or name {cut(name_or_path)!r}{did_you_mean(name_or_path, named)}")


def scenarios_by_name() -> Mapping[str, Path]:
    """Every scenario that can be run by name, sorted."""
    found = {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for folder in (SHIPPED, LOCAL)
        for path in _files(folder)
    }
    return dict(sorted(found.items()))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from folder.rglob("*.yaml")
