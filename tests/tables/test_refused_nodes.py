"""Texts that the embedding service refuses: the node has the reason, other nodes answer."""

from typing import Any

import pytest
from sakuin.errors import Refused

from tests.table_world import TableWorld, long

GOOD, POISON = long("二次方程式の解の公式"), long("毒入りの文章")
REASON = "The embedding service refused the request with 400"


@pytest.fixture
def poisoned(world: TableWorld) -> TableWorld:
    world.embedder.poisons = {"毒入り"}
    return world


def skipped(world: TableWorld, tool: str) -> list[tuple[str, str]]:
    status = world.status(tool)
    assert status["state"] == "ready"
    return [(node["json_pointer"], node["reason"]) for node in status["skipped_nodes"]]


def test_the_node_is_skipped_with_its_reason_and_its_neighbours_answer(poisoned: TableWorld) -> None:
    table, tool, endpoint = poisoned.documented({"a": GOOD, "b": POISON, "c": long("一次関数の傾き")})
    poisoned.settle()
    assert skipped(poisoned, tool) == [("/b", REASON)]
    assert poisoned.found(endpoint) == {"/a", "/c"}
    status = poisoned.status(tool)
    assert status["indexed_chunks_count"] == status["chunks_count"] == len(poisoned.rows(table))


def test_one_refused_chunk_takes_its_whole_node_also_what_was_stored_of_it(poisoned: TableWorld) -> None:
    text = long("三平方の定理", 40_000) + POISON
    table, tool, endpoint = poisoned.documented({"a": GOOD, "b": text})
    poisoned.settle()
    assert skipped(poisoned, tool) == [("/b", REASON)]
    assert poisoned.found(endpoint) == {"/a"}
    assert len(poisoned.rows(table)) == poisoned.status(tool)["chunks_count"]


def test_older_text_does_not_answer_for_a_refused_one(poisoned: TableWorld) -> None:
    table, tool, endpoint = poisoned.documented({"a": GOOD, "b": long("古い文章")})
    poisoned.settle()
    assert poisoned.found(endpoint) == {"/a", "/b"}
    poisoned.replace(table, {"a": GOOD, "b": POISON})
    poisoned.settle()
    assert skipped(poisoned, tool) == [("/b", REASON)]
    assert poisoned.found(endpoint) == {"/a"}
    assert len(poisoned.rows(table)) == poisoned.status(tool)["chunks_count"]


def test_the_same_text_is_not_asked_about_again(poisoned: TableWorld) -> None:
    table, tool, _ = poisoned.documented({"a": GOOD, "b": POISON})
    poisoned.settle()
    calls = poisoned.embedder.calls
    poisoned.replace(table, {"a": GOOD, "b": POISON, "c": 1})
    poisoned.settle()
    assert poisoned.embedder.calls == calls
    assert skipped(poisoned, tool) == [("/b", REASON)]


@pytest.mark.parametrize(("after", "found"), [({"b": long("新しい文章")}, {"/a", "/b"}), ({}, {"/a"})])
def test_a_corrected_or_deleted_text_is_not_skipped(
    poisoned: TableWorld, after: dict[str, Any], found: set[str]
) -> None:
    table, tool, endpoint = poisoned.documented({"a": GOOD, "b": POISON})
    poisoned.settle()
    poisoned.replace(table, {"a": GOOD, **after})
    poisoned.settle()
    assert skipped(poisoned, tool) == []
    assert poisoned.found(endpoint) == found


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
