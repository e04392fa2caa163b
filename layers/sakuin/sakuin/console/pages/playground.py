"""The search playground: a question as an agent asks it, the answer as people read it, and why it is that one."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.forms import href
from sakuin.console.gaps import Places
from sakuin.console.shell import Shell, Visit, language_of
from sakuin.errors import NotFound, OverLimit, SakuinError
from sakuin.explain.ask_mcp import ExplanationAsked, PlaygroundAnswer, PlaygroundQuestion
from sakuin.knowledge.model import FilterValues
from sakuin.language.unicode_text import visible, with_escapes
from sakuin.mcp.answers import visible_values
from sakuin.platform.http_errors import http_error
from sakuin.retrieval.tokens import estimated_tokens
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
    facts: Sequence[str] = ()

    @property
    def shown_place(self) -> str:
        """The place without invisible characters."""
        return visible(self.place)


def readable(answer: PlaygroundAnswer, query: str, chosen: str = "") -> dict[str, Any]:
    """Returns the answer of the library or of a Tool to a question, for people.

    `results` are cards. `index_state` is that of a Tool, empty for the library. `json` is indented; both forms show
    invisible characters as escapes. `label` is a line of labelled questions: its answer is the one that was chosen,
    else the first result, or none if the question is refused.
    """
    content = answer.structured or {}
    results, is_refused = [_card(each) for each in content.get("results", ())], bool(content.get("no_good_match"))
    gold = [chosen] if chosen else [] if is_refused else [each.place for each in results[:1]]
    label = json.dumps({"query": query, "gold": gold, "category": "playground"}, ensure_ascii=False)
    return {
        **{name: content.get(name) for name in ("understood_as", "degraded", "truncated")},
        "results": results,
        "is_refused": is_refused,
        "has_relative_links": "links" in content,
        "index_state": content.get("index", {}).get("state", ""),
        "json": with_escapes(json.dumps(content, ensure_ascii=False, indent=2)) if content else "",
        "text": with_escapes(answer.text),
        "tokens": estimated_tokens(answer.text),
        "label": with_escapes(label),
    }


def _card(result: Mapping[str, Any]) -> Card:
    return _of_node(result) if "json_path" in result else _of_page(result)


def _of_page(result: Mapping[str, Any]) -> Card:
    facts = (result.get(name) for name in ("type", "page_title", "section", "level", "language"))
    return Card(
        title=visible(result["title"]) or result["id"],
        place=result["id"],
        href=href(result["url"]),
        similarity=result.get("similarity"),
        learns=[visible(item) for item in result.get("learns", ())],
        text=visible(result.get("content") or result["excerpt"]),
        facts=[visible(fact) for fact in facts if fact],
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
        facts=[visible(fact) for fact in facts],
    )


LIBRARY = "library"
FILTERS = ("type", "category", "level", "material", "in")
# Results of a comparison.
_DEPTH = 10
_TYPES = ("rule", "method", "definition", "example", "tip")


@dataclass(frozen=True, slots=True)
class Playground:
    """Who may search what, the search itself, and the values of the library's filters."""

    places: Places
    ask: Callable[[PlaygroundQuestion], PlaygroundAnswer]
    filter_values: Callable[[], FilterValues]
    # Explains a question, also with an index version that is not live; and the ids of these versions.
    explain: Callable[[ExplanationAsked], Mapping[str, Any]] = lambda _asked: {}
    versions: Callable[[], Sequence[str]] = tuple


