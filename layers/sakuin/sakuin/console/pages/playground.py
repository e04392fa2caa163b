"""The page Ask: a question as an agent asks it, the answer as people read it, and why it is that one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from markupsafe import Markup

from sakuin.console.content import marked, rendered
from sakuin.console.forms import href
from sakuin.console.pages.library import framed
from sakuin.console.shell import Reader, Visit, language_of
from sakuin.errors import Invalid, NotFound, OverLimit, SakuinError
from sakuin.explain.ask_mcp import question_of
from sakuin.http.gaps import payer_of
from sakuin.knowledge.names import chunk_id, chunk_of_link, split_chunk_id
from sakuin.language.tex import plain_tex
from sakuin.language.unicode_text import estimated_tokens, visible, with_escapes
from sakuin.mcp.answers import visible_values
from sakuin.platform.http_errors import http_error
from sakuin.tables.json_pointer import is_within
from sakuin.tables.model import Tool
from sakuin.texts.catalogue import coded

LIBRARY = "library"
FILTERS = ("type", "category", "level", "language", "material", "in")
# The chunks that are explained, at least, and those of them that are listed below the answer.
_EXPLAINED, _BELOW = 20, 5
_TYPES = ("rule", "method", "definition", "example", "tip")
_EXCERPT = 160
# So many characters of results are shown as HTML: a page has 80 kB, and a formula is about ten times longer there.
_MOST_SHOWN = 5_000
# What is said of an error, below `playground.`.
_PROBLEMS = {OverLimit: "too_many", NotFound: "gone"}
# The ranks that belong to numbers of a hit.
_RANKS = {"z": "nearest_rank", "words": "matching_rank"}
# The bar of a number of deviations ends here at least; one unrelated text in forty has more than two of them.
_DEVIATIONS, _BY_CHANCE = 10.0, 2.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A number of a hit as a bar: its length and what an unrelated text has by chance, 0-100, and its rank."""

    name: str
    value: float
    length: float
    chance: float | None
    rank: int | None


def bars(
    hit: Mapping[str, Any], hits: Sequence[Mapping[str, Any]], below: Sequence[Mapping[str, Any]]
) -> Iterator[Bar]:
    """Yields a bar for each feature of a hit that its explanation has.

    A feature that nowhere exceeds 1 is a share: by chance a text has what the middle one of those below the answer has.
    """
    for name, value in _features(hit).items():
        most = max(_features(each).get(name) or 0.0 for each in hits)
        others = [_features(each).get(name) or 0.0 for each in below]
        top, chance = (1.0, median(others) if others else None) if most <= 1 else (max(most, _DEVIATIONS), _BY_CHANCE)
        length = 100 * max(0.0, min(value / top, 1.0))
        yield Bar(name, value, length, None if chance is None else 100 * chance / top, hit.get(_RANKS.get(name, "")))


