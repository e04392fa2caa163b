"""The HTML parser: the tree of a page without opaque elements, and all its ids."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from bs4 import BeautifulSoup, Tag
from bs4.builder._lxml import LXMLTreeBuilder
from bs4.element import NavigableString, PageElement

from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.rules import names
from sakuin.language.unicode_text import nfc
from sakuin.texts.catalogue import coded

OPAQUE, OF_OTHER_NAMESPACES = names("opaque"), names("of_other_namespaces")
RUBY_PART = re.compile(r"<(?:rb|rt|rtc|rp|/ruby)\b", re.IGNORECASE)

# The elements inside these are not part of the document in a browser.
INERT = frozenset({"template", "noscript", "iframe", "noframes", "noembed"})
# Typical pages have some thousands. Each takes about a kilobyte and 0.1 ms.
MOST_ELEMENTS = 200_000
# Of names in an attribute, in characters: they are keys of caches.
_LONGEST_NAMES = 2000


class LeanTag(Tag):
    """An element of a page that is only read: what bs4 keeps of each for writing is the same for all."""

    namespace = prefix = sourceline = sourcepos = cdata_list_attributes = preserve_whitespace_tags = None
    known_xml = can_be_empty_element = False
    interesting_string_types = Tag.MAIN_CONTENT_STRING_TYPES

    def __init__(self, name: str, attrs: Any) -> None:
        self.name = name
        self.attrs = attrs
        self.contents = []


class LeanTreeBuilder(LXMLTreeBuilder):
    """The lxml builder of bs4, without comments and the content of opaque elements.

    Half of a typical teaching page is SVG, so that this halves the time. It makes the tree itself, which takes a third
    of the time of bs4. `elements` are those of the tree in page order; `ids` includes the ids in opaque elements.
    """

    def __init__(self) -> None:
        super().__init__(multi_valued_attributes=None)
        self.ids: list[str] = []
        self.elements: list[Tag] = []
        self._count = 0
        self._opaque: list[str] = []
        self._is_label = False  # in the title of an `svg`
        self._open: list[Tag] = []
        self._kinds: list[type[NavigableString]] = []  # of the strings in those of them that have their own
        self._preserved = 0  # how many of them keep white space
        self._special = OPAQUE.union(self.string_containers, self.preserve_whitespace_tags)
        self._texts: list[str] = []
        self._last: PageElement

    def _read(self, markup: Any) -> None:
        """Reads a whole page into the `BeautifulSoup` of this builder."""
        self._last = cast(BeautifulSoup, self.soup)
        self._open = [self._last]
        super().feed(markup)
        if self._texts:
            self._end_text()

    # The name that bs4 calls.
    feed = _read

    def start(self, tag: str | bytes, attrs: Mapping[Any, Any], nsmap: Mapping[Any, Any] | None = None) -> None:
        name = str(tag)
        if ":" in name and (local := name.rpartition(":")[2]) in OF_OTHER_NAMESPACES:
            name = local
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise UnreadablePage(coded("page.many_elements", most=MOST_ELEMENTS))
        if "id" in attrs and attrs["id"] and not (self._opaque and self._opaque[0] in INERT):
            self.ids.append(nfc(str(attrs["id"])))
        if self._opaque:
            self._is_label = self._opaque == ["svg"] and name == "title"
            self._opaque.append(name)
            return
        if self._texts:
            self._end_text()
        # lxml makes a dict for each element with attributes, and one object without any for all others.
        element = LeanTag(name, attrs if attrs else {})
        if attrs and _preserves(element.attrs):
            self._preserved += 1
        if name in self._special:
            self._start_special(element)
        self._append(element)
        self._open.append(element)
        self.elements.append(element)

    def _start_special(self, element: Tag) -> None:
        """Starts an element whose text is read in another way, or not at all."""
        name = element.name
        if name in self.string_containers:
            self._kinds.append(self.string_containers[name])
            element.interesting_string_types = {self._kinds[-1]}
        self._preserved += name in self.preserve_whitespace_tags
        if name in OPAQUE and not (name == "script" and attribute(element, "type").startswith("math/tex")):
            self._opaque.append(name)

    def end(self, tag: str | bytes) -> None:
        if self._opaque:
            self._opaque.pop()
            self._is_label = False
            if self._opaque:
                return
        if self._texts:
            self._end_text()
        element = self._open.pop()
        name = element.name
        if element.attrs and _preserves(element.attrs):
            self._preserved -= 1
        if name in self._special:
            if name in self.string_containers:
                self._kinds.pop()
            self._preserved -= name in self.preserve_whitespace_tags

    def data(self, data: str | bytes) -> None:
        if not self._opaque:
            self._texts.append(str(data))
        elif self._is_label:  # what an image shows
            self._open[-1].attrs.setdefault("aria-label", str(data))

    def _ignore(self, *_parts: Any) -> None:
        """Ignores a comment, a processing instruction and the document type."""

    comment = pi = doctype = _ignore  # type: ignore[assignment]

    def _end_text(self) -> None:
        text, self._texts = "".join(self._texts), []
        if not self._preserved and not text.strip(BeautifulSoup.ASCII_SPACES):
            text = "\n" if "\n" in text else " "
        self._append(str.__new__(self._kinds[-1] if self._kinds else NavigableString, text))

    def _append(self, element: PageElement) -> None:
        """Adds an element or text to the innermost open element, with all links between them."""
        parent, last = self._open[-1], self._last
        siblings = parent.contents
        element.parent, element.previous_element = parent, last
        element.next_element = element.next_sibling = element.previous_sibling = None
        if siblings:
            before = siblings[-1]
            element.previous_sibling, before.next_sibling = before, element
        siblings.append(element)
        last.next_element = self._last = element


def parsed(text: str) -> tuple[Tag, list[Tag], tuple[str, ...]]:
    """Returns the tree, its elements, and all ids (NFC) with duplicates, in page order. Raises `UnreadablePage`."""
    builder = LeanTreeBuilder()
    try:
        soup = BeautifulSoup(text, builder=builder)
    except (RecursionError, AssertionError, ValueError) as error:
        raise UnreadablePage(coded("page.malformed")) from error
    if not builder.elements:
        raise UnreadablePage(coded("page.no_element"))
    return soup, builder.elements, tuple(builder.ids)


def with_ruby_closed(text: str) -> str:
    """Returns HTML in which each part of a ruby ends before the next: without end tags, the parser nests them."""
    return RUBY_PART.sub(r"</rb></rt></rtc></rp>\g<0>", text) if "<r" in text or "<R" in text else text


def attribute(tag: Tag, name: str) -> str:
    """Returns the value of an attribute, empty if there is none."""
    # Every builder here keeps values as they are written.
    return tag.attrs.get(name, "")  # type: ignore[return-value]


def written_names(tag: Tag, name: str = "class") -> str:
    """Returns the value of an attribute that contains names, cut so that it may be the key of a cache."""
    return attribute(tag, name)[:_LONGEST_NAMES]


def classes(tag: Tag) -> frozenset[str]:
    """Returns the class names of an element."""
    return _class_names(written_names(tag))


@lru_cache(maxsize=1024)
def _class_names(value: str) -> frozenset[str]:
    return frozenset(value.split())


def _preserves(attrs: Mapping[Any, Any]) -> bool:
    """Returns whether the style of an element keeps its white space, as in the fragments of Doxygen."""
    is_code = "class" in attrs and str(attrs["class"]).startswith(("fragment", "blob-code"))
    return is_code or ("style" in attrs and "white-space" in attrs["style"])