def routes(shell: Shell, playground: Playground) -> APIRouter:
    router = APIRouter()
    places = playground.places

    @router.get("/playground")
    def show(
        visit: Annotated[Visit, Depends(shell.signed_in)],
        q: str = "",
        target: str = "",
        expected: str = "",
        q2: str = "",
        index: str = "",
        gold: str = "",
    ) -> Response:
        """Shows the form, and with a question `q` the answer. The address may be sent to somebody else.

        `target` is the library or the id of a Tool, `expected` what the reader misses in the results, `gold` the result
        that is the right answer. The answer is compared with that to `q2`, or, for admins, with that of an `index`.
        """
        projects, has_library = places.projects(visit.session), places.may_search_library(visit.session)
        target = target or (LIBRARY if has_library else _first(projects))
        if target == LIBRARY and not has_library:
            raise NotFound(coded("form.no_tool"))
        tool = places.tool(visit.session, target) if target and target != LIBRARY else None
        mcp_id = places.endpoint(visit.user, tool) if tool else None
        values = {name: visit.request.query_params.get(name, "").strip() for name in ("top_k", *FILTERS)}
        form: dict[str, Any] = {
            "projects": projects,
            "has_library": has_library,
            "target": target,
            "tool": tool,
            "mcp_id": mcp_id,
            "q": q,
            "expected": expected.strip(),
            "given": values | {"top_k": values["top_k"] or "5"},
            "types": _TYPES,
            "known": playground.filter_values() if target == LIBRARY else None,
            "q2": q2.strip(),
            "index": index if target == LIBRARY and visit.session.is_admin else "",
            "versions": playground.versions() if target == LIBRARY and visit.session.is_admin else (),
        }
        if not q.strip() or not (mcp_id or target == LIBRARY):
            return visit.page("playground.html", **form, answer=None, problem=None)
        question = PlaygroundQuestion(
            _arguments(q, values, with_filters=tool is None),
            mcp_id,
            tool.id if tool else None,
            expected.strip() or None,
            language_of(visit.request).language,
            visit.user.id if visit.user else None,
        )
        try:
            answer = playground.ask(question)
            other = None if answer.is_error else compared_with(question, form["q2"], form["index"])
        except SakuinError as error:
            status, why = http_error(error, visit.request.headers).status, _problem_text(error)
            problem: dict[str, Any] = {"problem": error, "problem_text": why}
            return visit.page("playground.html", status=status, **form, answer=None, **problem)
        explanation, readable_answer = visible_values(answer.explanation), readable(answer, q, gold.strip())
        hits = explanation["results"] if explanation else ()
        shown: dict[str, Any] = {
            "shown": readable_answer,
            "explanation": explanation,
            # Of a node with several chunks, the best one.
            "reasons": {hit["id"]: hit for hit in reversed(hits)},
            "others": [hit for hit in hits if hit["id"] not in {one.shown_place for one in readable_answer["results"]}],
            "compared": None if other is None else _compared(hits, visible_values(other)["results"]),
            "params": dict(visit.request.query_params),
            "gold": gold.strip(),
        }
        return visit.page("playground.html", **form, answer=answer, problem=None, **shown)

    def compared_with(question: PlaygroundQuestion, q2: str, index: str) -> Mapping[str, Any] | None:
        """Returns the explanation to compare with, None if there is nothing to compare."""
        if q2:
            return playground.ask(replace(question, arguments={**question.arguments, "query": q2})).explanation
        if not index:
            return None
        filters = {name: question.arguments[name] for name in FILTERS if name in question.arguments}
        arguments = {"query": question.arguments["query"], "depth": _DEPTH, "filters": filters, "index": index}
        return playground.explain(ExplanationAsked.model_validate(arguments))

    return router


def _first(projects: Any) -> str:
    return str(projects[0].tools[0].id) if projects else ""


def _arguments(q: str, given: Mapping[str, str], *, with_filters: bool) -> dict[str, str]:
    """Returns the arguments of the tool: what is empty is left out."""
    names = ("top_k", *FILTERS) if with_filters else ("top_k",)
    return {"query": q, **{name: given[name] for name in names if given[name]}}


def _compared(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the hits of the second search, each with its rank `before` in the first."""
    before = {(hit["id"], hit["chunk_index"]): hit["rank"] for hit in first}
    return [{**hit, "before": before.get((hit["id"], hit["chunk_index"]))} for hit in second[:_DEPTH]]


def _problem_text(problem: SakuinError) -> str:
    match problem:
        case OverLimit():
            return "playground.too_many"
        case NotFound():
            return "playground.gone"
        case _:
            return "playground.no_answer"
