"""What `ReconciliationRuns` and `MaterialRecords` promise."""

from dataclasses import dataclass

import psycopg
import pytest
from sakuin.knowledge.model import Learns, PageChange, RecordedObject
from sakuin.knowledge.postgres_records import MaterialRecords
from sakuin.language.indexing import index_words
from sakuin.platform.retry import Defer
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject
from sakuin.upkeep.reconcile import ReconciliationRuns, Run
from supabase import Client

from tests.builders import a_chunk, a_source
from tests.contracts.conftest import Knowledge
from tests.emptied import emptied


@dataclass(frozen=True, slots=True)
class Timed:
    """Walks, and how time passes for them."""

    runs: ReconciliationRuns
    sql: psycopg.Connection

    def passes(self, seconds: float) -> None:
        later = "update public.reconciliation_run set claimed_until = claimed_until - make_interval(secs => %s)"
        self.sql.execute(later, (seconds,))


@pytest.fixture
def timed(service: Client, sql: psycopg.Connection) -> Timed:
    emptied(sql)
    return Timed(ReconciliationRuns(service), sql)


def test_a_walk_begins_when_it_is_asked_to_and_goes_on_until_its_end(timed: Timed) -> None:
    runs = timed.runs
    assert runs.take("whole", seconds=60) is None
    assert runs.take("whole", seconds=60, begin=True) == Run(None)
    runs.release("whole", "b")
    assert runs.take("whole", seconds=60) == Run("b")
    runs.release("whole", "c")
    assert runs.take("whole", seconds=60, begin=True) == Run("c")
    runs.release("whole", None)
    assert runs.take("whole", seconds=60) is None
    assert runs.take("whole", seconds=60, begin=True) == Run(None)


def test_who_dies_is_followed_from_where_he_noted_that_he_was(timed: Timed) -> None:
    runs = timed.runs
    runs.take("whole", seconds=60, begin=True)
    runs.save("whole", "b")
    assert runs.take("whole", seconds=60) is None
    timed.passes(61)
    assert runs.take("whole", seconds=60) == Run("b")


def test_one_at_a_time_walks_and_who_dies_loses_his_turn(timed: Timed) -> None:
    runs = timed.runs
    runs.take("round", seconds=60, begin=True)
    assert runs.take("round", seconds=60, begin=True) is None
    assert runs.take("another", seconds=60, begin=True) == Run(None)
    timed.passes(61)
    assert runs.take("round", seconds=60) == Run(None)


@pytest.fixture
def records(service: Client) -> MaterialRecords:
    """Over the same database as `knowledge`."""
    return MaterialRecords(service)


def test_the_keys_that_are_known_come_in_the_order_of_their_bytes(
    knowledge: Knowledge, records: MaterialRecords
) -> None:
    for key, material in (("b-1.html", "b-1"), ("b.html", "b"), ("あ.html", "あ"), ("B/x.html", "B/x")):
        knowledge.apply(a_source(key, 16), [a_chunk(material, "rule-a", "一")], material=material)
    knowledge.apply(a_source("b2.html", 16), [a_chunk("b", "rule-a", "二")], material="b")
    knowledge.index.apply(PageChange("b-1", a_source("b-1.html", 32), deleted=True))
    knowledge.index.record_learns_file("learns.yml", "v1")
    knowledge.index.record_learns_file("a/learns.yml", None)
    found = records.objects("", limit=10)
    assert found == [
        RecordedObject("B/x.html", "owner", "B/x.html@16", gone=False),
        RecordedObject("a/learns.yml", "file", None, gone=True),
        RecordedObject("b-1.html", "owner", "b-1.html@32", gone=True),
        RecordedObject("b.html", "owner", "b.html@16", gone=False),
        RecordedObject("b2.html", "waiting", "b2.html@16", gone=False),
        RecordedObject("learns.yml", "file", "v1", gone=False),
        RecordedObject("あ.html", "owner", "あ.html@16", gone=False),
    ]
    assert records.objects("b-1.html", limit=2) == found[3:5]
    assert records.objects("あ.html", limit=2) == []


def test_what_changed_just_now_is_young(knowledge: Knowledge, service: Client) -> None:
    knowledge.apply(a_source("a.html", 16), [a_chunk("m", "rule-a", "一")])
    records = MaterialRecords(service)
    assert [one.young for one in records.objects("", limit=9, young_seconds=60)] == [True]
    assert [one.young for one in records.objects("", limit=9)] == [False]


