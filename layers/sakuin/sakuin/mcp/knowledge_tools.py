"""The tools of the knowledge endpoint as MCP tools."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mcp_types import CallToolResult, Tool, ToolAnnotations
from pydantic import BaseModel

from sakuin.arguments import (
    ChatGptSearchArguments,
    ChunkArguments,
    FeedbackArguments,
    FetchArguments,
    FindArguments,
    ListArguments,
    MaterialArguments,
    PageArguments,
    SearchArguments,
    schema_of,
)
from sakuin.errors import NotFound, SakuinError
from sakuin.knowledge.line_pattern import exact_pattern, postgres_pattern
from sakuin.knowledge.model import (
    Hit,
    KnowledgeAnswer,
    LocatedText,
    PagePart,
    Place,
    StoredChunk,
    TextMatch,
    learns_author,
)
from sakuin.knowledge.names import has_host, page_link
from sakuin.knowledge.postgres_search import PARTS, ReadKnowledge
from sakuin.knowledge.reading.markdown import plain_text
from sakuin.knowledge.search import KnowledgeSearches
from sakuin.mcp import knowledge_schemas as schemas
from sakuin.mcp.answers import (
    NOTE,
    Answer,
    RecordRefused,
    add_fitting,
    add_text,
    add_texts,
    answered,
    counted,
    failed,
    is_weak,
    noted,
    record_nothing,
    unnoted,
    visible_answer,
)
from sakuin.mcp.cursors import cursor_of, numbers_of, position_of
from sakuin.mcp.schemas import COUNTS, READ_ONLY
from sakuin.platform.telemetry import NO_METER, Meter, count_search
from sakuin.retrieval.excerpt import excerpt
from sakuin.retrieval.tokens import estimated_tokens

# Longer items of `learns` are cut in results, so that five results always fit. get_chunk_by_id has them whole.
_ITEM_LENGTH = 150
# ChatGPT reads what it needs with `fetch`.
_CHATGPT_RESULTS = 10
# A shorter part of `content`, in tokens, tells little more than `excerpt`.
_LEAST_PART = 100
# Characters of a found line, and of each of its neighbours.
_LINE, _BESIDE = 300, 150
# Of the names and the link of a place: blank lines are not free either.
_PLACE_TOKENS = 20
# Between two explanations of a page.
_BETWEEN = "\n\n"
# Sections named in an error.
_SECTIONS = 30
_METADATA = ("type", "category", "level", "language", "material", "page_title", "section")
# Tools whose descriptions say what the library is.
_FIRST = ("search_knowledge", "search")
_RELATIVE_LINKS = "Links are relative (BaseUrl is not set): put the address of the site in front."

# Takes the id of an explanation ("" for none), the question, and whether it answered.
RecordFeedback = Callable[[str, str, bool], None]

logger = logging.getLogger(__name__)


def _count_nothing(_id: str, _question: str, _is_answered: bool) -> None:
    """Counts no feedback."""


@dataclass(frozen=True, slots=True)
class KnowledgeTools:
    """The tools of the library; `for_chatgpt` adds `search` and `fetch`, which ChatGPT's connectors expect.

    `record_refused` records questions without a good match, or with a weak one. `places` returns what is in the folder
    of a caller, as `ReadKnowledge.places` does; it may be a minute old. `record_feedback` counts what agents say of
    answers; `has_feedback_tool` lists the tool for it.
    """

    searches: KnowledgeSearches
    read: ReadKnowledge
    meter: Meter = NO_METER
    for_chatgpt: bool = False
    record_refused: RecordRefused = record_nothing
    places: Callable[[str], Sequence[Place]] = lambda _folder: ()
    record_feedback: RecordFeedback = _count_nothing
    has_feedback_tool: bool = False

    def within(self, folder: str) -> "KnowledgeTools":
        """Returns the tools of a caller who may read only this folder; the whole library if it is empty."""
        return replace(self, read=replace(self.read, folder=folder)) if folder else self

    def listed(self) -> list[Tool]:
        """Returns the tools for `tools/list`, always in this order. Those to begin with say what the library is."""
        about = "".join(f" This library: {schemas.said_of(own)}" for own in self.known_places()[:1])
        return [
            tool.shown.model_copy(update={"description": f"{tool.shown.description}{about}"})
            if tool.shown.name in _FIRST
            else tool.shown
            for tool in self._tools()
        ]

    def instructions(self) -> str:
        """Returns the instructions of the server to the caller."""
        return schemas.instructions_of(self.known_places())

    def known_places(self) -> Sequence[Place]:
        """Returns what the caller's folder is, then its described folders; none if the database does not answer."""
        try:
            return self.places(self.read.folder)
        except SakuinError:
            logger.warning("the tools are listed without what the library is", exc_info=True)
            return ()

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """Returns the input schema of a tool; None for an unknown name."""
        return next((tool.shown.input_schema for tool in self._tools() if tool.shown.name == name), None)

    def call(self, name: str, arguments: dict[str, Any] | None) -> CallToolResult | None:
        """Returns the answer of a tool, or its error; None for an unknown name."""
        tool = next((tool for tool in self._tools() if tool.shown.name == name), None)
        if tool is None:
            return None
        try:
            with counted(self.meter):
                answer = tool.run(self, tool.arguments.model_validate(arguments or {}))
        except Exception as error:
            return failed(error)
        return (unnoted if tool in _CHATGPT_TOOLS else answered)(visible_answer(answer))

    def _tools(self) -> tuple["_Tool", ...]:
        chatgpt = _CHATGPT_TOOLS if self.for_chatgpt else ()
        return (*_TOOLS, *(_FEEDBACK if self.has_feedback_tool else ()), *chatgpt)

    def answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Returns the structured content that a tool answers with, listed or not, or raises its error."""
        tool = next(tool for tool in (*_TOOLS, *_FEEDBACK) if tool.shown.name == name)
        with counted(self.meter):
            return noted(visible_answer(tool.run(self, tool.arguments.model_validate(arguments))))

    def run_search(self, wanted: SearchArguments) -> Answer:
        """Runs `search_knowledge`. A cursor has the number of results before it, and the `top_k` of the first call.

        Of several questions, the results are all in one list.
        """
        filters = self.read.within(wanted.filters)
        question = ("search_knowledge", wanted.questions, asdict(filters))
        start, end = (0, wanted.top_k) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
        search = self.searches.knowledge_search()
        found = [search(query, top_k=end, filters=filters) for query in wanted.questions]
        for each in found:
            count_search(self.meter, "Searches", is_empty=each.no_good_match, degraded=each.degraded)
        hits = _fused(found, limit=end) if wanted.queries else found[0].results
        if not hits:
            self.read.check_filters(filters)
        for each in found:
            # By words alone, an answer may not have been found.
            weak = not each.no_good_match and is_weak(hit.similarity for hit in each.results)
            if (each.no_good_match or weak) and each.degraded is None:
                self.record_refused(each.query, None, weak)
        answer: Answer = {"query": found[0].query, "results": []} | _of_question(found[0])
        if wanted.queries:
            parts = [_of_question(each) | {"ids": []} for each in found]
            answer = {"queries": parts, "results": [], "no_good_match": all(each.no_good_match for each in found)}
        if degraded := next((each.degraded for each in found if each.degraded), None):
            answer["degraded"] = degraded
        self._add_link_note(answer, has_links=bool(hits))
        results = _results(hits[start:], max_tokens=wanted.max_tokens)
        shown = start + _add_results(answer, results, found if wanted.queries else ())
        if shown < len(hits):
            answer["truncated"] = f"{shown} of {len(hits)} results so far. Send `next_cursor` for the others."
            answer["next_cursor"] = cursor_of(f"{shown}-{end}", *question)
        return answer

    def run_chunk(self, wanted: ChunkArguments) -> Answer:
        """Runs `get_chunk_by_id`. A cursor has the number of chunks before it, and of characters of the next one."""
        names = wanted.names
        question = ("get_chunk_by_id", names, wanted.neighbours)
        first, offset = (0, 0) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
        result = self.read.chunks(names, with_neighbours=wanted.neighbours)
        missing = [name for name, chunk in zip(names, result, strict=True) if chunk is None]
        if wanted.id is not None and missing:
            raise NotFound(f"There is no chunk {wanted.id!r}. Use an id from search_knowledge or list_concepts")
        chunks = [chunk for chunk in result if chunk is not None][first:]
        answer: Answer = {"chunks": [], "missing": missing, "next_cursor": None}
        self._add_link_note(answer, has_links=bool(chunks))
        views = [self._chunk_view(chunk, has_neighbours=wanted.neighbours) for chunk in chunks]
        if rest := add_texts(answer, views, offset=offset):
            complete, characters = rest
            answer["truncated"] = (
                f"The text has {len(chunks[0].content):,} characters; these end at {characters:,}."
                if characters
                else f"{complete} of {len(chunks)} chunks fit."
            ) + " Send `next_cursor` for the rest."
            answer["next_cursor"] = cursor_of(f"{first + complete}-{characters}", *question)
        return answer if wanted.id is None else _of_one(answer)

    def run_concepts(self, wanted: ListArguments) -> Answer:
        """Runs `list_concepts`. A cursor has the place in its page and the page of the last concept."""
        filters = self.read.within(wanted.filters)
        question = ("list_concepts", asdict(filters))
        after = None
        if wanted.cursor is not None:
            place, _, material = position_of(wanted.cursor, *question).partition(" ")
            after = (material, int(place))
        concepts, has_more = self.read.concepts(filters, after)
        if not concepts:
            self.read.check_filters(filters)
        answer: Answer = {"concepts": [], "next_cursor": None}
        self._add_link_note(answer, has_links=bool(concepts))
        entries = [
            {name: getattr(item, name) for name in ("id", "title", "type")}
            | {"url": self.read.url(item.material, item.anchor, item.text)}
            for item in concepts
        ]
        shown = add_fitting(answer, "concepts", entries)
        if has_more or shown < len(concepts):
            last = concepts[shown - 1]
            answer["next_cursor"] = cursor_of(f"{last.position} {last.material}", *question)
        return answer

    def run_materials(self, wanted: MaterialArguments) -> Answer:
        """Runs `list_materials`. A cursor has the name of the last page."""
        filters = self.read.within(wanted.filters)
        question = ("list_materials", filters.folder)
        after = None if wanted.cursor is None else position_of(wanted.cursor, *question)
        materials, has_more = self.read.materials(filters, after)
        if not materials:
            self.read.check_filters(filters)
        values = asdict(self.read.filter_values())
        del values["materials"]
        answer: Answer = {"materials": [], "filters": values, "next_cursor": None}
        if wanted.cursor is None:
            own, *folders = map(asdict, self.read.places(filters))
            answer = {"about": own | {"folders": folders}} | answer
        self._add_link_note(answer, has_links=bool(materials))
        entries = [asdict(item) | {"url": page_link(item.material, self.read.base_url)} for item in materials]
        shown = add_fitting(answer, "materials", entries)
        if has_more or shown < len(materials):
            answer["next_cursor"] = cursor_of(materials[shown - 1].material, *question)
        return answer

    def run_page(self, wanted: PageArguments) -> Answer:
        """Runs `read_page`. A cursor has the place of an explanation in its page, and of a character in its text."""
        if wanted.wants_lines:
            return self._page_lines(wanted)
        question = ("read_page", wanted.page, wanted.section)
        position, offset = (None, 0) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
        parts = self.read.page(wanted.page, section=wanted.section, position=position)
        if not parts:
            raise self._no_part(wanted)
        material, title = parts[0].material, parts[0].page_title
        answer: Answer = {"material": material, "title": title, "url": self.read.url(material, "")}
        answer |= {"text": "", "next_cursor": None}
        self._add_link_note(answer, has_links=True)
        texts = [self._markdown(part) for part in parts[:PARTS]]
        length = offset + add_text(answer, _BETWEEN.join(texts)[offset:], max_tokens=wanted.max_tokens)
        number, rest = _place_in(texts, length)
        if number < len(parts):
            if rest == 0:
                answer["text"] = answer["text"].rstrip("\n") + _BETWEEN
            answer["truncated"] = "The page goes on. Send `next_cursor` for the rest."
            answer["next_cursor"] = cursor_of(f"{parts[number].position}-{rest}", *question)
        return answer

    def _page_lines(self, wanted: PageArguments) -> Answer:
        """Reads lines as they are stored. A cursor has the next line, and how many of its characters were given."""
        question = ("read_page", wanted.page, wanted.section, wanted.line, wanted.lines)
        first, offset = (wanted.first_line, 0) if wanted.cursor is None else numbers_of(wanted.cursor, *question)
        parts = self.read.page(wanted.page, section=wanted.section, line=first)
        if not parts:
            raise self._no_part(wanted)
        part = parts[0]
        answer: Answer = {"material": part.material, "title": part.page_title}
        answer |= {"url": self.read.url(part.material, part.anchor, part.content), "line": first}
        answer |= {"text": "", "next_cursor": None}
        self._add_link_note(answer, has_links=True)
        lines = "\n".join(each.content for each in parts[:PARTS]).split("\n")[first - part.line :]
        text = "\n".join(lines[: wanted.end_line - first])
        length = offset + add_text(answer, text[offset:], max_tokens=wanted.max_tokens)
        rest = text[:length].rpartition("\n")[2]
        following = (first + text.count("\n", 0, length), len(rest))
        if length == len(text):
            following = (first + len(lines), 0) if len(parts) > PARTS else (wanted.end_line, 0)
        elif not rest:
            answer["text"] = answer["text"].removesuffix("\n")
        if following[0] < wanted.end_line:
            answer["truncated"] = "There are more lines. Send `next_cursor` for the rest."
            answer["next_cursor"] = cursor_of("{}-{}".format(*following), *question)
        return answer

    def _no_part(self, wanted: PageArguments) -> NotFound:
        has_more = wanted.section is not None or wanted.wants_lines
        parts = self.read.page(wanted.page) if has_more else ()
        if not parts:
            return NotFound(f"There is no page {wanted.page!r}. list_materials lists the pages")
        if wanted.wants_lines and self.read.page(wanted.page, section=wanted.section):
            return NotFound(f"There is no line {wanted.first_line:,}: the text ends before")
        titles = dict.fromkeys(title for part in parts for title in (part.section, part.title) if title)
        return NotFound(f"The page has no section {wanted.section!r}. It has: {', '.join([*titles][:_SECTIONS])}")

    def _markdown(self, part: PagePart) -> str:
        """Returns a heading with the end of the link that leads to it, as in Pandoc's Markdown, and the text."""
        fragment = self.read.url(part.material, part.anchor, part.content).partition("#")[2]
        return f"## {part.title}{f' {{#{fragment}}}' if fragment else ''}\n\n{part.body}"

    def run_find(self, wanted: FindArguments) -> Answer:
        """Runs `find_text`. A cursor has the place before an explanation, its lines that were shown, its page."""
        filters = self.read.within(wanted.filters)
        question = ("find_text", wanted.text, wanted.pattern, asdict(filters))
        after, lines = None, 0
        if wanted.cursor is not None:
            place, first, material = position_of(wanted.cursor, *question).split(" ", 2)
            after, lines = (material, int(place)), int(first)
        pattern = exact_pattern(wanted.text) if wanted.text is not None else postgres_pattern(wanted.pattern or "")
        found = self.read.find(pattern, filters, after)
        if not found.matches and found.last is None and after is None:
            self.read.check_filters(filters)
        places = [(match, number) for match in found.matches for number in match.lines][lines:]
        answer: Answer = {"places": [], "read": found.read, "next_cursor": None}
        self._add_link_note(answer, has_links=bool(places))
        views = _within(
            (self._place_view(match, line, wanted.text or "") for match, line in places), tokens=wanted.max_tokens
        )
        shown = add_fitting(answer, "places", views)
        if shown < len(places):
            match, number = places[shown]
            start = f"{match.position - 1} {match.lines.index(number)} {match.material}"
            answer["next_cursor"] = cursor_of(start, *question)
        elif found.last is not None:
            answer["next_cursor"] = cursor_of(f"{found.last[1]} 0 {found.last[0]}", *question)
        if answer["next_cursor"]:
            answer["truncated"] = "Not everything was searched. Send `next_cursor` to go on."
        return answer

    def _place_view(self, match: TextMatch, number: int, text: str) -> Answer:
        lines = match.content.split("\n")
        before = next((beside for beside in reversed(lines[: number - 1]) if plain_text(beside)), "")
        after = next((beside for beside in lines[number:] if plain_text(beside)), "")
        return {
            "id": match.id,
            "url": self.read.url(match.material, match.anchor, match.content),
            "title": match.title,
            "line": number,
            "before": excerpt(before, length=_BESIDE),
            "text": excerpt(lines[number - 1], around=[text], length=_LINE),
            "after": excerpt(after, length=_BESIDE),
        }

    def run_feedback(self, wanted: FeedbackArguments) -> Answer:
        """Runs `give_feedback`."""
        chunk = self.read.chunks([wanted.id])[0] if wanted.id is not None else None
        if wanted.id is not None and chunk is None:
            raise NotFound(f"There is no chunk {wanted.id!r}. Use an id from search_knowledge")
        id = chunk.id if chunk else ""
        self.record_feedback(id, wanted.query, wanted.answered)
        return {"id": id or None, "answered": wanted.answered}

    def run_chatgpt_search(self, wanted: ChatGptSearchArguments) -> Answer:
        """Runs `search`: the results of `search_knowledge` as names and links."""
        result = self.run_search(SearchArguments(query=wanted.query, top_k=_CHATGPT_RESULTS, max_tokens=0))
        return {"results": [{name: hit[name] for name in ("id", "title", "url")} for hit in result["results"]]}

    def run_fetch(self, wanted: FetchArguments) -> Answer:
        """Runs `fetch`: the answer of `get_chunk_by_id`, with the text of the explanation as `text`."""
        result = self.run_chunk(ChunkArguments(id=wanted.id))
        chunk = result["chunk"]
        metadata = {"note": NOTE, "learns": " / ".join(chunk["learns"])}
        metadata |= {name: chunk[name] for name in _METADATA if chunk[name]}
        if "next_cursor" in result:
            metadata["truncated"] = "The text is longer: get_chunk_by_id gives the rest for this id and `next_cursor`."
            metadata["next_cursor"] = result["next_cursor"]
        document = {name: chunk[name] for name in ("id", "title", "url")}
        return {**document, "text": chunk["content"], "metadata": metadata}

    def _add_link_note(self, answer: Answer, *, has_links: bool) -> None:
        if has_links and not has_host(self.read.base_url):
            answer["links"] = _RELATIVE_LINKS

    def _chunk_view(self, chunk: StoredChunk, *, has_neighbours: bool) -> Answer:
        view = asdict(chunk) | {"url": self.read.url(chunk.material, chunk.anchor, chunk.content)}
        view["learns_by"] = learns_author(view.pop("learns_source"))
        for side, beside in (("previous", chunk.previous), ("next", chunk.next)):
            del view[side]
            if has_neighbours:
                view[side] = self._neighbour_view(beside) if beside else None
        return view

    def _neighbour_view(self, beside: LocatedText) -> Answer:
        url = self.read.url(beside.material, beside.anchor, beside.content)
        return {"id": beside.id, "url": url, "title": beside.title, "content": beside.content}


