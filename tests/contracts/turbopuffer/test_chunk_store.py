"""`TurbopufferChunkStore`: what a `ChunkStore` promises, and what turbopuffer adds."""

import hashlib
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sakuin.errors import Invalid, Refused, SakuinError, Unavailable
from sakuin.language.model import Slot, WeightedTerm
from sakuin.tables.chunk_store import ChunkStore, Found, FoundChunk, StoredChunkRow
from sakuin.tables.turbopuffer.client import connected
from sakuin.tables.turbopuffer.store import TurbopufferChunkStore
from sakuin_local.addresses import free_port
from sakuin_local.processes import Programs
from sakuin_local.vendors import start_turbopuffer

NAMESPACE = "project_6f1c1a2e-9b7a-4c55-8d1e-1a2b3c4d5e6f_table_0b7a4c55-8d1e-4c55-9b7a-1a2b3c4d5e6f"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def place(pointer: str) -> str:
    return digest(pointer)[:16]


def row(
    pointer: str = "/articles/0/content",
    content: str = "二次方程式の解の公式",
    *,
    index: int = 0,
    generation: int = 1,
    terms: tuple[str, ...] = ("二次方程式", "公式"),
    vector: tuple[float, ...] = (1.0, 0.0, 0.0),
) -> StoredChunkRow:
    parts = pointer.split("/")
    ancestors = tuple(place("/".join(parts[:end])) for end in range(1, len(parts) + 1))
    return StoredChunkRow(
        doc_id=f"0b7a4c55_{place(pointer)}_{digest(content)[:16]}_{index}",
        json_pointer=pointer,
        ancestors=ancestors,
        content_hash=digest(content),
        chunk_index=index,
        generation=generation,
        content=content,
        terms=terms,
        vector=vector,
    )


def words(*terms: str | Slot) -> tuple[Slot, ...]:
    return tuple(Slot("word", (WeightedTerm(term),)) if isinstance(term, str) else term for term in terms)


def found(store: ChunkStore, **asked: Any) -> Found:
    return store.search(
        NAMESPACE, **{"vector": None, "slots": (), "text": "", "scope": place(""), "depth": 50, **asked}
    )


def in_order(chunks: Sequence[FoundChunk], leg: str) -> list[str]:
    ranks = {getattr(each, leg): each.doc_id for each in chunks if getattr(each, leg) is not None}
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    return [ranks[rank] for rank in sorted(ranks)]


def nearest(store: ChunkStore, scope: str = "", *, depth: int = 50) -> list[str]:
    chunks = found(store, vector=(1.0, 0.0, 0.0), scope=place(scope), depth=depth).chunks
    return in_order(chunks, "nearest_rank")


def matching(store: ChunkStore, *terms: str | Slot, scope: str = "", text: str = "", depth: int = 50) -> list[str]:
    chunks = found(store, slots=words(*terms), text=text, scope=place(scope), depth=depth).chunks
    return in_order(chunks, "matching_rank")


@pytest.fixture
def store(stand_in: str) -> TurbopufferChunkStore:
    """The adapter and turbopuffer's SDK, with an empty stand-in behind them."""
    store = TurbopufferChunkStore(connected(stand_in, "any"))
    for namespace in store.namespaces(""):
        store.delete_namespace(namespace)
    return store


def test_a_row_is_found_by_its_vector_and_by_its_terms(store: ChunkStore) -> None:
    right = row()
    wrong = row("/articles/1/content", "英語の関係代名詞", terms=("英語", "関係代名詞"), vector=(0.0, 1.0, 0.0))
    store.upsert(NAMESPACE, [wrong, right])

    chunks = found(store, vector=(0.9, 0.1, 0.0), slots=words("公式"), text="公式", depth=10).chunks

    assert [(each.doc_id, each.nearest_rank, each.matching_rank) for each in chunks] == [
        (right.doc_id, 1, 1),
        (wrong.doc_id, 2, None),
    ]


