"""The routes of a project's synonyms."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter

from sakuin.http import views
from sakuin.language.synonyms import check_groups
from sakuin.tables.admin.postgres import ProjectRecords


def add_synonym_routes(routes: APIRouter, records: ProjectRecords, user: Any) -> None:
    """Adds the routes. `user` is the annotated dependency that gives the caller."""

    @routes.get("/projects/{project_id}/synonyms")
    def synonyms(caller: user, project_id: UUID) -> views.SynonymsView:
        return views.SynonymsView(groups=[list(group) for group in records.synonyms(caller, str(project_id))])

    @routes.put("/projects/{project_id}/synonyms")
    def replace_synonyms(caller: user, project_id: UUID, asked: views.SynonymsAsked) -> views.SynonymsView:
        """Replaces the synonyms for the questions to all Search Tools of a project, from the next question on."""
        groups = check_groups(asked.groups)
        records.replace_synonyms(caller, str(project_id), groups)
        return views.SynonymsView(groups=[list(group) for group in groups])
