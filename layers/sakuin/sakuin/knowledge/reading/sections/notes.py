"""Footnotes in the place of their marks."""

from collections.abc import Sequence

from bs4 import Tag

from sakuin.knowledge.reading.inline import NAMING, NOTE_ADDRESS, NOTE_MARK, is_inline
from sakuin.knowledge.reading.parsing import attribute
from sakuin.knowledge.reading.rules import pattern
from sakuin.knowledge.reading.tree import HEADINGS

_NOTE_NAME, _BACK = pattern("note_name"), pattern("note_back")
_LINES = frozenset({"p", *HEADINGS})
_AROUND = frozenset({"li", "td", "th", "dd", "dt", "caption", "figcaption"})
_MOST_AROUND, _LONGEST = 3, 2000


def put_notes_in_place(tags: Sequence[Tag]) -> None:
    """Moves each note to the paragraph, the item or the cell that first marks it, with its mark before its text."""
    marks: dict[str, Tag] = {}
    notes: dict[str, Tag | None] = {}
    for tag in tags:
        notes |= {f"#{attribute(tag, 'name')}": tag.parent} if tag.name == "a" and "name" in tag.attrs else {}
        notes |= {f"#{attribute(tag, 'id')}": tag} if "id" in tag.attrs else {}
        href = attribute(tag, "href") if tag.name == "a" else ""
        # A link to what is before it leads back.
        if href.startswith("#") and href not in notes and NOTE_MARK.fullmatch(_mark(tag)):
            marks.setdefault(href, tag)
    last: dict[int, Tag] = {}
    for href, mark in marks.items():
        note = notes.get(href)
        while note is not None and note.name in ("a", "sup"):
            note = note.parent
        if note is not None and note.name == "dt" and isinstance(text := note.find_next_sibling(), Tag):
            note.extend(list(text.contents))
        block = next((each for each in mark.parents if each.name in _AROUND or not is_inline(each)), None)
        if note is None or block is None or block.name not in _LINES | _AROUND or note in (block, *block.parents):
            continue
        if not _is_note(note, href) or len(note.get_text()) > _LONGEST or note.find(list(HEADINGS)) is not None:
            continue
        for back in note.find_all(["a", "span"]):
            if _mark(back) in ("", _mark(mark)) or _BACK.fullmatch(back.get_text()):
                back.extract()
        note.name = "p" if note.find("p") is None else "div"
        (note.find("p") or note).insert(0, f"[{_mark(mark)}] ")
        if block.name in _LINES:
            last.get(id(block), block).insert_after(note.extract())
            last[id(block)] = note
        else:
            block.append(note.extract())


def _mark(tag: Tag) -> str:
    return tag.get_text().strip("[]() ")


def _is_note(tag: Tag, href: str) -> bool:
    around = [tag, *list(tag.parents)[:_MOST_AROUND]]
    names = " ".join(attribute(each, name) for each in around for name in (*NAMING, "id"))
    return "cite_note" not in href and bool(_NOTE_NAME.search(names) or NOTE_ADDRESS.match(href))