@dataclass(frozen=True, slots=True)
class _Tool:
    shown: Tool
    arguments: type[BaseModel]
    run: Callable[[KnowledgeTools, Any], Answer]


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[BaseModel],
    output: Any,
    run: Callable[[KnowledgeTools, Any], Answer],
    annotations: ToolAnnotations = READ_ONLY,
) -> _Tool:
    shown = Tool(
        name=name,
        title=title,
        description=description,
        input_schema=schema_of(arguments),
        output_schema=output,
        annotations=annotations,
    )
    return _Tool(shown, arguments, run)


_TOOLS = (
    _tool(
        "search_knowledge",
        "Search pages",
        schemas.SEARCH,
        SearchArguments,
        schemas.SEARCH_OUTPUT,
        KnowledgeTools.run_search,
    ),
    _tool(
        "get_chunk_by_id",
        "Read explanations",
        schemas.CHUNK,
        ChunkArguments,
        schemas.CHUNK_OUTPUT,
        KnowledgeTools.run_chunk,
    ),
    _tool(
        "list_concepts",
        "List concepts",
        schemas.CONCEPTS,
        ListArguments,
        schemas.CONCEPTS_OUTPUT,
        KnowledgeTools.run_concepts,
    ),
    _tool(
        "list_materials",
        "List pages",
        schemas.MATERIALS,
        MaterialArguments,
        schemas.MATERIALS_OUTPUT,
        KnowledgeTools.run_materials,
    ),
    _tool("read_page", "Read a page", schemas.PAGE, PageArguments, schemas.PAGE_OUTPUT, KnowledgeTools.run_page),
    _tool("find_text", "Find exact text", schemas.FIND, FindArguments, schemas.FIND_OUTPUT, KnowledgeTools.run_find),
)

