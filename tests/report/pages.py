"""An HTML page as a tree, read by a parser that minds every tag: one left open or closed twice is an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

# https://html.spec.whatwg.org/multipage/syntax.html#void-elements, and what our drawings close by themselves
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    own_text: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        """Itself and everything in it."""
        yield self
        for child in self.children:
            yield from child

    def all(self, name: str, kind: str = "") -> list[Element]:
        return [one for one in self if one.name == name and (not kind or kind in one.classes)]

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    @property
    def text(self) -> str:
        return " ".join(" ".join(piece for one in self for piece in one.own_text).split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].own_text.append(data)


def parsed(page: str) -> Element:
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert parser.open == [parser.root], f"left open: {[one.name for one in parser.open[1:]]}"
    return parser.root
