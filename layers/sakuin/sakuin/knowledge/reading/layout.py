"""The layout of a text: the lists, tables, terms and quotations that its lines stand in."""

from dataclasses import dataclass, field

from bs4 import Tag

from sakuin.knowledge.markdown import BORDER, FIRST_ROW, HEADER, INDENT, LEAD, QUOTE, ROW, SPANNED
from sakuin.knowledge.reading.inline import GAP, INLINE_TEXT, RAISED, STRUCK, is_inline, is_struck, marks_of
from sakuin.knowledge.reading.lists import ItemNumbers
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.prose import Prose
from sakuin.knowledge.reading.rules import pattern
from sakuin.knowledge.reading.sections.admonitions import BOX_TAGS, admonition_type
from sakuin.knowledge.reading.tree import HEADINGS

CELLS = frozenset({"td", "th"})
# Elements whose lines have marks, if they are no others' boxes.
MARKED = BOX_TAGS | {"li", "dd"}
# Inline elements that have neither marks nor a place of their own, if they have no attribute.
PLAIN = INLINE_TEXT - CELLS - RAISED.keys() - STRUCK - {"ins", "a", "label", "cite"}
STRIKE = "~~"
LINE_CLASS = pattern("code_line")  # `<span class="gatsby-highlight-code-line">` is a whole line of code
# Of LaTeXML: the marker of an item, whose text is a block.
MARKER_CLASS = "ltx_tag_item"

# Cells beyond these extend over nothing: each takes a place in every row.
MOST_COLUMNS = 50
MOST_ROWS = 1000  # of a cell that extends to the end of its group of rows
MOST_LEVELS = 20


@dataclass(slots=True)
class _Table:
    """A table that is being read. `spans` has how many more rows the cell of a column extends over."""

    column: int = 0
    wide: int = 0  # further columns of the open cell
    is_begun: bool = False
    is_layout: bool = False
    spans: dict[int, int] = field(default_factory=dict)


