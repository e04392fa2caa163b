"""The day's embedding budget, for indexing and not for questions."""

from dataclasses import dataclass

import psycopg
import pytest
from sakuin.errors import OverBudget
from sakuin.knowledge.learns.openai import BudgetedLearnsModel
from sakuin.knowledge.reading.page_reader import read_page
from sakuin.platform.embedding import Vector
from sakuin.platform.openai.budget import BudgetedEmbedder, EmbeddingLedger
from sakuin.platform.supabase.client import Client

from tests.builders import a_page
from tests.doubles.embedder import MemoryEmbedder
from tests.doubles.learns_model import MemoryLearnsModel


@dataclass
class CostlyEmbedder(MemoryEmbedder):
    """Spends a token a character."""

    ledger: EmbeddingLedger | None = None

    def passages(self, texts: list[str]) -> list[Vector]:
        assert self.ledger is not None
        self.ledger.add(sum(map(len, texts)))
        return super().passages(texts)


@pytest.fixture
def ledger(service: Client, sql: psycopg.Connection) -> EmbeddingLedger:
    """A day on which nothing was spent."""
    sql.execute("delete from daily_count")
    return EmbeddingLedger(service)


@pytest.fixture
def budgeted(ledger: EmbeddingLedger) -> BudgetedEmbedder:
    """Ten tokens a day."""
    return BudgetedEmbedder(CostlyEmbedder(ledger=ledger), ledger, 10)


def test_texts_are_embedded_until_the_budget_is_spent(budgeted: BudgetedEmbedder) -> None:
    assert len(budgeted.passages(["12345", "6789"])) == 2
    # One token is left: the call that goes over it is made, the next is not.
    budgeted.passages(["abcdef"])
    with pytest.raises(OverBudget, match=r"The day's 10 embedding tokens are used up; indexing goes on at 00:00 UTC"):
        budgeted.passages(["x"])


def test_reading_what_was_spent_writes_nothing(ledger: EmbeddingLedger, sql: psycopg.Connection) -> None:
    assert ledger.spent() == 0
    assert sql.execute("select count(*) from daily_count").fetchone() == (0,)
    ledger.add(7)
    before = sql.execute("select xmin::text, total from daily_count").fetchall()
    assert ledger.spent() == 7
    assert sql.execute("select xmin::text, total from daily_count").fetchall() == before


def test_a_question_is_embedded_whatever_was_spent(budgeted: BudgetedEmbedder) -> None:
    budgeted.ledger.add(1_000)
    assert budgeted.query("x")


def test_nothing_to_embed_needs_no_budget(budgeted: BudgetedEmbedder) -> None:
    budgeted.ledger.add(1_000)
    assert budgeted.passages([]) == []


def test_a_language_model_has_a_budget_of_its_own(ledger: EmbeddingLedger, service: Client) -> None:
    model, spent = MemoryLearnsModel({"rule-a": ("解く方法",)}), EmbeddingLedger(service, "learns")
    budgeted = BudgetedLearnsModel(model, spent, 10)
    texts = read_page(a_page({"rule-a": "名: 文。"})).explanations
    ledger.add(1_000)
    assert (budgeted.name, budgeted.learns(texts)) == (model.name, model.answers)
    spent.add(10)
    with pytest.raises(OverBudget, match="The day's 10 learns tokens are used up"):
        budgeted.learns(texts)
    assert (model.asked, ledger.spent(), spent.spent()) == (1, 1_000, 10)
