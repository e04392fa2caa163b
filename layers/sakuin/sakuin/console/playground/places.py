"""What somebody may search from the console: the library, and the Tools of their projects."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sakuin.console.sessions import Session
from sakuin.errors import NotFound
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import Project, Tool, User
from sakuin.texts.catalogue import coded

# Each is a call of the database; Tools of other projects have links on their own pages.
MOST_PROJECTS = 20


@dataclass(frozen=True, slots=True)
class ProjectTools:
    """A project and its Tools."""

    project: Project
    tools: Sequence[Tool]


@dataclass(frozen=True, slots=True)
class Places:
    """An admin may search everything, a user the Tools of their projects, and the library if the deployment allows it.

    `records` answers with `NotFound` for what a user may not see.
    """

    records: ProjectRecords
    library_for_users: bool = False

    def may_search_library(self, session: Session) -> bool:
        """Returns whether this is allowed."""
        return session.is_admin or self.library_for_users

    def projects(self, session: Session) -> Sequence[ProjectTools]:
        """Returns the first projects of the session that have Tools."""
        places = [
            ProjectTools(project, self.records.tools(session.user, project.id))
            for project in self.records.projects(session.user)[:MOST_PROJECTS]
        ]
        return [each for each in places if each.tools]

    def tool(self, session: Session, tool_id: str) -> Tool:
        """Returns a Tool; `NotFound` if there is none or the session may not see it."""
        try:
            return self.records.tool(session.user, str(UUID(tool_id)))
        except ValueError:
            raise NotFound(coded("form.no_tool")) from None

    def endpoint(self, user: User | None, tool: Tool) -> str | None:
        """Returns the id of an endpoint at which agents reach the Tool; None if there is none."""
        for endpoint in self.records.endpoints(user, tool.project_id):
            bound = any(each.tool_id == tool.id and each.status == "enabled" for each in endpoint.tools)
            if tool.enabled and bound and endpoint.status == "enabled":
                return endpoint.id
        return None