def test_what_is_found_has_its_cosine_and_its_terms_whichever_leg_found_it(store: ChunkStore) -> None:
    near = row(index=0, terms=("公式", "公式", "解"))
    far = row(index=1, terms=("公式", "微分", "微分"), vector=(3.0, 4.0, 0.0))
    store.upsert(NAMESPACE, [near, far, row(index=2, vector=(0.0, 0.0, 1.0), terms=("英語",))])

    chunks = found(store, vector=(2.0, 0.0, 0.0), slots=words("微分", "公式", "積分"), depth=1).chunks

    assert chunks == (
        FoundChunk(near.doc_id, 1, None, pytest.approx(1.0, abs=1e-6), {"公式": 2}, 3),
        FoundChunk(far.doc_id, None, 1, pytest.approx(0.6, abs=1e-6), {"公式": 1, "微分": 2}, 3),
    )
    without_vector = found(store, slots=words("微分"), depth=1).chunks
    assert without_vector == (FoundChunk(far.doc_id, None, 1, None, {"微分": 2}, 3),)


def test_a_sample_has_its_cosines_in_any_scope(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(), row("/b", index=1, vector=(3.0, 4.0, 0.0)), row("/c", index=2)])
    sample = [row().doc_id, row("/b", index=1).doc_id, "never there"]
    asked = {"slots": words("公式"), "scope": place("/c"), "sample": sample}
    assert found(store, vector=(1.0, 0.0, 0.0), **asked).cosines == pytest.approx((1.0, 0.6), abs=1e-6)
    assert found(store, **asked).cosines == ()


def test_a_row_that_holds_more_of_the_terms_comes_first(store: ChunkStore) -> None:
    one, both = row(index=0, terms=("公式", "微分")), row(index=1, terms=("公式", "二次方程式"))
    store.upsert(NAMESPACE, [one, both])
    assert matching(store, "公式", "二次方程式") == [both.doc_id, one.doc_id]


def test_the_best_term_of_a_slot_counts_and_not_their_number(store: ChunkStore) -> None:
    every = row(index=0, terms=("三平方", "ピタゴラス", "証明"))
    other = row(index=1, terms=("ピタゴラス", "斜辺", "証明"))
    store.upsert(NAMESPACE, [every, other, *(row(index=number, terms=("証明",)) for number in range(2, 6))])
    theorem = Slot("word", (WeightedTerm("三平方", 0.5), WeightedTerm("ピタゴラス", 0.5)))
    assert matching(store, theorem, *words("斜辺"))[:2] == [other.doc_id, every.doc_id]


def test_a_term_of_less_weight_counts_less(store: ChunkStore) -> None:
    light, heavy = row(index=0, terms=("公式", "式")), row(index=1, terms=("微分", "式"))
    store.upsert(NAMESPACE, [light, heavy])
    asked = (Slot("word", (WeightedTerm("公式", 0.5),)), *words("微分"))
    assert matching(store, *asked) == [heavy.doc_id, light.doc_id]
    assert matching(store, *reversed(asked)) == [heavy.doc_id, light.doc_id]


def test_without_terms_the_engine_reads_the_text_itself(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(content="🐡 の話"), row(content="微分", index=1)])
    assert matching(store, text="🐡") == [row(content="🐡 の話").doc_id]


@pytest.mark.parametrize("text", ["", " \u3000\n"])
def test_a_search_for_nothing_finds_nothing(store: ChunkStore, text: str) -> None:
    store.upsert(NAMESPACE, [row(content="あ")])
    assert matching(store, text=text.strip()) == []
    assert matching(store, "どこにもない") == []


def test_rows_are_counted_once_however_often_they_were_stored(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(index=number, generation=number) for number in range(1, 40)])
    store.upsert(NAMESPACE, [row(index=1, generation=9)])
    store.upsert(NAMESPACE, [row(index=1, generation=9)])
    assert len(store.ids(NAMESPACE)) == 39
    store.delete(NAMESPACE, [row(index=1).doc_id])
    assert len(store.ids(NAMESPACE)) == 38


def test_no_row_is_no_error_and_no_namespace(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [])
    assert store.namespaces("") == []


