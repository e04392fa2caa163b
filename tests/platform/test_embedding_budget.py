"""The budgets of a day: of embedding, and of the language model that writes `learns`."""

from dataclasses import replace

import psycopg
import pytest
from sakuin.errors import OverBudget
from sakuin.platform.openai.budget import DailyTokens
from sakuin.platform.supabase.client import Client, connected


@pytest.fixture
def budget(service: Client, sql: psycopg.Connection) -> DailyTokens:
    """Ten tokens on a day on which nothing was spent."""
    sql.execute("delete from daily_count")
    return DailyTokens(service, most=10)


def test_tokens_may_be_paid_for_until_the_budget_is_spent(budget: DailyTokens) -> None:
    budget.require()
    budget.add(9)
    # One token is left: the call that goes over it is made, the next is not.
    budget.require()
    budget.add(6)
    with pytest.raises(OverBudget, match=r"The day's 10 embedding tokens are used up; indexing goes on at 00:00 UTC"):
        budget.require()
    replace(budget, most=0).require()


def test_what_another_worker_spent_counts(budget: DailyTokens, service: Client) -> None:
    DailyTokens(service).add(10)
    with pytest.raises(OverBudget):
        budget.require()


def test_reading_what_was_spent_writes_nothing(budget: DailyTokens, sql: psycopg.Connection) -> None:
    assert budget.spent() == 0
    assert sql.execute("select count(*) from daily_count").fetchone() == (0,)
    budget.add(7)
    before = sql.execute("select xmin::text, total from daily_count").fetchall()
    assert budget.spent() == 7
    assert sql.execute("select xmin::text, total from daily_count").fetchall() == before


def test_what_could_not_be_added_is_added_with_the_next_tokens(budget: DailyTokens) -> None:
    service = budget.client
    budget.client = connected("http://127.0.0.1:9", "any", seconds=1)
    budget.add(3)
    budget.client = service
    budget.add(4)
    assert (budget.spent(), budget.owed) == (7, 0)


def test_a_language_model_has_a_budget_of_its_own(budget: DailyTokens, service: Client) -> None:
    learns = DailyTokens(service, "learns", 10)
    budget.add(1_000)
    learns.require()
    learns.add(10)
    with pytest.raises(OverBudget, match="The day's 10 learns tokens are used up"):
        learns.require()
    assert (budget.spent(), learns.spent()) == (1_000, 10)
