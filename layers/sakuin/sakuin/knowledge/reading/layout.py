"""The layout of a text: the lists, tables, terms and quotations that its lines stand in."""

from dataclasses import dataclass, field

from bs4 import Tag

from sakuin.knowledge.markdown import BORDER, FIRST_ROW, HEADER, INDENT, LEAD, QUOTE, ROW, SPANNED
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.prose import INLINE_TEXT, RAISED, Prose, raised
from sakuin.knowledge.reading.sections.admonitions import BOX_TAGS, admonition_type

CELLS = frozenset({"td", "th"})

# Elements whose lines have marks, if they are no others' boxes.
MARKED = BOX_TAGS | {"li", "dd"}

# Cells beyond these extend over nothing: each takes a place in every row.
MOST_COLUMNS = 50

MOST_LEVELS = 20


@dataclass(slots=True)
class _Table:
    """A table that is being read. `spans` has how many more rows the cell of a column extends over."""

    column: int = 0
    wide: int = 0  # further columns of the open cell
    is_begun: bool = False
    spans: dict[int, int] = field(default_factory=dict)


class Layout:
    """Where a page is read now. Marks of lines are those of `knowledge/markdown.py`."""

    def __init__(self) -> None:
        self._lists: list[int | None] = []  # the next number of an ordered one
        self._tables: list[_Table] = []
        self._rows: list[_Table] = []
        self._levels: list[tuple[Tag, str]] = []

    @property
    def depth(self) -> int:
        """How many elements with marks are open."""
        return len(self._levels)

    def enter(self, tag: Tag, prose: Prose | None, *, is_own: bool, in_code: bool) -> None:
        """Enters an element. `prose` is that of the region around it.

        `is_own`: there is no mark for the element, since it is the region's or another one's.
        """
        name = tag.name
        if name in INLINE_TEXT:
            if name in CELLS and self._rows and prose is not None:
                self._enter_cell(tag, prose)
            elif name in RAISED and not in_code and prose is not None:
                prose.add(raised(tag)[0])
            return
        if name in ("ol", "ul"):
            self._lists.append(_first_number(tag) if name == "ol" else None)
        elif name == "table":
            self._tables.append(_Table())
        elif name == "tr":
            self._rows.append(self._tables[-1] if self._tables else _Table())
            self._rows[-1].column = 0
        if prose is not None and not in_code:
            self._break(prose, is_row=name == "tr")
            if name == "tr":
                prose.lead(self._prefix(prose) + self._row_mark(tag))
        elif prose is not None and name == "br":
            prose.add("\n")
        if name in MARKED and not self._rows:
            lead, level = self._marks(tag, is_own=is_own)
            begin = self._prefix(prose) if prose is not None else ""
            if level and len(self._levels) < MOST_LEVELS:
                self._levels.append((tag, level))
            if prose is not None and not in_code and lead:
                prose.lead(begin + LEAD + lead)
            elif prose is not None and level:
                prose.add_break(self._prefix(prose))

    def leave(self, tag: Tag, prose: Prose | None, *, in_code: bool) -> None:
        name = tag.name
        if name in INLINE_TEXT:
            if name in CELLS and self._rows and prose is not None:
                self._fill(prose, self._rows[-1].wide)
                self._rows[-1].wide = 0
            elif name in RAISED and not in_code and prose is not None:
                prose.add(raised(tag)[1])
            return
        if self._levels and self._levels[-1][0] is tag:
            self._levels.pop()
        if name in ("ol", "ul") and self._lists:
            self._lists.pop()
        elif name == "table" and self._tables:
            self._tables.pop()
        elif name == "tr" and self._rows:
            if prose is not None:
                self._fill_spanned(prose)
            self._rows.pop()
        if prose is None:
            return
        if name == "tr" or (name in ("li", "dd") and not self._rows):
            prose.lead("")
        if not in_code:
            self._break(prose, is_row=name == "tr")
        elif name != "br":
            prose.add_break()

    def _prefix(self, prose: Prose) -> str:
        return "".join(level for _, level in self._levels[prose.depth :]) if self._levels else ""

    def _break(self, prose: Prose, *, is_row: bool) -> None:
        if self._rows and not is_row:
            prose.add(" ")  # a row is one line
        else:
            prose.add_break(self._prefix(prose))

    def _marks(self, tag: Tag, *, is_own: bool) -> tuple[str, str]:
        """Returns what the first line of an element begins with, and all others."""
        if tag.name == "li":
            marker = self._marker()
            return marker, INDENT * len(marker)
        if is_own:
            return "", ""
        if tag.name == "dd":
            return ": ", INDENT * 2
        return "", QUOTE if tag.name == "blockquote" or admonition_type(tag) else ""

    def _marker(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

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
        if below := _number(cell, "rowspan") - 1:
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


def _first_number(tag: Tag) -> int:
    start = attribute(tag, "start")
    return int(start) if start.isascii() and start.isdigit() and len(start) < 6 else 1


def _number(tag: Tag, name: str) -> int:
    """Returns how many columns or rows a cell extends over."""
    value = attribute(tag, name)
    return min(int(value), 1000) or 1 if value.isascii() and value.isdigit() and len(value) < 6 else 1
