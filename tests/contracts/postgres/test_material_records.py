"""`MaterialRecords`: lists, counts, receipts and waiting keys."""

import psycopg
import pytest
from sakuin.knowledge.model import Learns
from sakuin.knowledge.validation import IndexedChunk, IndexedMaterial

from tests.builders import LEARNS, a_chunk, a_source
from tests.contracts.postgres.conftest import Knowledge

AWKWARD = 'a,b(c)."d" & e+f %41 ?#*'


def listed(knowledge: Knowledge, **wanted: str | int) -> tuple[list[str], str | None]:
    page = knowledge.records.materials(**wanted)  # type: ignore[arg-type]
    return [state.material for state in page.items], page.next_cursor


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


@pytest.mark.parametrize("material", [AWKWARD, "_%", "null", "a\\b", "100%/50%25", "A" * 300])
def test_a_name_may_contain_any_character(knowledge: Knowledge, material: str) -> None:
    knowledge.add(material)
    assert knowledge.state(material).material == material
    assert listed(knowledge, prefix=material[:5]) == ([material], None)
    assert listed(knowledge, after=material) == ([], None)
    assert knowledge.search.chunk(f"{material}#rule-a").anchor == "rule-a"
    assert list(knowledge.records.indexed([material])) == [material]


def test_counts_are_by_status_and_of_chunks(knowledge: Knowledge) -> None:
    assert knowledge.records.counts() == {"chunks": 0}
    knowledge.add("a", "b", "c")
    knowledge.fail(a_source("d", 1), material="d")
    knowledge.delete(a_source("c", 2), material="c")
    assert knowledge.records.counts() == {"ready": 2, "failed": 1, "chunks": 2}


def test_versions_that_were_not_processed_have_no_receipt(knowledge: Knowledge) -> None:
    knowledge.add("a")
    knowledge.fail(a_source("b", 1), material="b")
    versions = [("a", "a@1"), ("b", "b@1"), ("a", "a@2"), ("c", "c@1")]
    found = {(one.key, one.outcome, one.reason) for one in knowledge.records.receipts(versions)}
    assert found == {("a", "applied", None), ("b", "failed", "not HTML")}
    assert knowledge.records.receipts([]) == []


def test_receipts_of_1100_versions_come_whole(knowledge: Knowledge, sql: psycopg.Connection) -> None:
    # PostgREST cuts answers at 1,000 rows without a word.
    sql.execute(
        "insert into public.receipt (key, version_id, outcome) "
        "select 'key-' || n, 'v' || n, 'applied' from generate_series(1, 1100) n"
    )
    versions = [(f"key-{number}", f"v{number}") for number in range(1, 1101)]
    assert len(knowledge.records.receipts(versions)) == 1100


def test_what_is_indexed_comes_in_page_order_with_what_the_author_gave(knowledge: Knowledge) -> None:
    given = Learns(("一の方法", "二の方法", "三の方法"), "author", ("一の方法",))
    chunks = [
        a_chunk("m", "tip-z", "二", position=1, learns=given),
        a_chunk("m", "rule-a", "三", position=2),
        a_chunk("m", "rule-b", "一", position=0),
    ]
    knowledge.apply(a_source("m", 1), chunks)
    knowledge.apply(a_source("empty", 1), [], material="empty")
    assert knowledge.records.indexed(["m", "empty", "unknown"]) == {
        "m": IndexedMaterial(
            (
                IndexedChunk("rule-b", LEARNS.items),
                IndexedChunk("tip-z", given.items, ("一の方法",)),
                IndexedChunk("rule-a", LEARNS.items),
            )
        ),
        "empty": IndexedMaterial(()),
    }


def test_waiting_keys_are_reported_with_the_owner(knowledge: Knowledge) -> None:
    knowledge.add("m")
    assert knowledge.records.waiting() == []
    for key in ("z", "b"):
        knowledge.apply(a_source(key, 1), [a_chunk("m", "rule-a", "一")])
    knowledge.delete(a_source("c", 1))
    assert knowledge.records.waiting() == [("m", "b", "m"), ("m", "z", "m")]
