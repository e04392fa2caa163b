"""From a document to answers, through every change that a Table and its tools can see."""

from tests.table_world import TableWorld, long

QUADRATIC, SLOPE, TRIANGLE = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")


def articles(*texts: str) -> dict[str, object]:
    return {"articles": [{"title": str(n), "content": text} for n, text in enumerate(texts)], "small": "x" * 999}


def paths(answer: object) -> list[str]:
    return [hit.json_path for hit in answer.results]  # type: ignore[attr-defined]


def test_a_large_string_in_scope_is_found_at_its_place_as_the_tool_sees_it(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    tool = world.tool(table, "/articles")
    endpoint = world.endpoint(tool)
    assert world.status(tool)["state"] == "pending"
    world.settle()
    assert world.status(tool)["state"] == "ready"
    hit = world.search(endpoint, "二次方程式の解の公式").results[0]
    assert hit.json_path == "/0/content"
    assert hit.chunk.json_pointer == "/articles/0/content"
    assert hit.chunk.chunk_text == QUADRATIC[hit.chunk.char_start : hit.chunk.char_end]
    assert hit.chunk.turbopuffer_namespace == f"project_{world.project}_table_{table}"


def test_an_edit_makes_the_old_text_vanish_and_costs_only_what_changed(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    endpoint = world.endpoint(world.tool(table, "/articles"))
    world.settle()
    before = len(world.embedder.embedded)
    world.replace(table, articles(QUADRATIC, TRIANGLE))
    world.settle()
    texts = [hit.chunk.chunk_text for hit in world.search(endpoint, "一次関数の傾き", top_k=50).results]
    assert texts
    assert not any("一次関数" in text for text in texts)
    assert all("三平方" in text for text in world.embedder.embedded[before:])
    assert len(world.rows(table)) == len(texts)


def test_content_that_goes_and_comes_back_is_there_although_the_sweep_of_it_comes_last(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC))
    endpoint = world.endpoint(world.tool(table, "/articles"))
    world.settle()
    world.replace(table, articles(SLOPE))
    world.deliver(world.queues.asked.pop(0))
    late = list(world.queues.asked)
    world.settle()
    world.replace(table, articles(QUADRATIC))
    world.settle()
    for message in late:
        world.deliver(message)
    assert {hit.chunk.chunk_text[:6] for hit in world.search(endpoint, "二次方程式", top_k=50).results} == {
        QUADRATIC[:6]
    }


def test_a_version_that_was_given_up_half_stored_leaves_nothing_behind(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC))
    world.tool(table, "")
    world.settle()
    rows = world.rows(table)
    world.replace(table, articles(SLOPE))
    world.deliver(world.queues.asked.pop(0))
    kind, project, _, chunks = world.queues.asked.pop(0)
    world.deliver((kind, project, table, chunks[:1]))
    assert len(world.rows(table)) == len(rows) + 1
    world.replace(table, articles(QUADRATIC))
    world.settle()
    assert world.rows(table).keys() == rows.keys()


def test_the_same_document_again_makes_no_row_and_costs_no_text(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    world.tool(table, "")
    world.settle()
    rows, embedded = world.rows(table), len(world.embedder.embedded)
    world.replace(table, articles(QUADRATIC, SLOPE))
    world.settle()
    assert world.rows(table) == rows
    assert len(world.embedder.embedded) == embedded


def test_two_tools_share_chunks_and_removing_one_keeps_what_the_other_needs(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    whole, part = world.tool(table, "", "whole"), world.tool(table, "/articles/1", "part")
    endpoint = world.endpoint(whole, part)
    world.settle()
    embedded = len(world.embedder.embedded)
    world.call("delete_tool", tool=whole)
    world.queues.index(world.project, table)
    world.settle()
    assert paths(world.search(endpoint, "一次関数の傾き", tool="part")) == ["/content", "/content"]
    assert all("一次関数" in hit.chunk.chunk_text for hit in world.search(endpoint, "二次方程式", top_k=50).results)
    assert len(world.embedder.embedded) == embedded
    assert world.status(part)["state"] == "ready"


def test_a_deleted_table_takes_its_namespace_along_and_a_late_write_does_not_revive_it(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC))
    world.tool(table, "")
    world.deliver(world.queues.asked.pop(0))
    late = list(world.queues.asked)
    world.settle()
    assert world.rows(table)
    world.call("delete_table", table=table)
    world.queues.index(world.project, table)
    world.settle()
    for message in late:
        world.deliver(message)
    assert world.rows(table) == {}
    assert f"project_{world.project}_table_{table}" not in world.store.namespaces("project_")
