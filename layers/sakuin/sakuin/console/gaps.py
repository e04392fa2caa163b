"""Who may search what from the console, and the gaps of these searches, which REST has, too."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from sakuin.console.sessions import Session
from sakuin.errors import NotFound
from sakuin.explain.ask_mcp import PlaygroundAnswer, PlaygroundQuestion
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import Project, Tool, User
from sakuin.texts.catalogue import coded
from sakuin.upkeep.gaps import MOST_QUESTIONS, Gap, Remedy, gaps_of, remedy
from sakuin.upkeep.refused_questions import Judgement, RefusedQuestion, WatchedGaps

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


_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps by Tools (None: all), and whether questions are recorded. `ask` asks the function `mcp`.

    `feedback` returns what agents said most often of answers of the library. Without `watched` no question can be.
    """

    places: Places
    most_frequent: Callable[[Collection[str] | None, int], Sequence[RefusedQuestion]]
    ask: Callable[[PlaygroundQuestion], PlaygroundAnswer]
    is_recorded: bool
    feedback: Callable[[int], Sequence[Judgement]] = lambda _limit: ()
    watched: WatchedGaps | None = None

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