_FEEDBACK = (
    _tool(
        "give_feedback",
        "Say whether a result answered",
        schemas.FEEDBACK,
        FeedbackArguments,
        schemas.FEEDBACK_OUTPUT,
        KnowledgeTools.run_feedback,
        COUNTS,
    ),
)

_CHATGPT_TOOLS = (
    _tool(
        "search",
        "Search pages",
        schemas.CHATGPT_SEARCH,
        ChatGptSearchArguments,
        schemas.CHATGPT_SEARCH_OUTPUT,
        KnowledgeTools.run_chatgpt_search,
    ),
    _tool(
        "fetch", "Read an explanation", schemas.FETCH, FetchArguments, schemas.FETCH_OUTPUT, KnowledgeTools.run_fetch
    ),
)


def _of_question(found: KnowledgeAnswer) -> Answer:
    understood = {"understood_as": found.understood_as} if found.understood_as is not None else {}
    phrases = {"not_exact": found.not_exact} if found.not_exact is not None else {}
    return {"query": found.query, **understood, "no_good_match": found.no_good_match, **phrases}


def _fused(found: Sequence[KnowledgeAnswer], *, limit: int) -> Sequence[Hit]:
    """Returns the best hits of all questions by falling similarity, each once.

    The first of each question is among them; the others are at most as many as `limit` leaves.
    """
    best: dict[str, Hit] = {}
    for hit in (hit for each in found for hit in each.results):
        if hit.id not in best or hit.similarity > best[hit.id].similarity:
            best[hit.id] = hit
    firsts = dict.fromkeys(each.results[0].id for each in found if each.results)
    by_similarity = sorted(best.values(), key=lambda hit: -hit.similarity)
    others = [hit.id for hit in by_similarity if hit.id not in firsts][: max(0, limit - len(firsts))]
    return [hit for hit in by_similarity if hit.id in firsts or hit.id in others]


