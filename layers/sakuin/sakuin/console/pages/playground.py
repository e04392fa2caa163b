"""The search playground: a question as an agent asks it, the answer, and why it is that one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.playground.cards import readable, shown_values
from sakuin.console.playground.places import Places
from sakuin.console.sessions import Session
from sakuin.console.shell import Shell, language_of
from sakuin.errors import NotFound, OverLimit, SakuinError
from sakuin.explain.playground import PlaygroundAnswer, PlaygroundQuestion
from sakuin.explain.sentences import Language
from sakuin.knowledge.model import FilterValues
from sakuin.platform.http_errors import http_error

LIBRARY = "library"
FILTERS = ("type", "category", "level", "material")
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
        request: Request,
        session: Annotated[Session, Depends(shell.signed_in)],
        q: str = "",
        target: str = "",
        expected: str = "",
    ) -> Response:
        """Shows the form, and with a question `q` the answer. The address may be sent to somebody else.

        `target` is the library or the id of a Tool, `expected` what the reader misses in the results.
        """
        projects = places.projects(session)
        target = target or (LIBRARY if places.may_search_library(session) else _first(projects))
        if target == LIBRARY and not places.may_search_library(session):
            raise NotFound("There is no such Tool")
        tool = places.tool(session, target) if target and target != LIBRARY else None
        given = {name: request.query_params.get(name, "").strip() for name in ("top_k", *FILTERS)}
        values: dict[str, Any] = {
            "projects": projects,
            "has_library": places.may_search_library(session),
            "target": target,
            "tool": tool,
            "mcp_id": tool and places.endpoint(session.user, tool),
            "q": q,
            "expected": expected.strip(),
            "given": given | {"top_k": given["top_k"] or "5"},
            "types": _TYPES,
            "known": playground.filter_values() if target == LIBRARY else None,
        }
        answer, problem, status = None, None, 200
        if q.strip() and (values["mcp_id"] or target == LIBRARY):
            asked = PlaygroundQuestion(
                _arguments(q, given, with_filters=tool is None),
                values["mcp_id"],
                tool.id if tool else None,
                values["expected"] or None,
                cast("Language", language_of(request).language),
            )
            try:
                answer = playground.ask(asked)
            except SakuinError as error:
                problem, status = error, http_error(error, request.headers).status
        explanation = shown_values(answer.explanation) if answer else None
        return shell.page(
            request,
            "playground.html",
            session,
            status=status,
            **values,
            answer=answer,
            shown=answer and readable(answer),
            explanation=explanation,
            legs=_legs(explanation),
            problem=problem,
            problem_text=problem and _problem_text(problem),
        )

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
