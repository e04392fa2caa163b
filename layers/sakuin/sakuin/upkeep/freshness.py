"""How long changes took to become searchable, by day."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sakuin.platform.supabase.client import Client, call

Product = Literal["pages", "tables"]


@dataclass(frozen=True, slots=True)
class FreshnessDay:
    """The changes of one product on one day (UTC, ISO 8601).

    Half of them were searchable within `median` seconds, 95 of 100 within `p95`: upper bounds of the intervals in which
    they are counted, None for more than the last bound.
    """

    day: str
    product: Product
    count: int
    median: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class Freshness:
    """The statistics in Postgres, kept for 30 days."""

    client: Client

    def days(self, days: int) -> Sequence[FreshnessDay]:
        """Returns the last `days` days with changes, the oldest first."""
        found = call(self.client, "freshness", {"p_days": days})
        bounds = found["bounds"]
        return [
            FreshnessDay(
                day=row["day"],
                product=row["product"],
                count=sum(row["counts"]),
                median=quantile(0.5, row["counts"], bounds),
                p95=quantile(0.95, row["counts"], bounds),
            )
            for row in found["days"]
        ]


def quantile(share: float, counts: Sequence[int], bounds: Sequence[float]) -> float | None:
    """Returns the bound below which at least `share` of the counted values are; None if there is no such bound.

    `counts` has one count for each bound, and one more for values above the last one.
    """
    wanted, below = share * sum(counts), 0
    for bound, count in zip(bounds, counts, strict=False):
        below += count
        if below >= wanted:
            return bound
    return None
