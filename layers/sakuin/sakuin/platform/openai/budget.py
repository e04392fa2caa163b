"""The daily token budget of paid models."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.errors import OverBudget, SakuinError
from sakuin.platform.embedding import Embedder, Vector
from sakuin.platform.supabase.client import Client, call
from sakuin.texts.catalogue import coded

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class EmbeddingLedger:
    """The sum of tokens that all workers paid for today, from 00:00 UTC: embedded for indexing, or for `learns`.

    `last` is the sum after the last addition of this worker.
    """

    client: Client
    kind: Literal["embedding", "learns"] = "embedding"
    last: int | None = None

    def spent(self) -> int:
        """Returns today's sum."""
        return self._sum_with(0)

    def add(self, tokens: int) -> None:
        """Adds tokens to today's sum, atomically."""
        self.last = self._sum_with(tokens)

    def _sum_with(self, tokens: int) -> int:
        return int(call(self.client, "add_tokens", {"p_kind": self.kind, "p_tokens": tokens}))

    def require_budget(self, daily_tokens: int) -> None:
        """Raises `OverBudget` if today's sum has reached `daily_tokens`.

        While the last known sum is lower, the next addition tells what other workers have spent.
        """
        if self.last is not None and self.last < daily_tokens:
            return
        if self.spent() >= daily_tokens:
            raise OverBudget(coded("work.over_budget", tokens=daily_tokens, kind=self.kind))


@dataclass(slots=True)
class TokenCounter:
    """Adds tokens to the ledger; after a failure they are added with the next call.

    A failure is logged only: the vectors are already paid for and must not be lost because of the count.
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
    """An `Embedder` for indexing that raises `OverBudget` once `daily_tokens` are spent.

    The cost of a call is known only after it, so that a day can exceed its budget by one call per worker.
    """

    embedder: Embedder
    ledger: EmbeddingLedger
    daily_tokens: int

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if texts:
            self.ledger.require_budget(self.daily_tokens)
        return self.embedder.passages(texts)

    def query(self, text: str) -> Vector:
        return self.embedder.query(text)
