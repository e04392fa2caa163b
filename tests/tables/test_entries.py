"""Entries of a Table: one result each, the fields that are searched, shown and filtered by, and what a change costs."""

import base64
import hashlib
import random
import uuid
from typing import Any

import pytest
from sakuin.errors import Invalid
from sakuin.retrieval.filters import MOST_LISTED, check_known, conditions, found_elsewhere
from sakuin.tables.admin.proposals import proposal
from sakuin.tables.entries import EntryRules
from sakuin.tables.turbopuffer import ChunkStore

from tests.worlds import TableWorld, long

FAQ = {
    "faq": [
        {
            "id": "q1",
            "question": "返金はできますか",
            "answer": "購入から三十日以内なら返金します。",
            "plan": "free",
            "price": 10,
        },
        {
            "id": "q2",
            "question": "解約の方法",
            "answer": long("解約は設定の画面から。", 1500),
            "plan": "pro",
            "price": 30,
        },
        {"id": "q3", "question": "請求書の住所", "answer": "請求書は設定で変えます。", "plan": "pro", "price": 20.5},
    ],
    "notes": ["短い", long("返金についての長い注記。")],
}
RULES: dict[str, Any] = {
    "pattern": "/faq/*",
    "search": ["question", "answer"],
    "show": ["question", "plan"],
    "filter": {"plan": "string", "price": "number"},
}


def pointers(answer: dict[str, Any]) -> list[str]:
    return [result["chunk"]["json_pointer"] for result in answer["results"]]


