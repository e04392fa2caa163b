"""A source of a page: its bytes, its elements, and the insertion of attributes that changes no other byte."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString
from sakuin.errors import UnreadablePage
from sakuin.knowledge.reading.decoding import encoding_of

from sakuin_cli.annotation.templates import STATEMENT, Markup, markup_of

MARKDOWN = (".md", ".markdown")
# The files of a folder that may have boxes in HTML.
SUFFIXES = (
    *(".html", ".htm", ".xhtml", *MARKDOWN, ".liquid", ".njk", ".jinja", ".jinja2", ".j2"),
    *(".hbs", ".mustache", ".tmpl", ".gohtml", ".erb", ".ejs", ".php"),
)
# With the BOM as a character of the text: encoding the text gives the same bytes again.
_WITH_BOM = {
    **{codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"},
    **{codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"},
}


@dataclass(frozen=True)
class Source:
    """A source of a page. Its text is its bytes decoded, a BOM included."""

    data: bytes
    encoding: str
    text: str
    markup: Markup

    @cached_property
    def root(self) -> BeautifulSoup:
        """The tree of its HTML, with the place of each start tag."""
        root = BeautifulSoup(
            self.markup.text, "html.parser", multi_valued_attributes=None, on_duplicate_attribute="ignore"
        )
        for text in root.find_all(string=lambda text: bool(text) and STATEMENT in text):
            if type(text) is NavigableString:
                text.replace_with(text.replace(STATEMENT, ""))
        return root

    def position(self, tag: Tag) -> int | None:
        """Returns where the start tag of an element begins in the text; None if that is unknown."""
        if tag.sourceline is None or tag.sourcepos is None:
            return None
        position = self._lines[tag.sourceline - 1] + tag.sourcepos
        begins = self.text[position : position + 1 + len(tag.name)]
        return position if begins.lower() == f"<{tag.name}" else None

    def line(self, tag: Tag) -> int:
        """Returns the line of an element, from 1."""
        return tag.sourceline or 1

    def with_ids(self, ids: Mapping[int, str]) -> bytes:
        """Returns the bytes with an attribute `id` in the start tags at these positions, and no other change.

        Raises `UnreadablePage` if a position has no certain place in the bytes.
        """
        written: list[bytes] = []
        done = done_bytes = 0
        for position in sorted(ids):
            name = self.markup.text[position + 1 :].split(None, 1)[0]
            place = position + 1 + len(name.rstrip("/").partition(">")[0].partition("/")[0])
            # The length alone: a byte sequence of an old encoding may have two spellings.
            size = len(self.text[done:place].encode(self.encoding))
            part = self.data[done_bytes : done_bytes + size]
            if part.decode(self.encoding, "replace") != self.text[done:place]:
                raise UnreadablePage(f"Its encoding, {self.encoding}, is ambiguous. Save it as UTF-8.")
            written += (part, f" id={self._quoted(ids[position], place)}".encode(self.encoding))
            done, done_bytes = place, done_bytes + size
        return b"".join((*written, self.data[done_bytes:]))

    def _quoted(self, value: str, place: int) -> str:
        rest = self.text[place : place + 200].partition(">")[0]
        double, single = rest.find('"'), rest.find("'")
        quote = "'" if single >= 0 and (double < 0 or single < double) else '"'
        return f"{quote}{value}{quote}"

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.markup.text.split("\n"))]


def read_source(data: bytes, *, suffix: str) -> Source:
    """Returns a source. Raises `UnreadablePage` if it is not text in the encoding that it declares."""
    encoding = next((name for bom, name in _WITH_BOM.items() if data.startswith(bom)), None) or encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadablePage(f"It is not valid {encoding} (byte {error.start}). Save it as UTF-8.") from error
    if "\x00" in text:
        raise UnreadablePage("It is binary, not a source of a page.")
    return Source(data, encoding, text, markup_of(text, is_markdown=suffix.lower() in MARKDOWN))
