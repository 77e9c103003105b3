"""What the site of the documentation shows beside docs/: the README as its first page, and files that pages link to.

A hook of MkDocs (mkdocs.yml). In: the files of docs/, the text of a page. Out: more files; links that lead to them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
SHOWN = ("ci", "compose", "scenarios", "examples")  # directories whose files pages link to, and show as they are
_LINK = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)")


def on_files(files: Files, config: Any) -> Files:
    """Add them, under names that no page of docs/ has."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_from_root, text)))
    for directory in SHOWN:
        for path in sorted((ROOT / directory).rglob("*")):
            if path.is_file() and path.suffix in (".yml", ".yaml", ".py", ".md", ".toml"):
                name = f"files/{path.relative_to(ROOT)}.txt"
                files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links out of docs/ lead to the copies."""
    return _LINK.sub(
        lambda link: _outside(link[1].removeprefix("../")) if link[1].startswith("../") else link[1], markdown
    )


def _from_root(link: re.Match[str]) -> str:
    target = link[1]
    return target.removeprefix("docs/") if target.startswith("docs/") else _outside(target)


def _outside(target: str) -> str:
    if target in PAGES:
        return PAGES[target]
    if (ROOT / target).is_dir():
        target = f"{target.rstrip('/')}/README.md"
    return f"files/{target}.txt"