def test_an_entry_is_one_result_with_its_fields_and_the_exact_place_of_its_best_chunk(world: TableWorld) -> None:
    _, tool, endpoint = world.with_entries(FAQ, RULES)
    assert (world.status(tool)["state"], world.status(tool)["large_strings_count"]) == ("ready", 7)
    answer = world.answer(endpoint, "解約", top_k=50)
    entries = [pointer.split("/")[2] for pointer in pointers(answer) if pointer.startswith("/faq/")]
    assert len(entries) == len(set(entries))
    first = answer["results"][0]
    assert first["entry"] == {"question": "解約の方法", "plan": "pro"}
    chunk = first["chunk"]
    text = FAQ["faq"][1][chunk["json_pointer"].split("/")[-1]]  # type: ignore[call-overload,index]
    assert text[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"]
    assert first["json_path"] == chunk["json_pointer"]


def test_only_the_searched_fields_of_entries_are_indexed_and_other_strings_by_their_length(world: TableWorld) -> None:
    table, _, _ = world.with_entries(FAQ, RULES)
    nodes = {row[0] for row in world.sql("select json_pointer from node where table_id = %s", table)}
    fields = {f"/faq/{entry}/{field}" for entry in range(3) for field in ("question", "answer")}
    assert nodes == fields | {"/notes/1"}


def test_without_a_choice_all_strings_of_an_entry_are_searched_and_its_short_fields_shown(world: TableWorld) -> None:
    _, _, endpoint = world.with_entries(FAQ, {"pattern": "/faq/*"})
    (first, *_) = world.answer(endpoint, "請求書の住所")["results"]
    assert first["entry"] == FAQ["faq"][2]
    assert world.found(endpoint, "q1") & {"/faq/0/id"}


def test_titles_of_an_entry_are_embedded_and_no_part_of_the_chunk(world: TableWorld) -> None:
    world.with_entries(FAQ, RULES)
    assert "返金はできますか\n購入から三十日以内なら返金します。" in world.embedder.embedded
    texts = {row[0] for row in world.sql("select chunk_text from chunks")}
    assert "購入から三十日以内なら返金します。" in texts
    # A field that is not searched is no title.
    assert not any("free" in text for text in world.embedder.embedded)


def test_a_filter_leaves_out_what_does_not_pass_in_both_legs(world: TableWorld) -> None:
    _, _, endpoint = world.with_entries(FAQ, RULES)
    for filter, entries in (
        ({"plan": ["pro"]}, {"1", "2"}),
        ({"plan": "free"}, {"0"}),
        ({"price": {"max": 20.5}}, {"0", "2"}),
        ({"price": {"min": 15}, "plan": ["pro", "free"]}, {"1", "2"}),
        ({"price": 30}, {"1"}),
        ({"price": "30", "plan": []}, {"1"}),
    ):
        for query in ("返金", "🐡"):
            results = pointers(world.answer(endpoint, query, filter=filter, top_k=50))
            assert {pointer.split("/")[2] for pointer in results} <= entries, (filter, query)
        assert results


def test_a_change_of_filters_embeds_nothing_and_the_tool_says_updating(world: TableWorld) -> None:
    table, tool, endpoint = world.with_entries(FAQ, RULES)
    embedded = list(world.embedder.embedded)
    world.change_entries(table, RULES | {"filter": {"id": "string"}})
    assert world.status(tool)["state"] == "updating"
    assert pointers(world.answer(endpoint, "返金"))
    world.settle()
    assert world.status(tool)["state"] == "ready"
    assert {pointer[:6] for pointer in pointers(world.answer(endpoint, "返金", filter={"id": ["q2"]}))} == {"/faq/1"}
    assert world.embedder.embedded == embedded
    refused = world.ask(endpoint, {"query": "返金", "filter": {"plan": "pro"}})
    assert refused.is_error
    assert "has no field 'plan'. Its fields: id" in str(refused.content)


def test_an_edited_entry_embeds_its_changed_text_alone(world: TableWorld) -> None:
    table, _, endpoint = world.with_entries(FAQ, RULES)
    count = len(world.embedder.embedded)
    edited = {**FAQ, "faq": [{**FAQ["faq"][0], "plan": "pro"}, *FAQ["faq"][1:]]}  # type: ignore[dict-item]
    world.replace(table, edited)
    world.settle()
    assert len(world.embedder.embedded) == count
    # No entry has it any more.
    assert world.ask(endpoint, {"query": "返金", "filter": {"plan": "free"}}).is_error
    world.replace(
        table, {**edited, "faq": [{**edited["faq"][0], "answer": "返金は六十日以内です。"}, *edited["faq"][1:]]}
    )
    world.settle()
    # The answer, and the question with its title.
    assert len(world.embedder.embedded) == count + 2


def test_no_result_by_a_filter_says_where_there_are_some_and_an_unknown_value_lists_the_values(
    world: TableWorld,
) -> None:
    _, _, endpoint = world.with_entries(FAQ, RULES)
    answer = world.answer(endpoint, "解約の方法", filter={"plan": ["free"]})
    assert answer["no_good_match"]
    assert answer["hint"] == "0 for plan=free; found in pro (1)"
    refused = world.ask(endpoint, {"query": "解約", "filter": {"plan": ["gold"]}})
    assert refused.is_error
    assert 'plan has no value \'gold\'. Its values: \\"pro\\", \\"free\\"' in str(refused.model_dump_json())


def test_the_schema_of_a_tool_offers_values_and_limits(world: TableWorld) -> None:
    _, _, endpoint = world.with_entries(FAQ, RULES)
    (tool,) = world.tools.listed(world.bound(endpoint))
    assert tool.input_schema["required"] == ["query"]
    number = {"type": "number"}
    assert tool.input_schema["properties"]["filter"]["properties"] == {
        "plan": {"type": "array", "items": {"type": "string", "enum": ["pro", "free"]}},
        "price": {"type": "object", "description": "10 to 30", "properties": {"min": number, "max": number}},
    }


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"size": 3}, "has no field 'size'. Its fields: plan, price, on, since"),
        ({"price": {"least": 3}}, "'filter.price' must be 30, or"),
        ({"price": "cheap"}, "'filter.price' must be 30, or"),
        ({"plan": [1]}, "'filter.plan' must be a list of strings"),
        ({"on": "yes"}, "'filter.on' must be true or false"),
        ({"since": "yesterday"}, "'filter.since' must be \"2026-01-31\""),
    ],
)
def test_a_wrong_filter_says_what_a_field_takes(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(Invalid, match="filter") as error:
        conditions({"plan": "string", "price": "number", "on": "boolean", "since": "date"}, given)
    assert problem in str(error.value)


def test_rules_that_are_not_valid_say_why() -> None:
    for rules in ({"pattern": "faq"}, {"pattern": "/faq"}, {"pattern": "/*", "filter": {"a": "text"}}, {"pattern": 1}):
        with pytest.raises(Invalid, match="entries"):
            EntryRules.of(rules)


def test_a_value_of_another_type_than_its_filter_is_none() -> None:
    fields = {"plan": "string", "tags": "list", "price": "number", "on": "boolean", "since": "date"}
    rules = EntryRules.of({"pattern": "/*", "filter": fields})
    odd = {"plan": ["pro"], "tags": ["a", 1, "a"], "price": True, "on": 1, "since": "yesterday"}
    assert rules.attributes(odd) == {"tags": ["a"]}


def test_a_filter_without_results_names_values_that_do_not_pass_and_few_known_ones() -> None:
    needed = conditions({"plan": "string", "price": "number"}, {"plan": "free", "price": {"min": 50}})
    said = found_elsewhere(needed, [{"plan": ["free"], "price": [10]}, {"plan": ["pro"], "price": [60]}])
    assert said is not None
    assert said.endswith("; found in plan pro (1); price 10 (1)")
    check_known(needed[0], {"values": [f"plan {number}" for number in range(MOST_LISTED + 1)]})
    with pytest.raises(Invalid, match="Its values: "):
        check_known(needed[0], {"values": [f"plan {number}" for number in range(MOST_LISTED)]})


def test_a_proposal_searches_what_people_ask_for_and_filters_by_what_stands_there_again() -> None:
    topics, plans = ("billing", "billing", "account", "limits", "apps", "account"), ("all", "pro", "all") * 2
    entries = [
        {
            "question": f"How do I {place}?",
            "topic": topic,
            "plan": plan,
            "serial": str(uuid.UUID(int=place)),
            "checksums": [{"alg": "SHA-256", "content": hashlib.sha256(topic.encode()).hexdigest()}],
            "integrity": base64.b64encode(hashlib.sha256(plan.encode()).digest()).decode(),
            "links": [{"type": "vcs", "target": f"https://example.org/{place}"}],
            "sku": f"SKU-2049-XL-BLUE-COTTON-{place}",
            "details": {"kind": "short", "answer": f"Press {place}."},
        }
        for place, (topic, plan) in enumerate(zip(topics, plans, strict=True))
    ]
    proposed = proposal({"faq": entries})
    assert proposed is not None
    assert proposed.rules.search == ("question", "sku", "details")
    assert proposed.rules.filter == {"topic": "string", "plan": "string"}


def test_a_pattern_finds_entries_in_entries_and_at_the_root() -> None:
    nested = EntryRules("/products/*/variants/*")
    assert nested.entry_of("/products/3/variants/a~1b/sku") == "/products/3/variants/a~1b"
    assert nested.entry_of("/products/3/name") is None
    assert EntryRules("/*").entry_of("/0") == "/0"
    assert EntryRules("/*", search=("a/b",)).least("/0/a/b/c", 200) == 1
    assert EntryRules("/*", search=("a/b",)).least("/0/a/bc", 200) > 10**9


def catalogue(chance: random.Random, shape: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Returns entries of a shape, and the place of each by its identifier."""
    letters, words = "ABCDEFGHJKLMNPQRSTUVWXYZ", ["lamp", "error", "index", "cable", "server", "drawer", "glass"]
    entries, places = [], {}
    for place in range(67):
        many = ["".join(chance.choices(letters, k=4)), *chance.sample(words, 2)]
        name = {
            "products": f"SKU-{2000 + place}",
            "errors": f"ERR_{many[0]}_{many[1].upper()}",
            "functions": f"{many[1]}_{many[2]}_{many[0].lower()}",
        }[shape]
        text = f"The {many[1]} with the {many[2]}, {chance.choice(['new', 'old', 'small'])} and {chance.choice(words)}."
        entries.append({"id": place, "name": name, "text": text})
        places[name] = f"/{place}"
    return entries, places


@pytest.mark.parametrize("shape", ["products", "errors", "functions"])
def test_an_identifier_finds_its_entry_first(world: TableWorld, shape: str) -> None:
    entries, places = catalogue(random.Random(shape), shape)
    _, _, endpoint = world.with_entries(entries, {"pattern": "/*", "search": ["name", "text"]})
    right = 0
    for name, place in places.items():
        (first, *_) = world.answer(endpoint, name, top_k=1)["results"]
        right += first["chunk"]["json_pointer"].startswith(f"{place}/")
    assert right >= 0.99 * len(places)


def test_a_code_whose_parts_stand_apart_is_absent_and_the_store_is_asked_once_for_it(
    world: TableWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["Set the value of a key, then read it.", "Delete a key and its history."]
    _, _, endpoint = world.with_entries({"faq": [{"answer": text} for text in texts]}, {"pattern": "/faq/*"})
    asked: list[object] = []
    texts_with = ChunkStore.texts_with

    def counted(store: ChunkStore, namespace: str, terms: Any, **options: Any) -> list[list[str]]:
        asked.append(terms)
        return texts_with(store, namespace, terms, **options)

    monkeypatch.setattr(ChunkStore, "texts_with", counted)
    assert world.answer(endpoint, "What does set_value do with a key?")["not_in_scope"] == ["set_value"]
    assert len(asked) == 1


def test_entries_with_the_same_searched_text_are_one_result_that_says_where_the_others_differ(
    world: TableWorld,
) -> None:
    text = {"question": "返金できますか", "answer": "三十日以内なら全額を返します。"}
    entries = [
        {**text, "version": 1, "plan": "free"},
        {**text, "version": 2, "plan": "free"},
        {**text, "question": "返品できますか", "version": 2, "plan": "free"},
    ]
    rules = {"pattern": "/*", "search": ["question", "answer"], "filter": {"version": "number"}}
    _, _, endpoint = world.with_entries(entries, rules)
    results = world.answer(endpoint, "全額 返します")["results"]
    same = {each["json_path"].split("/")[1]: each.get("same_text", []) for each in results}
    assert len(results) == 2
    assert "2" in same
    ((number, others),) = [(number, others) for number, others in same.items() if number != "2"]
    assert same["2"] == []
    (other,) = others
    assert {number, other["json_path"].split("/")[1]} == {"0", "1"}
    assert other["entry"] == {"version": 3 - entries[int(number)]["version"]}
    (only,) = world.answer(endpoint, "全額 返します", filter={"version": [1]})["results"]
    assert "same_text" not in only