def _features(hit: Mapping[str, Any]) -> dict[str, float]:
    features = {name: hit.get(name) for name in _RANKS} | (hit.get("features") or {})
    return {name: value for name, value in features.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Card:
    """One result.

    `place` is the id of a chunk, or the json_pointer of a node, exactly; `href` opens it, None if it has no link.
    `facts` are short words about it. What is shown has no invisible characters. `label` is the line of labelled
    questions that makes it the right answer.
    """

    title: str
    place: str
    label: str
    href: str | None = None
    similarity: float | None = None
    learns: Sequence[str] = ()
    text: str = ""
    missing: Sequence[str] = ()
    facts: Sequence[str] = ()

    @property
    def shown_place(self) -> str:
        """The place without invisible characters."""
        return visible(self.place)

    @property
    def html(self) -> Markup:
        """The content as a reader of the page sees it."""
        return rendered(self.text, self.href or "")

    @property
    def markdown(self) -> str:
        """The result as Markdown."""
        return f"## {self.title}\n\n{self.text}\n\n{self.href or self.shown_place}"

    def excerpt(self, words: Sequence[str]) -> Markup:
        """Returns the beginning with the words of the question marked."""
        return marked(plain_tex(" ".join(self.text[:_EXCERPT].split())), words)


def readable(explanation: Mapping[str, Any], query: str) -> dict[str, Any]:
    """Returns the answer of the library or of a Tool to a question, for people.

    `results` are cards. `index_state` is that of a Tool, empty for the library. `json` is indented; it shows invisible
    characters as escapes. `no_label` is the line of labelled questions that says that there is no right answer.
    """
    answer = explanation["answer"]
    content, text = answer["structured"] or {}, answer["text"]
    ids = {hit["url"]: hit["id"] for hit in explanation.get("results", ())}
    return {
        **{name: content.get(name) for name in ("understood_as", "degraded", "truncated")},
        "results": [_card(each, ids, query) for each in content.get("results", ())],
        "not_in_scope": [visible(each) for each in content.get("not_in_scope", ())],
        "is_refused": bool(content.get("no_good_match")),
        "has_relative_links": "links" in content,
        "index_state": content.get("index", {}).get("state", ""),
        "json": with_escapes(json.dumps(content, ensure_ascii=False, indent=1)) if content else "",
        "text": with_escapes(text),
        "tokens": estimated_tokens(text),
        "no_label": _label(query, []),
    }


def _label(query: str, gold: Sequence[str]) -> str:
    line = {"query": query, "gold": gold, "category": "playground"}
    return with_escapes(json.dumps(line, ensure_ascii=False))


def _card(result: Mapping[str, Any], ids: Mapping[str, str], query: str) -> Card:
    chunk, entry = result.get("chunk") or result, result.get("entry")
    fields = (result.get("object") or {}).get("fields", {}) if entry is None else entry
    heading = next((each for each in (entry or {}).values() if isinstance(each, str)), result.get("json_path"))
    is_node = "json_path" in result
    place = chunk["json_pointer"] if is_node else ids.get(result["url"], result["url"])
    title = (fields.get("title") or fields.get("name") or heading or "/") if is_node else result["title"]
    facts = [f"{name}: {value}" for name, value in fields.items() if isinstance(value, str | int | float)]
    return Card(
        title=visible(str(title)) or place,
        place=place,
        label=_label(query, [place]),
        href=None if is_node else href(result["url"]),
        similarity=result.get("similarity"),
        learns=[visible(item) for item in result.get("learns", ())],
        text=visible(chunk.get("chunk_text") or result.get("content") or result.get("excerpt") or ""),
        missing=[visible(each) for each in result.get("missing", ())],
        facts=[visible(fact) for fact in facts or filter(None, [result.get("section")])],
    )


router = APIRouter()


@router.get("/playground")
def show_playground(visit: Reader, q: str = "", target: str = "", expected: str = "") -> Response:
    """Shows the form, and with a question `q` the answer. The address may be sent to somebody else.

    `target` is the library or the id of a Tool, `expected` what the reader misses in the results.
    """
    shell, expected = visit.shell, expected.strip()
    places = shell.rest.gaps.places
    projects, has_library = places.projects(visit.user), places.may_search_library(visit.user)
    target = target or (LIBRARY if has_library else _first(projects))
    if target == LIBRARY and not has_library:
        raise NotFound(coded("form.no_tool"))
    tool = places.tool(visit.user, target) if target and target != LIBRARY else None
    mcp_id = places.endpoint(visit.user, tool) if tool else None
    values = {name: visit.request.query_params.get(name, "").strip() for name in ("top_k", *FILTERS)}
    form: dict[str, Any] = {
        "projects": projects,
        "has_library": has_library,
        "target": target,
        "tool": tool,
        "mcp_id": mcp_id,
        "q": q,
        "expected": expected,
        "given": values | {"top_k": values["top_k"] or "5"},
        "filters": _chips(visit, {**values, "expected": expected}),
        "types": _TYPES,
        "known": shell.read.filter_values() if target == LIBRARY else None,
    }
    if not q.strip() or not (mcp_id or target == LIBRARY):
        return visit.page("playground.html", **form, answer=None, problem=None)
    payer, chunk = payer_of(visit.user, tool), _expected(expected, tool, shell.read.base_url)
    try:
        question = question_of(_question(q, values, tool, mcp_id, chunk))
        language = language_of(visit.request).language
        explanation = shell.rest.explain(question, payer=payer, language=language, with_answer=True)
    except Invalid as error:
        # An agent gets it, too.
        wrong = {"structured": None, "text": str(error), "is_error": True, "size": 0, "milliseconds": 0}
        explanation = {"answer": wrong}
    except SakuinError as error:
        status, why = http_error(error, visit.request.headers).status, _PROBLEMS.get(type(error), "no_answer")
        problem: dict[str, Any] = {"problem": error, "problem_text": f"playground.{why}"}
        return visit.page("playground.html", status=status, **form, answer=None, **problem)
    readable_answer, answer = readable(explanation, q), explanation.pop("answer")
    shown = _explained(visible_values(explanation), readable_answer["results"])
    original = next((card.href for card in readable_answer["results"] if card.href), "")
    shown["frames"] = framed(original, visit)
    shown["unknown"] = expected if chunk is None else ""
    shown |= _calls(visit.origin, q, values, tool, mcp_id)
    return visit.page("playground.html", **form, answer=answer, shown=readable_answer, problem=None, **shown)


def _explained(explanation: Mapping[str, Any], cards: Sequence[Card]) -> dict[str, Any]:
    """Returns why the results of an answer are there, by their places, and the candidates below them."""
    hits = explanation.get("results", ())
    places = {card.shown_place for card in cards}
    below = [hit for hit in hits if hit["id"] not in places]
    slots = explanation.get("understood", {}).get("slots", ())
    whole = len(cards)
    while sum(len(card.text) for card in cards[:whole]) > _MOST_SHOWN and whole > 1:
        whole -= 1
    return {
        "explanation": explanation,
        # Of a node with several chunks, the best one.
        "reasons": {hit["id"]: (hit, list(bars(hit, hits, below)), _words(slots, hit)) for hit in reversed(hits)},
        "others": below[:_BELOW],
        "words": [term for slot in slots for term in slot["terms"] if slot["kind"] == "word"],
        "whole": whole,
    }


def _words(slots: Sequence[Mapping[str, Any]], hit: Mapping[str, Any]) -> dict[str, bool]:
    """Returns which words of the question a hit has; a concept of the vocabulary is one by its name."""
    words: dict[str, bool] = {}
    for slot in slots:
        if slot["kind"] == "word":
            has = [term for term in slot["terms"] if term in hit["matched"]]
            word = min(has or slot["terms"], key=lambda term: term.startswith("#")).lstrip("#")
            words[word] = words.get(word, False) or bool(has)
    return words


def _chips(visit: Visit, values: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Returns the name and value of each filter, and the query of the address without it."""
    url, names = visit.request.url, [name for name, value in values.items() if value and name != "top_k"]
    return [(name, values[name], url.remove_query_params(name).query) for name in names]


def _calls(origin: str, q: str, values: Mapping[str, str], tool: Tool | None, mcp_id: str | None) -> dict[str, Any]:
    """Returns the same question as a call of MCP, and as a command that sends it."""
    name, path = (tool.name, f"/mcp/{mcp_id}") if tool else ("search_knowledge", "/mcp")
    arguments: dict[str, Any] = {"query": q, "top_k": int(values["top_k"]) if values["top_k"].isdecimal() else 5}
    arguments |= {} if tool else {filter: values[filter] for filter in FILTERS if values[filter]}
    params = {"name": name, "arguments": arguments}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, ensure_ascii=False)
    quoted = with_escapes(call).replace("'", "'\\''")
    lines = [
        f'curl -s {origin}{path} -H "Authorization: Bearer $SAKUIN_API_KEY"',
        "  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'",
        f"  -d '{quoted}'",
    ]
    return {"call": with_escapes(call), "curl": " \\\n".join(lines)}


def _first(projects: Any) -> str:
    return str(projects[0].tools[0].id) if projects else ""


def _question(
    q: str, given: Mapping[str, str], tool: Tool | None, mcp_id: str | None, expected: str | None
) -> dict[str, Any]:
    """Returns the question; what is empty is left out. A Search Tool has no filters."""
    question = {"query": q, "depth": _EXPLAINED, "top_k": given["top_k"], "expected": expected}
    of_tool = {"tool": tool.name, "mcp_id": mcp_id} if tool else {}
    filters = {} if tool else {name: given[name] for name in FILTERS if given[name]}
    return {name: value for name, value in question.items() if value} | of_tool | {"filters": filters}


def _expected(expected: str, tool: Tool | None, base_url: str) -> str | None:
    """Returns the id of a chunk, from its id or link, or the pointer of a node in the Table; None if it is none."""
    if tool is not None:
        # As in a result: relative to the Tool.
        return expected if is_within(expected, tool.json_path) or not expected else tool.json_path + expected
    try:
        return expected and (chunk_of_link(expected, base_url) or chunk_id(*split_chunk_id(expected)))
    except Invalid:
        return None
