"""Indexing stops embedding when the day's tokens are used up; searching never does."""

from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import OverBudget
from sakuin.ports import Embedder, EmbeddingLedger, Vector


@dataclass(frozen=True, slots=True)
class BudgetedEmbedder:
    """An `Embedder` for indexing: `OverBudget` once `daily_tokens` are spent.

    What a call costs is known after it, so a day ends up to one call a worker over its budget.
    """

    embedder: Embedder
    ledger: EmbeddingLedger
    daily_tokens: int

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if texts and self.ledger.spent() >= self.daily_tokens:
            raise OverBudget(
                f"The day's {self.daily_tokens:,} embedding tokens are used up; indexing goes on at 00:00 UTC"
            )
        return self.embedder.passages(texts)

    def query(self, text: str) -> Vector:
        return self.embedder.query(text)
