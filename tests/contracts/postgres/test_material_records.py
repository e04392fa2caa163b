"""`MaterialRecords`: lists, counts, upload results, waiting keys, and what reconciliation asks."""

import psycopg
from sakuin.knowledge.model import AuthoredFile, Learns, RecordedObject
from sakuin.knowledge.validation import IndexedChunk
from sakuin.language.indexing import index_words
from sakuin.platform.unfinished_work import UnfinishedWorkStore, WorkSubject

from tests.builders import LEARNS, a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge

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
    assert knowledge.records.counts() == {"chunks": 0}
    knowledge.add("a", "b", "c")
    knowledge.fail(a_source("d", 1), material="d")
    knowledge.delete(a_source("c", 2), material="c")
    assert knowledge.records.counts() == {"ready": 2, "failed": 1, "chunks": 2}


def test_receipts_of_1100_versions_come_whole(knowledge: Knowledge, sql: psycopg.Connection) -> None:
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
        RecordedObject("B/x.html", "owner", "B/x.html@16", gone=False),
        RecordedObject("a/learns.yml", "file", None, gone=True),
        RecordedObject("b-1.html", "owner", "b-1.html@32", gone=True),
        RecordedObject("b.html", "owner", "b.html@16", gone=False),
        RecordedObject("b2.html", "waiting", "b2.html@16", gone=False),
        RecordedObject("learns.yml", "file", "v1", gone=False),
        RecordedObject("あ.html", "owner", "あ.html@16", gone=False),
    ]
    assert knowledge.records.objects("b-1.html", limit=2) == found[3:5]
    assert knowledge.records.objects("あ.html", limit=2) == []


def test_what_changed_just_now_is_young(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("a.html", 16), [a_chunk("m", "rule-a", "一")])
    assert [one.young for one in knowledge.records.objects("", limit=9, young_seconds=60)] == [True]
    assert [one.young for one in knowledge.records.objects("", limit=9)] == [False]


def test_a_waiting_key_is_free_when_its_owner_was_deleted(knowledge: Knowledge) -> None:
    knowledge.apply(a_source("a.html", 16), [a_chunk("m", "rule-a", "一")])
    knowledge.apply(a_source("b.html", 16), [a_chunk("m", "rule-a", "二")])
    knowledge.delete(a_source("a.html", 32))
    assert [(one.key, one.gone, one.free) for one in knowledge.records.objects("", limit=9)] == [
        ("a.html", True, False),
        ("b.html", False, True),
    ]


def test_a_learns_file_is_free_while_a_page_has_another_version(
    knowledge: Knowledge, unfinished: UnfinishedWorkStore
) -> None:
    written = {"learns.yml": "v1"}
    for number, name in enumerate(("a", "b"), start=1):
        knowledge.apply(a_source(name, number), [a_chunk(name, "rule-a", "一")], material=name, learns_files=written)

    def is_free(version: str | None, *names: str) -> bool:
        knowledge.index.record_authored_file(AuthoredFile("learns.yml", version, "", names))
        return next(one.free for one in knowledge.records.objects("", limit=9) if one.kind == "file")

    assert [is_free("v1", "a"), is_free("v2", "a"), is_free(None, "a"), is_free("v2", "c")] == [
        False,
        True,
        True,
        False,
    ]
    # Work that is recorded is not lost.
    unfinished.record_retry(WorkSubject("material", "a"), "away", vendor=None, seconds=60)
    assert is_free("v2", "a") is False
    # Of a file that cannot be read, no page is requested.
    knowledge.index.record_authored_file(AuthoredFile("learns.yml", "v3"))
    assert not any(one.free for one in knowledge.records.objects("", limit=9))


def test_pages_are_counted_by_key_without_the_deleted_ones(knowledge: Knowledge) -> None:
    for key in ("a", "b", "c"):
        knowledge.apply(a_source(key, 16), [a_chunk(key, "rule-a", "一")], material=key)
    knowledge.apply(a_source("a2", 16), [a_chunk("a", "rule-a", "二")], material="a")
    knowledge.delete(a_source("b", 32), material="b")
    knowledge.index.record_authored_file(AuthoredFile("learns.yml", "v1"))
    assert knowledge.records.page_count() == 3


def test_readings_that_no_page_has_are_deleted(knowledge: Knowledge) -> None:
    read = a_chunk("m", "rule-a", "公式", words=index_words(title="公式", learns=(), body="二次方程式を解く"))
    knowledge.apply(a_source("m.html", 16), [read])
    assert knowledge.records.delete_unused_readings("", limit=500, dry_run=False) == (0, None)
    knowledge.apply(a_source("m.html", 32), [a_chunk("m", "rule-a", "x")])
    unused, _ = knowledge.records.delete_unused_readings("", limit=500, dry_run=True)
    assert unused > 0
    assert knowledge.records.delete_unused_readings("", limit=500, dry_run=False) == (unused, None)
    assert knowledge.records.delete_unused_readings("", limit=500, dry_run=False) == (0, None)
    _, following = knowledge.records.delete_unused_readings("", limit=1, dry_run=False)
    assert following is None or following > ""


def test_damage_is_found_and_repaired(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    chunks = [a_chunk("m", "rule-a", "二次方程式"), a_chunk("m", "rule-b", "一次関数", position=1)]
    knowledge.apply(a_source("m.html", 16), chunks)
    words = sorted(sql.execute("select term, n from public.posting where n > 0").fetchall())
    for damage, why in (
        ("delete from knowledge_chunks where id = 'm#rule-a'", "a wrong number of chunks"),
        ("update material set chunks_count = 7", "a wrong number of chunks"),
        ("delete from chunk_words where id = 'm#rule-a'", "chunks without words"),
        (
            "delete from posting where term = (select terms[1] from chunk_words order by id limit 1)",
            "words without postings",
        ),
        ("update material set status = 'deleted'", "chunks of a deleted page"),
    ):
        sql.execute(damage.encode())
        assert knowledge.records.broken_materials("", limit=9) == ([("m", why)], None), damage
        knowledge.records.repair("m")
        state = knowledge.state()
        if state.status == "ready":
            knowledge.apply(None, chunks, expected_generation=state.generation)
            assert sorted(sql.execute("select term, n from public.posting where n > 0").fetchall()) == words, damage
        assert knowledge.records.broken_materials("", limit=9) == ([], None), damage
        whole = {"rule-a": "二次方程式", "rule-b": "一次関数"}
        assert knowledge.contents() == ({} if state.status == "deleted" else whole), damage
