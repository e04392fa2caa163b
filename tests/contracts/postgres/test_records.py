"""`MaterialRecords`, `ProjectRecords`, `Outbox`. `tests/isolation` shows that a stranger reads and changes nothing."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from sakuin.errors import Invalid, OverLimit
from sakuin.knowledge.model import AuthoredFile, Learns, LibraryCounts, PageChange, RecordedObject
from sakuin.knowledge.page import IndexedChunk, Words
from sakuin.platform.s3 import S3Bucket
from sakuin.platform.supabase.client import Client, answer
from sakuin.tables.admin.outbox import Outbox
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.admin.tables import TableAdmin
from sakuin.tables.model import Tool, User

from tests.builders import LEARNS, a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge
from tests.doubles.event_bus import MemoryBus
from tests.emptied import emptied
from tests.watched import watched

AWKWARD = 'a,b(c)."d" & e+f %41 ?#*'


def listed(knowledge: Knowledge, **wanted: str | int) -> tuple[list[str], str | None]:
    materials, next_cursor = knowledge.records.materials(**wanted)
    return [state.material for state in materials], next_cursor


def test_materials_come_by_name_in_pages_without_the_deleted(knowledge: Knowledge) -> None:
    knowledge.add("c", "a", "B", "あ", "d")
    knowledge.delete(a_source("d", 2), material="d")
    knowledge.fail(a_source("e", 1), material="e")
    assert listed(knowledge) == (["B", "a", "c", "e", "あ"], None)
    assert listed(knowledge, limit=2) == (["B", "a"], "a")
    assert listed(knowledge, limit=2, after="a") == (["c", "e"], "e")
    assert listed(knowledge, limit=2, after="e") == (["あ"], None)
    assert listed(knowledge, after="zz", limit=5) == (["あ"], None)


def test_a_prefix_narrows_the_list_also_behind_a_cursor(knowledge: Knowledge) -> None:
    knowledge.add("junior/a", "junior/b", "juniorx", "senior/a", "senior/𠮷")
    assert listed(knowledge, prefix="senior/") == (["senior/a", "senior/𠮷"], None)
    assert listed(knowledge, prefix="junior/", limit=1) == (["junior/a"], "junior/a")
    assert listed(knowledge, prefix="junior/", limit=1, after="junior/a") == (["junior/b"], None)
    assert listed(knowledge, prefix="senior/", after="junior/a") == (["senior/a", "senior/𠮷"], None)


def test_a_name_may_contain_any_character(knowledge: Knowledge) -> None:
    names = sorted([AWKWARD, "_%", "null", "a\\b", "100%/50%25", "A" * 300], key=str.encode)
    knowledge.add(*names)
    for place, material in enumerate(names):
        assert knowledge.state(material).material == material
        assert listed(knowledge, prefix=material[:5]) == ([material], None)
        assert listed(knowledge, after=material) == (names[place + 1 :], None)
        assert knowledge.chunk(f"{material}#rule-a").anchor == "rule-a"
        assert list(knowledge.records.indexed_materials([material])) == [material]


def test_counts_are_by_status_and_of_chunks(knowledge: Knowledge) -> None:
    assert knowledge.records.counts() == LibraryCounts({}, 0, None)
    knowledge.add("a", "b", "c")
    for name, words in (("a", Words(5, 1, {"menu": 2})), ("b", Words(3, 0, {"menu": 1, "form": 4}, only_read=6))):
        change = PageChange(name, a_source(name, 3), [a_chunk(name, "rule-a", "一")], knowledge.version.id, words=words)
        knowledge.index.apply(change)
    knowledge.fail(a_source("d", 1), material="d")
    knowledge.delete(a_source("c", 2), material="c")
    knowledge.fail(a_source("b", 4), material="b")
    books = Words(8, 1, {"menu": 3, "form": 4}, only_read=6)
    assert knowledge.records.counts() == LibraryCounts({"ready": 1, "failed": 2}, 2, books)


def test_results_of_1100_versions_come_whole(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    # PostgREST cuts answers at 1,000 rows without a word.
    sql.execute(
        "insert into public.upload_result (key, version_id, outcome) "
        "select 'key-' || n, 'v' || n, 'applied' from generate_series(1, 1100) n"
    )
    versions = [(f"key-{number}", f"v{number}") for number in range(1, 1101)]
    assert len(knowledge.records.upload_results(versions)) == 1100


def test_what_is_indexed_comes_in_page_order_with_what_the_author_gave(knowledge: Knowledge) -> None:
    given = Learns(("一の方法", "二の方法", "三の方法"), "author", ("一の方法",))
    chunks = [
        a_chunk("m", "tip-z", "二", position=1, learns=given),
        a_chunk("m", "rule-a", "三", position=2),
        a_chunk("m", "rule-b", "一", position=0),
    ]
    knowledge.apply(a_source("m", 1), chunks)
    knowledge.apply(a_source("empty", 1), [], material="empty")
    assert knowledge.records.indexed_materials(["m", "empty", "unknown"]) == {
        "m": [
            IndexedChunk("rule-b", LEARNS.items),
            IndexedChunk("tip-z", given.items, ("一の方法",)),
            IndexedChunk("rule-a", LEARNS.items),
        ],
        "empty": [],
    }


def test_waiting_keys_are_reported_with_the_owner(knowledge: Knowledge) -> None:
    knowledge.add("m")
    assert knowledge.records.competing_keys() == []
    for key in ("z", "b"):
        knowledge.apply(a_source(key, 1), [a_chunk("m", "rule-a", "一")])
    knowledge.delete(a_source("c", 1))
    assert knowledge.records.competing_keys() == [("m", "b", "m"), ("m", "z", "m")]


# ---------------------------------------------------------------- reconciliation


def test_known_keys_come_in_the_order_of_their_bytes(knowledge: Knowledge) -> None:
    for key, material in (("b-1.html", "b-1"), ("b.html", "b"), ("あ.html", "あ"), ("B/x.html", "B/x")):
        knowledge.apply(a_source(key, 16), [a_chunk(material, "rule-a", "一")], material=material)
    knowledge.apply(a_source("b2.html", 16), [a_chunk("b", "rule-a", "二")], material="b")
    knowledge.delete(a_source("b-1.html", 32), material="b-1")
    knowledge.index.record_authored_file(AuthoredFile("learns.yml", "v1"))
    knowledge.index.record_authored_file(AuthoredFile("a/learns.yml", None))
    found = knowledge.records.objects("", limit=10)
    assert found == [
        RecordedObject("B/x.html", "B/x.html@16"),
        RecordedObject("a/learns.yml", None),
        RecordedObject("b-1.html", None),
        RecordedObject("b.html", "b.html@16"),
        RecordedObject("b2.html", "b2.html@16"),
        RecordedObject("learns.yml", "v1"),
        RecordedObject("あ.html", "あ.html@16"),
    ]
    assert knowledge.records.objects("b-1.html", limit=2) == found[3:5]
    assert knowledge.records.objects("あ.html", limit=2) == []


def test_what_changed_just_now_is_young(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("a.html", 16), [a_chunk("m", "rule-a", "一")])
    assert [one.young for one in knowledge.records.objects("", limit=9, young_seconds=60)] == [True]
    assert [one.young for one in knowledge.records.objects("", limit=9)] == [False]


def test_a_waiting_key_is_checked_again_when_its_owner_was_deleted(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("a.html", 16), [a_chunk("m", "rule-a", "一")])
    knowledge.apply(a_source("b.html", 16), [a_chunk("m", "rule-a", "二")])
    knowledge.delete(a_source("a.html", 32))
    assert [(one.key, one.again) for one in knowledge.records.objects("", limit=9)] == [
        ("a.html", False),
        ("b.html", True),
    ]


def test_a_learns_file_is_checked_again_while_a_page_has_another_version(knowledge: Knowledge) -> None:
    written = {"learns.yml": "v1"}
    for number, name in enumerate(("a", "b"), start=1):
        knowledge.apply(a_source(name, number), [a_chunk(name, "rule-a", "一")], material=name, learns_files=written)

    def is_due(version: str | None, *names: str) -> bool:
        knowledge.index.record_authored_file(AuthoredFile("learns.yml", version, "", names))
        return next(one.again for one in knowledge.records.objects("", limit=9) if one.key == "learns.yml")

    assert [is_due("v1", "a"), is_due("v2", "a"), is_due(None, "a"), is_due("v2", "c")] == [False, True, True, False]
    # Work that is recorded is not lost.
    knowledge.index.note_requests(["a"], "away")
    assert is_due("v2", "a") is False
    # Of a file that cannot be read, no page is requested.
    knowledge.index.record_authored_file(AuthoredFile("learns.yml", "v3"))
    assert not any(one.again for one in knowledge.records.objects("", limit=9))


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
    kept.records.add_member(MEMBER, project, STRANGER.id, "owner")
    kept.records.remove_member(MEMBER, project, MEMBER.id)
    # With a second account nobody would have a limit otherwise.
    with pytest.raises(OverLimit, match=r"2 projects that you created; the limit is 1 \(projects\)"):
        kept.project()
    assert kept.records.create_project(STRANGER, "p").id
    kept.records.delete_project(STRANGER, project)
    assert kept.project()


def test_a_document_leaves_postgres_only_for_those_who_read_it(kept: Kept) -> None:
    project = kept.project()
    table = kept.table(project, '{"a":"' + "x" * 100_000 + '"}')
    answers: list[tuple[str, int]] = []
    tables = TableAdmin(kept.records, S3Bucket(None, ""))
    with watched(kept.records.client, lambda name, response: answers.append((name, len(response.content)))):
        assert kept.records.table(None, table).bytes > 100_000
        tables.create_tool(None, project, table, json_path="/a", name="a", description=None)
        with pytest.raises(Invalid, match="no node at '/b'"):
            tables.create_tool(None, project, table, json_path="/b", name="b", description=None)
    assert [name for name, _ in answers] == ["read_table", "check_node", "create_tool", "check_node"]
    assert max(size for _, size in answers) < 5_000


def test_a_pointer_is_decoded_as_rfc_6901_says(kept: Kept) -> None:
    table = kept.table(kept.project(), '{"a/b": {"~1": 1}}')
    kept.records.check_node(MEMBER, table, "/a~1b/~01")
    with pytest.raises(Invalid, match="no node at"):
        kept.records.check_node(MEMBER, table, "/a~1b/~1")


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
