"""The pages of the console, which the function `api` builds at their first request."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from sakuin.settings import Settings
from sakuin.wiring.clients import dead_letters

if TYPE_CHECKING:
    from fastapi import APIRouter

    from sakuin.console.pages.operation.services import Operation
    from sakuin.console.shell import Shell
    from sakuin.http.unfinished_work import WorkOfMaterials
    from sakuin.knowledge.library import Library
    from sakuin.platform.supabase.client import Client
    from sakuin.upkeep.doctor import Doctor


def operation_of(
    settings: Settings, client: "Client", library: "Library", work_of: "WorkOfMaterials", doctor: "Doctor"
) -> "Operation":
    """Returns what the pages for operators read and change."""
    from sakuin.console.pages.operation.services import Operation
    from sakuin.knowledge.learns.listed import Explanations
    from sakuin.upkeep.counts import project_counts
    from sakuin.upkeep.freshness import Freshness
    from sakuin.upkeep.index_versions import IndexVersions
    from sakuin.upkeep.reconcile import ReconciliationRuns

    return Operation(
        library=library,
        explanations=Explanations(client),
        unfinished=work_of.unfinished,
        work_of=work_of,
        dead_letters=dead_letters(settings),
        freshness=Freshness(client),
        runs=ReconciliationRuns(client),
        indexes=IndexVersions(client),
        counts=partial(project_counts, client),
        doctor=doctor,
        base_url=settings.base_url,
    )


def operation_pages() -> Sequence["Callable[[Shell, Operation], APIRouter]"]:
    """Returns what makes the routes of each subject, the first page first."""
    from sakuin.console.pages import overview
    from sakuin.console.pages.operation import dead_letters, doctor, findings, freshness, learns, library, work

    subjects = (overview, library, findings, learns, work, dead_letters, freshness, doctor)
    return [subject.routes for subject in subjects]
