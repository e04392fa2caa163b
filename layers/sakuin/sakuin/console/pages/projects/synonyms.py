"""The page of a project's synonyms, as lines of comma-separated phrases."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.pages.projects.shell import ProjectPages, corrected_in
from sakuin.console.shell import Visit
from sakuin.errors import Invalid
from sakuin.language.synonyms import check_groups
from sakuin.texts.catalogue import coded


def add_synonym_routes(router: APIRouter, pages: ProjectPages) -> None:
    """Adds the routes below a project."""
    records = pages.services.records
    reader = Annotated[Visit, Depends(pages.shell.signed_in)]
    sent = Annotated[Visit, Depends(pages.shell.form)]

    @router.get("/{project_id}/synonyms")
    def show(visit: reader, project_id: UUID) -> Response:
        project = pages.project(visit, project_id)
        groups = visit.fields.get("groups", "") if visit.problem else lines_of(records.synonyms(visit.user, project.id))
        return pages.page(visit, "synonyms.html", project, groups=groups)

    @router.post("/{project_id}/synonyms")
    @corrected_in(show)
    def replace_synonyms(visit: sent, project_id: UUID) -> Response:
        groups = check_groups(groups_of(visit.fields.get("groups", "")))
        records.replace_synonyms(visit.user, str(project_id), groups)
        return redirect(f"/projects/{project_id}/synonyms", done="saved")


def lines_of(groups: Iterable[Sequence[str]]) -> str:
    """Returns one line for each group. A phrase with a comma or a quote stands in quotes."""
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(groups)
    return lines.getvalue()


def groups_of(lines: str) -> list[list[str]]:
    """Returns the groups of lines; empty lines and empty phrases do not count. Raises `Invalid`."""
    try:
        rows = list(csv.reader(io.StringIO(lines, newline=""), skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise Invalid(coded("form.synonyms", error=str(error))) from error
    return [group for row in rows if (group := [phrase for phrase in row if phrase.strip()])]