def test_a_key_waits_freely_when_its_owner_is_gone(knowledge: Knowledge, records: MaterialRecords) -> None:
    knowledge.apply(a_source("a.html", 16), [a_chunk("m", "rule-a", "一")])
    knowledge.apply(a_source("b.html", 16), [a_chunk("m", "rule-a", "二")])
    knowledge.index.apply(PageChange("m", a_source("a.html", 32), deleted=True))
    assert [(one.key, one.gone, one.free) for one in records.objects("", limit=9)] == [
        ("a.html", True, False),
        ("b.html", False, True),
    ]


def test_pages_are_counted_by_key_without_the_deleted_ones(knowledge: Knowledge, records: MaterialRecords) -> None:
    for key in ("a", "b", "c"):
        knowledge.apply(a_source(key, 16), [a_chunk(key, "rule-a", "一")], material=key)
    knowledge.apply(a_source("a2", 16), [a_chunk("a", "rule-a", "二")], material="a")
    knowledge.index.apply(PageChange("b", a_source("b", 32), deleted=True))
    knowledge.index.record_learns_file("learns.yml", "v1")
    assert records.page_count() == 3


def test_pages_that_were_written_whole_are_not_broken(knowledge: Knowledge, records: MaterialRecords) -> None:
    for material in ("a", "b", "c"):
        knowledge.apply(a_source(material, 16), [a_chunk(material, "rule-a", "公式")], material=material)
    knowledge.index.apply(PageChange("b", a_source("b", 32), deleted=True))
    assert records.broken_materials("", limit=2) == ([], "b")
    assert records.broken_materials("b", limit=2) == ([], None)


@pytest.mark.parametrize("subject", [WorkSubject("file", "c.html"), WorkSubject("material", "c")])
def test_pages_whose_learns_wait_for_a_model_are_named_unless_their_work_is_unfinished(
    knowledge: Knowledge, records: MaterialRecords, service: Client, subject: WorkSubject
) -> None:
    for material in ("a", "b", "c"):
        learns = Learns(("甲の方法", "乙の方法", "丙の方法"), "written" if material == "b" else "provisional")
        knowledge.apply(
            a_source(f"{material}.html", 16), [a_chunk(material, "rule-a", "公式", learns=learns)], material=material
        )
    assert records.provisional_materials("", limit=2) == (["a"], "b")
    assert records.provisional_materials("b", limit=2) == (["c"], None)
    UnfinishedWorkStore(service).defer(subject, Defer(60, "tomorrow"))
    assert records.provisional_materials("", limit=9) == (["a"], None)


def test_readings_go_when_no_page_has_them_any_more(knowledge: Knowledge, records: MaterialRecords) -> None:
    read = a_chunk("m", "rule-a", "公式", words=index_words(title="公式", learns=(), body="二次方程式を解く"))
    knowledge.apply(a_source("m.html", 16), [read])
    assert records.delete_unused_readings("", limit=500, dry_run=False) == (0, None)
    knowledge.apply(a_source("m.html", 32), [a_chunk("m", "rule-a", "x")])
    unused, _ = records.delete_unused_readings("", limit=500, dry_run=True)
    assert unused > 0
    assert records.delete_unused_readings("", limit=500, dry_run=False) == (unused, None)
    assert records.delete_unused_readings("", limit=500, dry_run=False) == (0, None)
    _, following = records.delete_unused_readings("", limit=1, dry_run=False)
    assert following is None or following > ""


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("delete from knowledge_chunks where id = 'm#rule-a'", "a wrong number of chunks"),
        ("update material set chunks_count = 7", "a wrong number of chunks"),
        ("delete from chunk_words where id = 'm#rule-a'", "chunks without words"),
        (
            "delete from posting where term = (select terms[1] from chunk_words order by id limit 1)",
            "words without postings",
        ),
        ("update material set status = 'deleted'", "chunks of a deleted page"),
    ],
)
def test_what_is_broken_is_found_and_whole_again_once_mended_and_applied(
    knowledge: Knowledge, service: Client, sql: psycopg.Connection, damage: str, why: str
) -> None:
    chunks = [a_chunk("m", "rule-a", "二次方程式"), a_chunk("m", "rule-b", "一次関数", position=1)]
    knowledge.apply(a_source("m.html", 16), chunks)
    words = sorted(sql.execute("select term, n from public.posting where n > 0").fetchall())
    sql.execute(damage.encode())
    records = MaterialRecords(service)
    assert records.broken_materials("", limit=9) == ([("m", why)], None)
    records.repair("m")
    state = knowledge.index.state("m")
    assert state is not None
    if state.status == "ready":
        knowledge.apply(None, chunks, expected=state.generation)
        assert sorted(sql.execute("select term, n from public.posting where n > 0").fetchall()) == words
    assert records.broken_materials("", limit=9) == ([], None)
    assert knowledge.contents() == ({} if state.status == "deleted" else {"rule-a": "二次方程式", "rule-b": "一次関数"})
