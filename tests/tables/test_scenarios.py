"""The scenarios of the specification, from a document to the answer."""

from dataclasses import replace

import pytest
from sakuin.tables.json_pointer import pointer_hash
from sakuin.tables.model import SEARCH_INPUT_SCHEMA
from sakuin.tables.nodes import Found, FoundChunk
from sakuin.tables.scan import content_hash

from tests.doubles.chunk_store import SayingStore
from tests.worlds import TableWorld, long, passages_of

QUADRATIC, SLOPE = long("二次方程式の解の公式"), long("一次関数の傾き")
DOCUMENT = {"articles": [{"title": "二次", "content": QUADRATIC}, {"title": "一次", "content": SLOPE}], "a": "x" * 199}
CHUNK_FIELDS = {
    *("id", "table_id", "json_pointer", "chunk_index", "total_chunks", "chunk_text", "char_start", "char_end"),
    *("content_hash", "turbopuffer_namespace", "turbopuffer_doc_id"),
}


@pytest.mark.scenario("context-search/large-strings-in-scope-are-indexed")
@pytest.mark.scenario("context-search/creation-writes-the-state")
@pytest.mark.scenario("context-search/the-content-field-allows-full-text-search")
def test_exactly_the_large_strings_in_scope_are_chunked_embedded_stored_and_recorded(world: TableWorld) -> None:
    table = world.table({**DOCUMENT, "outside": long("三平方の定理")})
    tool = world.tool(table, "/articles")
    created = world.status(tool)
    assert (created["state"], bool(created["configured_at"])) == ("pending", True)
    world.settle()
    recorded = world.sql(
        "select json_pointer, content_hash, turbopuffer_namespace, turbopuffer_doc_id from chunks where table_id = %s",
        table,
    )
    assert {row[:2] for row in recorded} == {
        ("/articles/0/content", content_hash(QUADRATIC)),
        ("/articles/1/content", content_hash(SLOPE)),
    }
    assert {row[2] for row in recorded} == {f"project_{world.project}_table_{table}"}
    assert {row[3] for row in recorded} == world.rows(table).keys()
    articles = [(each["title"], each["content"]) for each in DOCUMENT["articles"]]
    passages = [passage for title, text in articles for passage in passages_of(text, title=title)]
    assert sorted(world.embedder.embedded) == sorted(passages)

    done = world.status(tool)
    assert done["state"] == "ready"
    assert done["configured_at"] < done["started_at"] < done["indexed_at"]
    assert done["indexed_chunks_count"] == done["chunks_count"] == len(recorded)
    assert (done["nodes_count"], done["skipped_nodes"], done["last_error"], done["attempt"]) == (2, [], None, 0)

    schema = world.store.client.namespace(f"project_{world.project}_table_{table}").metadata().schema_
    assert schema["content"].type == "string"
    assert schema["content"].full_text_search


@pytest.mark.scenario("context-search/a-repetition-creates-no-duplicates")
def test_the_same_content_again_makes_no_row_and_fills_in_what_the_store_s_fields_miss(world: TableWorld) -> None:
    table = world.table(DOCUMENT)
    tool = world.tool(table, "/articles")
    world.settle()
    ids = world.sql("select id from chunks where table_id = %s order by id", table)
    world.sql("update chunks set turbopuffer_doc_id = null, indexed_at = null where id = %s", ids[0][0])
    world.call("reindex_tool", tool=tool)
    world.queues.index(world.project, table)
    world.settle()
    assert world.sql("select id from chunks where table_id = %s order by id", table) == ids
    assert world.sql("select count(*) from chunks where table_id = %s and turbopuffer_doc_id is null", table) == [(0,)]
    assert world.status(tool)["state"] == "ready"


@pytest.mark.scenario("context-search/both-legs-are-run-and-fused")
def test_a_chunk_ranked_sixth_by_meaning_and_words_is_first_at_top_k_5(world: TableWorld) -> None:
    table, _, endpoint = world.indexed({letter: long(f"章{letter}", 300) for letter in "abcdefghijk"})
    ids = {name: next(id for id in world.rows(table) if pointer_hash(f"/{name}") in id) for name in "abcdefghijk"}
    near = [FoundChunk(ids[name], rank, None, 0.36, {}, 100) for rank, name in enumerate("abcde", 1)]
    matching = [FoundChunk(ids[name], None, rank, 0.02, {"説明": 2}, 100) for rank, name in enumerate("fghij", 1)]
    both = FoundChunk(ids["k"], 6, 6, 0.30, {"説明": 1}, 100)
    results = replace(world, store=SayingStore(Found((*near, *matching, both)))).search(endpoint, "説明").results
    assert len(results) == 5
    assert results[0].json_path == "/k"


@pytest.mark.scenario("context-search/a-query-is-enough")
def test_only_the_query_is_required_and_five_results_come_at_most(world: TableWorld) -> None:
    _, _, endpoint = world.indexed({str(n): long(f"章{n}") for n in range(7)})
    assert len(world.answer(endpoint, "説明")["results"]) == 5
    assert SEARCH_INPUT_SCHEMA["required"] == ["query"]
    assert SEARCH_INPUT_SCHEMA["properties"].keys() == {"query", "top_k", "cursor"}


@pytest.mark.scenario("context-search/a-result-has-the-whole-chunk-record")
def test_a_result_has_a_score_and_all_eleven_fields_of_its_chunk(world: TableWorld) -> None:
    table = world.table(DOCUMENT)
    endpoint = world.endpoint(world.tool(table, "/articles"))
    world.settle()
    answer = world.search(endpoint, "二次方程式").as_json()
    assert answer.keys() == {"query", "index", "results", "no_good_match"}
    assert (answer["index"]["state"], bool(answer["index"]["indexed_at"])) == ("ready", True)
    first = answer["results"][0]
    assert first.keys() == {"similarity", "score", "json_path", "chunk"}
    assert first["chunk"].keys() == CHUNK_FIELDS
    assert None not in first["chunk"].values()
    chunk = first["chunk"]
    assert (chunk["table_id"], chunk["content_hash"], chunk["total_chunks"]) == (table, content_hash(QUADRATIC), 2)
    assert QUADRATIC[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"]
    assert chunk["turbopuffer_doc_id"] in world.rows(table)


@pytest.mark.scenario("context-search/paths-are-relative-to-the-tool")
def test_a_path_is_seen_from_the_tool_beside_the_absolute_pointer(world: TableWorld) -> None:
    table = world.table(DOCUMENT)
    scopes = {"whole": "", "part": "/articles", "leaf": "/articles/0/content"}
    endpoint = world.endpoint(*[world.tool(table, scope, name) for name, scope in scopes.items()])
    world.settle()
    seen = {name: world.search(endpoint, "二次方程式", tool=name, top_k=1).results[0] for name in scopes}
    assert {name: hit.json_path for name, hit in seen.items()} == {
        "whole": "/articles/0/content",
        "part": "/0/content",
        "leaf": "",
    }
    assert {hit.chunk.json_pointer for hit in seen.values()} == {"/articles/0/content"}
