"""The gaps: what readers look for and do not find, in groups, and what a page for each would need."""

from fastapi import APIRouter
from fastapi.responses import Response

from sakuin.console.pages.playground import LIBRARY
from sakuin.console.shell import Reader
from sakuin.upkeep.daily_counts import DAYS
from sakuin.upkeep.gaps import gap_with

_JUDGEMENTS = 20

router = APIRouter()


@router.get("/gaps")
def show_gaps(visit: Reader, gap: str | None = None, day: str = "") -> Response:
    """Lists the gaps: for an admin all, for a user those of the Tools of their projects; and more about one.

    With a `day` those that were asked for then, or before and after it.
    """
    gaps = visit.shell.rest.gaps
    projects = gaps.places.projects(visit.user)
    names = {tool.id: f"{place.project.name} / {tool.name}" for place in projects for tool in place.tools}
    groups = gaps.all(None if visit.session.is_admin else list(names))
    groups = [group for group in groups if not day or group.since <= day <= group.last]
    chosen = gap_with(gap, groups) if gap else None
    return visit.page(
        "gaps.html",
        gaps=groups,
        chosen=chosen,
        remedy=gaps.remedy(chosen, visit.user) if chosen else None,
        names=names,
        library=LIBRARY,
        is_recorded=gaps.is_recorded,
        days=DAYS,
        day=day,
        # It is about the library, whose gaps only an admin sees.
        feedback=gaps.feedback(_JUDGEMENTS) if visit.session.is_admin else (),
    )
