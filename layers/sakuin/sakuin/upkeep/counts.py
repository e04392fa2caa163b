"""Counts of projects, Tables and Tools of a deployment, and the size of its database."""

from collections.abc import Mapping
from dataclasses import dataclass

from sakuin.platform.supabase.client import Client, call


@dataclass(frozen=True, slots=True)
class FailedTool:
    """A Tool whose index is in an error."""

    tool_id: str
    name: str
    project_id: str
    table_id: str
    last_error: str | None


@dataclass(frozen=True, slots=True)
class ProjectCounts:
    """The number of projects, of Tables, and of enabled Tools in each state; and the first Tools in an error."""

    projects: int
    tables: int
    tools: Mapping[str, int]
    errors: tuple[FailedTool, ...]


@dataclass(frozen=True, slots=True)
class DatabaseSize:
    """The size of the database, beside `most_bytes`, the size of its disk; 0: the disk is not watched."""

    client: Client
    most_bytes: int

    def percent(self) -> float:
        """Returns how much of the disk the database takes; 0 if it is not watched."""
        return 100 * int(call(self.client, "database_bytes", {})) / self.most_bytes if self.most_bytes else 0.0


def project_counts(client: Client, errors: int) -> ProjectCounts:
    """Returns the counts, and at most so many Tools in an error."""
    row = call(client, "project_counts", {"p_errors": errors})
    failed = tuple(FailedTool(**one) for one in row["errors"])
    return ProjectCounts(row["projects"], row["tables"], row["tools"], failed)
