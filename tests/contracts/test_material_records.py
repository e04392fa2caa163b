"""What every `MaterialRecords` promises."""

import psycopg
import pytest
from sakuin.knowledge.model import Learns, PageChange
from sakuin.knowledge.validation import IndexedChunk, IndexedMaterial

from tests.builders import LEARNS, a_chunk, a_source
from tests.contracts.conftest import Knowledge

AWKWARD = 'a,b(c)."d" & e+f %41 ?#*'


def add(knowledge: Knowledge, *materials: str) -> None:
    for material in materials:
        knowledge.apply(a_source(material, 1), [a_chunk(material, "rule-a", "一")], material=material)


def listed(knowledge: Knowledge, **wanted: str | int) -> tuple[list[str], str | None]:
    page = knowledge.records.materials(**wanted)  # type: ignore[arg-type]
    return [state.material for state in page.items], page.next_cursor


def test_materials_come_by_name_in_pages_without_the_deleted(knowledge: Knowledge) -> None:
    add(knowledge, "c", "a", "B", "あ", "d")
    knowledge.index.apply(PageChange("d", a_source("d", 2), deleted=True))
    knowledge.index.apply(PageChange("e", a_source("e", 1), error="not HTML"))
    assert listed(knowledge) == (["B", "a", "c", "e", "あ"], None)
    assert listed(knowledge, limit=2) == (["B", "a"], "a")
    assert listed(knowledge, limit=2, after="a") == (["c", "e"], "e")
    assert listed(knowledge, limit=2, after="e") == (["あ"], None)
    assert listed(knowledge, after="zz", limit=5) == (["あ"], None)


def test_a_prefix_narrows_the_list_also_behind_a_cursor(knowledge: Knowledge) -> None:
    add(knowledge, "junior/a", "junior/b", "juniorx", "senior/a", "senior/𠮷")
    assert listed(knowledge, prefix="senior/") == (["senior/a", "senior/𠮷"], None)
    assert listed(knowledge, prefix="junior/", limit=1) == (["junior/a"], "junior/a")
    assert listed(knowledge, prefix="junior/", limit=1, after="junior/a") == (["junior/b"], None)
    assert listed(knowledge, prefix="senior/", after="junior/a") == (["senior/a", "senior/𠮷"], None)


@pytest.mark.parametrize("material", [AWKWARD, "_%", "null", "a\\b", "100%/50%25", "A" * 300])
def test_a_name_may_hold_any_sign(knowledge: Knowledge, material: str) -> None:
    add(knowledge, material)
    state = knowledge.index.state(material)
    assert state is not None
    assert state.material == material
    assert listed(knowledge, prefix=material[:5]) == ([material], None)
    assert listed(knowledge, after=material) == ([], None)
    assert knowledge.search.chunk(f"{material}#rule-a").anchor == "rule-a"
    assert list(knowledge.records.indexed_materials([material])) == [material]


def test_counts_are_by_status_and_of_chunks(knowledge: Knowledge) -> None:
    assert knowledge.records.counts() == {"chunks": 0}
    add(knowledge, "a", "b", "c")
    knowledge.index.apply(PageChange("d", a_source("d", 1), error="not HTML"))
    knowledge.index.apply(PageChange("c", a_source("c", 2), deleted=True))
    assert knowledge.records.counts() == {"ready": 2, "failed": 1, "chunks": 2}


def test_receipts_of_versions_not_worked_on_yet_are_left_out(knowledge: Knowledge) -> None:
    add(knowledge, "a")
    knowledge.index.apply(PageChange("b", a_source("b", 1), error="not HTML"))
    versions = [("a", "a@1"), ("b", "b@1"), ("a", "a@2"), ("c", "c@1")]
    found = {(one.key, one.outcome, one.reason) for one in knowledge.records.upload_results(versions)}
    assert found == {("a", "applied", None), ("b", "failed", "not HTML")}
    assert knowledge.records.upload_results([]) == []


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
    add(knowledge, "m")
    assert knowledge.records.competing_keys() == []
    for key in ("z", "b"):
        knowledge.apply(a_source(key, 1), [a_chunk("m", "rule-a", "一")])
    knowledge.index.apply(PageChange("m", a_source("c", 1), deleted=True))
    assert knowledge.records.competing_keys() == [("m", "b", "m"), ("m", "z", "m")]
