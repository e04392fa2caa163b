"""Unfinished work as its rows show it, and a clock."""

from dataclasses import dataclass
from datetime import datetime

import psycopg
import pytest
from sakuin.platform.retry import Defer
from sakuin.platform.supabase.client import call, connected
from sakuin.platform.unfinished_work import UnfinishedWork, UnfinishedWorkStore, WorkMessage, WorkSubject
from sakuin_local.supabase.database import Database

from tests.convergence.passing import time_passes

A_DAY = 86_400
AN_INDEX = "an index"
A_PAGE = WorkSubject("file", "junior/が.html", "", "0A", WorkMessage("material", "the first event"))


@dataclass(frozen=True, slots=True)
class Work:
    store: UnfinishedWorkStore
    sql: psycopg.Connection

    def passes(self, seconds: int) -> None:
        time_passes(self.sql, seconds)

    def defer(
        self, *names: str, vendor: str | None = "openai", seconds: float = 60, longest: float | None = None
    ) -> None:
        """Defers pages, one after the other."""
        for name in names:
            assert self.store.defer(page(name), Defer(seconds, "away", vendor, longest))

    def retry(self, name: str, *, vendor: str | None = None, seconds: float = 5) -> None:
        self.store.record_retry(page(name), "it failed", vendor=vendor, seconds=seconds)

    def finish(self, name: str, *, vendor_answered: bool = True) -> None:
        self.store.finish(page(name), vendor_answered=vendor_answered)

    def due(self, limit: int = 100) -> list[str]:
        return [message.body for message in self.store.claim_due(limit=limit)]

    def states(self) -> dict[str, str]:
        return {row.subject: row.state for row in self.store.rows()}

    def row(self, subject: str) -> UnfinishedWork:
        (found,) = self.store.rows(subjects=[subject])
        return found

    def pause(self, name: str) -> float:
        """Returns the seconds until a page is tried again."""
        retry_at = datetime.fromisoformat(str(self.row(name).retry_at))
        return (retry_at - datetime.now(retry_at.tzinfo)).total_seconds()


def page(name: str) -> WorkSubject:
    return WorkSubject("file", name, message=WorkMessage("material", name))


def of(table: str, fingerprint: str = AN_INDEX) -> WorkSubject:
    """Returns a Table that a batch of its chunks fails for."""
    scan, batch = WorkMessage("tool", f"scan for {fingerprint}", "a project"), WorkMessage("embed", "a batch")
    return WorkSubject("table", table, fingerprint, message=scan).of(batch)


def age(row: UnfinishedWork) -> float:
    """Returns the seconds since the first failure."""
    since = datetime.fromisoformat(row.since)
    return (datetime.now(since.tzinfo) - since).total_seconds()


@pytest.fixture
def work(unfinished: UnfinishedWorkStore, sql: psycopg.Connection) -> Work:
    return Work(unfinished, sql)


@pytest.fixture
def table(work: Work, empty_database: Database) -> str:
    """A Table with a Tool that waits to be indexed."""
    client = connected(empty_database.rest_url, empty_database.service_key)
    project = call(client, "create_project", {"p_name": "p"})["id"]
    made = call(client, "create_table", {"p_project": project, "p_name": "t", "p_data": '{"a": "b"}'})
    tool = {"p_json_path": "", "p_name": "s", "p_description": "d"}
    call(client, "create_tool", {"p_project": project, "p_table": made["id"], **tool})
    return str(made["id"])