def test_a_newer_generation_replaces_an_older_row(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(generation=1, terms=("旧",))])
    store.upsert(NAMESPACE, [row(generation=2, terms=("新",))])
    assert store.ids(NAMESPACE) == {row().doc_id: 2}
    assert (matching(store, "旧"), matching(store, "新")) == ([], [row().doc_id])


def test_an_older_generation_leaves_a_newer_row_as_it_is(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(generation=2, terms=("新",))])
    store.upsert(NAMESPACE, [row(generation=1, terms=("旧",)), row(index=1, generation=1)])
    assert store.ids(NAMESPACE) == {row().doc_id: 2, row(index=1).doc_id: 1}
    assert (matching(store, "旧"), matching(store, "新")) == ([], [row().doc_id])


def test_of_one_id_twice_in_an_upsert_the_newer_stays(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(generation=3), row(generation=2)])
    assert store.ids(NAMESPACE) == {row().doc_id: 3}


def test_a_sweep_deletes_the_other_contents_of_its_node_only(store: ChunkStore) -> None:
    old, new = row(content="古い"), row(content="新しい", generation=2)
    elsewhere = row("/articles/1/content", "古い")
    store.upsert(NAMESPACE, [old, row(content="古い", index=1), new, elsewhere])

    swept = store.sweep_node(
        NAMESPACE, json_pointer_hash=place(new.json_pointer), keep_content_hash=new.content_hash, generation=2
    )

    assert swept == 2
    assert store.ids(NAMESPACE).keys() == {new.doc_id, elsewhere.doc_id}


def test_a_sweep_of_a_deleted_node_deletes_all_its_rows(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(), row(content="別")])
    gone = place(row().json_pointer)
    assert store.sweep_node(NAMESPACE, json_pointer_hash=gone, keep_content_hash=None, generation=1) == 2
    assert store.ids(NAMESPACE) == {}


def test_a_late_sweep_leaves_newer_rows(store: ChunkStore) -> None:
    node = place(row().json_pointer)
    store.upsert(NAMESPACE, [row(generation=5)])
    assert store.sweep_node(NAMESPACE, json_pointer_hash=node, keep_content_hash=None, generation=4) == 0
    store.delete(NAMESPACE, [row().doc_id], generation=4)
    assert store.ids(NAMESPACE) == {row().doc_id: 5}


def test_a_content_that_came_back_survives_late_sweeps(store: ChunkStore) -> None:
    node = place(row().json_pointer)
    first, second, third = row(content="A"), row(content="B", generation=2), row(content="A", generation=3)
    for each in (first, second, third):
        store.upsert(NAMESPACE, [each])

    for kept, generation in ((third, 3), (second, 2), (first, 1)):
        store.sweep_node(NAMESPACE, json_pointer_hash=node, keep_content_hash=kept.content_hash, generation=generation)

    assert store.ids(NAMESPACE) == {third.doc_id: 3}
    assert nearest(store) == [third.doc_id]


def test_the_scope_articles_does_not_include_articles2(store: ChunkStore) -> None:
    inside, outside, parent = row("/articles/0"), row("/articles2/0"), row("/articles")
    store.upsert(NAMESPACE, [inside, outside, parent])
    for found in (nearest(store, "/articles"), matching(store, "公式", scope="/articles")):
        assert sorted(found) == sorted([inside.doc_id, parent.doc_id])
    assert nearest(store, "/articles/0") == [inside.doc_id]
    assert nearest(store, "/nowhere") == []


def test_each_ranking_is_as_deep_as_asked(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(index=number, vector=(1.0, number / 100, 0.0)) for number in range(60)])
    assert len(matching(store, "公式", depth=50)) == 50
    assert nearest(store, depth=7) == [row(index=number).doc_id for number in range(7)]
    assert len(nearest(store, depth=1_000)) == 60


def test_a_namespace_that_is_not_there_holds_nothing(store: ChunkStore) -> None:
    assert found(store, vector=(1.0,), slots=words("公式"), text="公式", sample=["a"]) == Found()
    assert store.ids(NAMESPACE) == {}
    assert store.sweep_node(NAMESPACE, json_pointer_hash=place(""), keep_content_hash=None, generation=9) == 0
    assert store.ids(NAMESPACE) == {}
    store.delete(NAMESPACE, ["a"])
    store.delete_namespace(NAMESPACE)
    assert store.namespaces("") == []


