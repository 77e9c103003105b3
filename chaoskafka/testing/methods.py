"""Writes `fault_methods.py`: a typed method for each fault of the catalogue, so that editors and mypy know them.

    python -m chaoskafka.testing.methods chaoskafka/testing/fault_methods.py

In: the catalogue. Out: source text. A test holds the file equal to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from chaoskafka.cluster.conditions import Condition
from chaoskafka.cluster.targets import Target
from chaoskafka.scenario.catalogue import Kind, Member, find, members

HEAD = '''"""The faults of the catalogue as methods. Written by `methods.py`; a test holds it equal to that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from chaoskafka.cluster.targets import Target

if TYPE_CHECKING:
    from chaoskafka.testing.chaos import Hit


class FaultMethods(ABC):
    """A method for each fault; docs/faults.md says what each does, and what its parameters mean."""

    @abstractmethod
    def fault(self, word: str, **parameters: Any) -> AbstractContextManager[Hit]:
        """Any fault by its word."""
'''
WIDTH = 120


def text() -> str:
    """The whole file."""
    own = [member for member in members(Kind.FAULT).values() if member.module.startswith("chaoskafka.")]
    return "\n".join([HEAD.rstrip(), *(line for member in own for line in ("", *_method(member)))]) + "\n"


def _method(member: Member) -> Iterator[str]:
    kind = find(Kind.FAULT, member.word)
    hints = get_type_hints(kind)
    parameters, first = [], ""
    for field in fields(kind):
        written = f"{field.name}: {_type(hints[field.name])}{_default(field)}"
        if field.default is MISSING and not first:
            first = f"{written}, "  # who is hit needs no name
        else:
            parameters.append(written)
    names = "".join(f", {field.name}={field.name}" for field in fields(kind))
    signature = f"    def {member.word}(self, {first}*, {', '.join(parameters)}) -> AbstractContextManager[Hit]:"
    if len(signature) > WIDTH:
        yield f"    def {member.word}("
        yield "        self,"
        yield from (f"        {part}," for part in [*filter(None, [first.rstrip(", ")]), "*", *parameters])
        yield "    ) -> AbstractContextManager[Hit]:"
    else:
        yield signature
    yield f'        """{member.summary}"""'
    call = f'        return self.fault("{member.word}"{names})'
    if len(call) > WIDTH:
        yield "        return self.fault("
        inner = f'            "{member.word}"{names}'
        if len(inner) > WIDTH:
            yield f'            "{member.word}",'
            yield from (f"            {field.name}={field.name}," for field in fields(kind))
        else:
            yield inner
        yield "        )"
    else:
        yield call


def _type(hint: Any) -> str:
    origin: Any = get_origin(hint)
    if origin in (Union, UnionType):
        return " | ".join("None" if arm is NoneType else _type(arm) for arm in get_args(hint))
    if origin is Literal:
        return f"Literal[{', '.join(_quoted(arm) for arm in get_args(hint))}]"
    if origin is tuple:
        return f"Sequence[{_type(get_args(hint)[0])}]"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"Literal[{', '.join(_quoted(member.value) for member in hint)}]"
    written = {Target: "Target | str", Condition: "Mapping[str, Any] | str"}
    return written.get(hint) or str(hint.__name__)


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return ""
    value = field.default.value if isinstance(field.default, Enum) else field.default
    if isinstance(value, Condition):
        value = str(value)
    return f" = {_quoted(value)}"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
