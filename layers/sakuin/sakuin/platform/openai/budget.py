"""The daily token budget of paid models."""

import logging
from dataclasses import dataclass
from typing import Literal

from sakuin.errors import OverBudget, SakuinError
from sakuin.platform.supabase.client import Client, call
from sakuin.texts.catalogue import coded

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DailyTokens:
    """The tokens that all workers paid for today, from 00:00 UTC: embedded for indexing, or for `learns`.

    `most` of them may be; 0 is no limit. The cost of a call is known only after it, so that a day can exceed its budget
    by one call per worker. `last` is the sum after the last addition of this worker, `owed` what is not added yet.
    """

    client: Client
    kind: Literal["embedding", "learns"] = "embedding"
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
        if self.spent() >= self.most:
            raise OverBudget(coded("work.over_budget", tokens=self.most, kind=self.kind))

    def add(self, tokens: int) -> None:
        """Adds tokens to today's sum, atomically. After a failure, which is logged, they are added with the next ones.

        What was paid for must not be lost because of the count.
        """
        self.owed += tokens
        try:
            self.last = self._sum_with(self.owed)
        except SakuinError:
            logger.warning("the day's tokens were not counted yet", exc_info=True)
            return
        self.owed = 0

    def _sum_with(self, tokens: int) -> int:
        return int(call(self.client, "add_tokens", {"p_kind": self.kind, "p_tokens": tokens}))
