"""Administration of projects and their members."""

from dataclasses import dataclass

from sakuin.errors import Invalid
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.model import Project, Role, User
from sakuin.tables.scan import problem_of


@dataclass(frozen=True, slots=True)
class ProjectAdmin:
    """Creates projects and adds members."""

    records: ProjectRecords

    def create(self, user: User | None, name: str) -> Project:
        """Creates a project. The user becomes its owner."""
        return self.records.create_project(user, check_name(name))

    def add_member(self, user: User | None, project_id: str, member: str, role: Role | None) -> None:
        """Makes another user a member, or changes the role of one. Idempotent."""
        self.records.add_member(user, project_id, member, role)


_LONGEST_NAME = 200


def check_name(name: str) -> str:
    """Returns the name without white space around it. Raises `Invalid` if it is empty or too long."""
    name = check_text(name.strip(), "The name")
    if not 0 < len(name) <= _LONGEST_NAME:
        raise Invalid(f"A name has 1 to {_LONGEST_NAME} characters. Choose another one.")
    return name


def check_text(text: str, what: str) -> str:
    """Returns the text. Raises `Invalid` if Postgres cannot store it."""
    if problem := problem_of(text):
        raise Invalid(f"{what} cannot be stored. {problem}")
    return text
