"""Which strings of a document are searched, by size and place, and the short fields around them."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sakuin.tables.model import PendingUpload
from sakuin.tables.objects import LONGEST_FIELD, LONGEST_TITLE, MOST_CHARACTERS, surrounding_objects, titles_around
from sakuin.tables.scan import LargeString

from tests.worlds import TableWorld, long

TEXT = long("二次方程式の解の公式", 300)


def test_length_is_counted_in_code_points_and_one_text_at_two_pointers_is_embedded_once(world: TableWorld) -> None:
    _, _, endpoint = world.indexed({"met": "😀" * 200, "below": "😀" * 199, "again": ["😀" * 200]})
    assert world.found(endpoint, "😀") == {"/met", "/again/0"}
    assert world.embedder.embedded == ["😀" * 200]


def test_a_missing_scope_is_an_error_until_the_table_has_it(world: TableWorld) -> None:
    table = world.table({"a": TEXT})
    tool, other = world.tool(table, "/articles"), world.tool(table, "/a", "other")
    endpoint = world.endpoint(tool)
    world.settle()
    status = world.status(tool)
    assert (status["state"], status["chunks_count"], "indexed_at" in status) == ("error", 0, False)
    assert status["last_error"].startswith("The document has no node at '/articles'.")
    assert status["skipped_nodes"] == [{"json_pointer": "/articles", "reason": "The Table has no node here."}]
    assert "missing" not in status
    assert world.search(endpoint, "公式").results == ()
    assert world.status(other)["state"] == "ready"
    for document, state in (({"articles": TEXT}, ("ready", "error")), ({"a": TEXT}, ("error", "ready"))):
        world.replace(table, document)
        world.settle()
        assert (world.status(tool)["state"], world.status(other)["state"]) == state
    assert world.status(tool)["indexed_at"] is not None


def test_a_tool_without_large_strings_is_empty_and_names_the_command_that_changes_it(world: TableWorld) -> None:
    table = world.table({"a": "small", "b": [1, None, True], "c": {}})
    tools = [world.tool(table, scope) for scope in ("", "/c")]
    world.settle()
    status, empty = (world.status(tool) for tool in tools)
    assert (status["state"], status["indexed_chunks_count"], status["last_error"]) == ("empty", 0, None)
    assert status["warning"].startswith("All 1 strings are below 200 characters")
    assert f"The longest has 5. Run `sakuin table put --id {table} --chunk-threshold 1`" in status["warning"]
    assert empty["warning"].startswith("There is no string")
    assert world.search(world.endpoint(tools[0]), "small").results == ()


def test_another_threshold_has_the_table_scanned_again(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"long": long("公式"), "short": long("傾き", 60), "title": "数学"})
    found = ("strings_count", "large_strings_count", "chunk_threshold_chars", "warning")
    assert world.found(endpoint) == {"/long"}
    assert [world.status(tool)[name] for name in found] == [3, 1, 200, None]
    for threshold, pointers in ((60, {"/long", "/short"}), (1000, {"/long"}), (5000, set())):
        world.call("change_table", table=table, name=None, chunk_threshold=threshold)
        world.queues.index(world.project, table)
        world.settle()
        assert world.found(endpoint) == pointers
        assert [world.status(tool)[name] for name in found[1:3]] == [len(pointers), threshold]
    assert "All 3 strings" in world.status(tool)["warning"]
    assert world.status(tool)["state"] == "empty"


def test_each_tool_says_what_the_scan_found_in_its_own_part(world: TableWorld) -> None:
    table = world.table({"a": {"b": [TEXT, "x"], "c": TEXT}, "d": "y"})
    tools = [world.tool(table, scope, f"t{number}") for number, scope in enumerate(("", "/a", "/a/b", "/d", "/no"))]
    world.settle()
    counts = [(world.status(tool)["strings_count"], world.status(tool)["large_strings_count"]) for tool in tools]
    assert counts == [(4, 2), (3, 2), (2, 1), (1, 0), (0, 0)]


def test_a_tool_that_is_not_indexed_yet_answers_that_it_is_pending(world: TableWorld) -> None:
    answer = world.search(world.endpoint(world.tool(world.table({"a": TEXT}), "")), "公式")
    assert (answer.index["state"], answer.index["indexed_at"], answer.results) == ("pending", None, ())


@pytest.mark.parametrize(("text", "page", "strings", "first"), [("節", 1000, 1100, 1000), (long("節"), 50, 30, 25)])
def test_a_page_ends_after_so_many_chunks(world: TableWorld, text: str, page: int, strings: int, first: int) -> None:
    many = replace(world, chunks_a_page=page)
    table = many.table([text] * strings, threshold=1)
    many.tool(table, "")
    many.deliver(many.queues.asked.pop(0))
    (rest,) = [message for message in many.queues.asked if message[0] == "index"]
    assert rest[-1] == first
    assert many.sql("select count(*) from node where table_id = %s", table) == [(first,)]
    many.deliver(rest)
    assert many.sql("select count(*) from node where table_id = %s", table) == [(strings,)]
    asked = [id for message in many.queues.asked if message[0] == "embed" for id in message[3]]
    assert [(len(asked),)] == many.sql("select count(*) from chunks where table_id = %s", table)


def test_a_body_in_the_bucket_is_indexed_and_an_unreadable_one_is_an_error_of_the_tool(world: TableWorld) -> None:
    table = world.table({"a": "small"})
    tool = world.tool(table, "")

    def upload(body: bytes) -> None:
        number = world.call("begin_upload", table=table)["upload"]
        key = PendingUpload(world.project, table, number).key
        world.bodies.write(key, body)
        assert world.call("finish_upload", table=table, upload=number, key=key, error=None)
        world.queues.index(world.project, table)
        world.settle()

    upload(b'{"b": "%s"}' % TEXT.encode())
    assert world.found(world.endpoint(tool)) == {"/b"}
    upload(b"{")
    status = world.status(tool)
    assert status["state"] == "error"
    assert "line 1, column 2" in status["last_error"]


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
