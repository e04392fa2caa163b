"""Texts that the embedding service refuses, and Tables over a limit: what was good still answers."""

from dataclasses import replace
from typing import Any

import pytest
from sakuin.errors import Refused
from sakuin.limits import Limits

from tests.worlds import TableWorld, long

GOOD, POISON = long("二次方程式の解の公式", 300), long("毒入りの文章", 300)
REASON = "The embedding service refused the request with 400"


@pytest.fixture
def poisoned(world: TableWorld) -> TableWorld:
    world.embedder.poisons = {"毒入り"}
    return world


def skipped(world: TableWorld, tool: str) -> list[tuple[str, str]]:
    status = world.status(tool)
    assert status["state"] == "ready"
    return [(node["json_pointer"], node["reason"]) for node in status["skipped_nodes"]]


def test_a_refused_node_is_skipped_until_its_text_changes_and_its_neighbours_answer(poisoned: TableWorld) -> None:
    table, tool, endpoint = poisoned.indexed({"a": GOOD, "b": POISON, "c": long("一次関数の傾き", 300)})
    calls = poisoned.embedder.calls

    def then(document: dict[str, Any], *found: str) -> list[tuple[str, str]]:
        poisoned.replace(table, document)
        poisoned.settle()
        assert poisoned.found(endpoint) == set(found)
        status = poisoned.status(tool)
        assert status["indexed_chunks_count"] == status["chunks_count"] == len(poisoned.rows(table))
        return skipped(poisoned, tool)

    assert skipped(poisoned, tool) == [("/b", REASON)]
    # The same text is not asked about again.
    assert then({"a": GOOD, "b": POISON}, "/a") == [("/b", REASON)]
    assert poisoned.embedder.calls == calls
    assert then({"a": GOOD, "b": long("新しい文章", 300)}, "/a", "/b") == []
    # Older text does not answer for a refused one.
    assert then({"a": GOOD, "b": POISON + "。"}, "/a") == [("/b", REASON)]
    assert then({"a": GOOD}, "/a") == []


def test_one_refused_chunk_takes_its_whole_node_also_what_was_stored_of_it(poisoned: TableWorld) -> None:
    text = long("三平方の定理", 30_000) + POISON
    table, tool, endpoint = poisoned.indexed({"a": GOOD, "b": text})
    assert skipped(poisoned, tool) == [("/b", REASON)]
    assert poisoned.found(endpoint) == {"/a"}
    assert len(poisoned.rows(table)) == poisoned.status(tool)["chunks_count"]


def test_a_tool_speaks_only_of_what_is_in_its_scope(poisoned: TableWorld) -> None:
    table = poisoned.table({"a": {"x": GOOD}, "b": {"x": POISON}})
    inside, outside = poisoned.tool(table, "/b", "inside"), poisoned.tool(table, "/a", "outside")
    poisoned.settle()
    assert skipped(poisoned, inside) == [("/b/x", REASON)]
    assert skipped(poisoned, outside) == []


def test_a_service_that_refuses_everything_skips_nothing(world: TableWorld) -> None:
    world.embedder.poisons = {""}
    _, tool, _ = world.documented({"a": GOOD})
    with pytest.raises(Refused, match="whatever the text"):
        world.settle()
    assert world.status(tool)["state"] == "indexing"


def test_a_table_over_a_limit_is_an_error_and_its_last_version_answers(world: TableWorld) -> None:
    table, tool, endpoint = world.indexed({"a": long("数列")})
    world.replace(table, {key: long(f"行列{key}") for key in "abc"})
    world.queues.asked.clear()
    for limits, sentence in (
        (Limits(table_strings=2), "That would be 3 large strings; the limit is 2 (table_strings)."),
        (Limits(table_chunks=5), "That would be 6 chunks; the limit is 5 (table_chunks)."),
    ):
        scan = replace(world.scan, limits=limits)
        assert scan(world.project, table).outcome == "unreadable"
        status = world.status(tool)
        assert (status["state"], sentence in status["last_error"]) == ("error", True), status
        assert world.found(endpoint) == {"/a"}
    scan = replace(world.scan, limits=Limits(table_strings=3, table_chunks=6, string_chars=1200))
    assert scan(world.project, table).outcome == "scanned"
    world.settle()
    assert world.status(tool)["last_error"] is None
