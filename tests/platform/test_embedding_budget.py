"""The budgets of a day: of embedding, and of the language model that writes `learns`."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

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


def test_nothing_is_lost_when_workers_add_at_the_same_time(budget: DailyTokens) -> None:
    began = datetime.now(UTC).date()
    budget.add(3_000_000_000)
    with ThreadPoolExecutor(4) as workers:
        list(workers.map(lambda _: replace(budget).add(1), range(40)))
    # Over midnight it would be two days' sums.
    assert budget.spent() == 3_000_000_040 or datetime.now(UTC).date() > began


def test_yesterday_s_tokens_do_not_count_today(budget: DailyTokens, sql: psycopg.Connection) -> None:
    budget.add(500)
    sql.execute("update daily_count set day = day - 1")
    assert budget.spent() == 0


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


def test_few_tokens_are_added_together_until_the_budget_is_nearly_spent(service: Client, budget: DailyTokens) -> None:
    worker = DailyTokens(service, most=10_000)
    worker.require()
    for tokens, spent in ((600, 0), (399, 0), (1, 1_000), (8_890, 9_890), (9, 9_890), (1, 9_900), (1, 9_901)):
        worker.add(tokens)
        assert budget.spent() == spent, tokens


def test_a_worker_of_a_small_budget_knows_after_one_call_what_another_has_spent(
    service: Client, budget: DailyTokens
) -> None:
    worker = DailyTokens(service, most=10)
    worker.require()
    budget.add(10)
    worker.add(2)
    with pytest.raises(OverBudget):
        worker.require()
