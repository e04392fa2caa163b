"""A Table over the day's embedding budget waits until tomorrow and stays searchable."""

from dataclasses import dataclass, replace
from datetime import datetime

import pytest
from sakuin.platform.openai.budget import DailyTokens

from tests.doubles.embedder import MODEL
from tests.worlds import TableWorld, long

FIRST, SECOND = long("二次方程式の解の公式", 300), long("一次関数の傾き", 300)
BUDGET = 100
USED_UP = "The day's 100 embedding tokens are used up; indexing goes on at 00:00 UTC"


@dataclass
class Days:
    world: TableWorld

    def spend(self) -> None:
        """Spends the whole budget of today."""
        DailyTokens(self.world.client).add(BUDGET)

    def settle(self) -> None:
        self.world.take_all()

    def waiting(self, table: str) -> list[tuple[str, str | None]]:
        """Returns the states and vendors of the unfinished work on a Table."""
        return [(row.state, row.vendor) for row in self.world.unfinished_rows(table)]

    def next_day(self) -> None:
        """Passes midnight and runs maintenance."""
        self.world.sql("delete from daily_count")
        self.world.passes(86_400)
        self.world.minute()
        self.settle()


@pytest.fixture
def days(world: TableWorld) -> Days:
    # Searches have the double alone.
    world.embedders[MODEL] = replace(world.embedder, require_budget=DailyTokens(world.client, most=BUDGET).require)
    return Days(world.on_sqs())


def test_a_table_over_the_budget_waits_says_so_and_is_ready_the_next_day(days: Days) -> None:
    world = days.world
    table, tool, endpoint = world.documented({"a": FIRST})
    days.settle()
    assert (days.waiting(table), world.status(tool)["state"]) == ([], "ready")

    days.spend()
    world.replace(table, {"a": FIRST, "b": SECOND})
    days.settle()
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == ("indexing", USED_UP)
    assert days.waiting(table) == [("waiting", None)]
    assert world.found(endpoint) == {"/a"}

    days.next_day()
    status = world.status(tool)
    assert (status["state"], status["last_error"]) == ("ready", None)
    assert days.waiting(table) == []
    assert world.found(endpoint) == {"/a", "/b"}


def test_a_table_that_waits_for_tomorrow_is_one_row_that_is_due_then(days: Days) -> None:
    days.spend()
    table = days.world.table([long(f"一次関数{number}", 200) for number in range(66)])
    days.world.tool(table, "")
    days.settle()
    assert days.waiting(table) == [("waiting", None)]
    (row,) = days.world.unfinished_rows(table)
    assert row.attempts == 3
    assert days.world.sqs.messages == []
    assert row.retry_at is not None
    seconds_after_midnight = (datetime.fromisoformat(row.retry_at).timestamp() + 30) % 86_400 - 30
    assert abs(seconds_after_midnight) < 5


def test_a_project_over_its_own_tokens_of_the_day_waits_and_others_do_not(world: TableWorld) -> None:
    other = world.beside()
    days = Days(world.on_sqs())
    # One text of 3 bytes a token, however long, is embedded: otherwise it would never be.
    world.sql("select set_quotas('{\"project_daily_tokens\": 1}')")
    table, tool, _ = world.documented({"a": FIRST})
    days.settle()
    assert world.status(tool)["state"] == "ready"
    world.replace(table, {"a": FIRST, "b": SECOND})
    days.settle()
    status = world.status(tool)
    assert status["state"] == "indexing"
    assert status["last_error"].startswith("The limit of 1 tokens of one project in a day (project_daily_tokens)")
    assert days.waiting(table) == [("waiting", None)]
    _, theirs, _ = other.documented({"a": SECOND})
    other.settle()
    assert other.status(theirs)["state"] == "ready"
    world.sql("update quota_use set began = began - interval '1 day'")
    days.next_day()
    assert (world.status(tool)["state"], days.waiting(table)) == ("ready", [])
