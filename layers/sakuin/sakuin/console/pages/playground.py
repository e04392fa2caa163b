"""The search playground: a question as an agent asks it, the answer, and why it is that one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.playground.cards import readable, shown_values
from sakuin.console.playground.places import Places
from sakuin.console.shell import Shell, Visit, language_of
from sakuin.errors import NotFound, OverLimit, SakuinError
from sakuin.explain.ask_mcp import PlaygroundAnswer, PlaygroundQuestion
from sakuin.explain.sentences import Language
from sakuin.knowledge.model import FilterValues
from sakuin.platform.http_errors import http_error

LIBRARY = "library"
FILTERS = ("type", "category", "level", "material", "in")
_TYPES = ("rule", "method", "definition", "example", "tip")


@dataclass(frozen=True, slots=True)
class Playground:
    """Who may search what, the search itself, and the values of the library's filters."""

    places: Places
    ask: Callable[[PlaygroundQuestion], PlaygroundAnswer]
    filter_values: Callable[[], FilterValues]


def routes(shell: Shell, playground: Playground) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()
    places = playground.places

    @router.get("/playground")
    def show(
        visit: Annotated[Visit, Depends(shell.signed_in)],
        q: str = "",
        target: str = "",
        expected: str = "",
    ) -> Response:
        """Shows the form, and with a question `q` the answer. The address may be sent to somebody else.

        `target` is the library or the id of a Tool, `expected` what the reader misses in the results.
        """
        projects, has_library = places.projects(visit.session), places.may_search_library(visit.session)
        target = target or (LIBRARY if has_library else _first(projects))
        if target == LIBRARY and not has_library:
            raise NotFound("There is no such Tool")
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
        }
        if not q.strip() or not (mcp_id or target == LIBRARY):
            return visit.page("playground.html", **form, answer=None, problem=None)
        question = PlaygroundQuestion(
            _arguments(q, values, with_filters=tool is None),
            mcp_id,
            tool.id if tool else None,
            expected.strip() or None,
            cast("Language", language_of(visit.request).language),
            visit.user.id if visit.user else None,
        )
        try:
            answer = playground.ask(question)
        except SakuinError as error:
            status, why = http_error(error, visit.request.headers).status, _problem_text(error)
            problem: dict[str, Any] = {"problem": error, "problem_text": why}
            return visit.page("playground.html", status=status, **form, answer=None, **problem)
        explanation = shown_values(answer.explanation)
        shown: dict[str, Any] = {"shown": readable(answer, q), "explanation": explanation, "legs": _legs(explanation)}
        return visit.page("playground.html", **form, answer=answer, problem=None, **shown)

    return router


def _first(projects: Any) -> str:
    return str(projects[0].tools[0].id) if projects else ""


def _arguments(q: str, given: Mapping[str, str], *, with_filters: bool) -> dict[str, str]:
    """Returns the arguments of the tool: what is empty is left out."""
    names = ("top_k", *FILTERS) if with_filters else ("top_k",)
    return {"query": q, **{name: given[name] for name in names if given[name]}}


def _legs(explanation: Mapping[str, Any] | None) -> dict[str, list[Mapping[str, Any]]]:
    """Returns what each leg of the search found among the explained chunks, in its own order."""
    hits = explanation["results"] if explanation else ()
    return {
        leg: sorted((hit for hit in hits if hit[rank] is not None), key=itemgetter(rank))
        for leg, rank in (("meaning", "nearest_rank"), ("words", "matching_rank"))
    }


def _problem_text(problem: SakuinError) -> str:
    match problem:
        case OverLimit():
            return "playground.too_many"
        case NotFound():
            return "playground.gone"
        case _:
            return "playground.no_answer"
