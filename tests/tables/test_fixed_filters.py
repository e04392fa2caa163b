"""One Table for many customers: an endpoint with a fixed filter answers as if the Table had no other entries."""

import json
import random
from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.language.questions.query_analysis import lexicon_lookup
from sakuin.retrieval.filters import conditions
from sakuin.tables.admin.postgres import ProjectRecords
from sakuin.tables.json_pointer import pointer_hash
from sakuin.tables.nodes import namespace

from tests.worlds import TableWorld, long

RULES: dict[str, Any] = {
    "pattern": "/tickets/*",
    "search": ["title", "text"],
    "filter": {"tenant": "number", "topic": "string", "price": "number"},
}
OWN = [
    {
        "tenant": 42,
        "title": "プリンターの設定",
        "text": long("プリンターを無線につなぐ手順。"),
        "topic": "printer",
        "price": 10,
    },
    {"tenant": 42, "title": "請求書の送付", "text": long("請求書は毎月届きます。"), "topic": "invoice", "price": 20},
    {"tenant": 42, "title": "ログインの問題", "text": "合言葉を忘れたら再発行します。", "topic": "login", "price": 30},
]
# Every value of the other customer has this word, or is one of these numbers.
SECRET = "極秘ザナドゥ"
OTHERS = [
    {
        "tenant": 43,
        "title": f"{SECRET}計画",
        "text": long(f"{SECRET}の請求書とプリンター。"),
        "topic": f"{SECRET}",
        "price": 987654,
    }
    for _ in range(4)
]
QUESTIONS = [
    "プリンターの設定",
    "請求書",
    "ザナドゥ計画",
    "さなどぅ",
    "極秘ザナドゥの請求書",
    "プリンタの設定",
    "🐡",
    "合言葉 987654",
]


@pytest.fixture
def shared(world: TableWorld) -> tuple[TableWorld, str, str]:
    """Returns the world, the Tool of the shared Table, and the endpoint of customer 42."""
    _, tool, endpoint = world.with_entries({"tickets": [*OWN, *OTHERS], "about": long(SECRET)}, RULES)
    world.fix(endpoint, tool, tenant=42)
    return world, tool, endpoint


