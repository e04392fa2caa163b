"""How long changes took to become searchable: what is counted, and what not."""

from datetime import UTC, datetime, timedelta

import pytest
from sakuin.knowledge.canary import CANARY_KEY
from sakuin.upkeep.freshness import Freshness, FreshnessDay, quantile

from tests.builders import a_page
from tests.worlds import TableWorld, World, Worlds, long

ONE, TWO = a_page({"rule-a": "解の公式: 一。"}), a_page({"rule-a": "解の公式: 二。"})


@pytest.fixture
def world(a_world: Worlds) -> World:
    return a_world()


def uploaded(world: World, key: str, body: bytes, *, seconds_ago: float) -> None:
    """Uploads a page in the past, and processes its event now."""
    world.bucket.now = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    world.put(key, body)


def counted(world: World) -> list[tuple[int, float | None, float | None]]:
    """The pages of each day: their number, median and p95."""
    return [(day.count, day.median, day.p95) for day in Freshness(world.client).days(30)]


def test_each_new_version_of_a_page_counts_from_its_upload(world: World) -> None:
    uploaded(world, "a.html", ONE, seconds_ago=7)
    uploaded(world, "b.html", ONE, seconds_ago=7)
    assert counted(world) == [(2, 8, 8)]
    uploaded(world, "a.html", TWO, seconds_ago=100)
    assert counted(world) == [(3, 8, 120)]


def test_a_page_that_waited_for_its_worker_counts_from_its_upload_too(world: World) -> None:
    world.bucket.now = datetime.now(UTC) - timedelta(hours=2)
    world.bucket.write("a.html", ONE)
    world.bucket.forget_messages()
    world.queue.recheck(["a.html"], reason="resumed")
    world.settle()
    assert counted(world) == [(1, 10800, 10800)]


def test_nothing_else_counts(world: World) -> None:
    uploaded(world, CANARY_KEY, ONE, seconds_ago=1)
    uploaded(world, "bad.html", b"%PDF-1.7", seconds_ago=1)
    uploaded(world, "old.html", ONE, seconds_ago=8 * 86_400)
    assert counted(world) == []
    uploaded(world, "a.html", ONE, seconds_ago=1)
    expected = counted(world)
    world.queue.reindex(["a"], reason="asked")
    world.queue.recheck(["a.html"], reason="asked")
    world.bucket.remove("a.html")
    world.settle()
    assert counted(world) == expected


def test_a_table_counts_once_when_its_tools_become_ready(tables: TableWorld) -> None:
    table = tables.table({"articles": [long("一次関数の傾き")], "more": [long("三平方の定理")]})
    tables.tool(table, "/articles", "one")
    tables.tool(table, "/more", "two")
    tables.settle()
    today = datetime.now(UTC).date().isoformat()
    (day,) = Freshness(tables.client).days(1)
    assert (day.day, day.product, day.count) == (today, "tables", 1)
    tables.queues.index(tables.project, table)
    tables.settle()
    assert Freshness(tables.client).days(1) == [day]
    tables.replace(table, {"articles": [long("二次方程式")], "more": [long("三平方の定理")]})
    tables.settle()
    assert [one.count for one in Freshness(tables.client).days(1)] == [2]


def test_days_before_the_asked_ones_are_left_out_and_after_thirty_deleted(world: World) -> None:
    uploaded(world, "a.html", ONE, seconds_ago=1)
    move = "update public.freshness_day set day = day - %s"
    world.sql.execute(move, [20])
    uploaded(world, "a.html", TWO, seconds_ago=1)
    assert (len(Freshness(world.client).days(20)), len(Freshness(world.client).days(21))) == (1, 2)
    world.sql.execute(move, [11])
    uploaded(world, "a.html", ONE, seconds_ago=1)
    assert [type(day) for day in Freshness(world.client).days(99)] == [FreshnessDay, FreshnessDay]


@pytest.mark.parametrize(
    ("share", "counts", "found"),
    [(0.5, [1, 0, 0], 1), (0.5, [1, 1, 0], 1), (0.95, [19, 1, 0], 1), (0.95, [18, 2, 0], 2), (0.5, [0, 0, 3], None)],
)
def test_a_quantile_is_the_bound_below_which_so_many_are(share: float, counts: list[int], found: float | None) -> None:
    assert quantile(share, counts, [1, 2]) == found