def test_only_the_named_ids_are_deleted(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(index=number) for number in range(3)])
    store.delete(NAMESPACE, [row(index=0).doc_id, row(index=2).doc_id, "never there", row(index=0).doc_id])
    store.delete(NAMESPACE, [])
    assert store.ids(NAMESPACE).keys() == {row(index=1).doc_id}
    assert matching(store, "公式") == nearest(store) == [row(index=1).doc_id]


def test_deleting_a_namespace_leaves_the_others(store: ChunkStore) -> None:
    for name in ("project_a_table_1", "project_a_table_2", "project_b_table_1"):
        store.upsert(name, [row()])
    store.delete_namespace("project_a_table_1")
    assert store.namespaces("project_a") == ["project_a_table_2"]
    assert store.namespaces("") == ["project_a_table_2", "project_b_table_1"]
    assert store.ids("project_a_table_1") == {}


def test_a_deleted_namespace_can_have_other_dimensions_again(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row()])
    store.delete_namespace(NAMESPACE)
    store.upsert(NAMESPACE, [row(vector=(1.0, 0.0))])
    assert store.ids(NAMESPACE) == {row().doc_id: 1}


def test_a_pointer_of_300_japanese_characters_keeps_its_row_findable(store: ChunkStore) -> None:
    long = row("/" + "章" * 299 + "/" + "節" * 2_000 + '/~1~0"*/')
    store.upsert(NAMESPACE, [long])
    assert nearest(store, "/" + "章" * 299) == [long.doc_id]


@pytest.mark.parametrize("content", ["NUL\0の後", "🎉👨‍👩‍👧 \r\n", "e\u0301", "\u2028\ufeff", "x" * 400_000])
def test_any_unicode_text_is_stored(store: ChunkStore, content: str) -> None:
    store.upsert(NAMESPACE, [row(content=content)])
    assert nearest(store) == [row(content=content).doc_id]


def test_half_a_surrogate_pair_cannot_be_stored_and_finds_nothing(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row()])
    with pytest.raises(Invalid):
        store.upsert(NAMESPACE, [replace(row(), content="\ud800")])
    assert matching(store, "公式", "\udfff") == [row().doc_id]
    assert matching(store, text="\ud800") == []


def test_a_question_of_any_length_is_answered(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(content="公式")])
    assert matching(store, "公式", *(f"語{number}" for number in range(5_000))) == [row(content="公式").doc_id]
    assert matching(store, text="公式" * 5_000) == [row(content="公式").doc_id]
    alternatives = [Slot("word", tuple(WeightedTerm(f"語{number}{way}") for way in "甲乙")) for number in range(2_000)]
    assert matching(store, "公式", *alternatives) == [row(content="公式").doc_id]


def test_a_word_of_any_length_is_found(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(terms=("a" * 30_000, "公式"))])
    assert matching(store, "a" * 30_000, "公式") == matching(store, "a" * 30_000) == [row().doc_id]


# ---------------------------------------------------------------- turbopuffer's own


def fail(stand_in: str, **failure: object) -> None:
    httpx2.post(f"{stand_in}/_stand_in/failures", json=failure, timeout=60).raise_for_status()


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_passing_failure_is_tried_again(stand_in: str, store: TurbopufferChunkStore, status: int) -> None:
    fail(stand_in, status=status, times=3)
    store.upsert(NAMESPACE, [row()])
    fail(stand_in, status=status, times=2)
    assert nearest(store) == [row().doc_id]


def test_a_write_whose_answer_was_lost_is_repeated_without_harm(stand_in: str, store: TurbopufferChunkStore) -> None:
    fail(stand_in, status=503, late=True)
    store.upsert(NAMESPACE, [row()])
    assert store.ids(NAMESPACE) == {row().doc_id: 1}
    fail(stand_in, status=503, late=True)
    store.delete_namespace(NAMESPACE)
    assert store.namespaces("") == []


