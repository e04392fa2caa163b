"""The answers of the tools that read and list what is stored, as it is."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from sakuin.arguments import ChunkArguments, FindArguments, ListArguments, MaterialArguments, PageArguments
from sakuin.errors import NotFound
from sakuin.knowledge.excerpt import excerpt
from sakuin.knowledge.learns.instructions import INSTRUCTIONS, STEPS, Section
from sakuin.knowledge.markdown import closing, open_fence, plain_text
from sakuin.knowledge.model import LocatedText, PagePart, StoredChunk, TextMatch, learns_author
from sakuin.knowledge.names import page_link
from sakuin.knowledge.postgres_search import PARTS, ReadKnowledge
from sakuin.language.unicode_text import estimated_tokens, visible
from sakuin.mcp.answers import (
    ANSWER_BYTES,
    Answer,
    add_fitting,
    add_link_note,
    add_text,
    add_texts,
    cursor_of,
    numbers_of,
    position_of,
)
from sakuin.mcp.knowledge.headings import Heading, PageOutline, outline_of

# Characters of a found line, and of each of its neighbours.
_LINE, _BESIDE = 300, 150
# Of the names and the link of a place: blank lines are not free either.
_PLACE_TOKENS = 20
# Between two explanations of a page.
_BETWEEN = "\n\n"
# Tokens of two fences.
_FENCES = 10
# Characters of a section in the prompt to write `learns`: the first one always fits.
_SECTION_LENGTH = 8_000
# Of the end of that prompt.
_CONTINUATION_BYTES = 500
# Sections named in an error.
_SECTIONS = 30


def get_chunk_by_id(read: ReadKnowledge, wanted: ChunkArguments) -> Answer:
    """Answers `get_chunk_by_id`. A cursor has the number of chunks before it, and of characters of the next one."""
    names = wanted.names
    question = ("get_chunk_by_id", names, wanted.neighbours)
    first, offset = (0, 0) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
    result = read.chunks(names, with_neighbours=wanted.neighbours)
    missing = [name for name, chunk in zip(names, result, strict=True) if chunk is None]
    if wanted.id is not None and missing:
        raise NotFound(f"There is no chunk {wanted.id!r}. Use an id from search_knowledge or list_concepts")
    chunks = [chunk for chunk in result if chunk is not None][first:]
    answer: Answer = {"chunks": [], "missing": missing, "next_cursor": None}
    add_link_note(answer, read.base_url, has_links=bool(chunks))
    views = [_chunk_view(read, chunk, has_neighbours=wanted.neighbours) for chunk in chunks]
    if rest := add_texts(answer, views, offset=offset):
        complete, characters = rest
        answer["truncated"] = (
            f"The text has {len(chunks[0].content):,} characters; these end at {characters:,}."
            if characters
            else f"{complete} of {len(chunks)} chunks fit."
        ) + " Send `next_cursor` for the rest."
        answer["next_cursor"] = cursor_of(f"{first + complete}-{characters}", *question)
    return answer if wanted.id is None else _of_one(answer)


def _of_one(answer: Answer) -> Answer:
    """Returns the answer about one `id`."""
    shown = {name: answer[name] for name in ("links", "truncated", "next_cursor") if answer.get(name)}
    return {"chunk": answer["chunks"][0], **shown}


def _chunk_view(read: ReadKnowledge, chunk: StoredChunk, *, has_neighbours: bool) -> Answer:
    view = asdict(chunk) | {"url": read.url(chunk.material, chunk.anchor, chunk.content)}
    view["learns_by"] = learns_author(view.pop("learns_source"))
    for side, beside in (("previous", chunk.previous), ("next", chunk.next)):
        del view[side]
        if has_neighbours:
            view[side] = _neighbour_view(read, beside) if beside else None
    return view


def _neighbour_view(read: ReadKnowledge, beside: LocatedText) -> Answer:
    url = read.url(beside.material, beside.anchor, beside.content)
    return {"id": beside.id, "url": url, "title": beside.title, "content": beside.content}


def write_learns(read: ReadKnowledge, name: str) -> str:
    """Returns the prompt to write `learns` for the sections of a page that have none of an author, as many as fit."""
    outline, _ = read.outline(name)
    if not outline:
        raise NotFound(f"There is no page {name!r}. list_materials lists the pages")
    text = f"{INSTRUCTIONS}\n{STEPS.format(folder='the folder of the pages')}"
    for section in _unwritten(read, outline):
        part = f"\n## {section.material}#{section.anchor}\n\n{section.shown}\n"
        if len(visible(text + part).encode()) > ANSWER_BYTES - _CONTINUATION_BYTES:
            return visible(f"{text}\nThere are more sections: push what you wrote, then ask again.\n")
        text += part
    return visible(text)


def _unwritten(read: ReadKnowledge, outline: Sequence[PagePart]) -> Iterator[Section]:
    """Yields the sections of a page without `learns` of an author."""
    titles = [None, *(part.title for part in outline), None]
    for start in range(0, len(outline), PARTS):
        chunks = read.chunks([part.id for part in outline[start : start + PARTS]])
        for place, chunk in enumerate(chunks, start):
            if chunk is not None and chunk.learns_source != "author":
                path = tuple(filter(None, dict.fromkeys((chunk.page_title, chunk.section))))
                texts = chunk.title, plain_text(chunk.content)[:_SECTION_LENGTH]
                around = titles[place], titles[place + 2], chunk.language
                yield Section(chunk.material, chunk.anchor, *texts, path, *around)


def read_page(read: ReadKnowledge, wanted: PageArguments) -> Answer:
    """Answers `read_page`. A cursor has the place of an explanation in its page, and of a character in its text."""
    outline = outline_of(read, wanted.page)
    if outline is None:
        raise NotFound(f"There is no page {wanted.page!r}. list_materials lists the pages")
    section = _section(outline, wanted.section) if wanted.section else None
    start, end = (section.start, section.end) if section else (outline.start, None)
    if wanted.wants_lines:
        return _page_lines(read, wanted, outline.material, start, end)
    question = ("read_page", wanted.page, wanted.section)
    start, offset = (start, 0) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
    parts = read.parts(outline.material, start=start, end=end)
    answer: Answer = {"material": outline.material, "title": outline.title, "url": read.url(outline.material, "")}
    answer |= {"text": "", "next_cursor": None}
    add_link_note(answer, read.base_url, has_links=True)
    texts = [markdown_of(read, part, outline, section) for part in parts[:PARTS]]
    whole = _BETWEEN.join(texts)
    opened = open_fence(whole[:offset])
    length = offset + add_text(answer, whole[offset:], max_tokens=wanted.max_tokens - _FENCES * ("```" in whole))
    number, rest = _place_in(texts, length)
    # Each part of the text has the fences of its code.
    answer["text"] = f"{opened}\n{answer['text']}" if opened else answer["text"]
    if number < len(parts):
        if rest == 0:
            answer["text"] = answer["text"].rstrip("\n") + _BETWEEN
        elif fence := open_fence(answer["text"]):
            answer["text"] = f"{answer['text'].rstrip()}\n{closing(fence)}\n"
        answer["truncated"] = "The page goes on. Send `next_cursor` for the rest."
        answer["next_cursor"] = cursor_of(f"{parts[number].position}-{rest}", *question)
    return answer


def _section(outline: PageOutline, name: str) -> Heading:
    """Returns the section that a name means. Raises `NotFound` if that is none, or one of several."""
    sections = outline.named(name)
    if len(sections) == 1:
        return sections[0]
    if not sections:
        titles = dict.fromkeys(each.path[-1] for each in outline.headings)
        raise NotFound(f"The page has no section {name!r}. It has: {', '.join([*titles][:_SECTIONS])}")
    several = "; ".join(f"{' › '.join(each.path)} ({each.anchor})" for each in sections[:_SECTIONS])
    raise NotFound(f"{name!r} names {len(sections)} sections. Send more of the path, or the anchor, of one: {several}")


def _page_lines(read: ReadKnowledge, wanted: PageArguments, material: str, start: int, end: int | None) -> Answer:
    """Reads lines as they are stored. A cursor has the next line, and how many of its characters were given."""
    question = ("read_page", wanted.page, wanted.section, wanted.line, wanted.lines)
    first, offset = (wanted.first_line, 0) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
    parts = read.parts(material, start=start, end=end, line=first)
    if not parts:
        raise NotFound(f"There is no line {wanted.first_line:,}: the text ends before")
    part = parts[0]
    answer: Answer = {"material": part.material, "title": part.page_title}
    answer |= {"url": read.url(part.material, part.anchor, part.content), "line": first}
    answer |= {"text": "", "next_cursor": None}
    add_link_note(answer, read.base_url, has_links=True)
    lines = "\n".join(each.content for each in parts[:PARTS]).split("\n")[first - part.line :]
    text = "\n".join(lines[: wanted.end_line - first])
    length = offset + add_text(answer, text[offset:], max_tokens=wanted.max_tokens)
    unfinished = text[:length].rpartition("\n")[2]
    following = (first + text.count("\n", 0, length), len(unfinished))
    if length == len(text):
        following = (first + len(lines), 0) if len(parts) > PARTS else (wanted.end_line, 0)
    elif not unfinished:
        answer["text"] = answer["text"].removesuffix("\n")
    if following[0] < wanted.end_line:
        answer["truncated"] = "There are more lines. Send `next_cursor` for the rest."
        answer["next_cursor"] = cursor_of("{}-{}".format(*following), *question)
    return answer


def markdown_of(read: ReadKnowledge, part: PagePart, outline: PageOutline, section: Heading | None = None) -> str:
    """Returns the headings that begin with an explanation, and its text.

    The last heading has the end of the link that leads to it, as in Pandoc's Markdown.
    """
    fragment = read.url(part.material, part.anchor, part.content).partition("#")[2]
    headings = [
        f"{heading} {{#{fragment}}}" if anchor and fragment else heading
        for heading, anchor in outline.lines(part.position, section)
    ]
    return "\n\n".join([*headings, part.body])


def _place_in(texts: Sequence[str], length: int) -> tuple[int, int]:
    """Returns where a character of the joined texts is: the number of its text, and its place there."""
    for number, text in enumerate(texts):
        if length < len(text):
            return number, max(0, length)
        length -= len(text) + len(_BETWEEN)
    return len(texts), 0


def find_text(read: ReadKnowledge, wanted: FindArguments) -> Answer:
    """Answers `find_text`. A cursor has the place before an explanation, its lines that were shown, its page."""
    filters = read.within(wanted.filters)
    question = ("find_text", wanted.text, asdict(filters))
    after, lines = None, 0
    if wanted.cursor is not None:
        place, first, material = position_of(wanted.cursor, *question).split(" ", 2)
        after, lines = (material, int(place)), int(first)
    page = read.find(wanted.text, filters, after)
    if not page.matches and page.last is None and after is None:
        read.check_filters(filters)
    places = [(match, number) for match in page.matches for number in match.lines][lines:]
    answer: Answer = {"places": [], "read": page.read, "next_cursor": None}
    add_link_note(answer, read.base_url, has_links=bool(places))
    views = _within((_place_view(read, match, line, wanted.text) for match, line in places), tokens=wanted.max_tokens)
    shown = add_fitting(answer, "places", views)
    if shown < len(places):
        match, number = places[shown]
        start = f"{match.position - 1} {match.lines.index(number)} {match.material}"
        answer["next_cursor"] = cursor_of(start, *question)
    elif page.last is not None:
        answer["next_cursor"] = cursor_of(f"{page.last[1]} 0 {page.last[0]}", *question)
    if answer["next_cursor"]:
        answer["truncated"] = "Not everything was searched. Send `next_cursor` to go on."
    return answer


def _place_view(read: ReadKnowledge, match: TextMatch, number: int, text: str) -> Answer:
    lines = match.content.split("\n")
    before = next((beside for beside in reversed(lines[: number - 1]) if plain_text(beside)), "")
    after = next((beside for beside in lines[number:] if plain_text(beside)), "")
    return {
        "id": match.id,
        "url": read.url(match.material, match.anchor, match.content),
        "title": match.title,
        "line": number,
        "before": excerpt(before, length=_BESIDE, keeps_lines=True),
        "text": excerpt(lines[number - 1], around=[text], length=_LINE, keeps_lines=True),
        "after": excerpt(after, length=_BESIDE, keeps_lines=True),
    }


def _within(views: Iterable[Answer], *, tokens: int) -> list[Answer]:
    """Returns the first places that have about so many tokens together, at least one."""
    fitting: list[Answer] = []
    for view in views:
        tokens -= _PLACE_TOKENS + estimated_tokens("".join(view[name] for name in ("before", "text", "after")))
        if tokens < 0 and fitting:
            break
        fitting.append(view)
    return fitting


def list_concepts(read: ReadKnowledge, wanted: ListArguments) -> Answer:
    """Answers `list_concepts`. A cursor has the place in its page and the page of the last concept."""
    filters = read.within(wanted.filters)
    question = ("list_concepts", asdict(filters))
    after = None
    if wanted.cursor is not None:
        place, _, material = position_of(wanted.cursor, *question).partition(" ")
        after = (material, int(place))
    concepts, has_more = read.concepts(filters, after)
    if not concepts:
        read.check_filters(filters)
    answer: Answer = {"concepts": [], "next_cursor": None}
    add_link_note(answer, read.base_url, has_links=bool(concepts))
    entries = [
        {name: getattr(item, name) for name in ("id", "title", "type")}
        | {"url": read.url(item.material, item.anchor, item.text)}
        for item in concepts
    ]
    shown = add_fitting(answer, "concepts", entries)
    if has_more or shown < len(concepts):
        last = concepts[shown - 1]
        answer["next_cursor"] = cursor_of(f"{last.position} {last.material}", *question)
    return answer


def list_materials(read: ReadKnowledge, wanted: MaterialArguments) -> Answer:
    """Answers `list_materials`. A cursor has the name of the last page."""
    filters = read.within(wanted.filters)
    question = ("list_materials", filters.folder)
    after = None if wanted.cursor is None else position_of(wanted.cursor, *question)
    materials, has_more = read.materials(filters, after)
    if not materials:
        read.check_filters(filters)
    values = asdict(read.filter_values())
    del values["materials"]
    if not values["fields"]:
        del values["fields"]
    answer: Answer = {"materials": [], "filters": values, "next_cursor": None}
    if wanted.cursor is None:
        library, *folders = map(asdict, read.places(filters))
        answer = {"about": library | {"folders": folders}} | answer
    add_link_note(answer, read.base_url, has_links=bool(materials))
    entries = [asdict(item) | {"url": page_link(item.material, read.base_url)} for item in materials]
    shown = add_fitting(answer, "materials", entries)
    if has_more or shown < len(materials):
        answer["next_cursor"] = cursor_of(materials[shown - 1].material, *question)
    return answer
