"""Creates, lists and deletes projects and their members."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sakuin.errors import Invalid
from sakuin.limits import Limits, check_limit
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import Member, Project, User
from sakuin.tables.scan import problem_of


@dataclass(frozen=True, slots=True)
class ProjectAdmin:
    """What members and admins do with projects."""

    records: ProjectRecords
    limits: Limits = field(default_factory=Limits)

    def create(self, user: User | None, name: str) -> Project:
        """A new project; the user becomes its member."""
        if user is not None:
            there = self.records.count_projects(user)
            check_limit(there, self.limits.projects, what="projects that you created", limit="projects")
        return self.records.create_project(user, check_name(name))

    def all(self, user: User | None) -> Sequence[Project]:
        """The user's projects."""
        return self.records.projects(user)

    def delete(self, user: User | None, project_id: str) -> None:
        """Deletes a project with all that it holds."""
        self.records.delete_project(user, project_id)

    def add_member(self, user: User | None, project_id: str, member: str) -> None:
        """Makes another user a member."""
        # Whoever is a member already may be added again.
        others = [one for one in self.records.members(user, project_id) if one.user_id != member]
        check_limit(len(others), self.limits.members, what="members of one project", limit="members")
        self.records.add_member(user, project_id, member)

    def members(self, user: User | None, project_id: str) -> Sequence[Member]:
        """A project's members."""
        return self.records.members(user, project_id)

    def remove_member(self, user: User | None, project_id: str, member: str) -> None:
        """Removes a member, or lets one leave; never the last one."""
        self.records.remove_member(user, project_id, member)


_LONGEST_NAME = 200


def check_name(name: str) -> str:
    """The name without space around it; `Invalid` if nothing is left, or too much."""
    name = check_text(name.strip(), "The name")
    if not 0 < len(name) <= _LONGEST_NAME:
        raise Invalid(f"A name has 1 to {_LONGEST_NAME} characters. Give it another one.")
    return name


def check_text(text: str, what: str) -> str:
    """The text itself; `Invalid` if Postgres cannot hold it."""
    if problem := problem_of(text):
        raise Invalid(f"{what} cannot be stored. {problem}")
    return text