@pytest.mark.parametrize(
    ("ours", "statuses"), [(Unavailable, (503, 429)), (Invalid, (400, 422)), (Refused, (401, 402, 403))]
)
def test_a_lasting_failure_has_an_error_of_the_product(
    stand_in: str, store: TurbopufferChunkStore, statuses: tuple[int, ...], ours: type[SakuinError]
) -> None:
    for status in statuses:
        fail(stand_in, status=status, times=5)
        with pytest.raises(ours) as failure:
            store.upsert(NAMESPACE, [row()])
        assert failure.type is ours
        assert failure.value.__cause__ is not None
        fail(stand_in, status=status, times=0)


def test_a_store_that_cannot_be_reached_is_unavailable() -> None:
    client = connected("http://127.0.0.1:9", "any").with_options(max_retries=0)
    with pytest.raises(Unavailable):
        TurbopufferChunkStore(client).upsert(NAMESPACE, [row()])


def test_an_invalid_request_has_turbopuffer_s_reason_and_stores_nothing(store: TurbopufferChunkStore) -> None:
    with pytest.raises(Invalid, match="65 bytes, the maximum is 64"):
        store.upsert(NAMESPACE, [row(), replace(row(), doc_id="あ" * 21 + "ab")])
    assert store.namespaces("") == []
    store.upsert(NAMESPACE, [replace(row(), doc_id="あ" * 21 + "a")])
    with pytest.raises(Invalid):
        store.upsert(NAMESPACE, [row(index=1, vector=(1.0, 0.0))])
    assert store.ids(NAMESPACE) == {"あ" * 21 + "a": 1}


def test_of_a_row_only_its_terms_come_back(stand_in: str, store: TurbopufferChunkStore) -> None:
    store.upsert(NAMESPACE, [row()])
    seen: list[bytes] = []
    watching = httpx2.Client(base_url=stand_in, event_hooks={"response": [lambda answer: seen.append(answer.read())]})
    nearest(TurbopufferChunkStore(store.client.with_options(http_client=watching)))
    legs, rows = seen
    assert b"term_counts" not in legs
    assert b"term_counts" in rows
    assert not any(name in legs + rows for name in (b"vector", b'"terms"', b"json_pointer", b'"content"'))


def test_many_rows_are_several_requests(store: TurbopufferChunkStore) -> None:
    small = TurbopufferChunkStore(store.client, max_request_bytes=10_000)
    small.upsert(NAMESPACE, [row(index=number, content="長い" * 500) for number in range(40)])
    assert len(store.ids(NAMESPACE)) == 40


def test_more_ids_than_one_answer_holds_are_all_listed(store: TurbopufferChunkStore) -> None:
    rows = [row(index=number, terms=()) for number in range(10_001)]
    store.upsert(NAMESPACE, rows)
    assert store.ids(NAMESPACE).keys() == {each.doc_id for each in rows}
    store.delete(NAMESPACE, [each.doc_id for each in rows])
    assert store.ids(NAMESPACE) == {}


def test_the_store_holds_what_it_acknowledged_after_it_was_killed(tmp_path: Path) -> None:
    port = free_port()
    store = TurbopufferChunkStore(connected(f"http://127.0.0.1:{port}", "any"))
    killed = Programs(tmp_path)
    start_turbopuffer(tmp_path, killed, port=port)
    store.upsert(NAMESPACE, [row(index=number) for number in range(100)])
    store.upsert(NAMESPACE, [row(index=0, generation=2)])
    store.delete(NAMESPACE, [row(index=1).doc_id])
    [program] = json.loads((tmp_path / "processes.json").read_text())
    os.kill(program["pid"], signal.SIGKILL)
    killed.stop()

    again = Programs(tmp_path)
    start_turbopuffer(tmp_path, again, port=port)
    try:
        expected = {row(index=number).doc_id: 1 for number in range(100)} | {row(index=0).doc_id: 2}
        del expected[row(index=1).doc_id]
        assert store.ids(NAMESPACE) == expected
        assert len(matching(store, "公式", depth=200)) == len(nearest(store, depth=200)) == 99
    finally:
        again.stop()
