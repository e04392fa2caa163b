"""`ProjectRecords` and `Outbox`. `tests/isolation` shows that a stranger reads and changes nothing."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sakuin.errors import Invalid, OverLimit
from sakuin.platform.s3 import S3Bucket
from sakuin.platform.supabase.client import Client, answer
from sakuin.tables.admin.eventbridge import Outbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.model import Tool, User

from tests.doubles.event_bus import MemoryBus
from tests.emptied import emptied
from tests.watched import watched

MEMBER, STRANGER = User(str(uuid4())), User(str(uuid4()))


@dataclass(frozen=True, slots=True)
class Kept:
    records: ProjectRecords
    outbox: Outbox

    def events(self) -> list[str]:
        return [event.event for event in self.outbox.unsent_events(limit=100)]

    def project(self) -> str:
        return self.records.create_project(MEMBER, "p").id

    def table(self, project: str, data: str | None = "{}") -> str:
        return self.records.create_table(MEMBER, project, name="t", data=data, chunk_threshold_chars=None).id

    def tool(self, table: str, name: str = "search_a") -> Tool:
        project = self.records.table(None, table).project_id
        return self.records.create_tool(MEMBER, project, table, json_path="/a", name=name, description="d")


@pytest.fixture
def kept(service: Client, sql: psycopg.Connection) -> Kept:
    emptied(sql)
    return Kept(ProjectRecords(service), Outbox(service, MemoryBus()))


def test_projects_are_counted_for_their_creator_also_after_he_left(kept: Kept, sql: psycopg.Connection) -> None:
    sql.execute("select set_quotas('{\"projects\": 1}')")
    project = kept.project()
    kept.records.transfer_project(MEMBER, project, _joined(kept, project, STRANGER))
    kept.records.remove_member(STRANGER, project, MEMBER.id)
    # With a second account nobody would have a limit otherwise.
    with pytest.raises(OverLimit, match=r"2 projects that you created; the limit is 1 \(projects\)"):
        kept.project()
    assert kept.records.create_project(STRANGER, "p").id
    kept.records.delete_project(STRANGER, project)
    assert kept.project()


def _joined(kept: Kept, project: str, user: User) -> str:
    kept.records.add_member(MEMBER, project, user.id)
    return user.id


def test_a_document_leaves_postgres_only_for_those_who_read_it(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    project = kept.project()
    table = kept.table(project, '{"a":"' + "x" * 100_000 + '"}')
    answers: list[tuple[str, int]] = []

    client = kept.records.client
    see = watched(client, lambda request, response: answers.append((request.name, len(response.data))))
    monkeypatch.setattr(client, "send", see)
    tables = TableAdmin(kept.records, S3Bucket(None, ""))
    assert kept.records.table(None, table).bytes > 100_000
    tables.create_tool(None, project, table, json_path="/a", name="a", description=None)
    with pytest.raises(Invalid, match="no node at '/b'"):
        tables.create_tool(None, project, table, json_path="/b", name="b", description=None)
    assert [name for name, _ in answers] == ["read_table", "check_node", "create_tool", "check_node"]
    assert max(size for _, size in answers) < 5_000


def test_only_the_newest_upload_becomes_the_document(kept: Kept) -> None:
    table = kept.table(kept.project(), None)
    first, second = (kept.records.begin_upload(MEMBER, table) for _ in range(2))
    assert second.key == f"tables/{second.project_id}/{table}/{second.upload}.json"
    assert kept.records.table(MEMBER, table).pending_upload
    assert kept.records.finish_upload(table, second.upload, second.key, None)
    assert not kept.records.finish_upload(table, first.upload, first.key, None)
    assert not kept.records.finish_upload(table, second.upload, second.key, None)
    stored = kept.records.document(MEMBER, table)
    assert (stored.data, stored.data_key, stored.table.version) == (None, second.key, 1)
    assert not stored.table.pending_upload


def test_rows_that_a_platform_writes_reach_the_outbox(kept: Kept, sql: psycopg.Connection) -> None:
    project = kept.project()
    rows = kept.records.client.table
    table = answer(rows("context_table").insert({"project_id": project, "name": "t", "data": {"a": 1}, "version": 1}))
    its = {"project_id": project, "table_id": table[0]["id"]}
    made = {"type": "search", "json_path": "", "description": "d", "input_schema": {}, "enabled": True}
    tool, other = answer(rows("tool").insert([{**its, **made, "name": name} for name in ("a", "b")]))
    assert kept.events() == ["ToolCreated"] * 2

    def after(*written: Any) -> list[str]:
        kept.outbox.mark_sent([event.id for event in kept.outbox.unsent_events(limit=9)])
        for each in written:
            answer(each)
        return kept.events()

    of_tool, of_table = (rows(name).update for name in ("tool", "context_table"))
    changes = {"metadata": {"x": 1}, "name": "c", "json_path": "", "enabled": True}
    assert after(of_tool(changes).eq("id", tool["id"]), of_table({"name": "u"}).eq("id", its["table_id"])) == []
    assert after(of_table({"data": {"a": 1}, "version": 1}).eq("id", its["table_id"])) == []
    assert after(of_table({"data": {"a": 2}, "generation": 1}).eq("id", its["table_id"])) == ["TableUpdated"]
    # It was 4 before: a generation that a platform read long ago does not count.
    assert sql.execute("select generation from context_table").fetchall() == [(4,)]
    assert after(of_tool({"json_path": "/a"}).eq("id", tool["id"])) == ["ToolUpdated"]
    assert kept.records.tool(None, tool["id"]).metadata["search_index"]["state"] == "pending"
    assert after(rows("tool").delete().eq("id", other["id"])) == ["ToolDeleted"]
    assert after(rows("context_table").delete().eq("id", its["table_id"])) == ["TableDeleted"]
    (event,) = kept.outbox.unsent_events(limit=9)
    assert (event.project_id, event.table_id, event.tool_id) == (project, its["table_id"], None)
