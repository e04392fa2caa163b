"""What `ChunkStore` and its adapter promise for the rows of Tables and of pages."""

from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.language.model import Slot
from sakuin.retrieval.filters import FieldType, conditions
from sakuin.tables.nodes import Found, FoundChunk, PublishedNode
from sakuin.tables.turbopuffer import ChunkStore

from tests.contracts.turbopuffer.chunk_rows import (
    NAMESPACE,
    PREFIX,
    found,
    matching,
    nearest,
    node_of,
    place,
    row,
    words,
)


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


def test_a_chunk_is_found_once_by_its_nearest_passage(store: ChunkStore) -> None:
    long = row(vector=(0.0, 1.0, 0.0), further=((0.0, 0.0, 1.0), (3.0, 4.0, 0.0)))
    short = row("/b", "英語", terms=("英語",), vector=(1.0, 1.0, 0.0))
    store.upsert(NAMESPACE, [long, short])

    chunks = found(store, vector=(0.6, 0.8, 0.0), slots=words("公式"), depth=2).chunks

    assert [(each.doc_id, each.nearest_rank, each.matching_rank) for each in chunks] == [
        (long.doc_id, 1, 1),
        (short.doc_id, 2, None),
    ]
    assert chunks[0].cosine == pytest.approx(1.0, abs=1e-3)
    # A chunk that only words found has the cosine of its nearest passage, too.
    by_words = found(store, vector=(0.0, 0.0, 1.0), slots=words("英語"), depth=1).chunks
    assert {each.doc_id: each.cosine for each in by_words} == {
        long.doc_id: pytest.approx(1.0, abs=1e-3),
        short.doc_id: pytest.approx(0.0, abs=1e-3),
    }


def test_a_sample_has_its_cosines_in_any_scope(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(), row("/b", index=1, vector=(3.0, 4.0, 0.0)), row("/c", index=2)])
    sample = [row().doc_id, row("/b", index=1).doc_id, "never there"]
    asked = {"slots": words("公式"), "scope": place("/c"), "sample": sample}
    assert found(store, vector=(1.0, 0.0, 0.0), **asked).cosines == pytest.approx((1.0, 0.6), abs=1e-6)
    assert found(store, **asked).cosines == ()


def test_the_best_term_of_a_slot_counts_and_not_their_number(store: ChunkStore) -> None:
    every = row(index=0, terms=("三平方", "ピタゴラス", "証明"))
    other = row(index=1, terms=("ピタゴラス", "斜辺", "証明"))
    store.upsert(NAMESPACE, [every, other, *(row(index=number, terms=("証明",)) for number in range(2, 6))])
    theorem = Slot("word", ("三平方", "ピタゴラス"))
    assert matching(store, theorem, *words("斜辺"))[:2] == [other.doc_id, every.doc_id]


def test_without_terms_the_engine_reads_the_text_itself(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(content="🐡 の話"), row(content="微分", index=1)])
    assert matching(store, text="🐡") == [row(content="🐡 の話").doc_id]


FIELDS: dict[str, FieldType] = {"plan": "string", "tags": "list", "price": "number", "since": "date", "open": "boolean"}
VALUES: list[dict[str, list[Any]]] = [
    {"plan": ["free"], "tags": ["a", "日本語"], "price": [2.5], "since": [0.0], "open": [True]},
    {"plan": ["pro"], "tags": ["b"], "price": [30], "since": [86400.0], "open": [False]},
    {"price": [10**12]},
]


@pytest.mark.parametrize(
    ("filter", "places"),
    [
        ({"plan": ["free", "pro"]}, {0, 1}),
        ({"tags": ["日本語"]}, {0}),
        ({"tags": ["free"]}, set()),
        ({"price": {"min": 2.5, "max": 30}}, {0, 1}),
        ({"price": {"min": 31}}, {2}),
        ({"price": [30, 10**12]}, {1, 2}),
        ({"since": {"max": "1970-01-01"}}, {0}),
        ({"open": False}, {1}),
        ({"open": True, "plan": "pro"}, set()),
    ],
)
def test_both_legs_have_only_rows_that_pass_a_filter(
    store: ChunkStore, filter: dict[str, Any], places: set[int]
) -> None:
    rows = [replace(row(index=place), attributes=values) for place, values in enumerate(VALUES)]
    store.upsert(NAMESPACE, [*rows, row(index=3)])
    needed = conditions(FIELDS, filter)
    for leg in ({"vector": (1.0, 0.0, 0.0)}, {"slots": words("公式")}):
        chunks = found(store, **leg, needed=needed).chunks
        assert {each.doc_id for each in chunks} == {rows[place].doc_id for place in places}
    (texts,) = store.texts_with(NAMESPACE, [("公式",)], scope=place(""), limit=3, needed=needed)
    assert bool(texts) == bool(places)


def test_rows_get_other_attributes_and_a_field_without_a_value_is_refused(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row()])
    needed = conditions(FIELDS, {"price": 3})
    with pytest.raises(Invalid):
        found(store, vector=(1.0, 0.0, 0.0), needed=needed)
    store.upsert(NAMESPACE, [replace(row(), attributes={"price": [3]})])
    assert [each.doc_id for each in found(store, vector=(1.0, 0.0, 0.0), needed=needed).chunks] == [row().doc_id]
    store.upsert(NAMESPACE, [row()])
    assert found(store, vector=(1.0, 0.0, 0.0), needed=needed).chunks == ()


def test_a_search_for_nothing_finds_nothing(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(content="あ")])
    assert matching(store, text="") == matching(store, "どこにもない") == []


