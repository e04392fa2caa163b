"""The page of a project's synonyms, as lines of comma-separated phrases."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from sakuin.console.answers import redirect
from sakuin.console.forms import Form
from sakuin.console.pages.projects.shell import CORRECTABLE, ProjectPages
from sakuin.console.sessions import Session
from sakuin.errors import Invalid, SakuinError
from sakuin.language.synonyms import check_groups


def add_synonym_routes(router: APIRouter, pages: ProjectPages) -> None:
    """Adds the routes below a project."""
    records = pages.services.records
    reader = Annotated[Session, Depends(pages.shell.signed_in)]
    sent = Annotated[Form, Depends(pages.shell.form)]

    def show(
        request: Request,
        session: Session,
        project_id: UUID,
        problem: SakuinError | None = None,
        form: Form | None = None,
    ) -> Response:
        project = pages.project(session, project_id)
        groups = form.fields.get("groups", "") if form else lines_of(records.synonyms(session.user, project.id))
        return pages.page(request, "synonyms.html", session, project, problem=problem, form=form, groups=groups)

    @router.get("/{project_id}/synonyms")
    def read_synonyms(request: Request, session: reader, project_id: UUID) -> Response:
        return show(request, session, project_id)

    @router.post("/{project_id}/synonyms")
    def replace_synonyms(request: Request, form: sent, project_id: UUID) -> Response:
        try:
            groups = check_groups(groups_of(form.fields.get("groups", "")))
            records.replace_synonyms(form.session.user, str(project_id), groups)
        except CORRECTABLE as error:
            return show(request, form.session, project_id, error, form)
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
        raise Invalid(f"The synonyms cannot be read: {error}. Put a phrase with a comma in double quotes") from error
    return [group for row in rows if (group := [phrase for phrase in row if phrase.strip()])]
