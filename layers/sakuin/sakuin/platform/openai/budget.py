"""The daily token budget of paid models."""

import logging
from dataclasses import dataclass
from typing import Literal

from sakuin.errors import OverBudget, SakuinError
from sakuin.platform.supabase.client import Client, call
from sakuin.texts.catalogue import coded

logger = logging.getLogger(__name__)

# Tokens that are added by one call, or this share of a small budget, until so much of the budget is used up.
_TOGETHER, _SHARE = 1_000, 0.1
_NEAR = 0.99


@dataclass(slots=True)
class DailyTokens:
    """The tokens that all workers paid for today, from 00:00 UTC: of indexing, `learns`, or questions without a key.

    `most` of them may be; 0 is no limit. The cost of a call is known only after it, so that a day can exceed its budget
    by one call per worker and what the worker owes. `last` is the sum that it knows, `owed` what is not added yet:
    fewer than 1,000 tokens and than a tenth of the budget, which a worker that ends loses.
    """

    client: Client
    kind: Literal["embedding", "learns", "public"] = "embedding"
    most: int = 0
    last: int | None = None
    owed: int = 0

    def spent(self) -> int:
        """Returns today's sum."""
        return self._sum_with(0)

    def require(self) -> None:
        """Raises `OverBudget` if the budget of today is used up.

        While the last known sum is lower, the next addition tells what other workers have spent.
        """
        if not self.most or (self.last is not None and self.last < self.most):
            return
        self.last = self.spent()
        if self.last >= self.most:
            raise OverBudget(coded("work.over_budget", tokens=self.most, kind=self.kind))

    def add(self, tokens: int) -> None:
        """Adds tokens to today's sum, atomically, some together. After a failure, which is logged, with the next ones.

        What was paid for must not be lost because of the count.
        """
        self.owed += tokens
        if self.owed < self._together() and self._is_far():
            return
        try:
            self.last = self._sum_with(self.owed)
        except SakuinError:
            logger.warning("the day's tokens were not counted yet", exc_info=True)
            return
        self.owed = 0

    def _together(self) -> float:
        """Returns how many tokens are worth a call. Until it, a worker does not learn what others have spent."""
        return min(_TOGETHER, _SHARE * self.most) if self.most else _TOGETHER

    def _is_far(self) -> bool:
        """Returns whether the budget is far from being used up, as far as this worker knows."""
        return self.last is not None and (not self.most or self.last + self.owed < _NEAR * self.most)

    def _sum_with(self, tokens: int) -> int:
        return int(call(self.client, "add_tokens", {"p_kind": self.kind, "p_tokens": tokens}))
