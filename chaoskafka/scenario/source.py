"""YAML text becomes a plain tree that knows the line of each value. In: a file's bytes. Out: `Tree`.

Scalars are read by YAML 1.2's core rules (`no`, `on` and `1:30` are text). A scenario needs no anchors, aliases, tags,
merges or second documents, so all are refused: what is read is what is written, and no file can unfold into a bomb.
Every key and value is one line of visible text: what a scenario says ends up in terminals, file names and properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import yaml

from chaoskafka.errors import ScenarioError
from chaoskafka.visible import SHOWN_MAX, cut, hidden

SCENARIO_MAX_BYTES = 256 * 1024  # the largest of ours has 2 KiB
DEPTH_MAX = 16  # the deepest place that means anything is below 8
NODES_MAX = 20_000  # keys and values: a plan of a thousand faults has 8,000

Step = str | int
YamlPath = tuple[Step, ...]
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written; `line` counts from 1, None: in no file. `written`: a scalar, letter by letter."""

    file: str
    line: int | None
    written: str | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """Plain values (dict, list, str, int, float, bool, None) with the origin of every path."""

    value: Any
    origins: Mapping[YamlPath, Origin]
    question: str = ""

    def origin(self, path: YamlPath) -> Origin:
        """Where the value at `path` was written, or else the nearest value around it."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins[path]

    def error(self, path: YamlPath, problem: str) -> ScenarioError:
        """The error to raise when the value at `path` is wrong."""
        origin = self.origin(path)
        return ScenarioError(origin.file, show(path), problem, line=origin.line)


def show(path: YamlPath) -> str:
    """`("plan", 0, "kill")` -> `plan[0].kill`; a key that is no plain word is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN.match(step) and len(step) <= SHOWN_MAX:
            text += f".{step}"
        else:
            text += f'["{cut(step)}"]'
    return text.removeprefix(".")


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's safe loader with YAML 1.2's core scalars in place of YAML 1.1's."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own name


_INT_DIGITS_MAX = 18  # fits 64 bits; a longer run of digits is text, and so a type error wherever a number is wanted
_CoreLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|Null|NULL|~|)\Z"), [*"nN~", ""])
_CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), [*"tTfF"]
)
_CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(rf"[-+]?[0-9]{{1,{_INT_DIGITS_MAX}}}\Z"), [*"-+0123456789"]
)
_CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.nan)\Z"
    ),
    [*"-+0123456789."],
)


def read_tree(text: str | bytes, file: str) -> Tree:
    """Raises ScenarioError: not YAML, too large or deep, or with what a scenario does not need."""
    raw = text.encode() if isinstance(text, str) else text
    if len(raw) > SCENARIO_MAX_BYTES:
        raise ScenarioError(file, "", f"{len(raw)} bytes; a scenario has at most {SCENARIO_MAX_BYTES}")
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        line = raw.count(b"\n", 0, broken.start) + 1
        raise ScenarioError(file, "", f"not UTF-8: byte {raw[broken.start]:#04x}", line=line) from broken
    try:
        loader = _CoreLoader(decoded)
    except yaml.reader.ReaderError as broken:
        line = decoded.count("\n", 0, broken.position) + 1
        raise ScenarioError(
            file, "", f"not YAML: a file cannot hold the character {cut(decoded[broken.position])}", line=line
        ) from broken
    try:
        _refuse_the_unneeded(loader, file)
        root = yaml.compose(decoded, Loader=_CoreLoader)
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark
        problem = f"not YAML: {cut(broken.problem or str(broken))}"
        raise ScenarioError(file, "", problem, line=mark.line + 1 if mark else None) from broken
    except (ValueError, OverflowError) as broken:  # "\U00110000"
        raise ScenarioError(file, "", "not YAML: an escape that is no character", line=loader.line + 1) from broken
    if root is None:
        raise ScenarioError(file, "", "the file is empty")
    origins: dict[YamlPath, Origin] = {}
    return Tree(_plain(root, (), file, origins), origins, _first_comment(decoded))


def _refuse_the_unneeded(loader: _CoreLoader, file: str) -> None:
    """Walks events, before anything is built, so that a hostile file costs no memory and no stack."""
    depth = documents = nodes = 0
    while loader.check_event():
        event: yaml.Event = loader.get_event()  # type: ignore[no-untyped-call]  # its stubs leave it out
        line = _line(event)
        documents += isinstance(event, yaml.DocumentStartEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ScenarioError(file, "", "anchors and aliases are not allowed; write the value out", line=line)
        if tag := getattr(event, "tag", None):
            raise ScenarioError(file, "", f"tags are not allowed: {cut(tag)}", line=line)
        if depth > DEPTH_MAX:
            raise ScenarioError(file, "", f"nested deeper than {DEPTH_MAX} levels", line=line)
        if documents > 1:
            raise ScenarioError(file, "", "a second document; one file is one scenario", line=line)
        if nodes > NODES_MAX:
            raise ScenarioError(file, "", f"more than {NODES_MAX} keys and values", line=line)


def _line(marked: yaml.Event | yaml.Node) -> int | None:
    return marked.start_mark.line + 1 if marked.start_mark else None


def _plain(node: yaml.Node, path: YamlPath, file: str, origins: dict[YamlPath, Origin]) -> Any:
    """Recursion is bounded by DEPTH_MAX."""
    if isinstance(node, yaml.MappingNode):
        origins[path] = Origin(file, _line(node))
        plain: dict[str, Any] = {}
        for key, below in node.value:
            name, line = _key(key, path, file), _line(key)
            if name in plain:
                first = origins[(*path, name)].line
                raise ScenarioError(file, show((*path, name)), f"written twice; first in line {first}", line=line)
            plain[name] = _plain(below, (*path, name), file, origins)
            origins[(*path, name)] = replace(origins[(*path, name)], line=line)
        return plain
    if isinstance(node, yaml.SequenceNode):
        origins[path] = Origin(file, _line(node))
        return [_plain(below, (*path, i), file, origins) for i, below in enumerate(node.value)]
    written = _one_line(node, path, file)
    origins[path] = Origin(file, _line(node), written)
    return _scalar(node.tag, written)


def _key(node: yaml.Node, path: YamlPath, file: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise ScenarioError(file, show(path), "a key must be text", line=_line(node))
    if node.value == "<<" and node.style is None:
        problem = "merge keys are not allowed; write the values out"
        raise ScenarioError(file, show((*path, "<<")), problem, line=_line(node))
    return _one_line(node, (*path, str(node.value)), file)


def _one_line(node: yaml.Node, path: YamlPath, file: str) -> str:
    """A scalar's text; the line break that a block scalar (`>`, `|`) ends with is not part of it."""
    text = str(node.value)
    text = text.rstrip("\n") if getattr(node, "style", None) in ("|", ">") else text
    if found := hidden(text):
        problem = f"holds the character {found}; keys and values are one line of visible characters"
        raise ScenarioError(file, show(path), problem, line=_line(node))
    return text


def _scalar(tag: str, written: str) -> str | int | float | bool | None:
    match tag.rpartition(":")[2]:
        case "int":
            return int(written)
        case "float":
            return float(written.lower().replace(".inf", "inf").replace(".nan", "nan"))
        case "bool":
            return written.lower() == "true"
        case "null":
            return None
    return written


def _first_comment(text: str) -> str:
    """The first paragraph of the comment at the top of the file; what follows it explains, and is for readers of it."""
    lines = [line.lstrip("#").strip() for line in takewhile(lambda line: line.startswith("#"), text.splitlines())]
    return " ".join(takewhile(bool, lines))
