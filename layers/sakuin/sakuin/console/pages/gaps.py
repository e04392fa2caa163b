"""The gaps: what readers look for and do not find, in groups, and what a page for each would need."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.pages.playground import LIBRARY
from sakuin.console.playground.places import Places
from sakuin.console.shell import Shell, Visit
from sakuin.errors import NotFound
from sakuin.explain.ask_mcp import PlaygroundAnswer, PlaygroundQuestion
from sakuin.tables.model import User
from sakuin.upkeep.gaps import MOST_QUESTIONS, Gap, Remedy, gaps_of, remedy
from sakuin.upkeep.refused_questions import DAYS, RefusedQuestion

_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps by Tools (None: all), and whether questions are recorded. `ask` asks the function `mcp`."""

    places: Places
    most_frequent: Callable[[Collection[str] | None, int], Sequence[RefusedQuestion]]
    ask: Callable[[PlaygroundQuestion], PlaygroundAnswer]
    is_recorded: bool

    def all(self, tools: Collection[str] | None = None) -> list[Gap]:
        """Returns the gaps, the most frequent first."""
        return gaps_of(self.most_frequent(tools, MOST_QUESTIONS))

    def remedy(self, gap: Gap, user: User | None = None) -> Remedy:
        """Returns what a page that answers a gap would need. A Tool that no endpoint has cannot be asked."""
        mcp_id = None
        if gap.tool_id is not None:
            mcp_id = self.places.endpoint(user, self.places.records.tool(user, gap.tool_id))
            if mcp_id is None:
                return remedy(gap, None, None)
        arguments = {"query": gap.questions[0].question, "top_k": _NEAREST}
        # The limit of searches of the library counts those of a user by the user.
        user_id = user.id if user else None
        answer = self.ask(PlaygroundQuestion(arguments, mcp_id, gap.tool_id, user_id=user_id))
        return remedy(gap, answer.structured, answer.explanation)


def routes(shell: Shell, gaps: Gaps) -> APIRouter:
    """Returns the routes."""
    router = APIRouter()

    @router.get("/gaps")
    def show(visit: Annotated[Visit, Depends(shell.signed_in)], gap: str | None = None) -> Response:
        """Lists the gaps: for an admin all, for a user those of the Tools of their projects; and more about one."""
        projects = gaps.places.projects(visit.session)
        names = {tool.id: f"{each.project.name} / {tool.name}" for each in projects for tool in each.tools}
        listed = gaps.all(None if visit.session.is_admin else list(names))
        chosen = next((each for each in listed if each.id == gap), None)
        if gap and chosen is None:
            raise NotFound("This gap is no longer there: its questions are older than 30 days")
        return visit.page(
            "gaps.html",
            gaps=listed,
            chosen=chosen,
            remedy=gaps.remedy(chosen, visit.user) if chosen else None,
            names=names,
            library=LIBRARY,
            is_recorded=gaps.is_recorded,
            days=DAYS,
        )

    return router
