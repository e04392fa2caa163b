"""The short fields of the objects around the strings of a Table."""

import json
from typing import Any

from sakuin.tables.objects import LONGEST_FIELD, LONGEST_TITLE, MOST_CHARACTERS, surrounding_objects, titles_around
from sakuin.tables.scan import LargeString

from tests.worlds import TableWorld, long

MANUAL = long("食器洗い機の使い方")
DOCUMENT = {"manuals": [{"model": "DI-1000", "price": 498, "new": True, "text": MANUAL, "parts": ["小さい"]}]}


def around(document: object, *pointers: str) -> list[tuple[str, dict[str, Any]]]:
    return [(each.json_pointer, json.loads(each.fields)) for each in surrounding_objects(document, pointers)]


def results(world: TableWorld, endpoint: str, query: str = "説明", **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.answer(endpoint, query, **arguments)["results"]
    return found


def test_the_object_of_a_string_is_the_nearest_with_short_fields_and_not_far_above() -> None:
    document = {"name": "店", "items": [{"title": "鍋", "body": {"paragraphs": ["長い", "文章"]}}, {"text": "文"}]}
    found = around(document, "/items/0/body/paragraphs/0", "/items/0/body/paragraphs/1", "/items/1/text")
    # The second item has one short field, its text.
    assert found == [("/items/0", {"title": "鍋"}), ("/items/1", {"text": "文"})]
    assert around({"name": "n", "a": {"b": {"c": {"d": {"text": MANUAL}}}}}, "/a/b/c/d/text") == []


def test_only_short_scalars_are_fields_and_few_of_them() -> None:
    nothing = {"list": [1], "object": {}, "null": None, "long": "x" * (LONGEST_FIELD + 1), "n" * 51: 1, "bad": "\0"}
    assert around({"a": {**nothing, "text": MANUAL}}, "/a/text") == []
    many = {f"f{number}": "x" * 20 for number in range(100)}
    ((_, fields),) = around({**many, "text": MANUAL}, "/text")
    assert 5 < len(fields) < 100
    assert sum(len(name) + len(value) for name, value in fields.items()) <= MOST_CHARACTERS
    assert list(fields) == [f"f{number}" for number in range(len(fields))]


def test_a_result_has_the_fields_of_its_object_in_their_order_if_it_is_in_scope(tables: TableWorld) -> None:
    table = tables.table(DOCUMENT)
    whole, text = (tables.endpoint(tables.tool(table, scope)) for scope in ("/manuals", "/manuals/0/text"))
    tables.settle()
    found = results(tables, whole)
    assert found[0]["object"] == {"json_path": "/0", "fields": {"model": "DI-1000", "price": 498, "new": True}}
    assert list(found[0]["object"]["fields"]) == ["model", "price", "new"]
    within = results(tables, text)
    assert ["object" in each for each in within] == [False] * len(within) != []
    assert "DI-1000" not in json.dumps(within)


def test_a_field_that_changes_changes_in_the_results_without_embedding(tables: TableWorld) -> None:
    table, _, endpoint = tables.indexed({"manuals": [{"price": 498, "text": MANUAL}]})
    embedded = len(tables.embedder.embedded)
    tables.replace(table, {"manuals": [{"price": 500, "text": MANUAL}]})
    tables.settle()
    assert {json.dumps(each["object"]["fields"]) for each in results(tables, endpoint)} == {'{"price": 500}'}
    tables.replace(table, {"manuals": [{"text": MANUAL}]})
    tables.settle()
    assert all("object" not in each for each in results(tables, endpoint))
    assert tables.sql("select * from public.table_object") == []
    assert len(tables.embedder.embedded) == embedded


FAQ = [
    {"question": question, "product": product, "answer": answer}
    for question, product, answer in (
        ("Is there a warranty?", "Kettle K2", "Two years from the day of purchase; keep the bill."),
        ("Can I return it?", "Kettle K2", "Within thirty days, unused and in its box, for free."),
        ("How much does it hold?", "Pot P7", "One litre and a half; never fill it above the mark."),
    )
]


def test_a_text_is_found_by_the_short_fields_of_its_object(tables: TableWorld) -> None:
    table = tables.table(FAQ, threshold=40)
    endpoint = tables.endpoint(tables.tool(table, ""))
    tables.settle()
    for query, path in (("warranty", "/0/answer"), ("return", "/1/answer"), ("Pot P7", "/2/answer")):
        first = results(tables, endpoint, query)[0]
        assert (first["json_path"], first["chunk"]["chunk_text"]) == (path, FAQ[int(path[1])]["answer"]), query
    assert tables.found(endpoint, "warranty litre") == {"/0/answer", "/2/answer"}


def test_a_text_is_found_by_its_former_fields_until_it_is_stored_with_the_new_ones(tables: TableWorld) -> None:
    def read_words(written: str) -> int:
        counted = tables.sql("select chunks from table_reading where table_id = %s and written = %s", table, written)
        return sum(chunks for (chunks,) in counted)

    def document(name: str) -> object:
        return {"manuals": [{"model": name, "text": MANUAL}]}

    table, tool, endpoint = tables.indexed(document("Seagull"))
    stored, before = tables.rows(table), read_words("seagull")
    assert before > 0
    tables.replace(table, document("Heron"))
    tables.scan(tables.project, table)
    assert tables.found(endpoint, "Seagull") == {"/manuals/0/text"}
    tables.settle()
    assert tables.status(tool)["state"] == "ready"
    assert tables.rows(table).keys() == stored.keys()
    assert (read_words("seagull"), read_words("heron")) == (0, before)
    assert tables.found(endpoint, "Heron") == {"/manuals/0/text"}


def test_titles_are_texts_of_objects_in_scope_and_not_the_string_itself() -> None:
    document = {
        "shop": "Corner shop",
        "items": [{"name": "Pan", "url": "https://a.example/1", "mail": "a@b.example", "no": "17-4", "text": "Long"}],
    }
    strings = [LargeString("/items/0/text", "Long"), LargeString("/items/0/name", "Pan")]
    assert list(titles_around(document, strings, ["/items"])) == ["Pan", "Long"]
    assert list(titles_around(document, strings, ["/items/0/text"])) == ["", ""]
    many = {"text": "Long", **{f"f{number}": "word " * 12 for number in range(9)}}
    (title,) = titles_around(many, [LargeString("/text", "Long")], [""])
    assert title.split("\n") == ["word " * 12] * (LONGEST_TITLE // 60)


def test_five_whole_results_fit_and_objects_give_way(tables: TableWorld) -> None:
    fields = {f"項目{number}": "値" * 30 for number in range(8)}
    _, _, endpoint = tables.indexed([{**fields, "text": "漢" * 999 + "。"} for _ in range(6)])
    result = tables.ask(endpoint, {"query": "漢", "top_k": 6})
    answer: Any = result.structured_content
    assert len(answer["results"]) == 5
    assert "object" in answer["results"][0]
    assert "next_cursor" in answer
    assert len(result.model_dump_json(by_alias=True, exclude_none=True).encode()) < 40_000


def read(world: TableWorld, endpoint: str, **arguments: Any) -> dict[str, Any]:
    answer = world.ask(endpoint, arguments, tool="read_around")
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


def refusal(world: TableWorld, endpoint: str, **arguments: Any) -> str:
    answer = world.ask(endpoint, arguments, tool="read_around")
    assert answer.is_error
    return str(answer.content[0].text)


def test_the_object_of_a_result_is_read_with_its_texts(tables: TableWorld) -> None:
    item = {"name": "鍋", "how": MANUAL, "care": long("手入れ", 2500)}
    endpoint = tables.endpoint(tables.tool(tables.table({"items": [item, {"name": "皿", "how": MANUAL}]}), "/items"))
    tables.settle()
    found = read(tables, endpoint, json_path="/0/how")
    assert found["object"] == {"json_path": "/0", "fields": {"name": "鍋"}}
    assert found["texts"] == [{"json_path": "/0/care", "chunks": 3}, {"json_path": "/0/how", "chunks": 2}]
    assert found["chunks"][0]["chunk_text"] == MANUAL[: found["chunks"][0]["char_end"]]
    assert read(tables, endpoint, json_path="/0")["object"] == found["object"]


def test_the_next_chunks_of_a_result_are_read(tables: TableWorld) -> None:
    text = "".join(f"{number}番目の文。" for number in range(1_500))
    _, _, endpoint = tables.indexed({"a": text})
    (second, *_) = read(tables, endpoint, json_path="/a", chunk_index="1")["chunks"]
    assert (second["chunk_index"], second["chunk_text"]) == (1, text[second["char_start"] : second["char_end"]])
    chunks, cursor = [], {}
    while True:
        found = read(tables, endpoint, json_path="/a", **cursor)
        assert len(json.dumps(found, ensure_ascii=False).encode()) < 20_000
        chunks += found["chunks"]
        if "next_cursor" not in found:
            break
        assert found["truncated"].endswith(f"of {chunks[0]['total_chunks']}. Send `next_cursor` for the others.")
        cursor = {"cursor": found["next_cursor"]}
    assert [chunk["chunk_index"] for chunk in chunks] == list(range(chunks[0]["total_chunks"]))
    assert chunks[-1]["char_end"] == len(text)


def test_nothing_outside_of_the_scope_is_read(tables: TableWorld) -> None:
    table = tables.table({"a": {"key": "secret", "text": MANUAL}, "b": {"text": MANUAL, "other": MANUAL}})
    endpoint = tables.endpoint(tables.tool(table, "/b/text"))
    tables.tool(table, "")
    tables.settle()
    for json_path in ("/../a", "/a", "/a/text", "/0"):
        assert "has no text at" in refusal(tables, endpoint, json_path=json_path)
    whole = read(tables, endpoint, json_path="")
    assert (whole["object"], whole["texts"]) == (None, [{"json_path": "", "chunks": 2}])


def test_a_wrong_call_is_refused_in_a_sentence(tables: TableWorld) -> None:
    table = tables.table(DOCUMENT)
    one, two = tables.tool(table, "", "one"), tables.tool(table, "/manuals", "two")
    endpoint = tables.endpoint(one, two)
    tables.settle()
    assert refusal(tables, endpoint, json_path="/0") == "'tool' must be one of one, two"
    assert "'tool' must be one of" in refusal(tables, endpoint, json_path="/0", tool="three")
    assert "is not a JSON Pointer" in refusal(tables, endpoint, json_path="0/text", tool="two")
    assert "'chunk_index' must be a whole number" in refusal(tables, endpoint, json_path="/0", chunk_index=-1)
    assert "does not belong to this call" in refusal(tables, endpoint, json_path="/0", tool="two", cursor="5")
    assert read(tables, endpoint, json_path="/0/text", tool="two")["chunks"]


def test_the_tool_is_listed_where_there_are_search_tools_and_gives_way_to_one_of_its_name(tables: TableWorld) -> None:
    table = tables.table(DOCUMENT)
    search, own = tables.tool(table, "", "search"), tables.tool(table, "", "read_around")

    def listed(*tools: str) -> list[str]:
        return [tool.name for tool in tables.tools.listed(tables.bound(tables.endpoint(*tools)))]

    assert listed() == []
    assert listed(search) == ["search", "read_around"]
    assert listed(own, search) == ["read_around", "search"]
