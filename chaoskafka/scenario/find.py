"""Where scenarios are: a path, or a name looked up in `scenarios/` here and among those shipped with the package.

A name is a path below that folder without its suffix: `leader-killed`, `faults/stop`. Several are found at once by a
directory, a pattern (`faults/*`), or a suite (`smoke`, or its file).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path

from chaoskafka.errors import UsageError
from chaoskafka.scenario.catalogue import did_you_mean
from chaoskafka.scenario.suites import FOLDER, is_suite, read_suite
from chaoskafka.visible import cut

SHIPPED = Path(__file__).parent.parent / "scenarios"
LOCAL = Path("scenarios")
FOUND_MAX = 1000  # of one pattern or directory: above is a slip, such as the root directory


def find_scenario(name_or_path: str) -> Path:
    """The file of one scenario. A path wins over a name, and one's own `scenarios/` over what is shipped.

    Raises UsageError, naming what there is.
    """
    path = Path(name_or_path)
    named = scenarios_by_name()
    if name_or_path in named and not os.path.isfile(path):  # noqa: PTH113 - Path's raises for what cannot be a name
        return named[name_or_path]
    if os.path.lexists(path):
        return path  # whoever reads it says what is wrong with it
    known = [*named, *suites_by_name()]
    raise UsageError(f"no scenario file, name or suite {cut(name_or_path)!r}{did_you_mean(name_or_path, known)}")


def find_scenarios(words: Sequence[str]) -> Mapping[str, Path]:
    """The scenarios that words mean, each once and in their order: files, names, directories, patterns, suites.

    By how each may be called again: as it was called, or as its suite calls it. Raises UsageError, with every word that
    means nothing.
    """
    found, wrong = meant_by(words)
    if wrong:
        raise all_told(wrong)
    return found


def meant_by(words: Sequence[str]) -> tuple[dict[str, Path], list[UsageError]]:
    """As `find_scenarios`, with the errors beside what was found."""
    found: dict[str, Path] = {}
    wrong: list[UsageError] = []
    there: set[str] = set()
    for word in words:
        try:
            for name, path in list(_meant(word)):
                real = os.path.realpath(path)  # Path's raises for a link to itself
                if real not in there:
                    there.add(real)
                    found[name] = path
        except UsageError as nothing:
            wrong.append(nothing)
    return found, wrong


def all_told(wrong: Sequence[UsageError]) -> UsageError:
    """The first of several, the others and their notes as its notes."""
    first, *others = wrong
    for other in others:
        for text in (str(other), *getattr(other, "__notes__", ())):
            first.add_note(text)
    return first


def _meant(word: str) -> Iterator[tuple[str, Path]]:
    is_file = os.path.isfile(word)  # noqa: PTH113 - Path's raises for what cannot be a name
    if word in scenarios_by_name() and not is_file:
        yield word, scenarios_by_name()[word]
    elif word in suites_by_name() and not is_file:  # a directory of that name, such as `ci`, is meant as `ci/`
        yield from _in_suite(suites_by_name()[word])
    elif os.path.isdir(word):  # noqa: PTH112
        yield from _bounded(word, ((str(path), path) for path in sorted(_files(Path(word)))))
    elif has_magic(word) and not os.path.lexists(word):
        yield from _bounded(word, _matching(word))
    elif is_file and is_suite(Path(word)):
        yield from _in_suite(Path(word))
    else:
        yield word, find_scenario(word)


def _in_suite(path: Path) -> Iterator[tuple[str, Path]]:
    named = scenarios_by_name()
    for member in read_suite(path, named).members:
        yield member.name if member.name in named else str(member.path), member.path


def _matching(pattern: str) -> Iterator[tuple[str, Path]]:
    """Files first; names only where no file fits, as a shell leaves what it cannot expand."""
    files = [Path(name) for name in sorted(glob(pattern, recursive=True))]  # noqa: PTH207 - Path's takes no absolute one
    if files:
        return ((str(path), path) for path in files if path.is_file())
    return ((name, path) for name, path in scenarios_by_name().items() if fnmatchcase(name, pattern))


def _bounded(word: str, all_of: Iterator[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    count = 0
    for count, each in enumerate(all_of, 1):
        if count > FOUND_MAX:
            raise UsageError(f"{cut(word)!r} means more than {FOUND_MAX} scenarios")
        yield each
    if not count:
        raise UsageError(f"{cut(word)!r} means no scenario: no *.yaml file fits")


def scenarios_by_name() -> Mapping[str, Path]:
    """Every scenario that can be run by name, sorted."""
    found = {name_of(path, folder): path for folder in (SHIPPED, LOCAL) for path in _files(folder)}
    return dict(sorted(found.items()))


def suites_by_name() -> Mapping[str, Path]:
    """Every suite that can be run by name, sorted."""
    folders = (SHIPPED / FOLDER, LOCAL / FOLDER)
    return dict(sorted((name_of(path, folder), path) for folder in folders for path in folder.glob("*.yaml")))


def name_of(path: Path, folder: Path) -> str:
    """How a file in or below a folder of scenarios is called."""
    return path.relative_to(folder).with_suffix("").as_posix()


def _files(folder: Path) -> Iterator[Path]:
    """The scenarios in a folder and below; those in its `suites` are none."""
    if folder.is_dir():
        yield from (path for path in folder.rglob("*.yaml") if path.relative_to(folder).parts[0] != FOLDER)
