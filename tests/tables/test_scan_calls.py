"""The cost of a page of a scan: at most four calls of Postgres, one more to delete rows and one for another number of
chunks; messages in tens."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.watched import watched
from tests.worlds import TableWorld, long

A, B, C = (long(words, 300) for words in ("二次方程式の解の公式", "一次関数の傾き", "三平方の定理と直角三角形"))
FIRST, MIDDLE = (["begin_scan", "changed_nodes", "plan_nodes", "record_scan"],) * 2
LAST = ["begin_scan", "changed_nodes", "plan_nodes", "changed_objects", "finish_scan"]
RESERVED = "reserve_chunks"
NO_CHANGE = ["begin_scan", "changed_nodes", "changed_objects", "finish_scan"]


@dataclass
class Calls:
    """Records the calls of Postgres by the names of functions."""

    world: TableWorld
    made: list[str] = field(default_factory=list)

    def scan(self) -> list[str]:
        """Delivers the next message of a scan; returns its calls."""
        queues = self.world.queues
        message = next(message for message in queues.asked if message[0] == "index")
        queues.asked.remove(message)
        self.made.clear()
        self.world.deliver(message)
        return list(self.made)


@pytest.fixture
def calls(world: TableWorld) -> Iterator[Calls]:
    world.chunks_a_page = 2
    calls = Calls(world)
    with watched(world.client, lambda name, _: calls.made.append(name)):
        yield calls


def test_each_page_takes_four_calls_and_a_table_without_a_change_three(calls: Calls) -> None:
    table = calls.world.table([A, B, C, A + "。", B + "。"])
    calls.world.tool(table, "")
    assert [calls.scan() for _ in range(3)] == [[FIRST[0], RESERVED, *FIRST[1:]], MIDDLE, LAST]
    calls.world.settle()
    calls.world.queues.index(calls.world.project, table)
    assert calls.scan() == NO_CHANGE


def test_a_change_of_one_string_takes_four_calls_in_a_large_table_too(calls: Calls) -> None:
    document = [f"{A}{number}" for number in range(50)]
    table = calls.world.table(document)
    calls.world.tool(table, "")
    calls.world.chunks_a_page = 100
    calls.world.settle()
    calls.world.chunks_a_page = 2
    calls.world.replace(table, [*document[:-1], B])
    assert calls.scan() == LAST


def test_a_page_compares_no_more_strings_than_it_needs(calls: Calls) -> None:
    calls.world.nodes_a_comparison = 1
    document = [A, B, C, A + "。", B + "。"]
    table = calls.world.table(document)
    tool = calls.world.tool(table, "")
    assert [calls.scan().count("changed_nodes") for _ in range(3)] == [3, 3, 1]
    calls.world.settle()
    assert calls.world.status(tool)["state"] == "ready"
    calls.world.replace(table, [*document[:3], C + "。", document[4]])
    made = calls.scan()
    assert (made.count("changed_nodes"), made.count("plan_nodes")) == (5, 1)
    calls.world.settle()
    assert calls.world.status(tool)["state"] == "ready"
    assert calls.world.status(tool)["nodes_count"] == 5


@pytest.mark.parametrize(
    ("document", "expected"), [([A], NO_CHANGE), ([A, C], LAST), ([], ["begin_scan", "changed_objects", "finish_scan"])]
)
def test_rows_that_leave_the_store_cost_one_call_more(calls: Calls, document: list[str], expected: list[str]) -> None:
    table = calls.world.table([A, B, C])
    calls.world.tool(table, "")
    calls.world.settle()
    calls.world.replace(table, document)
    assert calls.scan() == [expected[0], RESERVED, *expected[1:], "mark_swept"]


def test_a_text_that_comes_back_before_it_was_replaced_is_swept_with_one_call_more(calls: Calls) -> None:
    table = calls.world.table([A])
    calls.world.tool(table, "")
    calls.world.settle()
    calls.world.replace(table, [B])
    calls.scan()
    calls.world.replace(table, [A])
    assert calls.scan() == [*LAST[:3], "mark_swept", *LAST[3:]]


def test_a_message_that_has_nothing_to_scan_takes_one_call(calls: Calls) -> None:
    table = calls.world.table(None)
    calls.world.tool(table, "")
    calls.scan()
    calls.made.clear()
    assert calls.world.scan(calls.world.project, table, for_event=True).outcome == "superseded"
    assert calls.made == ["begin_scan"]
