"""Indexing stops asking paid models when the day's tokens are used up; searching never does."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sakuin.domain.page import Page
from sakuin.errors import OverBudget, SakuinError
from sakuin.ports.costs import EmbeddingLedger
from sakuin.ports.embedding import Embedder, Vector
from sakuin.ports.materials import LearnsModel

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TokensOwed:
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


@dataclass(frozen=True, slots=True)
class BudgetedLearnsModel:
    """A `LearnsModel` that is not asked, `OverBudget`, about pages that could not be embedded today."""

    model: LearnsModel
    ledger: EmbeddingLedger
    daily_tokens: int

    @property
    def name(self) -> str:
        return self.model.name

    def learns(self, page: Page) -> Mapping[str, tuple[str, ...]]:
        _check(self.ledger, self.daily_tokens)
        return self.model.learns(page)


def _check(ledger: EmbeddingLedger, daily_tokens: int) -> None:
    if ledger.spent() >= daily_tokens:
        raise OverBudget(f"The day's {daily_tokens:,} embedding tokens are used up; indexing goes on at 00:00 UTC")
