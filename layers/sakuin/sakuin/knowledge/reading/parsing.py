"""The HTML parser: the tree of a page without opaque elements, and all its ids."""

from collections.abc import Mapping
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.builder._lxml import LXMLTreeBuilder

from sakuin.errors import UnreadablePage
from sakuin.language.unicode_text import nfc

# Their content is never text of the page.
OPAQUE = frozenset(
    {"svg", "style", "script", "template", "noscript", "iframe", "object", "canvas", "video", "audio"}
    | {"textarea", "select", "datalist", "noframes", "noembed"}
)

# Typical pages have some thousands. Each takes about a kilobyte and 0.1 ms.
MOST_ELEMENTS = 200_000

# The elements inside these are not part of the document in a browser.
INERT = frozenset({"template", "noscript", "iframe", "noframes", "noembed"})


class LeanTreeBuilder(LXMLTreeBuilder):
    """The lxml builder of bs4, without comments and the content of opaque elements.

    Half of a typical teaching page is SVG, so that this halves the time. `ids` includes the ids in them.
    """

    def __init__(self) -> None:
        super().__init__(multi_valued_attributes=None)
        self.ids: list[str] = []
        self._elements = 0
        self._opaque: list[str] = []

    def start(self, tag: str | bytes, attrs: Mapping[Any, Any], nsmap: Mapping[Any, Any] | None = None) -> None:
        """Starts an element."""
        name = str(tag)
        self._elements += 1
        if self._elements > MOST_ELEMENTS:
            raise UnreadablePage(f"It has more than {MOST_ELEMENTS:,} elements. Split the page.")
        if attrs.get("id") and not any(outer in INERT for outer in self._opaque[:1]):
            self.ids.append(nfc(str(attrs["id"])))
        if self._opaque:
            self._opaque.append(name)
            return
        super().start(tag, dict(attrs), dict(nsmap or {}))
        if name in OPAQUE and not _is_math_script(name, attrs):
            self._opaque.append(name)

    def end(self, tag: str | bytes) -> None:
        """Ends an element."""
        if self._opaque:
            self._opaque.pop()
            if self._opaque:
                return
        super().end(tag)

    def data(self, data: str | bytes) -> None:
        """Adds text."""
        if not self._opaque:
            super().data(data)

    def comment(self, text: str | bytes) -> None:
        """Ignores a comment."""

    def pi(self, target: str, data: str) -> None:
        """Ignores a processing instruction."""


def parsed(text: str) -> tuple[Tag, tuple[str, ...]]:
    """Returns the tree and all ids (NFC, in page order, duplicates included). Raises `UnreadablePage`."""
    builder = LeanTreeBuilder()
    try:
        soup = BeautifulSoup(text, builder=builder)
    except (RecursionError, AssertionError, ValueError) as error:
        raise UnreadablePage("The HTML parser cannot read the page. Check that it is well-formed.") from error
    if soup.find(True) is None:
        raise UnreadablePage("The file has no HTML element.")
    return soup, tuple(builder.ids)


def attribute(tag: Tag, name: str) -> str:
    """Returns the value of an attribute, empty if there is none."""
    value = tag.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def classes(tag: Tag) -> frozenset[str]:
    """Returns the class names of an element."""
    return frozenset(attribute(tag, "class").split())


def _is_math_script(name: str, attrs: Mapping[Any, Any]) -> bool:
    return name == "script" and str(attrs.get("type", "")).startswith("math/tex")
