"""What needs attention: the numbers of projects, and the sentences and buttons of the first page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sakuin.platform.supabase.client import Client, call
from sakuin.texts.catalogue import Texts
from sakuin.upkeep.queues import QueueState


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


def project_counts(client: Client, errors: int) -> ProjectCounts:
    """Returns the counts, and at most so many Tools in an error."""
    row = call(client, "project_counts", {"p_errors": errors})
    failed = tuple(FailedTool(**one) for one in row["errors"])
    return ProjectCounts(row["projects"], row["tables"], row["tools"], failed)


@dataclass(frozen=True, slots=True)
class Need:
    """Something that needs attention, by the key of its sentences below `needs.`, and how many there are.

    What helps is a page of the console (`path`), a command or a runbook. `hides`: searches do not find it.
    """

    name: str
    count: int
    path: str = ""
    command: str = ""
    hides: bool = False

    def sentence(self, t: Texts) -> str:
        """Returns what is wrong."""
        return t(f"needs.{self.name}.{'one' if self.count == 1 else 'many'}", count=f"{self.count:,}")


def needs_of(
    pages: Mapping[str, int],
    projects: ProjectCounts,
    work: Mapping[str, int],
    queues: Sequence[QueueState] | None,
    competing: int,
    broken: int,
    collapsed: int,
    night: Any,
    *,
    is_disk_full: bool,
) -> list[Need]:
    """Returns what needs attention, from what the first page reads.

    `competing` and `broken` are numbers of keys in the bucket, and of `learns.yml` and `synonyms.yml` that cannot be
    read, `collapsed` of pages that an upload took much of.
    """
    # What failed stays unfinished work when its letter is discarded.
    letters = max(sum(each.dead_letters for each in queues or ()), work.get("failed", 0))
    needs = [
        Need("disk", int(is_disk_full), command="docs/runbooks/database-full.md"),
        Need("pages", pages.get("failed", 0), command="sakuin push", hides=True),
        Need("collapsed", collapsed, command="sakuin push", hides=True),
        Need("tools", projects.tools.get("error", 0), path="/projects", hides=True),
        Need("letters", letters, path="/work#dead-letters", hides=True),
        Need("files", broken, command="sakuin push"),
        Need("competing", competing, command="sakuin rm", hides=True),
        Need("queues", int(queues is None), path="/work"),
        Need("retrying", work.get("retrying", 0), path="/work?state=retrying", hides=True),
        Need("waiting", work.get("waiting", 0), path="/work?state=waiting", hides=True),
        Need("night", len(night.failed) if night else 0, command="sakuin reconcile"),
    ]
    return [need for need in needs if need.count]


def state_of(t: Texts, needs: Sequence[Need], *, is_new: bool) -> str:
    """Returns the sentence of state: the first thing that is wrong, and what can be searched all the same."""
    return t("why.between.sentences").join(_sentences(t, needs, is_new))


def _sentences(t: Texts, needs: Sequence[Need], is_new: bool) -> Iterator[str]:
    if needs:
        yield needs[0].sentence(t)
    if (more := len(needs) - 1) > 0:
        yield t(f"needs.more.{'one' if more == 1 else 'many'}", count=more)
    if is_new:
        yield t("needs.new")
    else:
        yield t("needs.else_searchable" if any(need.hides for need in needs) else "needs.all_searchable")
