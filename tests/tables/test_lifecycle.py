"""Edits of a document and its tools, up to the answers."""

from tests.worlds import TableWorld, long

QUADRATIC, SLOPE, TRIANGLE = long("二次方程式の解の公式"), long("一次関数の傾き"), long("三平方の定理と直角三角形")


def articles(*texts: str) -> dict[str, object]:
    return {"articles": [{"title": str(n), "content": text} for n, text in enumerate(texts)], "small": "x" * 199}


def paths(answer: object) -> list[str]:
    return [hit.json_path for hit in answer.results]


def test_an_edit_makes_the_old_text_vanish_and_costs_only_what_changed(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    endpoint = world.endpoint(world.tool(table, "/articles"))
    world.settle()
    before = len(world.embedder.embedded)
    world.replace(table, articles(QUADRATIC, TRIANGLE))
    world.settle()
    assert world.search(endpoint, "一次関数の傾き", top_k=50).no_good_match
    texts = [hit.chunk.chunk_text for hit in world.search(endpoint, "説明", top_k=50).results]
    assert texts
    assert not any("一次関数" in text for text in texts)
    new = world.embedder.embedded[before:]
    assert all("三平方" in text for text in new)
    rows = world.rows(table)
    assert len(rows) == len(texts)
    # The same document again makes no row and costs no text.
    world.replace(table, articles(QUADRATIC, TRIANGLE))
    world.settle()
    assert (world.rows(table), world.embedder.embedded[before:]) == (rows, new)


def test_two_tools_share_chunks_and_removing_one_keeps_what_the_other_needs(world: TableWorld) -> None:
    table = world.table(articles(QUADRATIC, SLOPE))
    whole, part = world.tool(table, "", "whole"), world.tool(table, "/articles/1", "part")
    endpoint = world.endpoint(whole, part)
    world.settle()
    embedded, rows = len(world.embedder.embedded), list(world.rows(table))
    # Each Tool has its own scope, whatever the store returns.
    seen = {tool: world.records.current_chunks(endpoint, tool, rows, limit=99) for tool in (whole, part)}
    assert {tool: len(chunks) for tool, chunks in seen.items()} == {whole: 4, part: 2}
    world.call("delete_tool", tool=whole)
    world.queues.index(world.project, table)
    world.settle()
    assert paths(world.search(endpoint, "一次関数の傾き", tool="part")) == ["/content", "/content"]
    assert all("一次関数" in hit.chunk.chunk_text for hit in world.search(endpoint, "二次方程式", top_k=50).results)
    assert len(world.embedder.embedded) == embedded
    assert world.status(part)["state"] == "ready"
    assert len(world.rows(table)) == 2
    pointers = world.sql("select distinct json_pointer from chunks where table_id = %s", table)
    assert pointers == [("/articles/1/content",)]
