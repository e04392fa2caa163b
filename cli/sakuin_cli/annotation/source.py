"""A source of a page: its bytes, its elements, and the insertion of attributes that changes no other byte."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from bs4 import BeautifulSoup, Tag
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.decoding import encoding_of

from sakuin_cli.site.uploads import FRONT_MATTER, is_markdown

_CODE = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\2(?!`)"
    r"|(?:^[ \t]*\r?\n)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+",
    re.DOTALL | re.MULTILINE,
)
_END_OF_NAME = re.compile(r"[\s/>]")
_LONGEST_NAME = 100
# TeX may have {{x}}, but after a command, a sign or a letter.
TEMPLATE = re.compile(r"(?<![\w}^_\\])\{\{|\{%|<%|<\?(?!xml)")


@dataclass(frozen=True)
class Source:
    """A source of a page. Its text is its bytes decoded, a BOM included."""

    data: bytes
    encoding: str
    text: str
    is_markdown: bool

    @cached_property
    def root(self) -> BeautifulSoup:
        """The tree of its HTML, with the place of each start tag; without front matter and code of Markdown."""
        return BeautifulSoup(self._html, "html.parser", multi_valued_attributes=None, on_duplicate_attribute="ignore")

    def position(self, tag: Tag) -> int | None:
        """Returns where the start tag of an element begins in the text; None if that is unknown, or in a template.

        What stands behind a template's first tag may come several times in a page, or not at all.
        """
        if tag.sourceline is None or tag.sourcepos is None:
            return None
        position = self._lines[tag.sourceline - 1] + tag.sourcepos
        is_there = self._html[position : position + 1 + len(tag.name)].lower() == f"<{tag.name}"
        end = self._html.find(">", position)
        return position if is_there and end >= 0 and not TEMPLATE.search(self._html, 0, end) else None

    def with_ids(self, ids: Mapping[int, str]) -> bytes:
        """Returns the bytes with an attribute `id` in the start tags at these positions, and no other change.

        Raises `UnreadablePage` if a position has no certain place in the bytes.
        """
        written: list[bytes] = []
        done = done_bytes = 0
        for position in sorted(ids):
            place = position + len(_END_OF_NAME.split(self.text[position : position + _LONGEST_NAME], maxsplit=1)[0])
            # The length alone: a byte sequence of an old encoding may have two spellings.
            size = len(self.text[done:place].encode(self.encoding))
            part = self.data[done_bytes : done_bytes + size]
            if part.decode(self.encoding, "replace") != self.text[done:place]:
                raise UnreadablePage(f"Its encoding, {self.encoding}, is ambiguous. Save it as UTF-8.")
            written += (part, f' id="{ids[position]}"'.encode(self.encoding, "xmlcharrefreplace"))
            done, done_bytes = place, done_bytes + size
        return b"".join((*written, self.data[done_bytes:]))

    @cached_property
    def _html(self) -> str:
        html = FRONT_MATTER.sub(_blank, self.text)
        return _CODE.sub(_blank, html) if self.is_markdown else html

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._html.split("\n"))]


def read_source(data: bytes, name: str) -> Source:
    """Returns a source. Raises `UnreadablePage` if it is UTF-16 or not text in the encoding that it declares."""
    if b"\x00" in data:
        raise UnreadablePage("It is binary, UTF-16 or UTF-32. Save it as UTF-8.")
    encoding = encoding_of(data).removesuffix("-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadablePage(f"It is not valid {encoding} (byte {error.start}). Save it as UTF-8.") from error
    return Source(data, encoding, text, is_markdown(name))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]", " ", match[0])
