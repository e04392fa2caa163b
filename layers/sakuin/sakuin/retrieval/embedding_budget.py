"""Stops paid models when the tokens of a day are used up."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sakuin.errors import OverBudget, SakuinError
from sakuin.platform.embedding import Embedder, Vector
from sakuin.platform.supabase.client import Client, call


@dataclass(frozen=True, slots=True)
class EmbeddingLedger:
    """The tokens that indexing has had embedded today; a day begins at 00:00 UTC, for everybody at once."""

    client: Client

    def spent(self) -> int:
        """How many so far."""
        return int(call(self.client, "embedding_tokens_today", {}))

    def add(self, tokens: int) -> None:
        """Adds to the day's sum; nothing of it is lost when others add at the same time."""
        call(self.client, "add_embedding_tokens", {"p_tokens": tokens})


logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TokenCounter:
    """Adds tokens to the ledger; those that it could not take are added with the next.

    They are paid for whether they are counted or not: the vectors that they bought must not be lost with the count.
    """

    ledger: EmbeddingLedger
    owed: int = 0

    def __call__(self, tokens: int) -> None:
        self.owed += tokens
        try:
            self.ledger.add(self.owed)
        except SakuinError:
            logger.warning("the day's tokens were not counted yet", exc_info=True)
            return
        self.owed = 0


@dataclass(frozen=True, slots=True)
class BudgetedEmbedder:
    """An `Embedder` for indexing: `OverBudget` once `daily_tokens` are spent.

    What a call costs is known after it, so a day ends up to one call a worker over its budget.
    """

    embedder: Embedder
    ledger: EmbeddingLedger
    daily_tokens: int

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if texts:
            _check(self.ledger, self.daily_tokens)
        return self.embedder.passages(texts)

    def query(self, text: str) -> Vector:
        return self.embedder.query(text)


def _check(ledger: EmbeddingLedger, daily_tokens: int) -> None:
    if ledger.spent() >= daily_tokens:
        raise OverBudget(f"The day's {daily_tokens:,} embedding tokens are used up; indexing goes on at 00:00 UTC")
