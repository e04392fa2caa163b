"""The search playground: a question as an agent asks it, the answer as people read it, and why it is that one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.forms import href
from sakuin.console.shell import Reader, language_of
from sakuin.errors import Invalid, NotFound, OverLimit, SakuinError
from sakuin.explain.ask_mcp import question_of
from sakuin.http.gaps import payer_of
from sakuin.knowledge.names import chunk_id, chunk_of_link, split_chunk_id
from sakuin.language.unicode_text import visible, with_escapes
from sakuin.mcp.answers import visible_values
from sakuin.platform.http_errors import http_error
from sakuin.retrieval.tokens import estimated_tokens
from sakuin.tables.json_pointer import is_within
from sakuin.tables.model import Tool
from sakuin.texts.catalogue import coded


@dataclass(frozen=True, slots=True)
class Card:
    """One result.

    `place` is the id of a chunk, or the json_pointer of a node, exactly; `href` opens it, None if it has no link.
    `facts` are short words about it. What is shown has no invisible characters.
    """

    title: str
    place: str
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


def readable(explanation: Mapping[str, Any], query: str, chosen: str = "") -> dict[str, Any]:
    """Returns the answer of the library or of a Tool to a question, for people.

    `results` are cards. `index_state` is that of a Tool, empty for the library. `json` is indented; both forms show
    invisible characters as escapes. `label` is a line of labelled questions: its answer is the one that was chosen,
    else the first result, or none if the question is refused.
    """
    answer = explanation["answer"]
    content, text = answer["structured"] or {}, answer["text"]
    ids = {hit["url"]: hit["id"] for hit in explanation.get("results", ())}
    results, is_refused = [_card(each, ids) for each in content.get("results", ())], bool(content.get("no_good_match"))
    gold = [chosen] if chosen else [] if is_refused else [each.place for each in results[:1]]
    label = json.dumps({"query": query, "gold": gold, "category": "playground"}, ensure_ascii=False)
    return {
        **{name: content.get(name) for name in ("understood_as", "degraded", "truncated")},
        "results": results,
        "not_in_scope": [visible(each) for each in content.get("not_in_scope", ())],
        "is_refused": is_refused,
        "has_relative_links": "links" in content,
        "index_state": content.get("index", {}).get("state", ""),
        "json": with_escapes(json.dumps(content, ensure_ascii=False, indent=2)) if content else "",
        "text": with_escapes(text),
        "tokens": estimated_tokens(text),
        "label": with_escapes(label),
    }


def _card(result: Mapping[str, Any], ids: Mapping[str, str]) -> Card:
    return _of_node(result) if "json_path" in result else _of_page(result, ids.get(result["url"], result["url"]))


def _of_page(result: Mapping[str, Any], id: str) -> Card:
    return Card(
        title=visible(result["title"]) or id,
        place=id,
        href=href(result["url"]),
        similarity=result.get("similarity"),
        learns=[visible(item) for item in result.get("learns", ())],
        text=visible(result.get("content") or result.get("excerpt", "")),
        missing=[visible(each) for each in result.get("missing", ())],
        facts=[visible(result["section"])] if result.get("section") else [],
    )


def _of_node(result: Mapping[str, Any]) -> Card:
    chunk = result.get("chunk") or result
    fields = (result.get("object") or {}).get("fields", {})
    facts = [f"{name}: {value}" for name, value in fields.items() if isinstance(value, str | int | float)]
    return Card(
        title=visible(result["json_path"]) or "/",
        place=chunk["json_pointer"],
        similarity=result.get("similarity"),
        text=visible(chunk.get("chunk_text") or result.get("excerpt") or ""),
        missing=[visible(each) for each in result.get("missing", ())],
        facts=[visible(fact) for fact in facts],
    )


LIBRARY = "library"
FILTERS = ("type", "category", "level", "material", "in")
# The chunks that are explained, at least.
_EXPLAINED = 20
_TYPES = ("rule", "method", "definition", "example", "tip")


router = APIRouter()


@router.get("/playground")
def show_playground(visit: Reader, q: str = "", target: str = "", expected: str = "", gold: str = "") -> Response:
    """Shows the form, and with a question `q` the answer. The address may be sent to somebody else.

    `target` is the library or the id of a Tool, `expected` what the reader misses in the results, `gold` the result
    that is the right answer.
    """
    shell, expected, gold = visit.shell, expected.strip(), gold.strip()
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
        status, why = http_error(error, visit.request.headers).status, _problem_text(error)
        problem: dict[str, Any] = {"problem": error, "problem_text": why}
        return visit.page("playground.html", status=status, **form, answer=None, **problem)
    readable_answer, answer = readable(explanation, q, gold), explanation.pop("answer")
    explanation = visible_values(explanation)
    hits = explanation.get("results", ())
    places_shown = {card.shown_place for card in readable_answer["results"]}
    shown: dict[str, Any] = {
        "shown": readable_answer,
        "explanation": explanation,
        # Of a node with several chunks, the best one.
        "reasons": {hit["id"]: hit for hit in reversed(hits)},
        "others": [hit for hit in hits if hit["id"] not in places_shown],
        "params": dict(visit.request.query_params),
        "gold": gold,
        "unknown": expected if chunk is None else "",
    }
    return visit.page("playground.html", **form, answer=answer, problem=None, **shown)


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


def _problem_text(problem: SakuinError) -> str:
    match problem:
        case OverLimit():
            return "playground.too_many"
        case NotFound():
            return "playground.gone"
        case _:
            return "playground.no_answer"
