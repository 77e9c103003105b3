"""`--set PATH=VALUE`: replace or add one value of a scenario before it is bound. In: a tree and texts. Out: a new tree.

The value is YAML (`8`, `"8"`, `{nodes: 5}`); the path is as messages show it: `topics.orders.partitions`,
`plan[0].kill.for_s`, `cluster.config["num.io.threads"]`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from chaoskafka.errors import ScenarioError
from chaoskafka.scenario.source import Origin, Tree, YamlPath, read_tree, show
from chaoskafka.visible import cut

OVERRIDES_MAX = 200
VARIABLE = "CHAOSKAFKA_SET"
_STEP = re.compile(r"""\[(?P<index>\d{1,6})\]|\["(?P<quoted>[^"]+)"\]|(?P<plain>[A-Za-z_][A-Za-z0-9_-]*)""")


def override(tree: Tree, settings: Sequence[str], *, source: str = "--set") -> Tree:
    """Apply each setting in order; `source` is where a user wrote them.

    Raises ScenarioError: no `=`, a path that cannot be, a value that is not YAML.
    """
    if len(settings) > OVERRIDES_MAX:
        raise ScenarioError(source, "", f"{len(settings)} settings; at most {OVERRIDES_MAX}")
    for setting in settings:
        tree = _apply(tree, setting, f"{source} {cut(setting)}")
    return tree


def parse_path(text: str, source: str) -> YamlPath:
    """`plan[0].kill` -> `("plan", 0, "kill")`. Raises ScenarioError."""
    steps: list[str | int] = []
    at = 0
    while at < len(text):
        at += text[at] == "." and bool(steps)
        step = _STEP.match(text, at)
        if step is None:
            raise ScenarioError(source, "", f"not a path: {cut(text)!r}; write it like plan[0].kill.for_s")
        steps.append(int(step["index"]) if step["index"] else step["quoted"] or step["plain"])
        at = step.end()
    return tuple(steps)


def _apply(tree: Tree, setting: str, source: str) -> Tree:
    path_text, equals, value_text = setting.partition("=")
    path = parse_path(path_text.strip(), source)
    if not equals or not path:
        raise ScenarioError(source, "", "write it as PATH=VALUE")
    written = read_tree(value_text if value_text.strip() else "null", source)
    root = copy.deepcopy(tree.value)
    _put(root, path, written.value, source)
    origins = {known: origin for known, origin in tree.origins.items() if known[: len(path)] != path}
    origins |= {(*path, *below): Origin(source, None, at.written) for below, at in written.origins.items()}
    return Tree(root, origins, tree.question)


def _put(root: Any, path: YamlPath, value: Any, source: str) -> None:
    here = root
    for depth, step in enumerate(path):
        last = depth == len(path) - 1
        if isinstance(step, int):
            if not isinstance(here, list) or step >= len(here):
                size = f"{len(here)} items" if isinstance(here, list) else "no list"
                raise ScenarioError(source, show(path[: depth + 1]), f"no such item; {show(path[:depth])} has {size}")
            here[step] = value if last else here[step]
        else:
            if not isinstance(here, dict):
                raise ScenarioError(source, show(path[: depth + 1]), f"{show(path[:depth])} is not a mapping")
            if here.get(step) is None:  # absent, or a key with nothing below it
                here[step] = {}
            here[step] = value if last else here[step]
        here = here[step]
