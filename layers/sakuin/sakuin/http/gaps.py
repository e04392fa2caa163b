"""The gaps of the library and of Tools, and who may search what from the console."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sakuin.errors import NotFound
from sakuin.explain.ask_mcp import AskMcp, ExplanationAsked
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import Project, Tool, User
from sakuin.texts.catalogue import coded
from sakuin.upkeep.gaps import MOST_QUESTIONS, Gap, Remedy, gaps_of, remedy
from sakuin.upkeep.refused_questions import Judgement, RefusedQuestion

# Tools of other projects have links on their own pages.
MOST_PROJECTS = 20
_ADMINS = "console"
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class ProjectTools:
    """A project and its Tools."""

    project: Project
    tools: Sequence[Tool]


@dataclass(frozen=True, slots=True)
class Places:
    """An admin (None) may search everything, a user the Tools of their projects, and the library if the deployment
    allows it.

    `records` answers with `NotFound` for what a user may not see.
    """

    records: ProjectRecords
    library_for_users: bool = False

    def may_search_library(self, user: User | None) -> bool:
        """Returns whether this is allowed."""
        return user is None or self.library_for_users

    def projects(self, user: User | None) -> Sequence[ProjectTools]:
        """Returns the first projects of the user that have Tools."""
        tools = self.records.tools_of_projects(user, limit=MOST_PROJECTS)
        places = [
            ProjectTools(project, [tool for tool in tools if tool.project_id == project.id])
            for project in self.records.projects(user)
        ]
        return [place for place in places if place.tools]

    def tool(self, user: User | None, tool_id: str) -> Tool:
        """Returns a Tool; `NotFound` if there is none or the user may not see it."""
        try:
            return self.records.tool(user, str(UUID(tool_id)))
        except ValueError:
            raise NotFound(coded("form.no_tool")) from None

    def endpoint(self, user: User | None, tool: Tool) -> str | None:
        """Returns the id of an endpoint at which agents reach the Tool; None if there is none."""
        for endpoint in self.records.endpoints(user, tool.project_id):
            bound = any(binding.tool_id == tool.id and binding.status == "enabled" for binding in endpoint.tools)
            if tool.enabled and bound and endpoint.status == "enabled":
                return endpoint.id
        return None


def payer_of(user: User | None, tool: Tool | None) -> str:
    """Returns whose limit counts a search: that of the Tool's project, of the user, or of all admins together."""
    return tool.project_id if tool else user.id if user else _ADMINS


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps by Tools (None: all), and whether questions are recorded. `ask` asks the function `mcp`.

    `feedback` returns what agents said most often of answers of the library.
    """

    places: Places
    most_frequent: Callable[[Collection[str] | None, int], Sequence[RefusedQuestion]]
    ask: AskMcp
    is_recorded: bool
    feedback: Callable[[int], Sequence[Judgement]]

    def all(self, tools: Collection[str] | None = None) -> list[Gap]:
        """Returns the gaps, the most frequent first."""
        return gaps_of(self.most_frequent(tools, MOST_QUESTIONS))

    def remedy(self, gap: Gap, user: User | None = None) -> Remedy:
        """Returns what a page that answers a gap would need. A Tool that no endpoint has cannot be asked."""
        tool = self.places.records.tool(user, gap.tool_id) if gap.tool_id else None
        mcp_id = self.places.endpoint(user, tool) if tool else None
        if tool and mcp_id is None:
            return remedy(gap, None)
        question = ExplanationAsked(
            query=gap.questions[0].question,
            top_k=_NEAREST,
            depth=_NEAREST,
            tool=tool.name if tool else None,
            mcp_id=mcp_id,
        )
        return remedy(gap, self.ask(question, payer=payer_of(user, tool)))
