"""Plain values become frozen ones, strictly: no type is coerced, no unknown key passes, every problem has its path.

In: a class and a plain value. Out: the value of that class, or every problem at once. cattrs does the walking; the
hooks here say what each type accepts and how a mismatch reads. `plain` is the way back, for `run.json`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from cattrs import (
    BaseValidationError,
    ClassValidationError,
    Converter,
    ForbiddenExtraKeysError,
    IterableValidationError,
)
from cattrs.gen import make_dict_structure_fn, mapping_structure_factory

from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.targets import Target
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.scenario.source import Step, YamlPath

T = TypeVar("T")
SHOWN_MAX = 80  # characters of a wrong value that a message repeats
_YAML = {None: "null", True: "true", False: "false"}


class Mismatch(ValueError):
    """A value is not of the type that is wanted; the text says what is. `unquoted`: quotes would mend it."""

    def __init__(self, text: str, *, unquoted: bool = False) -> None:
        self.unquoted = unquoted
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at a place below the bound value. `unquoted`: text is wanted, and quotes would make it that."""

    path: YamlPath
    text: str
    unquoted: bool = False


class BindError(ValueError):
    """A plain value does not fit its class."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(problem.text for problem in problems))


def bind(kind: type[T], value: Any) -> T:
    """The frozen value. Raises BindError with every problem found."""
    try:
        return _CONVERTER.structure(value, kind)
    except (BaseValidationError, ForbiddenExtraKeysError, ValueError, TypeError) as wrong:
        raise BindError(_problems(wrong, ())) from wrong


def plain(value: object) -> Any:
    """A bound value as JSON can hold it; `bind` takes it back."""
    return _CONVERTER.unstructure(value)


def shown(value: object) -> str:
    """A wrong value as a message repeats it: nothing, true and false as YAML writes them."""
    text = _YAML.get(value, repr(value)) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…"


def wanted(kind: Any) -> str:
    """What a type accepts, in words."""
    origin: Any = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(dict.fromkeys(map(str, get_args(kind))))
    if origin in (Union, UnionType):
        return " or ".join(wanted(arm) for arm in get_args(kind) if arm is not NoneType)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "one of " + ", ".join(str(member.value) for member in kind)
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        Target: "a target",
        Condition: "a condition",
    }
    if kind in words:
        return words[kind]
    return "a list" if origin is tuple else "a mapping"


def _mismatch(kind: Any, value: object) -> Mismatch:
    if kind is str and isinstance(value, int | float):
        return Mismatch(unquoted(shown(value)), unquoted=True)
    return Mismatch(f"expected {wanted(kind)}, got {shown(value)}")


def unquoted(written: str) -> str:
    """What is wrong with a number or a boolean where text is wanted."""
    return f'expected text, got {written}; quote it to make it text: "{written}"'


def _exactly(kind: type, *also: type) -> Callable[[Any, Any], Any]:
    def structure(value: Any, asked: Any) -> Any:
        if _is_choice(asked):  # cattrs finds hooks by class first, and every StrEnum is a str
            return _choice(asked)(value, asked)
        if type(value) not in (kind, *also):
            raise _mismatch(kind, value)
        if isinstance(value, float) and not math.isfinite(value):
            raise _mismatch(kind, value)
        return kind(value)

    return structure


def _choice(kind: Any) -> Callable[[Any, Any], Any]:
    """A Literal or an Enum: the value itself, with a guess when it is nearly one."""
    is_enum = isinstance(kind, type) and issubclass(kind, Enum)
    allowed = {member.value: member for member in kind} if is_enum else {arm: arm for arm in get_args(kind)}

    def structure(value: Any, _: Any) -> Any:
        value = value.value if isinstance(value, Enum) else value  # as `plain` leaves it
        for known, chosen in allowed.items():
            if type(known) is type(value) and known == value:
                return chosen
        raise Mismatch(f"{shown(value)} is not allowed{did_you_mean(str(value), {str(one) for one in allowed})}")

    return structure


def _object(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    inner = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_use_linecache=False)

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _mismatch(kind, value)
        return inner(value, kind)

    return structure


def _union(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    arms = get_args(kind)

    def structure(value: Any, _: Any) -> Any:
        if value is None and NoneType in arms:
            return None
        # A mapping fits one arm at most; its own errors carry the path to what is wrong inside.
        others = [arm for arm in arms if arm is not NoneType]
        inner = [arm for arm in others if isinstance(value, Mapping) and wanted(arm) == "a mapping"]
        if len(inner) == 1 or len(others) == 1:
            return converter.structure(value, (inner or others)[0])
        for arm in others:
            try:
                return converter.structure(value, arm)
            except (BaseValidationError, ValueError, TypeError):
                continue
        raise _mismatch(kind, value)

    return structure


def _sequence(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    inner = converter.get_structure_hook(list[get_args(kind)[0]])  # type: ignore[misc]  # a type known at run time

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _mismatch(kind, value)
        return tuple(inner(value, list[get_args(kind)[0]]))  # type: ignore[misc]

    return structure


def _mapping(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    key, below = get_args(kind)
    inner = mapping_structure_factory(kind, converter, structure_to=dict, key_type=key, val_type=below)

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _mismatch(kind, value)
        if below is str:  # settings are text to Kafka, so 8 and true need no quotes; true must not become "True"
            value = {k: _setting(v) for k, v in value.items()}
        return inner(value, kind)

    return structure


def _setting(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return str(value) if is_number else value


def _target(value: Any, _: Any) -> Target:
    if not isinstance(value, str):
        raise _mismatch(Target, value)
    return Target.parse(value)


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True, detailed_validation=True)
    for kind, also in ((bool, ()), (int, ()), (float, (int,)), (str, ())):
        converter.register_structure_hook(kind, _exactly(kind, *also))
    converter.register_structure_hook_factory(is_dataclass)(_object)
    converter.register_structure_hook_factory(_is_sequence)(_sequence)
    converter.register_structure_hook_factory(_is_mapping)(_mapping)
    converter.register_structure_hook_factory(_is_union)(_union)
    converter.register_structure_hook_factory(_is_choice)(_choice)
    converter.register_structure_hook(Target, _target)
    converter.register_structure_hook(Condition, lambda value, _: Condition.parse(value))
    converter.register_unstructure_hook(Condition, lambda condition: condition.facts)
    converter.register_unstructure_hook(Target, lambda target: target.text)
    converter.register_unstructure_hook_factory(_is_sequence)(
        lambda _: lambda value: [converter.unstructure(item) for item in value]
    )
    return converter


def _is_sequence(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is tuple or kind is tuple


def _is_union(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin in (Union, UnionType)


def _is_mapping(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _is_choice(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum))


_CONVERTER = _converter()


def _problems(wrong: BaseException, path: YamlPath) -> list[Problem]:
    """Flatten cattrs' nested groups; their notes carry one step of the path each."""
    if isinstance(wrong, ClassValidationError):
        named, bare = wrong.group_exceptions()
        found = [p for error, note in named for p in _at(error, path, note.name)]
        return found + [p for error in bare for p in _of_class(error, path, wrong.cl)]
    if isinstance(wrong, IterableValidationError):
        indexed, bare = wrong.group_exceptions()
        found = [p for error, at in indexed for p in _at(error, path, at.index)]
        return found + [p for error in bare for p in _problems(error, path)]
    return [Problem(path, str(wrong), unquoted=getattr(wrong, "unquoted", False))]


def _at(error: BaseException, path: YamlPath, step: Step) -> list[Problem]:
    if isinstance(error, KeyError):
        return [Problem(path, f"{step} is missing")]
    return _problems(error, (*path, step))


def _of_class(error: BaseException, path: YamlPath, kind: type) -> list[Problem]:
    """What a class itself says: a key that it does not have, or its own validation (`field: problem`)."""
    names = [field.name for field in fields(kind) if field.init] if is_dataclass(kind) else []
    if isinstance(error, ForbiddenExtraKeysError):
        return [
            Problem((*path, str(key)), f"unknown key {shown(key)}{did_you_mean(str(key), names)}")
            for key in sorted(error.extra_fields, key=str)
        ]
    field, colon, text = str(error).partition(": ")
    if colon and field in names:
        return [Problem((*path, field), text)]
    return _problems(error, path)
