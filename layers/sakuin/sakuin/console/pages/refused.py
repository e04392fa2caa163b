"""The questions that were refused: what readers look for and do not find."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.playground import LIBRARY
from sakuin.console.playground.places import Places
from sakuin.console.shell import Shell, Visit
from sakuin.upkeep.refused_questions import DAYS, RefusedQuestion

_MOST = 200


@dataclass(frozen=True, slots=True)
class RefusedLog:
    """The questions by Tools (None: all), at most so many; and whether new ones are recorded."""

    places: Places
    most_frequent: Callable[[Collection[str] | None, int], Sequence[RefusedQuestion]]
    is_recorded: bool


def routes(shell: Shell, refused: RefusedLog) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/refused")
    def show(visit: Annotated[Visit, Depends(shell.signed_in)]) -> Response:
        """Lists the questions: for an admin all, for a user those to the Tools of their projects."""
        projects = refused.places.projects(visit.session)
        names = {tool.id: f"{each.project.name} / {tool.name}" for each in projects for tool in each.tools}
        questions = refused.most_frequent(None if visit.session.is_admin else list(names), _MOST)
        return visit.page(
            "refused.html",
            questions=questions,
            names=names,
            library=LIBRARY,
            is_recorded=refused.is_recorded,
            days=DAYS,
        )

    return router