def test_the_newer_generation_of_a_row_stays_in_any_order(store: ChunkStore) -> None:
    for first, second in ((1, 2), (2, 1)):
        store.upsert(NAMESPACE, [row(index=first, generation=first, terms=(f"版{first}",))])
        store.upsert(NAMESPACE, [row(index=first, generation=second, terms=(f"版{second}",))])
    # One id twice in one request.
    store.upsert(NAMESPACE, [row(index=3, generation=2, terms=("版2",)), row(index=3, generation=1, terms=("版1",))])
    newer = {row(index=number).doc_id: 2 for number in (1, 2, 3)}
    assert store.ids(NAMESPACE) == newer
    assert (matching(store, "版1"), set(matching(store, "版2"))) == ([], newer.keys())


def test_the_old_rows_of_many_nodes_are_deleted_together(store: ChunkStore) -> None:
    old = [row(f"/{number}", "古い", further=((0.0, 1.0, 0.0),)) for number in range(40)]
    new = [row(f"/{number}", "新しい", generation=2) for number in range(40)]
    store.upsert(NAMESPACE, [*old, *new])
    # The last but one is older than the row that it would keep, the last has no content any more.
    nodes = [
        *map(node_of, new[:38]),
        replace(node_of(new[38]), generation=0),
        replace(node_of(new[39]), content_hash=None),
    ]
    # Those of the old content have two passages.
    assert store.sweep(NAMESPACE, nodes) == 2 * 38 + 0 + 3
    assert store.ids(NAMESPACE).keys() == {each.doc_id for each in [*new[:39], old[38]]}


def test_a_content_that_came_back_survives_late_sweeps(store: ChunkStore) -> None:
    first, second, third = row(content="A"), row(content="B", generation=2), row(content="A", generation=3)
    for each in (first, second, third):
        store.upsert(NAMESPACE, [each])

    for kept in (third, second, first):
        store.sweep(NAMESPACE, [node_of(kept)])

    assert store.ids(NAMESPACE) == {third.doc_id: 3}
    assert nearest(store) == [third.doc_id]


def test_the_scope_articles_does_not_include_articles2(store: ChunkStore) -> None:
    inside, outside, parent = row("/articles/0"), row("/articles2/0"), row("/articles")
    store.upsert(NAMESPACE, [inside, outside, parent])
    for ids in (nearest(store, "/articles"), matching(store, "公式", scope="/articles")):
        assert sorted(ids) == sorted([inside.doc_id, parent.doc_id])
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
    assert store.sweep(NAMESPACE, [PublishedNode(place(""), None, 9)]) == 0
    assert store.is_indexed(NAMESPACE)
    assert store.ids(NAMESPACE) == {}
    store.delete(NAMESPACE, ["a"])
    store.delete_namespace(NAMESPACE)
    store.upsert(NAMESPACE, [])
    assert store.namespaces(PREFIX) == []


def test_only_the_named_ids_are_deleted(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(index=number) for number in range(3)])
    store.delete(NAMESPACE, [row(index=0).doc_id, row(index=2).doc_id, "never there", row(index=0).doc_id])
    store.delete(NAMESPACE, [])
    assert store.ids(NAMESPACE).keys() == {row(index=1).doc_id}
    assert matching(store, "公式") == nearest(store) == [row(index=1).doc_id]


def test_deleting_a_namespace_leaves_the_others(store: ChunkStore) -> None:
    a1, a2, b1 = (f"{PREFIX}{name}" for name in ("project_a_table_1", "project_a_table_2", "project_b_table_1"))
    for name in (a1, a2, b1):
        store.upsert(name, [row()])
    store.delete_namespace(a1)
    assert store.namespaces(f"{PREFIX}project_a") == [a2]
    assert store.namespaces(PREFIX) == [a2, b1]
    assert store.ids(a1) == {}


def test_a_deleted_namespace_can_have_other_dimensions_again(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row()])
    store.delete_namespace(NAMESPACE)
    store.upsert(NAMESPACE, [row(vector=(1.0, 0.0))])
    assert store.ids(NAMESPACE) == {row().doc_id: 1}


def test_a_pointer_of_300_japanese_characters_keeps_its_row_findable(store: ChunkStore) -> None:
    long = row("/" + "章" * 299 + "/" + "節" * 2_000 + '/~1~0"*/')
    store.upsert(NAMESPACE, [long])
    assert nearest(store, "/" + "章" * 299) == [long.doc_id]


def test_any_unicode_text_is_stored(store: ChunkStore) -> None:
    contents = ["NUL\0の後", "🎉👨‍👩‍👧 \r\n", "e\u0301", "\u2028\ufeff", "x" * 400_000]
    rows = [row(f"/{place}", content) for place, content in enumerate(contents)]
    store.upsert(NAMESPACE, rows)
    assert sorted(nearest(store)) == sorted(each.doc_id for each in rows)


def test_half_a_surrogate_pair_cannot_be_stored_and_finds_nothing(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row()])
    with pytest.raises(Invalid):
        store.upsert(NAMESPACE, [replace(row(), content="\ud800")])
    assert matching(store, "公式", "\udfff") == [row().doc_id]
    assert matching(store, text="\ud800") == []


def test_a_word_of_any_length_is_found(store: ChunkStore) -> None:
    store.upsert(NAMESPACE, [row(terms=("a" * 30_000, "公式"))])
    assert matching(store, "a" * 30_000, "公式") == matching(store, "a" * 30_000) == [row().doc_id]