def _add_results(answer: Answer, results: Sequence[Answer], questions: Sequence[KnowledgeAnswer]) -> int:
    """Adds as many results as fit, and to each of several questions the ids of its own. Returns how many."""
    own = [{hit.id for hit in question.results} for question in questions]
    for result in results if own else ():
        # As long as what it adds to the questions.
        result["ids"] = [result["id"] for ids in own if result["id"] in ids]
    shown = add_fitting(answer, "results", results, optional="content")
    for result in answer["results"]:
        result.pop("ids", None)
    for question, ids in zip(answer.get("queries", ()), own, strict=True):
        question["ids"] = [result["id"] for result in answer["results"] if result["id"] in ids]
    return shown


def _results(hits: Sequence[Hit], *, max_tokens: int) -> list[Answer]:
    """Returns results whose `content` has about `max_tokens` together: whole ones, best first, then a part of one."""
    results: list[Answer] = []
    for hit in hits:
        result = asdict(hit) | {"learns": [excerpt(item, length=_ITEM_LENGTH) for item in hit.learns]}
        tokens = estimated_tokens(hit.content)
        if tokens > max_tokens >= _LEAST_PART:
            length = len(hit.content) * max_tokens // tokens
            part = excerpt(hit.content, around=hit.matched, length=length, keeps_lines=True)
            result |= {"content": part, "is_cut": True}
        elif tokens > max_tokens:
            del result["content"]
        max_tokens = max(0, max_tokens - tokens)
        results.append(result)
    return results


def _place_in(texts: Sequence[str], length: int) -> tuple[int, int]:
    """Returns where a character of the joined texts is: the number of its text, and its place there."""
    for number, text in enumerate(texts):
        if length < len(text):
            return number, max(0, length)
        length -= len(text) + len(_BETWEEN)
    return len(texts), 0


def _within(views: Iterable[Answer], *, tokens: int) -> list[Answer]:
    """Returns the first places that have about so many tokens together, at least one."""
    fitting: list[Answer] = []
    for view in views:
        tokens -= _PLACE_TOKENS + estimated_tokens("".join(view[name] for name in ("before", "text", "after")))
        if tokens < 0 and fitting:
            break
        fitting.append(view)
    return fitting


def _of_one(answer: Answer) -> Answer:
    """Returns the answer about one `id`."""
    shown = {name: answer[name] for name in ("links", "truncated", "next_cursor") if answer.get(name)}
    return {"chunk": answer["chunks"][0], **shown}