def without_ids(answer: Any) -> Any:
    """Returns an answer without what names its Table."""
    if isinstance(answer, list):
        return [without_ids(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    ids = {"id", "table_id", "turbopuffer_namespace", "turbopuffer_doc_id", "indexed_at", "next_cursor"}
    return {name: without_ids(value) for name, value in answer.items() if name not in ids}


def test_answers_are_those_of_a_table_without_the_other_entries(shared: tuple[TableWorld, str, str]) -> None:
    world, _, endpoint = shared
    alone = world.beside()
    _, tool, its_endpoint = alone.with_entries({"tickets": OWN, "about": "短い"}, RULES)
    alone.fix(its_endpoint, tool, tenant=42)
    (listed,), (own,) = (each.tools.listed(each.bound(at)) for each, at in ((world, endpoint), (alone, its_endpoint)))
    assert listed == own
    for query in QUESTIONS:
        for more in ({}, {"top_k": 1}, {"filter": {"topic": ["printer"]}}, {"filter": {"price": {"min": 25}}}):
            answers = (each.answer(at, query, **more) for each, at in ((world, endpoint), (alone, its_endpoint)))
            first, second = map(without_ids, answers)
            assert first == second, (query, more)
            assert SECRET not in json.dumps(first["results"], ensure_ascii=False)


def test_no_argument_cursor_or_explanation_reaches_another_entry(shared: tuple[TableWorld, str, str]) -> None:
    world, tool, endpoint = shared
    everything = world.endpoint(tool)
    cursor = world.answer(everything, "請求書", top_k=1).get("next_cursor") or ""
    filters = [
        {"tenant": 43},
        {"tenant": [42, 43]},
        {"topic": SECRET},
        {"price": {"min": 900_000}},
        {"topic": "nothing"},
    ]
    said = [
        world.ask(endpoint, {"query": query, "top_k": 50, **more}).model_dump_json()
        for query in ("計画", "請求書")
        for more in (*({"filter": each} for each in filters), {"cursor": cursor} if cursor else {})
    ]
    said += [each.model_dump_json() for each in world.tools.listed(world.bound(endpoint))]
    # The agent sent the value itself.
    assert not [each for each in said if SECRET in each.replace(f"no value '{SECRET}'", "") or "987654" in each]
    refused, unknown = (world.ask(endpoint, {"query": "x", "filter": {name: 43}}) for name in ("tenant", "nothing"))
    assert refused.model_dump_json().replace("tenant", "nothing") == unknown.model_dump_json()
    for query in ("計画", "極秘ザナドゥ"):
        explained = world.table_search().explanation(
            endpoint, world.bound(endpoint).tools[0], query, expected="/tickets/4/text"
        )
        assert explained.expected == ()
        assert all(each.chunk.json_pointer.split("/")[2] < "3" for each in explained.candidates)


def test_a_fixed_value_is_nothing_that_a_result_says(shared: tuple[TableWorld, str, str]) -> None:
    world, _, endpoint = shared
    assert world.answer(endpoint, "プリンター42の設定")["not_in_scope"] == ["42"]


def test_counts_words_values_and_objects_come_from_the_own_entries(shared: tuple[TableWorld, str, str]) -> None:
    world, tool, endpoint = shared
    everything, records = world.endpoint(tool), world.records
    terms = ["極秘", "請求", "書", "プリンター", "請求書"]
    (own, sample), (all_of_it, _) = (
        records.term_frequencies(at, tool, terms, sample=50) for at in (endpoint, everything)
    )
    assert own.total == len(sample) < all_of_it.total
    assert "極秘" not in own.chunks
    query = "さなどぅ 極秘ザナドゥ"
    words = records.known_words(endpoint, tool, query, lexicon_lookup(query))
    assert "ザナドゥ" not in repr(words)
    assert "ザナドゥ" in repr(records.known_words(everything, tool, query, lexicon_lookup(query)))
    values = records.entry_values(endpoint, tool)
    assert (values["tenant"]["values"], values["price"]["max"]) == ([42], 30)
    places = {pointer_hash(f"/tickets/{place}") for place in range(7)}
    assert {pointer[-1] for pointer in records.objects(endpoint, tool, places)} == set("012")
    ids = [row[0] for row in world.sql("select turbopuffer_doc_id from chunks where turbopuffer_doc_id is not null")]
    found = records.current_chunks(endpoint, tool, ids, limit=100)
    assert found
    assert all(chunk.json_pointer.split("/")[2] < "3" for chunk in found.values())


def test_a_field_that_is_no_filter_any_more_lets_nothing_pass(shared: tuple[TableWorld, str, str]) -> None:
    world, tool, endpoint = shared
    (row,) = world.sql("select table_id::text from tool where id = %s", tool)
    world.change_entries(row[0], RULES | {"filter": {"topic": "string"}})
    for _ in range(2):
        assert world.answer(endpoint, "請求書")["results"] == []
        world.settle()
    world.change_entries(row[0], {})
    world.settle()
    assert world.answer(endpoint, "請求書")["results"] == []


def test_an_entry_that_moves_to_another_customer_is_in_neither_answer_until_it_is_stored(
    shared: tuple[TableWorld, str, str],
) -> None:
    world, tool, endpoint = shared
    (row,) = world.sql("select table_id::text from tool where id = %s", tool)
    world.replace(row[0], {"tickets": [*OWN[:2], {**OWN[2], "tenant": 43}, *OTHERS], "about": long(SECRET)})
    # The scan alone: the store has the old value.
    world.deliver(world.queues.asked.pop(0))
    assert "/tickets/2/text" not in world.found(endpoint, "合言葉")
    world.settle()
    assert "/tickets/2/text" not in world.found(endpoint, "合言葉")


def test_a_fixed_filter_has_one_value_for_fields_that_are_filters(shared: tuple[TableWorld, str, str]) -> None:
    world, tool, endpoint = shared
    records = ProjectRecords(world.client)
    for filter in ({"size": 3}, {"tenant": [1, 2]}, {"tenant": {"min": 1}}, {"tenant": "many"}):
        with pytest.raises(Invalid):
            records.bind(None, endpoint, tool, fixed=filter)
    stored = "select filter from mcp_binding where mcp_id = %s"
    for change, filter in (
        ({"fixed": {"tenant": "43"}}, {"tenant": [43]}),
        ({}, {"tenant": [43]}),
        ({"fixed": {}}, None),
    ):
        records.bind(None, endpoint, tool, **change)
        assert world.sql(stored, endpoint) == [(filter,)]


def passes(entry: dict[str, Any], filter: dict[str, Any]) -> bool:
    """Returns whether an entry passes, by a scan of its fields."""
    for name, value in filter.items():
        own = entry.get(name)
        if isinstance(value, dict):
            if own is None or not value.get("min", own) <= own <= value.get("max", own):
                return False
        elif not {*(own if isinstance(own, list) else [own])} & {*value}:
            return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_filters_find_what_a_scan_of_all_entries_finds_through_edits(world: TableWorld, seed: int) -> None:
    chance = random.Random(seed)
    kinds = {"plan": "string", "price": "number", "tags": "list", "open": "boolean"}

    def entry() -> dict[str, Any]:
        fields = {
            "plan": chance.choice(["free", "pro", "日本語"]),
            "price": chance.choice([1, 2.5, 30, 10**12, -4]),
            "tags": chance.sample(["a", "b", "c"], chance.randint(0, 3)),
            "open": chance.random() < 0.5,
        }
        text = {"text": f"文章{chance.randint(0, 9)}", "more": "説明の文"}
        return text | {name: value for name, value in fields.items() if chance.random() < 0.8}

    entries = [entry() for _ in range(12)]
    rules = {"pattern": "/*", "search": ["text", "more"], "filter": kinds}
    table, _, _ = world.with_entries(entries, rules)
    name = namespace(world.project, table)
    vector = [1.0] + [0.0] * 1535
    for _ in range(3):
        for _ in range(8):
            filter = {
                "plan": chance.sample(["free", "pro", "日本語"], chance.randint(1, 3)),
                "price": {"min": chance.choice([-4, 2.5, 3]), "max": chance.choice([2.5, 30, 10**12])},
                "tags": chance.sample(["a", "b", "c"], chance.randint(1, 2)),
                "open": [chance.random() < 0.5],
            }
            chosen = {each: filter[each] for each in chance.sample(list(filter), chance.randint(1, 3))}
            expected = {str(place) for place, each in enumerate(entries) if passes(each, chosen)}
            legs = ({"vector": vector, "text": ""}, {"vector": None, "text": "文章 説明 文"})
            for leg in legs:
                asked = {"slots": (), "scope": pointer_hash(""), "depth": 100, "needed": conditions(kinds, chosen)}
                ids = [each.doc_id for each in world.store.search(name, **leg, **asked).chunks]
                rows = world.sql("select json_pointer from chunks where turbopuffer_doc_id = any(%s)", ids)
                assert {row[0].split("/")[1] for row in rows} == expected, (chosen, leg["text"])
        chance.shuffle(entries)
        entries = [entry() if chance.random() < 0.3 else each for each in entries][: chance.randint(8, 12)]
        world.replace(table, entries)
        world.settle()
