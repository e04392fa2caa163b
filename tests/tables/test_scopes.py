"""Which strings of a document are searched, by size and place."""

from dataclasses import replace

import pytest
from sakuin.tables.model import PendingUpload

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


def test_without_large_strings_a_tool_is_ready_with_none_and_finds_nothing(world: TableWorld) -> None:
    table = world.table({"a": "small", "b": [1, None, True], "c": {}})
    tools = [world.tool(table, scope) for scope in ("", "/c")]
    world.settle()
    status, empty = (world.status(tool) for tool in tools)
    assert (status["state"], status["indexed_chunks_count"], status["last_error"]) == ("ready", 0, None)
    assert status["warning"].startswith("None of 1 strings has at least 200 characters")
    assert "The longest has 5" in status["warning"]
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
    assert "None of 3 strings" in world.status(tool)["warning"]


def test_each_tool_says_what_the_scan_found_in_its_own_part(world: TableWorld) -> None:
    table = world.table({"a": {"b": [TEXT, "x"], "c": TEXT}, "d": "y"})
    tools = [world.tool(table, scope, f"t{number}") for number, scope in enumerate(("", "/a", "/a/b", "/d", "/no"))]
    world.settle()
    counts = [(world.status(tool)["strings_count"], world.status(tool)["large_strings_count"]) for tool in tools]
    assert counts == [(4, 2), (3, 2), (2, 1), (1, 0), (0, 0)]


def test_a_tool_that_is_not_indexed_yet_answers_that_it_is_pending(world: TableWorld) -> None:
    answer = world.search(world.endpoint(world.tool(world.table({"a": TEXT}), "")), "公式")
    assert (answer.index["state"], answer.index["indexed_at"], answer.results) == ("pending", None, ())


def test_a_key_of_any_characters_works_as_an_address_and_as_a_scope(world: TableWorld) -> None:
    keys = {"/": "/~1", "~": "/~0", '"': '/"', "*": "/*", "": "/", " ": "/ ", "~1": "/~01"}
    table = world.table({**{key: {key: TEXT} for key in keys}, "other": TEXT})
    tools = [world.tool(table, pointer, f"t{number}") for number, pointer in enumerate(keys.values())]
    endpoint = world.endpoint(*tools)
    world.settle()
    for number, pointer in enumerate(keys.values()):
        results = world.search(endpoint, "公式", tool=f"t{number}").results
        assert {(hit.chunk.json_pointer, hit.json_path) for hit in results} == {(pointer * 2, pointer)}


def test_a_string_a_thousand_levels_deep_is_found(world: TableWorld) -> None:
    document: object = TEXT
    for _ in range(1000):
        document = {"a": document}
    _, tool, endpoint = world.indexed(document)
    assert world.status(tool)["state"] == "ready"
    assert world.found(endpoint) == {"/a" * 1000}


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