class Layout:
    """Where a page is read now; `heading` is the open one. Marks of lines are those of `knowledge/markdown.py`."""

    def __init__(self) -> None:
        self._lists: list[ItemNumbers] = []
        self._tables: list[_Table] = []
        self._rows: list[_Table] = []
        self._levels: list[tuple[Tag, str]] = []
        self.heading: Tag | None = None

    @property
    def depth(self) -> int:
        """How many elements with marks are open."""
        return len(self._levels)

    @property
    def _is_laid_out(self) -> bool:
        return not self._rows and bool(self._tables) and self._tables[-1].is_layout

    def enter(self, tag: Tag, prose: Prose, *, is_own: bool, in_code: bool) -> None:
        """Enters an element in the text of a region. `is_own`: it has no mark, since it is the region's own."""
        name = tag.name
        if name in PLAIN and not tag.attrs:
            return
        if is_inline(tag):
            if name in CELLS and self._is_laid_out:
                prose.add_break(self._prefix(prose))
            elif name in CELLS and self._rows:
                self._enter_cell(tag, prose)
            elif not in_code:
                _enter_inline(tag, prose)
            return
        if name in ("ol", "ul"):
            self._lists.append(ItemNumbers.of(tag))
        elif name == "table":
            # What a table contains is looked for in so many levels only, so that the time stays linear.
            may_be_layout = not self._rows and len(self._tables) < MOST_LEVELS
            self._tables.append(_Table(is_layout=may_be_layout and _is_layout(tag)))
        is_row = name == "tr" and not self._is_laid_out
        if is_row:
            self._rows.append(self._tables[-1] if self._tables else _Table())
            self._rows[-1].column = 0
        if not in_code:
            self._break(prose, is_row=name == "tr")
            if is_row:
                prose.lead(self._prefix(prose) + self._row_mark(tag))
        elif name == "br":
            prose.add("\n")
        if name in HEADINGS and self.heading is None:
            self.heading = tag
        if name in MARKED and not self._rows:
            lead, level = self._marks(tag, is_own=is_own)
            begin = self._prefix(prose)
            if level and len(self._levels) < MOST_LEVELS:
                self._levels.append((tag, level))
            if not in_code and lead:
                prose.lead(begin + LEAD + lead)
            elif level:
                prose.add_break(self._prefix(prose))

    def leave(self, tag: Tag, prose: Prose, *, in_code: bool) -> None:
        name = tag.name
        if name in PLAIN and not tag.attrs:
            return
        if is_inline(tag):
            if name in CELLS and self._rows:
                self._fill(prose, self._rows[-1].wide)
                self._rows[-1].wide = 0
            elif in_code and LINE_CLASS.search(attribute(tag, "class")):
                prose.end_line()
            elif not in_code:
                _leave_inline(tag, prose)
            return
        self.heading = None if self.heading is tag else self.heading
        if self._levels and self._levels[-1][0] is tag:
            self._levels.pop()
        if name in ("ol", "ul") and self._lists:
            self._lists.pop()
        elif name == "table" and self._tables:
            self._tables.pop()
        elif name in ("thead", "tbody", "tfoot") and self._tables:
            self._tables[-1].spans.clear()
        elif name == "tr" and self._rows:
            self._fill_spanned(prose)
            self._rows.pop()
        if name == "tr" or (name in ("li", "dd") and not self._rows):
            prose.lead("")
        if not in_code:
            self._break(prose, is_row=name == "tr")
        elif name != "br":
            prose.add_break()

    def _prefix(self, prose: Prose) -> str:
        return "".join(level for _, level in self._levels[prose.depth :])

    def _break(self, prose: Prose, *, is_row: bool) -> None:
        if (self._rows and not is_row) or self.heading is not None:
            prose.add(" ")  # a row and a heading are one line
        else:
            prose.add_break(self._prefix(prose))

    def _marks(self, tag: Tag, *, is_own: bool) -> tuple[str, str]:
        """Returns what the first line of an element begins with, and all others."""
        if tag.name == "li":
            marker = self._lists[-1].marker(tag) if self._lists else "- "
            return marker, INDENT * len(marker)
        if is_own:
            return "", ""
        if tag.name == "dd":
            return ": ", INDENT * 2
        return "", QUOTE if tag.name == "blockquote" or admonition_type(tag) else ""

    def _row_mark(self, row: Tag) -> str:
        table = self._rows[-1]
        cells = {cell.name for cell in row.contents if isinstance(cell, Tag)}
        if table.is_begun or not cells:
            return ROW
        table.is_begun = True
        is_header = cells == {"th"} or (row.parent is not None and row.parent.name == "thead")
        return HEADER if is_header else FIRST_ROW

    def _enter_cell(self, cell: Tag, prose: Prose) -> None:
        row = self._rows[-1]
        self._fill_spanned(prose)
        if row.column:
            prose.add_mark(BORDER)
        width = min(_number(cell, "colspan"), max(1, MOST_COLUMNS - row.column))
        below = MOST_ROWS if attribute(cell, "rowspan").strip() == "0" else _number(cell, "rowspan") - 1
        if below:
            row.spans |= dict.fromkeys(range(row.column, min(row.column + width, MOST_COLUMNS)), below)
        row.column += 1
        row.wide = width - 1

    def _fill_spanned(self, prose: Prose) -> None:
        """Adds the places that cells of rows above extend over, up to the next free one."""
        row = self._rows[-1]
        while below := row.spans.get(row.column, 0):
            row.spans[row.column] = below - 1
            self._fill(prose, 1)

    def _fill(self, prose: Prose, places: int) -> None:
        for _ in range(places):
            prose.add_mark(BORDER + SPANNED if self._rows[-1].column else SPANNED)
            self._rows[-1].column += 1


def _is_layout(table: Tag) -> bool:
    """Returns whether a table without headings only sets blocks side by side: in one row, or around other tables."""
    rows = table.find_all("tr", limit=2)
    cells = [cell for cell in rows[0].contents if isinstance(cell, Tag)] if rows else []
    if any(cell.name == "th" for cell in cells):
        return False
    blocks = (part for cell in cells for part in cell.contents if isinstance(part, Tag) and part.name != "br")
    return table.find("table") is not None or (len(rows) == 1 < len(cells) and not all(map(is_inline, blocks)))


def _enter_inline(tag: Tag, prose: Prose) -> None:
    if tag.name == "input":
        if attribute(tag, "type").lower() == "checkbox" and tag.find_parent(("li", "td", "th")) is not None:
            prose.add_mark("[x] " if "checked" in tag.attrs else "[ ] ")
    elif is_struck(tag):
        prose.open(STRIKE)
    elif mark := marks_of(tag)[0]:
        prose.add_mark(mark)


def _leave_inline(tag: Tag, prose: Prose) -> None:
    if mark := STRIKE + GAP if is_struck(tag) else marks_of(tag)[1]:
        prose.close(mark)
    if MARKER_CLASS in attribute(tag, "class"):
        prose.join_next()


def _number(tag: Tag, name: str) -> int:
    """Returns how many columns or rows a cell extends over."""
    value = attribute(tag, name)
    return min(int(value), MOST_ROWS) or 1 if value.isascii() and value.isdigit() and len(value) < 6 else 1
