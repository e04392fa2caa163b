"""The gaps: what readers look for and do not find, in groups, and what a page for each would need."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.forms import redirect
from sakuin.console.gaps import Gaps
from sakuin.console.pages.playground import LIBRARY
from sakuin.console.shell import Shell, Visit
from sakuin.errors import NotFound
from sakuin.texts.catalogue import coded
from sakuin.upkeep.daily_counts import DAYS
from sakuin.upkeep.gaps import gap_with

_JUDGEMENTS = 20


def routes(shell: Shell, gaps: Gaps) -> APIRouter:
    router = APIRouter()

    @router.get("/gaps")
    def show(visit: Annotated[Visit, Depends(shell.signed_in)], gap: str | None = None) -> Response:
        """Lists the gaps: for an admin all, for a user those of the Tools of their projects; and more about one."""
        projects = gaps.places.projects(visit.session)
        names = {tool.id: f"{each.project.name} / {tool.name}" for each in projects for tool in each.tools}
        listed = gaps.all(None if visit.session.is_admin else list(names))
        chosen = gap_with(gap, listed) if gap else None
        return visit.page(
            "gaps.html",
            gaps=listed,
            chosen=chosen,
            remedy=gaps.remedy(chosen, visit.user) if chosen else None,
            names=names,
            library=LIBRARY,
            is_recorded=gaps.is_recorded,
            days=DAYS,
            # It is about the library, whose gaps only an admin sees.
            feedback=gaps.feedback(_JUDGEMENTS) if visit.session.is_admin else (),
            watched=gaps.watched.all() if gaps.watched and visit.session.is_admin else None,
        )

    if gaps.watched is not None:
        watched = gaps.watched

        @router.post("/gaps/watch")
        def watch(visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
            listed = (each.question for gap in gaps.all() if gap.tool_id is None for each in gap.questions)
            if visit.text("question") not in listed:
                raise NotFound(coded("form.old_gap"))
            watched.watch(visit.text("question"))
            return redirect("/gaps", done="gap_watched")

        @router.post("/gaps/forget")
        def forget(visit: Annotated[Visit, Depends(shell.admin_form)]) -> Response:
            watched.forget(visit.text("question"))
            return redirect("/gaps", done="saved")

    return router
