"""JSON of a run directory, read as if a stranger had written it: strictly typed, bounded, never waited for.

In: a path and a type. Out: values of that type. A run directory may come from another machine, another version or a
disk that was full, and whoever judges it must neither crash on it nor believe what it does not say.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from chaoskafka.errors import HistoryError
from chaoskafka.files import Unreadable, read_regular

T = TypeVar("T")
_Read = Callable[[Any, str], Any]  # a value, and where it stands; raises Mistyped
FILE_MAX_BYTES = 1 << 30  # a line of events or observations has some 200 bytes, and millions of them are no run of ours
INT_MAX = 2**63 - 1  # whatever we count or time fits 64 bits
SHOWN_MAX = 80  # characters of a wrong value that a message repeats


class Mistyped(ValueError):
    """A value is not of the type that it should have; the text says where and what is wanted."""


def read_bytes(path: Path) -> bytes:
    """Raises HistoryError when it is missing, no regular file, or too large."""
    try:
        return read_regular(path, max_bytes=FILE_MAX_BYTES)
    except Unreadable as why:
        raise HistoryError(f"{path}: cannot be read: {why}") from why


def parse(text: str | bytes) -> Any:
    """JSON, and nothing that only Python takes for it. Raises ValueError."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as deep:
        raise ValueError("nested too deeply") from deep


def read_as(kind: type[T], path: Path) -> T:
    """A whole file as one value. Raises HistoryError, naming the file."""
    try:
        return typed(kind, parse(read_bytes(path)))
    except ValueError as broken:
        raise HistoryError(f"{path}: damaged: {broken}") from broken


def typed(kind: type[T], value: Any) -> T:
    """`value` as a `kind`: a dataclass, tuple, mapping, scalar or a union with None.

    Raises Mistyped, naming the place.
    """
    return cast("T", _reader(cast("type", kind))(value, ""))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


@cache
def _reader(kind: Any) -> _Read:
    """What reads one type. A type is looked into once, not for each of its values, of which a run has thousands."""
    origin, arms = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value, _: value
    if origin in (Union, UnionType):
        wanted = _reader(next(arm for arm in arms if arm is not NoneType))
        return lambda value, where: None if value is None else wanted(value, where)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
        needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
        return partial(_object, cast("type", kind), readers, needed)
    if origin is tuple:
        return partial(_list, _reader(arms[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return partial(_mapping, _reader(arms[1]))
    return partial(_scalar, kind)


def _list(read: _Read, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _mistyped("a list", value, where)
    return tuple(read(item, f"{where}[{i}]") for i, item in enumerate(value))


def _mapping(read: _Read, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _mistyped("an object", value, where)
    return {key: read(below, f"{where}.{key}") for key, below in value.items()}


def _object(kind: type, readers: Mapping[str, _Read], needed: Sequence[str], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise _mistyped("an object", value, where)
    if unknown := sorted(value.keys() - readers.keys()):
        raise Mistyped(f"{where or 'it'} has {unknown[0]!r}, which this version does not know"[:SHOWN_MAX])
    for name in needed:
        if name not in value:
            raise Mistyped(f"{where}.{name} is missing".removeprefix("."))
    return kind(**{name: readers[name](below, f"{where}.{name}") for name, below in value.items()})


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and type(value) in (int, float) and abs(value) <= INT_MAX and math.isfinite(value):
        return value
    if type(value) is not kind or (kind is int and abs(value) > INT_MAX):
        words = {int: "a whole number of 64 bits", float: "a number", str: "text", bool: "true or false"}
        raise _mistyped(words[kind], value, where)
    if kind is str and not value.isprintable() and any("\ud800" <= char <= "\udfff" for char in value):
        raise _mistyped("text", value, where)
    return value


def _mistyped(wanted: str, value: Any, where: str) -> Mistyped:
    text = repr(value)
    text = text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…"
    return Mistyped(f"{where.removeprefix('.') or 'it'}: expected {wanted}, got {text}")
